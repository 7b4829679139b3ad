"""Docstrings of the package, as Markdown: an extension of griffe, which reads the sources for the reference pages."""
from __future__ import annotations

import inspect
import pkgutil
import re
from typing import Any

import griffe

#: :meth:`encode`, :class:`bpetite.Vocab`, :func:`~bpetite.corpus.encode_corpus`, :mod:`.native`
ROLE = re.compile(r":(\w+):`~?\.?([\w.]+)`")

#: A table of reStructuredText.
TABLE = re.compile(r"^(=+ +)+=+\n(?P<rows>.*?)^(=+ +)+=+$", re.S | re.M)

#: An example, up to the empty line behind it.
EXAMPLE = re.compile(r"^( *)>>> (?:.*\S.*\n?)*", re.M)


#: A page of the documentation, as the sources name it.
PAGE = re.compile(r"\bdocs/(\w+)\.md\b")


def link(role: re.Match[str]) -> str:
    """A link where the reference has the name, else the name."""
    kind, name = role.groups()
    target = f"bpetite.Tokenizer.{name}" if kind == "meth" and "." not in name else name
    return f'<autoref identifier="{target}" optional><code>{name}</code></autoref>'


def markdown(text: str) -> str:
    """Roles become links, literals code, tables and examples blocks.

    >>> markdown("As ``a``, see :mod:`bpetite.corpus`.")
    'As `a`, see <autoref identifier="bpetite.corpus" optional><code>bpetite.corpus</code></autoref>.'
    """
    text = PAGE.sub(r'<a href="../../\1/">\1</a>', ROLE.sub(link, text)).replace("``", "`")
    text = TABLE.sub(lambda table: f"```text\n{table['rows']}```", text)
    return EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```\n", text)


def compiled_docstring(obj: griffe.Object) -> griffe.Docstring | None:
    """The docstring of what a stub stands for: stubs have signatures, the compiled objects say what they do."""
    text = pkgutil.resolve_name(obj.path).__doc__
    return griffe.Docstring(inspect.cleandoc(text), parent=obj) if text else None


class Markdown(griffe.Extension):
    """What griffe calls for each object of the package."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is None and not obj.is_private and str(obj.filepath).endswith(".pyi"):
            obj.docstring = compiled_docstring(obj)
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        """A function of another module that a class has as a method is shown as one."""
        for name, member in cls.attributes.items():
            if isinstance(member.value, griffe.ExprAttribute) and str(member.annotation) == "Final":
                cls.set_member(name, griffe.Alias(name, member.value.canonical_path, lineno=member.lineno))
