"""Inputs made from inputs: for runs without a fuzzer that follows coverage.

Bytes are flipped, cut, doubled, moved and replaced by words of the format; two inputs are spliced; and of an input that
is JSON, or has a part that is, values are exchanged, so that the result is JSON as often as not.
"""
from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

__all__ = ["mutate"]

NUMBERS = (0, 1, 2, 127, 128, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**32, 10**400, 0.5, float("inf"), "", "a", "\ud800", "\0", "Ġ", "\U0001f600",
    "x" * 3000, [], {}, [[]], {"a": {}}, "Sequence", "ByteLevel", "Split", "NFC",
)  # fmt: skip


def mutate(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    """A changed copy.

    Args:
        data: The input.
        others: More of its kind, to splice with.
        words: Stretches that the format knows.
        source: Where chance comes from.
    """
    for _ in range(source.choice((1, 1, 1, 2, 3, 6))):
        if source.random() < 0.5 and (changed := _json(data, source)) is not None:
            data = changed
        else:
            data = source.choice(_BYTES)(data, others, words, source)
    return data


def _range(data: bytes, source: random.Random) -> tuple[int, int]:
    start = source.randrange(len(data) + 1)
    return start, min(len(data), start + source.choice((1, 2, 4, 8, 30, source.randrange(len(data) + 1))))


def _flip(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    if not data:
        return source.randbytes(4)
    at = source.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]


def _byte(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    at = source.randrange(len(data) + 1)
    return data[:at] + source.choice((b"\0", b"\xff", b"\x7f", source.randbytes(1))) + data[at + source.randrange(2) :]


def _delete(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    start, stop = _range(data, source)
    return data[:start] + data[stop:]


def _double(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    start, stop = _range(data, source)
    return data[:stop] + data[start:stop] * source.choice((1, 1, 2, 9)) + data[stop:]


def _word(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    start, stop = _range(data, source)
    word = source.choice(words) if words else source.randbytes(3)
    return data[:start] + word + data[source.choice((start, stop)) :]


def _number(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    number = source.choice(NUMBERS)
    if source.random() < 0.3:
        written = str(number).encode()
    else:
        size = source.choice((1, 2, 4, 8))
        written = (number % 256**size).to_bytes(size, "little")
    at = source.randrange(len(data) + 1)
    return data[:at] + written + data[at + len(written) :]


def _splice(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    start, stop = _range(data, source)
    other = source.choice(others)
    first, last = _range(other, source)
    return data[:start] + other[first:last] + data[stop:]


def _cut(data: bytes, others: Sequence[bytes], words: Sequence[bytes], source: random.Random) -> bytes:
    return data[: source.randrange(len(data) + 1)]


_BYTES = (_flip, _flip, _byte, _byte, _delete, _double, _word, _word, _number, _splice, _cut)


def _json(data: bytes, source: random.Random) -> bytes | None:
    """The same with a value of its JSON changed; None if no part up to a zero byte, and no line, is JSON."""
    for end in (b"\0", b"\n"):
        parts = data.split(end)
        at = source.randrange(len(parts))
        try:
            value = json.loads(parts[at])
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list | dict):
            changed = json.dumps(_changed(value, source), ensure_ascii=source.random() < 0.5)
            parts[at] = changed.encode("utf-8", "surrogatepass")
            return end.join(parts)
    return None


def _changed(value: Any, source: random.Random) -> Any:
    """A JSON value in which something is replaced, left out, doubled, renamed or moved."""
    if not isinstance(value, list | dict) or not value or source.random() < 0.1:
        return source.choice(VALUES)
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    at = source.randrange(len(items))
    key, held = items[at]
    what = source.randrange(8)
    if what == 0:
        del items[at]
    elif what == 1:
        items.append((source.choice(VALUES), held) if isinstance(value, dict) else (key, held))
    elif what == 2:
        items[at] = (source.choice([other for other, _ in items]), held)
    elif what == 3:
        items[at] = (key, source.choice(items)[1])
    else:
        items[at] = (key, _changed(held, source))
    return {str(name): one for name, one in items} if isinstance(value, dict) else [one for _, one in items]
