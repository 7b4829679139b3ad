"""Texts whose characters are traced through a template, by other characters in their place."""
from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Masked",
    "change_texts",
    "code_points",
    "equal_but_for",
    "free_characters",
    "masking",
    "texts_in",
]

#: Characters that JSON or Python's ``repr`` escape; masks in their place would not be.
ESCAPED = frozenset("\"'\\\x7f")
#: Stands for a mask in UTF-8, where it has one byte.
HOLDER = "\x01"


class Masked(str):
    """A text for the output of a template, with masks in it, which the template's logic takes for another text.

    Both have the same length. A method that is not here works on the masks, and gives a plain str.

    Attributes:
        seen: The text that comparisons, searches, ``split`` and ``strip`` see.
    """

    __slots__ = ("seen",)
    seen: str

    @classmethod
    def of(cls, text: str, seen: str) -> Masked:
        """The text with masks, and the one that is seen."""
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


for _name in ("__eq__", "__ne__", "__lt__", "__contains__", "startswith", "endswith", "find", "index", "count"):
    setattr(Masked, _name, _seeing(getattr(str, _name)))
for _name in ("strip", "lstrip", "rstrip"):
    setattr(Masked, _name, _stripping(_name))


@lru_cache(maxsize=4096)
def _forms(char: str) -> frozenset[str]:
    cases = char + char.upper() + char.lower() + char.title()
    return frozenset({*unicodedata.normalize("NFKD", cases).casefold(), *cases.casefold()})


@lru_cache(maxsize=64)
def masking(char: str, literals: frozenset[str] | None) -> Callable[[str], str]:
    """A function that puts a mask in place of each character of a text that can become one of these literals', in
    another case or normal form; None stands for any. White space and what is escaped stays.
    """
    alphabet = {form for one in "".join(literals or ()) for form in _forms(one)}

    def is_masked(one: str) -> bool:
        may_become = literals is None or not alphabet.isdisjoint(_forms(one))
        return one > " " and one not in ESCAPED and not one.isspace() and may_become

    table = bytes([ord(HOLDER if code < 128 and is_masked(chr(code)) else chr(code)) for code in range(256)])

    def mask(text: str) -> str:
        held = HOLDER not in text
        found = text.encode("utf-8").translate(table).decode("utf-8") if held else text
        rest = {ord(one): char for one in {*found} if is_masked(one)} if not (held and text.isascii()) else {}
        found = found.translate(rest) if rest else found
        return found.replace(HOLDER, char) if held else found

    return mask


def free_characters(text: str) -> Iterator[str]:
    """Printable characters without case and normal forms that are not in a text: rare ideographs."""
    return (char for char in map(chr, range(0x20000, 0x2A6E0)) if char not in text)


def texts_in(values: Iterable[Any]) -> list[str]:
    """The texts in values of JSON, keys included."""
    found: list[str] = []
    waiting = [*values]
    if {*map(type, waiting)} == {str}:
        return waiting
    for one in waiting:  # which grows
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += one
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return found


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
    kind: Literal["sort"] | None = "sort" if len(chars) < 5 else None  # which compares with each, in place of a table
    return bool(((one == other) | np.isin(other, code_points(chars), kind=kind)).all())
