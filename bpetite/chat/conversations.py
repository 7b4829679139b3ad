"""A conversation to token ids, with special tokens from its template and from trusted messages only.

A conversation is rendered twice: as it is, and with masks in place of the characters of texts that are not trusted.
Both results must be equal but for the masks. Then a special token without a mask comes from no such text. A filter, a
slice or a seam between two texts cannot change that, because each character is followed to its place.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import regex

from ..engine.offsets import offsets_of
from ..errors import short_repr
from ..serving.segments import encode_segments
from .contents import block_spans, content_spans
from .masks import SCALARS, Masked, change_texts, equal_but_for, free_characters, masking, texts_in
from .templates import NAMED, ChatTemplate, Templates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..tokenizer import Tokenizer

#: The names of a message's reasoning; templates read the first two.
REASONING = ("reasoning_content", "thinking", "reasoning")
#: The trusted keys of a message with a trusted role; its name and its calls are not among them.
WRITTEN = frozenset(("role", "content", *REASONING))
ROLE = frozenset(("role",))
#: Roles that are names of the protocol, and so may be a part of a special token: ``'<|' + role + '|>'``.
ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
#: A mask that is not a word character, so ``single_word`` tokens next to it still match.
NO_WORD = "\x0e"


class ChatEncoding:
    """The result of :func:`encode`.

    Attributes:
        ids: The token ids.
        text: The text of the conversation as the template renders it.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        context: dict[str, Any],
        text: str,
        segments: list[tuple[str, bool]] | None,
    ) -> None:
        self.ids: list[int] = tokenizer.encode(text) if segments is None else encode_segments(tokenizer, segments)
        self.text: str = text
        self._tokenizer, self._template, self._context, self._segments = tokenizer, template, context, segments

    @cached_property
    def spans(self) -> list[tuple[int, int, int]]:
        """(index of a message, its first token, its past-last token), for the content of each message that has some.

        They are proven by rendering the conversation again. A token over an edge of a content belongs to it. A message
        without content, or with one that the template leaves out, repeats or changes beyond recognition, has none.
        """
        literals = partial(_trimmed_specials, self._tokenizer)
        span_of = content_spans(self._context["messages"], self.text, self._render, literals)
        return [(index, *self._tokens(*span)) for index, span in sorted(span_of.items())]

    @cached_property
    def assistant_mask(self) -> list[int]:
        """1 for each token that an assistant has written, 0 for others: the tokens of generation blocks if the template
        has some, else the tokens of the content of its messages.

        Raises:
            ValueError: A message of an assistant has no span; it is named.
        """
        if self._template.has_generation:
            spans = [self._tokens(*span) for span in block_spans(self.text, self._render)]
        else:
            roles = [message.get("role") for message in self._context["messages"]]
            known = {index: (first, last) for index, first, last in self.spans}
            for index, role in enumerate(roles):
                if role == "assistant" and index not in known:
                    raise ValueError(
                        f"messages[{index}] of an assistant has no content that is found in the rendered text, so its "
                        "tokens are unknown; leave it out, or give a template with generation blocks"
                    )
            spans = [span for index, span in known.items() if roles[index] == "assistant"]
        mask = [0] * len(self.ids)
        for first, last in spans:
            mask[first:last] = [1] * (last - first)
        return mask

    def _render(self, messages: list[dict[str, Any]] | None = None) -> str:
        context = self._context if messages is None else self._context | {"messages": messages}
        return self._template.render(context)

    def _tokens(self, start: int, end: int) -> tuple[int, int]:
        """The first and the past-last token of the characters ``start:end`` of the text."""
        starts, ends = self._offsets
        first = int(np.searchsorted(ends, start, side="right"))
        return first, max(first, int(np.searchsorted(starts, end, side="left")))

    @cached_property
    def _offsets(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The start and the end of each token in characters of the text; both ascend."""
        trusted, at = [], 0
        for segment, is_trusted in self._segments or [(self.text, True)]:
            trusted += [(at, at + len(segment))] * is_trusted
            at += len(segment)
        spans = offsets_of(self._tokenizer, self.text, self.ids, "all", trusted)
        pairs = np.array(spans, np.int64).reshape(-1, 2)
        return np.maximum.accumulate(pairs[:, 0]), np.maximum.accumulate(pairs[:, 1])

    def __repr__(self) -> str:
        return f"ChatEncoding({len(self.ids)} ids, text={short_repr(self.text)})"


def encode(
    tokenizer: Tokenizer,
    messages: Iterable[Mapping[str, Any]],
    template: str | None = None,
    *,
    trusted: Collection[str] = ("system", "assistant"),
    tools: Iterable[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    **variables: Any,
) -> ChatEncoding:
    """Encode a conversation by a Jinja template of ``transformers``.

    The ids are those of ``apply_chat_template(messages, tokenize=True)``, unless a text that is not trusted holds a
    special token. Such a text gives its ordinary ids, whatever it holds: a literal, or the beginning of one that the
    template, a filter or the next message completes.

    Args:
        tokenizer: The tokenizer; its folder or object of ``transformers`` brings the template and the named tokens.
        messages: The messages, dicts with "role" and "content" and what else the template reads.
        template: The source of a template, or the name of one of the model's; None for the model's default.
        trusted: The roles of messages whose content, and reasoning, may hold special tokens. Everything else is not
            trusted: other contents, all names, calls and arguments, unusual roles, ``tools`` and ``variables``.
        tools: Tools as JSON schemas.
        add_generation_prompt: Append the start of an assistant message.
        variables: Further variables of the template. Named tokens, such as ``bos_token``, are trusted.

    Raises:
        ValueError: There is no template, or none with this name; its logic depends on a special token in a text that is
            not trusted (``in``, ``==``, ``split``), and so on whether this is one.
        jinja2.TemplateError: The template is no Jinja, refuses the messages, or has a fault; then with its line.
        TypeError: A message is no dict.
        UnicodeEncodeError: A text holds a lone surrogate.

    >>> from bpetite import Tokenizer, chat
    >>> tok = Tokenizer.train("ab ab ab", 258, special_tokens=["<|user|>", "<|end|>"])
    >>> template = "{% for m in messages %}<|user|>{{ m.content|trim }}<|end|>{% endfor %}"
    >>> messages = [{"role": "user", "content": " ab "}, {"role": "user", "content": "<|end|>"}]
    >>> found = chat.encode(tok, messages, template)
    >>> found.ids[:5], found.ids.count(tok.special_tokens["<|end|>"]), found.spans
    ([258, 256, 259, 258, 60], 2, [(0, 1, 2), (1, 4, 11)])
    """
    chat = [_message(index, message) for index, message in enumerate(messages)]
    plain_tools = None if tools is None else [_plain(tool) for tool in tools]
    others = {name: _plain(value) for name, value in variables.items()}
    templates = Templates.of(tokenizer)
    compiled = templates.template(template, tools is not None)
    context = templates.named | {
        "strftime_now": datetime.now().strftime, "documents": None, **others,
        "messages": chat, "tools": plain_tools, "add_generation_prompt": add_generation_prompt,
    }  # fmt: skip
    doubtful = [value for name, value in others.items() if name not in NAMED]
    doubtful += chain(plain_tools or (), dict.fromkeys(chain(*chat)))
    every = "\0".join(texts_in(chain(doubtful, others.values(), *map(dict.values, chat))))
    text = compiled.render(context)
    if not (tokenizer._special_spans(text) or tokenizer._special_spans(every)):
        return ChatEncoding(tokenizer, compiled, context, text, None)
    trusted_keys = [_trusted_keys(message, trusted) for message in chat]
    for message, keys in zip(chat, trusted_keys, strict=True):
        doubtful += [value for key, value in message.items() if key not in keys]
    literals = _literals_in(tokenizer, text)
    # JSON may escape other characters than ASCII, and normalizers rewrite ASCII
    by_pattern_alone = tokenizer._pipeline is None
    char = next(free_characters(every + text + "".join(tokenizer.special_tokens), "~^" * by_pattern_alone))
    change = partial(_masked, tokenizer, char, masking(char, literals, any_text=not by_pattern_alone))
    names = {name: value if name in NAMED else change_texts(value, change) for name, value in others.items()}
    shielded = context | names | {
        "messages": [_shielded(message, keys, change) for message, keys in zip(chat, trusted_keys, strict=True)],
        "tools": change_texts(plain_tools, change),
    }  # fmt: skip
    masked = compiled.render(shielded)
    if not equal_but_for(text, masked, char + "\\"):
        raise ValueError(_reason(tokenizer, doubtful, literals))
    return ChatEncoding(tokenizer, compiled, context, text, _segments(tokenizer, text, masked, char))


def _plain(value: Any) -> Any:
    """Plain JSON, as ``transformers`` shows it to a template."""
    if value is None or type(value) in SCALARS:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Mapping):
        return {_plain(key): item if type(item) is str else _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else [*map(_plain, value)]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if callable(getattr(value, "model_dump", None)):
        return _plain(value.model_dump())
    return f"<{type(value).__name__}>"


def _message(index: int, message: Any) -> dict[str, Any]:
    """A copy of a message as ``transformers`` shows it to a template."""
    plain = _plain(message)
    if type(plain) is not dict:
        raise TypeError(f"messages[{index}] is a dict, not {short_repr(message)}")
    if None in plain.values():
        plain = {key: value for key, value in plain.items() if value is not None}
    if plain.keys().isdisjoint(REASONING):
        return plain
    reasoning = next(plain[name] for name in REASONING if name in plain)
    return {"thinking": reasoning, **plain, "reasoning_content": reasoning}


def _trusted_keys(message: dict[str, Any], trusted: Collection[str]) -> Collection[str]:
    """The keys of a message whose values may hold special tokens."""
    role = message.get("role")
    if not isinstance(role, str):
        return ()
    return WRITTEN if role in trusted else ROLE if role in ROLES else ()


def _shielded(message: dict[str, Any], trusted_keys: Collection[str], change: Callable[[str], str]) -> dict[str, Any]:
    masked: dict[str, Any] = {}
    for key, value in message.items():
        masked |= {key: value} if key in trusted_keys else change_texts({key: value}, change)
    return masked


def _masked(tokenizer: Tokenizer, char: str, mask: Callable[[str], str], text: str) -> str:
    """Mask a text. Comparisons, searches and strips in the template see the original, with `char` in place of the first
    character of each special token."""
    seen, masked = text, mask(text)
    while spans := _trimmed_specials(tokenizer, seen):
        breaks = [-1, *(start for start, _ in spans), len(seen)]
        seen = char.join([seen[before + 1 : after] for before, after in pairwise(breaks)])
    return text if seen is text and masked == text else Masked.of(masked, seen)


def _segments(tokenizer: Tokenizer, text: str, masked: str, char: str) -> list[tuple[str, bool]]:
    """The segments of a text: special tokens without a mask are trusted."""
    if "single_word" in chain(*tokenizer.to_vocab().token_flags.values()):  # those look whether a word is beside them
        pairs = zip(masked, text, strict=True)
        masked = "".join([NO_WORD if one == char and not regex.match(r"\w", other) else one for one, other in pairs])
    cuts = [0, *(at for start, end, _ in tokenizer._special_spans(masked) for at in (start, end)), len(text)]
    return [(text[start:end], bool(number % 2)) for number, (start, end) in enumerate(pairwise(cuts))]


def _trimmed_specials(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    """(start, end) in characters of the special tokens in a text but white space, without white space around them."""
    spans = [(start, end, text[start:end]) for start, end, _ in tokenizer._special_spans(text)]
    return [(end - len(literal.lstrip()), start + len(literal.rstrip()))
            for start, end, literal in spans if not literal.isspace()]  # fmt: skip


def _literals_in(tokenizer: Tokenizer, text: str) -> frozenset[str]:
    """The special tokens that a text spells anywhere, but white space. Each begins inside one that a search finds."""
    longest = max(map(len, tokenizer.special_tokens), default=0)
    near = "\0".join(text[start : end + longest] for start, end, _ in tokenizer._special_spans(text))
    found = {text[start:end] for start, end in _trimmed_specials(tokenizer, text)}
    return frozenset(found.union(word for word in tokenizer.special_tokens if word in near and not word.isspace()))


def _reason(tokenizer: Tokenizer, doubtful: list[Any], literals: Iterable[str]) -> str:
    for one in texts_in(doubtful):
        for start, end in _trimmed_specials(tokenizer, one):
            return (
                f"the template's logic depends on the special token {one[start:end]!r} in the text {short_repr(one)}, "
                "which is not trusted: remove it there, or name the message's role in trusted="
            )
    named = ", ".join(map(repr, sorted(literals)))
    return f"the template changes untrusted texts, so the origin of {named} in its output is unknown"
