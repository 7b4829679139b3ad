"""Chat templates in Jinja's sandbox, with the settings and helpers of ``transformers``."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from ..errors import short_repr
from ..formats.files import TEMPLATES, settings_in

if TYPE_CHECKING:
    from jinja2.parser import Parser

    from ..tokenizer import Tokenizer

#: Special tokens with names in the settings of ``transformers``, which templates use as variables.
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
#: The number of templates that stay compiled.
CACHED_TEMPLATES = 64
#: The two texts that a generation block puts out at its ends.
_edges: ContextVar[tuple[str, str]] = ContextVar("edges", default=("", ""))


class _Generation(Extension):
    """``{% generation %}`` around what the model has written; a scope of its own."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        ends = [nodes.Output([self.call_method("edge", [nodes.Const(at)])]) for at in (0, 1)]
        return nodes.Scope([ends[0], *body, ends[1]]).set_lineno(line)

    def edge(self, at: int) -> str:
        return _edges.get()[at]


@contextmanager
def generation_edges(opening: str, closing: str) -> Iterator[None]:
    """Within this context, generation blocks put out characters at their ends."""
    token = _edges.set((opening, closing))
    try:
        yield
    finally:
        _edges.reset(token)


def _raise(message: str) -> None:
    raise TemplateError(message)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _Namespace(Namespace):
    """The namespace of ``transformers``: no name begins with an underscore, which would reach into Python."""

    def __init__(*given: Any, **named: Any) -> None:  # without self, so that a template may use this name
        Namespace.__init__(given[0])
        for name, value in dict(*given[1:], **named).items():
            given[0][name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a namespace of a chat template has no name with an underscore in front: {name!r}")
        super().__setitem__(name, value)


_jinja = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
_jinja.filters["tojson"] = _to_json
_jinja.globals |= {"raise_exception": _raise, "namespace": _Namespace}


class ChatTemplate:
    """A compiled template, with generation blocks or without."""

    def __init__(self, source: str, name: str) -> None:
        tree = _jinja.parse(source)
        try:
            compiled = _jinja.from_string(tree)
        except SyntaxError as error:  # Python's: what Jinja translates as it is, such as a break outside of a loop
            raise TemplateError(f"{name}: {error.msg}") from None
        # in place of a ChainMap, whose copy takes longer than a short conversation
        compiled.globals = dict(compiled.globals)
        self._name = name
        self._render: Callable[[dict[str, Any]], str] = compiled.render
        self.has_generation: bool = tree.find(nodes.ExtensionAttribute) is not None

    def render(self, context: dict[str, Any]) -> str:
        """The text of a context.

        Raises:
            jinja2.TemplateError: The template refuses the context, or has a fault, with its line.
        """
        try:
            return self._render(context)
        except (TemplateError, MemoryError):
            raise
        except Exception as error:
            lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == "<template>"]
            place = f"{self._name}, line {lines[-1]}" if lines else self._name
            raise TemplateError(f"{place}: {type(error).__name__}: {error}") from error


_compiled = lru_cache(CACHED_TEMPLATES)(ChatTemplate)


class Templates:
    """The templates of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        beside = tokenizer.to_vocab().beside
        config = settings_in(beside)
        values = {name: config.get(name) for name in NAMED}
        texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in values.items()}
        #: Variable -> literal of the special tokens that the settings of ``transformers`` name.
        self.named: dict[str, str] = {name: text for name, text in texts.items() if isinstance(text, str)}
        folder = f"{TEMPLATES}/"
        own = {name.removeprefix(folder).removesuffix(".jinja"): text
               for name, text in beside.items() if name.startswith(folder)}  # fmt: skip
        if "chat_template.jinja" in beside:
            own["default"] = beside["chat_template.jinja"]
        setting = config.get("chat_template")
        if not own and setting:
            named = [{"name": "default", "template": setting}] if isinstance(setting, str) else setting
            own = {one["name"]: one["template"] for one in named}
        self._own: dict[str, str] = own

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Templates:
        """The templates that are kept with the vocabulary: a look-up by its content would hash all of it."""
        derived = tokenizer.to_vocab().derived
        templates: Templates | None = derived.get("chat")
        return derived.setdefault("chat", cls(tokenizer)) if templates is None else templates

    def template(self, template: str | None, with_tools: bool) -> ChatTemplate:
        """The template of a source, or the model's template of this name; None for the model's default template.

        Raises:
            ValueError: There is no such template; the message has the names.
        """
        if template is None:
            defaults = (*["tool_use"] * with_tools, "default")
            template = next((name for name in defaults if name in self._own), None)
        if template is None:
            known = f"no default template: give template=, one of {', '.join(sorted(self._own))}"
            none = "no chat template: load the folder of its model, or give template="
            raise ValueError(f"the tokenizer has {known if self._own else none}")
        if template not in self._own and "{" not in template:  # a source without it reads no message
            names = ", ".join(sorted(self._own)) or "none"
            raise ValueError(f"no chat template has the name {short_repr(template)}; names: {names}")
        name = f"chat template {template!r}" if template in self._own else "the chat template"
        return _compiled(self._own.get(template, template), name)
