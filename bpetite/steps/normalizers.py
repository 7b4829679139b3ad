"""Rewriting text before it is split: Unicode normalization, and two more steps that tokenizer.json has."""
from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import regex

from ..patterns import as_tuple
from ..splitting.compile_regex import compile_regex
from . import sequences

__all__ = ["FORMS", "Normalization", "Prepend", "Replace", "normalizer"]

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@dataclass(frozen=True)
class Prepend:
    """Put `text` before a text that is not empty."""

    text: str


@dataclass(frozen=True)
class Replace:
    """Replace every match of a regular expression by `content`, taken literally."""

    pattern: str
    content: str


FIELDS: sequences.StepFields = {Prepend: {"prepend": str}, Replace: {"replace": str, "content": str}}
Normalization = str | Prepend | Replace | tuple[str | Prepend | Replace, ...] | None


def check(normalization: Any) -> None:
    """Raise ValueError unless this is a normalization."""
    for one in as_tuple(normalization):
        if isinstance(one, Replace):
            compile_regex(one.pattern, f"normalization {one!r}: pattern")
        elif not isinstance(one, Prepend) and one not in FORMS:
            raise ValueError(f"normalization {one!r} is not one of {', '.join(FORMS)} or None")


def normalizer(normalization: Normalization) -> Callable[[str], str] | None:
    """The function that applies a normalization to a text, or None if there is nothing to do.

    >>> normalizer((Prepend("_"), Replace(" ", "_")))("a b")
    '_a_b'
    """
    functions = [_function(step) for step in as_tuple(normalization)]
    if len(functions) < 2:
        return functions[0] if functions else None

    def apply(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return apply


def _function(step: str | Prepend | Replace) -> Callable[[str], str]:
    if isinstance(step, Prepend):
        return lambda text: step.text + text if text else text
    if isinstance(step, Replace):
        return partial(regex.compile(step.pattern).sub, lambda _: step.content)
    return partial(unicodedata.normalize, step)  # type: ignore[arg-type]


def to_json(normalization: Normalization) -> Any:
    """A normalization as a JSON value."""
    return sequences.to_json(normalization, FIELDS)


def from_json(found: Any) -> Normalization:
    """The normalization that :func:`to_json` wrote. Raises ValueError for a value that it never writes."""
    return sequences.from_json(found, "normalization", FIELDS)  # type: ignore[no-any-return]
