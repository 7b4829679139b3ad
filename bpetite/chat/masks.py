"""Masks: characters put in place of a text's characters, to trace them through a template."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Types of values that a template sees as they are.
SCALARS = frozenset((str, int, float, bool))
#: Characters that JSON or Python's ``repr`` escape; masks in their place would not be.
ESCAPED = frozenset("\"'\\\x7f")
QUOTE = '"'
#: The number of characters whose masks a table remembers.
TABLE_SIZE = 4096


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
    """A method that changes case. A mask is repeated if the character that it masks becomes several."""

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
            if len(self) < TABLE_SIZE:
                self[code] = found
            return found

    table = Table()
    return lambda text: (text.replace(QUOTE, "\\") if QUOTE in spelled else text).translate(table)


def free_characters(text: str, first: str = "") -> Iterator[str]:
    """Printable characters that a text does not have, without case and other normal forms: those in `first`, then rare
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


def code_points(text: str) -> NDArray[np.uint32]:
    """uint32[len(text)]; UnicodeEncodeError for a lone surrogate."""
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def equal_but_for(text: str, masked: str, chars: str) -> bool:
    """True if two texts are equal but for masks in the second one."""
    if len(text) != len(masked):
        return False
    one, other = code_points(text), code_points(masked)
    return bool(np.isin(other[one != other], code_points(chars)).all())
