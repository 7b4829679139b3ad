"""Texts whose characters are traced through a template, by other characters in their place; and the parts of a rendered
conversation that they prove to be the contents of messages."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .templates import ChatTemplate

#: Types of values that a template sees as they are.
SCALARS = frozenset((str, int, float, bool))
#: Characters that JSON or Python's ``repr`` escape; masks in their place would not be.
ESCAPED = frozenset("\"'\\\x7f")
QUOTE = '"'
#: Characters of a table of masks that are kept.
KEPT = 4096

Messages = list[dict[str, Any]]
Render = Callable[[Messages | None], str]
#: (start, end) in characters.
Span = tuple[int, int]
Literals = Callable[[str], list[Span]]

#: Stands for characters that JSON escapes in two characters, as it escapes this one.
STAND_IN, ESCAPED_IN_TWO = "\b", '"\\\n\r\t'


class Masked(str):
    """A text for the output of a template, with masks in it, which the template's logic takes for another text.

    Both have the same length. A method that is not here works on the masks, and gives a plain str.
    """

    __slots__ = ("seen",)
    seen: str  # the text that comparisons, searches, ``split`` and ``strip`` see

    @classmethod
    def of(cls, text: str, seen: str) -> Masked:
        made = cls(text)
        made.seen = seen
        return made

    def __hash__(self) -> int:
        return hash(self.seen)

    def split(self, sep: str | None = None, maxsplit: int = -1) -> list[str]:  # type: ignore[override]
        parts: list[str] = []
        at = 0
        for seen in self.seen.split(_seen(sep), maxsplit):
            at = self.seen.index(seen, at)
            parts.append(Masked.of(self[at : at + len(seen)], seen))
            at += len(seen) + len(sep or "")
        return parts


def _seen(text: Any) -> Any:
    return text.seen if isinstance(text, Masked) else text


def _seeing(method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda text, *arguments: method(text.seen, *map(_seen, arguments))


def _stripping(name: str) -> Callable[..., Any]:
    def strip(text: Masked, chars: str | None = None) -> Masked:
        at = len(text) - len(text.seen.lstrip(chars)) if name != "rstrip" else 0
        seen: str = getattr(text.seen, name)(chars)
        return Masked.of(text[at : at + len(seen)], seen)

    return strip


def _changing(name: str) -> Callable[[Masked], str]:
    """A change of case; a mask stands for as many characters as the character that it masks becomes."""

    def change(text: Masked) -> str:
        seen: str = getattr(text.seen, name)()
        one = "lower" if name == "capitalize" else name
        sizes = [len(getattr(char, one if at else name)()) for at, char in enumerate(text.seen)]
        if sum(sizes) != len(seen):
            return str(getattr(str, name)(text))
        ends = [*accumulate(sizes)]
        pairs = zip(text, text.seen, ends, sizes, strict=True)
        parts = [seen[end - size : end] if mask == char else mask * size for mask, char, end, size in pairs]
        return Masked.of("".join(parts), seen)

    return change


for _name in ("eq", "ne", "lt", "gt", "contains"):
    setattr(Masked, f"__{_name}__", _seeing(getattr(str, f"__{_name}__")))
for _name in ("startswith", "endswith", "find", "index", "count"):
    setattr(Masked, _name, _seeing(getattr(str, _name)))
for _name in ("strip", "lstrip", "rstrip"):
    setattr(Masked, _name, _stripping(_name))
for _name in ("lower", "upper", "capitalize"):
    setattr(Masked, _name, _changing(_name))


@lru_cache(maxsize=4096)
def _forms(char: str) -> frozenset[str]:
    return frozenset((char + char.upper() + char.lower() + char.title()).casefold())


@lru_cache(maxsize=64)
def masking(char: str, literals: frozenset[str], *, any_text: bool) -> Callable[[str], str]:
    """A function that masks every character that may be part of a literal after a change of case. With `any_text` it
    masks every character, because a normalizer may change more than case. White space and characters that are escaped
    stay, unless a literal has them: a quote then becomes a backslash, which JSON escapes in as many characters."""
    spelled = "".join(literals)
    alphabet = {form for one in spelled for form in _forms(one)}

    class Table(dict[int, str]):
        def __missing__(self, code: int) -> str:
            one = chr(code)
            stays = one not in spelled or one == QUOTE
            if not (one <= " " or one in ESCAPED or one.isspace()):
                stays = not any_text and alphabet.isdisjoint(_forms(one))
            found = one if stays else char
            if len(self) < KEPT:
                self[code] = found
            return found

    table = Table()
    return lambda text: (text.replace(QUOTE, "\\") if QUOTE in spelled else text).translate(table)


def free_characters(text: str, first: str = "") -> Iterator[str]:
    """Printable characters without case and normal forms that a text does not have: some given ones, then rare
    ideographs."""
    return (char for char in chain(first, map(chr, range(0x20000, 0x2A6E0))) if char not in text)


def texts_in(values: Iterable[Any]) -> list[str]:
    """The texts in values of JSON, keys included."""
    texts: list[str] = []
    waiting = [*values]
    for one in waiting:  # which grows
        if isinstance(one, str):
            texts.append(one)
        elif isinstance(one, dict):
            waiting += one
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return texts


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with all of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change_texts(key, change): change_texts(item, change) for key, item in value.items()}
    return type(value)([change_texts(item, change) for item in value]) if isinstance(value, list | tuple) else value


def _code_points(text: str) -> NDArray[np.uint32]:
    """uint32[len(text)]; UnicodeEncodeError for a lone surrogate."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def equal_but_for(text: str, masked: str, chars: str) -> bool:
    """True if two texts are equal but for masks in the second one."""
    if len(text) != len(masked):
        return False
    one, other = _code_points(text), _code_points(masked)
    return bool(np.isin(other[one != other], _code_points(chars)).all())


def content_spans(messages: Messages, text: str, render: Render, literals: Literals) -> dict[int, Span]:
    """The part of the text that comes from the content of each message, if it is found.

    Each content is rendered as masks, a character of its own in place of each of its characters. The text must be equal
    but for these. Else white space stays, and what ``literals`` finds, as templates look for some special tokens.
    """
    chars = free_characters("".join(texts_in(messages)) + text)
    every = {index: next(chars) for index, message in enumerate(messages) if any(map(str.strip, _texts(message)))}

    def found(marks: dict[int, str]) -> dict[int, Span]:
        return _found(messages, marks, text, render, None) or _found(messages, marks, text, render, literals)

    return found(every) or {index: span for one in every.items() for index, span in found(dict([one])).items()}


def block_spans(text: str, render: Render, template: ChatTemplate) -> list[Span]:
    """The parts of the text that generation blocks put out; ValueError if the template reads what a block puts out."""
    chars = free_characters(text)
    edges = next(chars), next(chars)
    with template.generation_edges(*edges):
        marked = render(None)
    if marked.replace(edges[0], "").replace(edges[1], "") != text:
        raise ValueError("the template changes what its generation blocks put out, so that their tokens are not known")
    places = np.flatnonzero(np.isin(_code_points(marked), _code_points("".join(edges))))
    at = [int(place) - number for number, place in enumerate(places)]
    return [*zip(at[::2], at[1::2], strict=True)]


def _texts(message: dict[str, Any]) -> list[str]:
    """The texts of a content, which is a text or a list of parts with texts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _with_texts(message: dict[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    content, rest = message["content"], iter(texts)
    if isinstance(content, str):
        return message | {"content": next(rest)}
    has_text = [isinstance(part, dict) and isinstance(part.get("text"), str) for part in content]
    parts = [part | {"text": next(rest)} if has else part for part, has in zip(content, has_text, strict=True)]
    return message | {"content": parts}


def _found(
    messages: Messages, marks: dict[int, str], text: str, render: Render, literals: Literals | None
) -> dict[int, Span]:
    """The spans of the marks; none if the text differs otherwise."""
    made = [*messages]
    for index, mark in marks.items():
        texts = _texts(made[index])
        masked = ["".join([STAND_IN if char in ESCAPED_IN_TWO else mark for char in one]) for one in texts]
        if literals is not None:
            masked = [_with_parts(one, other, literals(one)) for one, other in zip(texts, masked, strict=True)]
        made[index] = _with_texts(made[index], map(Masked.of, masked, texts))
    rendered = render(made)
    every = "".join(marks.values())
    if STAND_IN in text or not equal_but_for(text, rendered, f"{every}{STAND_IN}b"):
        return {}
    points = _code_points(rendered)
    spans = {}
    for index, mark in marks.items():
        at = np.flatnonzero(points == ord(mark))
        if not len(at):
            continue
        given, (start, end) = "".join(_texts(messages[index])), (int(at[0]), int(at[-1]) + 1)
        part, core, others = text[start:end], given.strip(), _code_points(every.replace(mark, ""))
        shown = "".join([text[place] for place in at]).casefold()
        marked = "".join([char for char in given if char not in ESCAPED_IN_TWO]).casefold()
        first = start - max(core.find(part), 0)
        last = first + len(core)
        if part in core and text[first:last] == core and not np.isin(points[first:last], others).any():
            start, end = first, last  # perhaps taken apart, and put together again
        elif (part not in core if literals else shown not in marked) or np.isin(points[start:end], others).any():
            continue
        before = len(given) - len(given.lstrip(ESCAPED_IN_TWO))
        after = len(given) - len(given.rstrip(ESCAPED_IN_TWO))
        spans[index] = _widened(text, rendered, start, -1, before), _widened(text, rendered, end, 1, after)
    return spans


def _with_parts(text: str, masked: str, parts: list[Span]) -> str:
    """The masks of a text, with some parts and all white space as they are."""
    kept = {at for part in parts for at in range(*part)}
    pairs = enumerate(zip(text, masked, strict=True))
    return "".join([char if at in kept or char.isspace() else mask for at, (char, mask) in pairs])


def _widened(text: str, rendered: str, at: int, step: int, most: int) -> int:
    """The edge, moved over at most so many stand-ins and escapes of them."""
    for _ in range(most):
        first = at - 1 if step < 0 else at
        escape = at - 2 if step < 0 else at
        if rendered[first : first + 1] == STAND_IN:
            at += step
        elif rendered[escape : escape + 2] == "\\b" and text[escape + 1] != "b":
            at += 2 * step
    return at
