"""Ids and merges of tokens spelled in a printable form, as vocab.json, merges.txt and JSON files have them."""
from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from ..errors import FormatError
from .files import show

__all__ = ["check_ids", "merge_pairs", "same_id"]


def check_ids(found: Any, name: str, place: str) -> dict[str, int]:
    """``found`` if it is a JSON object of ids, no id twice; FormatError naming the place if not."""
    if not isinstance(found, dict):
        raise FormatError(f"{name}: {place} must be a JSON object, not {show(found)}")
    if set(map(type, found.values())) - {int}:
        key, value = next(item for item in found.items() if type(item[1]) is not int)
        raise FormatError(f"{name}: {place}: the id of {show(key)} must be an integer, not {show(value)}")
    if len(set(found.values())) != len(found):
        raise FormatError(f"{name}: {place}: {same_id(found)}")
    return found


def same_id(ids: dict[str, int]) -> str:
    """Which two tokens have the same id, in words."""
    first: dict[int, str] = {}
    for key, token_id in ids.items():
        if first.setdefault(token_id, key) != key:
            return f"{show(first[token_id])} and {show(key)} have the same id {token_id}"
    return "an id occurs twice"


def merge_pairs(
    found: Any, ids: dict[str, int], name: str, place: Callable[[int], str] = "merge {}".format
) -> tuple[tuple[int, int], ...]:
    """The ids of merges that are spelled as two tokens with a space between.

    Args:
        found: The merges as they were read.
        ids: spelled token -> id.
        name: The file, for error messages.
        place: What to call merge number n in error messages.
    """
    if not isinstance(found, list):
        raise FormatError(f"{name}: merges must be a JSON array, not {show(found)}")
    try:
        if set(map(str.count, found, repeat(" "))) <= {1}:
            # all at once: a list of two for each line is what takes the time otherwise
            parts = map(ids.__getitem__, " ".join(found).split(" ") if found else ())
            return tuple(zip(parts, parts, strict=True))
    except (TypeError, KeyError):
        pass
    for rank, line in enumerate(found):
        if not isinstance(line, str) or line.count(" ") != 1:
            raise FormatError(f"{name}: {place(rank)} must be two tokens with one space between, not {show(line)}")
        for part in line.split(" "):
            if part not in ids:
                raise FormatError(f"{name}: {place(rank)} {show(line)}: {show(part)} is not in the vocabulary")
    raise AssertionError("unreachable: some merge failed above")
