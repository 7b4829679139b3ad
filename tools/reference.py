"""Writes the generated blocks of docs/reference/: signatures and docstrings of public names, and the help of commands.

    python tools/reference.py            after a change of a signature, a docstring or a command's help

A block begins with ``<!-- api: NAMES -->`` or ``<!-- help: COMMAND -->`` and ends with ``<!-- end -->``; the rest of a
page is written by hand. A module brings the names in ``__all__`` that have no block of their own. A class brings its
documented members; if some of them have blocks, the others are not shown. Signatures are copied from the source, or
from the stub of a compiled module; docstrings are the ones that ``help`` shows.
"""
from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from bpetite.cli import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/reference"
BLOCK = re.compile(r"^<!-- (?P<kind>api|help):(?P<names>[^>]*)-->\n(?P<made>.*?)^<!-- end -->$", re.M | re.S)

#: :meth:`encode`, :class:`bpetite.Vocab`, :func:`~bpetite.corpus.encode_corpus`, :mod:`.native`
ROLE = re.compile(r":\w+:`~?\.*([\w.]+)`")
PAGE = re.compile(r"\bdocs/(\w+\.md)\b")
#: An example, or a table of reStructuredText: up to an empty line.
CODE = re.compile(r"^( *(?:>>>|=+) .*(?:\n.*\S.*)*)", re.M)
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\n((?: .*\n?|\n(?= ))+)", re.M)
ITEM = re.compile(r"^([*\w][\w*., ]*): ", re.M)
DECORATORS = ("classmethod", "staticmethod", "property", "cached_property", "overload")


def find(path: str) -> Any:
    """The object with a name; in `bpetite.analysis.audit` the function, and not the module that it comes from."""
    found: Any = importlib.import_module("bpetite")
    for name in path.split(".")[1:]:
        found = getattr(found, name) if hasattr(found, name) else importlib.import_module(f"{found.__name__}.{name}")
    return found


@cache
def source(module: str) -> tuple[list[str], ast.Module]:
    """The lines of a module's stub, or of the module if it has none, and its syntax tree."""
    path = ROOT / module.replace(".", "/")
    paths = (path.with_suffix(".pyi"), path.with_suffix(".py"), path / "__init__.py")
    text = next(one for one in paths if one.exists()).read_text(encoding="utf-8")
    return text.splitlines(), ast.parse(text)


def is_described(found: Any) -> bool:
    """True for a class, function, method or property with a docstring."""
    return bool(found.__doc__) and (hasattr(found, "__qualname__") or isinstance(found, property | cached_property))


def head(module: str, node: Any) -> str:
    """A definition up to its colon, as the source has it."""
    lines = source(module)[0][node.lineno - 1 : node.body[0].lineno]
    lines[-1] = lines[-1].encode()[: node.body[0].col_offset].decode()
    marks = [f"@{name}\n" for one in node.decorator_list if (name := ast.unparse(one)) in DECORATORS]
    return "".join(marks) + re.sub(r":\s*(#.*)?$", "", textwrap.dedent("\n".join(lines)).rstrip())


def signature(found: Any) -> str:
    """The definition of a function, method or property, or a class with its fields and constructor."""
    for way in ("__func__", "fget", "func"):
        found = getattr(found, way, found)
    module = getattr(found, "__objclass__", found).__module__
    nodes: list[Any] = [source(module)[1]]
    for part in found.__qualname__.split("."):  # several for an overloaded function
        nodes = [one for node in nodes for one in node.body if getattr(one, "name", "") == part]
    made = [head(module, node) for node in nodes]
    for one in nodes[0].body if isinstance(found, type) else ():
        if getattr(one, "name", "") in ("__init__", "__new__"):
            made.append(textwrap.indent(head(module, one), "    "))
        elif isinstance(one, ast.AnnAssign) and not re.match("_|.*: Final", ast.unparse(one)):
            made += source(module)[0][one.lineno - 1 : one.end_lineno]
    return "\n".join(made)


class Reference:
    """The pages; ``places`` has the page and anchor of each name that they show."""

    def __init__(self) -> None:
        self.pages = {page: page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md"))}
        blocks = [block for text in self.pages.values() for block in BLOCK.finditer(text) if block["kind"] == "api"]
        self.named = {name for block in blocks for name in block["names"].split()}
        self.places: dict[str, str] = {}

    def made(self) -> dict[Path, str]:
        """Path -> text of each page. It is made twice: links take the places of names on later pages."""
        return [{path: self.page(path.name, text) for path, text in self.pages.items()} for _ in range(2)][1]

    def page(self, page: str, text: str) -> str:
        def block(found: re.Match[str]) -> str:
            names = found["names"].split()
            level = len(re.findall(r"^(#+) ", BLOCK.sub("", text[: found.start()]), re.M)[-1]) + 1
            if found["kind"] == "help":
                said = CliRunner().invoke(cli, [*names, "--help"], prog_name="bpetite", terminal_width=80).output
                parts = [f"```text\n{said}```"]
            else:
                parts = [part for name in names for part in self.entry(page, name, find(name), level) if part]
            return "\n\n".join([f"<!-- {found['kind']}:{found['names']}-->", *parts, "<!-- end -->"])

        return BLOCK.sub(block, text)

    def entry(self, page: str, path: str, found: Any, level: int) -> Iterator[str]:
        """Heading, signature and docstring of a name; then those of its members."""
        owner, members, values = path.rpartition(".")[0], {}, []
        if isinstance(found, types.ModuleType):
            members = {name: getattr(found, name) for name in getattr(found, "__all__", ())}
            values = [name for name, one in members.items() if not is_described(one) and not inspect.ismodule(one)]
            self.places |= {f"{path}.{name}": page for name in values}
        else:
            label = re.sub(r"^bpetite\.([a-z_.]+\.(?=[A-Z]))?", "", path)  # a class is known by its name alone
            self.places[path] = f"{page}#{label.replace('.', '').lower()}"
            yield f"{'#' * level} `{label}`\n\n```python\n{signature(found)}\n```"
            level += 1
        if isinstance(found, type) and not any(name.startswith(f"{path}.") for name in self.named):
            classes = [vars(cls) for cls in found.__mro__ if cls.__module__.startswith("bpetite")]
            members = {name: getattr(found, name) for names in classes for name in names if is_described(names[name])}
        yield self.markdown(inspect.getdoc(found) or "", path if members else owner)
        if values:
            yield f"**Values and types:** `{'`, `'.join(values)}`"
        for name, member in members.items():
            if name[0] != "_" and f"{path}.{name}" not in self.named and is_described(member):
                yield from self.entry(page, f"{path}.{name}", member, level)

    def markdown(self, text: str, inside: str) -> str:
        """A docstring in Markdown. Roles become links where the reference has the name."""

        def link(role: re.Match[str]) -> str:
            name = role[1]
            for path in (name, f"{inside}.{name}", f"bpetite.{name}", f"bpetite.Tokenizer.{name}"):
                if path in self.places:
                    return f"[`{name}`]({self.places[path]})"
            return f"`{name}`"

        def section(found: re.Match[str]) -> str:
            body = textwrap.dedent(found[2]).strip()
            if found[1] in ("Returns", "Yields"):
                return f"**{found[1]}:** {body}\n"
            return f"**{found[1]}:**\n\n" + ITEM.sub(lambda one: f"- `{one[1].replace(', ', '`, `')}`: ", body) + "\n"

        made = CODE.split(text)
        for number, part in enumerate(made):
            if number % 2:
                made[number] = f"```{'pycon' if '>>> ' in part else 'text'}\n{textwrap.dedent(part)}\n```"
                continue
            part = PAGE.sub(r"[\g<0>](../\1)", ROLE.sub(link, SECTION.sub(section, part)).replace("``", "`"))
            spans = re.split(r"(`[^`]*`|\*\*\w+:\*\*)", part)
            spans[::2] = [re.sub(r"[*<]", r"\\\g<0>", span) for span in spans[::2]]  # not Markdown's
            made[number] = "".join(spans).strip("\n")
        return "\n\n".join(filter(None, made))


if __name__ == "__main__":
    for path, text in Reference().made().items():
        path.write_text(text, encoding="utf-8")
