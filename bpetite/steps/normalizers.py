"""Rewriting text before it is split: Unicode normalization, and the two rewritings that tokenizer.json adds to it."""
from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import regex

__all__ = ["FORMS", "Normalization", "Prepend", "Replace", "normalizer"]

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@dataclass(frozen=True)
class Prepend:
    """Put a text in front of a text that is not empty."""

    text: str


@dataclass(frozen=True)
class Replace:
    """Replace every match of a regular expression by a text, taken literally."""

    pattern: str
    content: str


Normalization = str | Prepend | Replace | tuple[str | Prepend | Replace, ...] | None


def rewritings(normalization: Normalization) -> tuple[str | Prepend | Replace, ...]:
    """The rewritings of a normalization, in order."""
    if normalization is None:
        return ()
    return normalization if isinstance(normalization, tuple) else (normalization,)


def check(normalization: Any) -> None:
    """Raise ValueError unless this is a normalization."""
    for one in rewritings(normalization):
        if isinstance(one, Replace):
            try:
                regex.compile(one.pattern)
            except regex.error as bad:
                raise ValueError(f"normalization {one!r}: {bad}") from None
        elif not isinstance(one, Prepend) and one not in FORMS:
            raise ValueError(f"normalization {one!r} is not one of {', '.join(FORMS)} or None")


def normalizer(normalization: Normalization) -> Callable[[str], str] | None:
    """What applies a normalization to a text; None where there is nothing to do.

    >>> normalizer((Prepend("_"), Replace(" ", "_")))("a b")
    '_a_b'
    """
    found = [_function(one) for one in rewritings(normalization)]
    if not found:
        return None
    return found[0] if len(found) == 1 else partial(_all, tuple(found))


def _function(one: str | Prepend | Replace) -> Callable[[str], str]:
    if isinstance(one, Prepend):
        return partial(_prepend, one.text)
    if isinstance(one, Replace):
        return partial(regex.compile(one.pattern).sub, lambda _: one.content)
    return partial(unicodedata.normalize, one)  # type: ignore[arg-type]


def _prepend(prefix: str, text: str) -> str:
    return prefix + text if text else text


def _all(functions: tuple[Callable[[str], str], ...], text: str) -> str:
    for function in functions:
        text = function(text)
    return text


def to_json(normalization: Normalization) -> Any:
    """A normalization as a JSON value."""
    if normalization is None or isinstance(normalization, str):
        return normalization
    made: list[Any] = []
    for one in rewritings(normalization):
        if isinstance(one, Prepend):
            made.append({"prepend": one.text})
        elif isinstance(one, Replace):
            made.append({"replace": one.pattern, "content": one.content})
        else:
            made.append(one)
    return made


def from_json(found: Any) -> Normalization:
    """The normalization that :func:`to_json` wrote.

    Raises:
        ValueError: A value that it never writes.
    """
    if not isinstance(found, list):
        if found is not None and not isinstance(found, str):
            raise ValueError(f"normalization must be a string, an array or null, not {found!r}")
        return found
    made: list[str | Prepend | Replace] = []
    for one in found:
        if isinstance(one, str):
            made.append(one)
        elif isinstance(one, dict) and all(isinstance(value, str) for value in one.values()):
            if one.keys() == {"prepend"}:
                made.append(Prepend(one["prepend"]))
                continue
            if one.keys() == {"replace", "content"}:
                made.append(Replace(one["replace"], one["content"]))
                continue
            raise ValueError(f"normalization has the unknown step {one!r}")
        else:
            raise ValueError(f"normalization has the unknown step {one!r}")
    return tuple(made)
