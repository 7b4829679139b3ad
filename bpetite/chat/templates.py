"""Chat templates in Jinja's sandbox, with the settings and the helpers of ``transformers``.

A template is compiled in two forms. In the marked one, each special token that the template itself puts out stands
between two control characters. No message has this character, so it proves where the special token comes from, and what
a user writes cannot be mistaken for what the template writes. Only text that goes straight to the output is marked,
which the logic of a template never sees: without marks the two forms render the same text. A special token may go over
a trusted role, as in ``'<|' + message.role + '|>'``.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from jinja2 import Template, TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from jinja2.parser import Parser

    from ..tokenizer import Tokenizer

__all__ = ["MARK", "ROLES", "ChatTemplate", "Model", "Role", "literals_in", "special_spans"]

#: Special tokens with names in the settings of ``transformers``, which templates use as variables.
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
#: Appended to the name of such a variable where it is put out.
MARKED = "__marked"
#: The filter that puts marks around a role, see :meth:`_Marker._with_roles`.
AROUND = "around__marked"
#: On either side of a special token that a template puts out.
MARK = "\x0e"
#: Attributes that every dict has, which templates see before its keys.
OF_DICTS = frozenset(dir(dict))
#: Templates of one tokenizer that are kept compiled.
KEPT = 16
#: Characters that are counted; for more, special tokens are searched for.
FEW = 4


class Role(str):
    """A role that may be a part of a special token. What a filter makes of it is a plain str, which may not."""

    __slots__ = ()


#: Roles that are names of the protocol, and so may be a part of a special token: ``'<|' + role + '|>'``.
ROLES = {name: Role(name) for name in ("system", "developer", "user", "assistant", "tool", "function")}


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


def _raise(message: str) -> None:
    raise TemplateError(message)


def _to_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _Environment(ImmutableSandboxedEnvironment):
    def getattr(self, obj: Any, attribute: str) -> Any:
        """As in Jinja; a key of a message is found at once, not after an AttributeError."""
        if type(obj) is dict and attribute in obj and attribute not in OF_DICTS:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def form(self, tree: nodes.Template) -> Callable[[dict[str, Any]], str]:
        """The function that renders a template."""
        made = Template.from_code(self, self.compile(tree), {})
        made.globals = dict(self.globals)  # in place of a ChainMap, whose copy takes longer than a short conversation
        return made.render


class _Namespace(Namespace):
    """The namespace of ``transformers``: no name begins with an underscore, which would reach into Python."""

    def __init__(*given: Any, **named: Any) -> None:
        Namespace.__init__(given[0])
        for name, value in dict(*given[1:], **named).items():
            given[0][name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a namespace of a chat template has no name with an underscore in front: {name!r}")
        super().__setitem__(name, value)


_environment = _Environment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
_environment.filters["tojson"] = _to_json
_environment.globals |= {"raise_exception": _raise, "namespace": _Namespace}


class ChatTemplate:
    """A template, compiled for the special tokens of a tokenizer.

    Attributes:
        has_generation: It has generation blocks.
        markable: Its own texts hold no mark.
        takes_roles: A special token may go over a trusted role.
    """

    def __init__(self, tokenizer: Tokenizer, source: str) -> None:
        self._tokenizer, self._source = tokenizer, source
        self._kept: dict[str, str] = {}
        environment = _environment.overlay()
        environment.filters = {**_environment.filters, AROUND: self._around}
        tree = environment.parse(source)
        self.markable: bool = not any(MARK in (_text(one) or "") for one in tree.find_all(nodes.Expr))
        marked = _Marker(self._mark).marked(tree, environment)
        self._names = [name for name in NAMED if any(one.name == name + MARKED for one in marked.find_all(nodes.Name))]
        self.takes_roles: bool = any(one.name == AROUND for one in marked.find_all(nodes.Filter))
        self._render_marked = environment.form(marked)
        self.has_generation: bool = bool(re.search(r"\{%-?\s*generation\s*-?%\}", source))

    @cached_property
    def render(self) -> Callable[[dict[str, Any]], str]:
        """Gives the text, rendered by the template as it is."""
        return _environment.form(_environment.parse(self._source))

    def _mark(self, text: str) -> str:
        """A text with marks around its special tokens."""
        marked = self._kept.get(text)
        if marked is None:
            cuts = [0, *(at for span in special_spans(self._tokenizer, text) for at in span), len(text)]
            marked = MARK.join([text[start:end] for start, end in pairwise(cuts)])
            self._kept = {text: marked} | (self._kept if len(self._kept) < KEPT else {})
        return marked

    def _around(self, value: Any, before: str, after: str) -> Any:
        """The sum, with marks that go over the value if that is a trusted role."""
        if type(value) is Role:
            return self._mark(before + value + after)
        return self._mark(before) + value + self._mark(after)

    def render_marked(self, context: dict[str, Any]) -> str:
        """The text with marks around the special tokens that the template puts out.

        No text of the context holds :data:`MARK`.
        """
        named = {name + MARKED: self._mark(context[name]) for name in self._names if type(context.get(name)) is str}
        return self._render_marked(context | named)

    @contextmanager
    def generation_edges(self, opening: str, closing: str) -> Iterator[None]:
        """Within this context, generation blocks put out characters at their ends."""
        token = _edges.set((opening, closing))
        try:
            yield
        finally:
            _edges.reset(token)


class _Marker(NodeTransformer):
    """Puts marks into what a template puts out as it is, also by a variable that nothing else reads."""

    def __init__(self, mark: Callable[[str], str]) -> None:
        self._mark = mark
        self._put_out: list[nodes.Node] = []
        self._holders: list[nodes.Output | nodes.Assign] = []
        self._kept: set[str] = set()

    def marked(self, tree: nodes.Template, environment: _Environment) -> nodes.Template:
        """The tree with marks."""
        names = [*tree.find_all(nodes.Name)]
        self._kept = stored = {name.name for name in names if name.ctx != "load"}
        while True:
            self._put_out.clear()
            self._holders.clear()
            self.visit(tree)
            shown = {id(node) for node in self._put_out}
            read = {name.name for name in names if name.ctx == "load" and id(name) not in shown}
            if self._kept.isdisjoint(read):
                break
            self._kept = self._kept - read
        for holder in self._holders:
            if isinstance(holder, nodes.Assign):
                holder.node = self._sum(holder.node)
            else:
                holder.nodes = self._with_roles([*map(self._sum, holder.nodes)], shown=True)
        for node in self._put_out:
            if isinstance(node, nodes.TemplateData):
                node.data = self._mark(node.data)
            elif isinstance(node, nodes.Const):
                node.value = self._mark(node.value)
            elif isinstance(node, nodes.Name) and node.name in NAMED and node.name not in stored:
                node.name += MARKED
        tree.set_environment(environment)
        return tree

    def _sum(self, node: Any) -> Any:
        """The node, with filters for its roles if it is a sum."""
        parts = [node]
        while isinstance(parts[0], nodes.Add):
            parts[:1] = [parts[0].left, parts[0].right]
        made = self._with_roles(parts)
        return node if len(made) == len(parts) else reduce(nodes.Add, made)

    def _with_roles(self, parts: list[Any], shown: bool = False) -> list[Any]:
        """The parts of a sum or, where they are ``shown``, of an output: a filter stands for each three of them in
        which a role would complete a special token."""
        made: list[Any] = []
        for part in parts:
            made.append(part)
            before, after = _text(made[-3]) if len(made) > 2 else None, _text(part)
            if before and after and any(map(partial(self._completes, before, after), ROLES)):
                self._put_out = [node for node in self._put_out if node is not made[-3] and node is not part]
                value = nodes.Filter(made[-2], "string", [], [], None, None) if shown else made[-2]
                made[-3:] = [nodes.Filter(value, AROUND, [nodes.Const(before), nodes.Const(after)], [], None, None)]
        return made

    def _completes(self, before: str, after: str, role: str) -> bool:
        marked = self._mark(before + role + after)
        return marked.count(MARK) > self._mark(before).count(MARK) + self._mark(after).count(MARK)

    def _leave(self, node: nodes.Node) -> nodes.Node:
        return node

    visit_Macro = visit_CallBlock = visit_AssignBlock = visit_FilterBlock = _leave

    def visit_Output(self, node: nodes.Output) -> nodes.Output:
        self._holders.append(node)
        self._show(*node.nodes)
        return node

    def visit_Assign(self, node: nodes.Assign) -> nodes.Assign:
        if isinstance(node.target, nodes.Name) and node.target.name in self._kept:
            self._holders.append(node)
            self._show(node.node)
        return node

    def _show(self, *shown: nodes.Node | None) -> None:
        for node in shown:
            if isinstance(node, nodes.Add):
                self._show(node.left, node.right)
            elif isinstance(node, nodes.Concat):
                self._show(*node.nodes)
            elif isinstance(node, nodes.CondExpr):
                self._show(node.expr1, node.expr2)
            elif isinstance(node, nodes.TemplateData | nodes.Name) or (
                isinstance(node, nodes.Const) and isinstance(node.value, str)
            ):
                self._put_out.append(node)


def _text(node: nodes.Node) -> str | None:
    value = node.data if isinstance(node, nodes.TemplateData) else getattr(node, "value", None)
    return value if isinstance(node, nodes.TemplateData | nodes.Const) and isinstance(value, str) else None


def special_spans(tokenizer: Tokenizer, text: str, *, spaces: bool = False) -> list[tuple[int, int]]:
    """(start, end) in characters of the special tokens in a text, without white space around them; with ``spaces`` also
    those that are white space, and with what they take of the text around them."""
    if not Model.of(tokenizer).may_have_special(text):
        return []
    spans = tokenizer._special_spans(text)
    if spaces:
        return [(start, end) for start, end, _ in spans]
    literals = [(start, end, text[start:end]) for start, end, _ in spans]
    return [
        (end - len(literal.lstrip()), start + len(literal.rstrip()))
        for start, end, literal in literals
        if not literal.isspace()
    ]


def literals_in(tokenizer: Tokenizer, text: str) -> list[str]:
    """The special tokens that a text spells anywhere, but white space; they begin in those that are found."""
    longest = max(map(len, tokenizer.special_tokens), default=0)
    spans = special_spans(tokenizer, text, spaces=True)
    near = "\0".join(text[start : end + longest] for start, end in spans)
    return [literal for literal in tokenizer.special_tokens if literal in near and not literal.isspace()]


class Model:
    """The templates of a tokenizer, kept with its vocabulary: a look-up by content would hash all of it.

    Attributes:
        named: Variable -> literal of the special tokens that the settings of ``transformers`` name.
    """

    #: The characters that special tokens begin with, and have nowhere else; None where searches have to tell.
    _firsts: set[str] | None = None

    def __init__(self, tokenizer: Tokenizer) -> None:
        beside = tokenizer._vocab.beside
        config: dict[str, Any] = json.loads(beside.get("tokenizer_config.json", "{}"))
        if "added_tokens_decoder" not in config:  # as transformers reads the older file
            config |= json.loads(beside.get("special_tokens_map.json", "{}"))
        values = {name: config.get(name) for name in NAMED}
        texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in values.items()}
        self.named: dict[str, str] = {name: text for name, text in texts.items() if isinstance(text, str)}
        folder = "additional_chat_templates/"
        own = {name[len(folder) : -6]: text for name, text in beside.items() if name.startswith(folder)}
        if "chat_template.jinja" in beside:
            own["default"] = beside["chat_template.jinja"]
        kept = config.get("chat_template")
        if not own and kept:
            own = {"default": kept} if isinstance(kept, str) else {one["name"]: one["template"] for one in kept}
        self._own: dict[str, str] = own
        self._compiled: dict[str, ChatTemplate] = {}
        literals, pipeline = sorted(tokenizer.special_tokens), tokenizer._pipeline
        firsts = {literal[0] for literal in literals}
        if (
            len(firsts) <= FEW
            and (pipeline is None or pipeline.is_compiled)
            and all(firsts.isdisjoint(literal[1:]) for literal in literals)
            and not any(longer.startswith(literal) for literal, longer in pairwise(literals))
        ):
            self._firsts = firsts

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Model:
        """The templates of a tokenizer."""
        kept = vars(tokenizer._vocab)
        model: Model | None = kept.get("_chat_model")
        return kept.setdefault("_chat_model", cls(tokenizer)) if model is None else model

    def may_have_special(self, text: str) -> bool:
        """True unless the first characters of special tokens tell that the text has none."""
        return self._firsts is None or any(map(text.__contains__, self._firsts))

    def template(self, tokenizer: Tokenizer, template: str | None, with_tools: bool) -> ChatTemplate:
        """The template of a source, or the model's template of this name; None for the model's own.

        Raises:
            ValueError: None is given, and the model has none, or several and no default.
        """
        if template is None:
            names = (*["tool_use"] * with_tools, "default")
            template = next((name for name in names if name in self._own), None)
        if template is None:
            known = f"no default template: give template=, one of {', '.join(sorted(self._own))}"
            none = "no chat template: load the folder of its model, or give template="
            raise ValueError(f"the tokenizer has {known if self._own else none}")
        source = self._own.get(template, template)
        compiled = self._compiled.get(source)
        if compiled is None:
            if len(self._compiled) >= KEPT:
                self._compiled.clear()
            compiled = self._compiled[source] = ChatTemplate(tokenizer, source)
        return compiled
