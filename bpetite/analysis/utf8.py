"""UTF-8 in parts: what a token holds that begins or ends inside a character, and what can complete it."""
from __future__ import annotations

import codecs
import random
from collections.abc import Iterator
from itertools import islice, product

__all__ = [
    "characters_with",
    "head_of",
    "is_character",
    "open_end",
    "some_characters_with",
    "split_part",
    "tail_of",
]

_FOLLOWING = range(0x80, 0xC0)
_LEADS = {2: range(0xC2, 0xE0), 3: range(0xE0, 0xF0), 4: range(0xF0, 0xF5)}


def _ways_to_fill(part: bytes, before: bool, behind: bool) -> Iterator[tuple[list[range], int]]:
    """What bytes make a character of a part of one: ranges to take one byte each from, and how many stand in front."""
    for size, leads in _LEADS.items():
        free = size - len(part)
        if free < 1 or (not before and part[0] not in leads):
            continue
        for front in range(1, free + 1) if before and behind else (free,) if before else (0,):
            yield [*[leads, *[_FOLLOWING] * 3][:front], *[_FOLLOWING] * (free - front)], front


def characters_with(part: bytes, *, before: bool = False, behind: bool = False) -> Iterator[bytes]:
    """The UTF-8 of every character that is a part of one and bytes before it, behind it, or on both sides."""
    for ranges, front in _ways_to_fill(part, before, behind):
        for filled in product(*ranges):
            data = bytes(filled[:front]) + part + bytes(filled[front:])
            if is_character(data):
                yield data


def some_characters_with(part: bytes, most: int, *, before: bool = False, behind: bool = False) -> list[bytes]:
    """All such characters, or, where there are more, so many of them drawn at random; always the same ones."""
    found = list(islice(characters_with(part, before=before, behind=behind), most + 1))
    if len(found) <= most:
        return found
    chance = random.Random(0)
    ways = list(_ways_to_fill(part, before, behind))
    found.clear()
    while len(found) < most:
        ranges, front = chance.choice(ways)
        filled = bytes(chance.choice(one) for one in ranges)
        data = filled[:front] + part + filled[front:]
        if is_character(data):
            found.append(data)
    return found


#: First byte -> what may follow it, where that is not all of 80..BF: overlong forms, surrogates, beyond U+10FFFF.
_SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


def open_end(data: bytes) -> bytes | None:
    """The bytes at the end of some UTF-8 that begin a character and do not end it; None if this is no UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    rest = decoder.getstate()[0]
    if len(rest) > 1:  # the decoder waits for a third byte before it refuses a surrogate
        low, high = _SECOND.get(rest[0], (0x80, 0xBF))
        if not low <= rest[1] <= high:
            return None
    return rest


def is_character(data: bytes) -> bool:
    try:
        return len(data.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


def head_of(token: bytes) -> bytes:
    """The continuation bytes that a token begins with: the end of a character that began before it."""
    at = 0
    while at < len(token) and 0x80 <= token[at] < 0xC0:
        at += 1
    return token[:at]


def tail_of(token: bytes) -> bytes | None:
    """The bytes at a token's end that begin a character, or all of it if it is only continuation bytes.

    Empty when the token ends with a whole character; None when its bytes are no part of UTF-8.
    """
    head = head_of(token)
    if len(head) > 3:
        return None
    return token if len(head) == len(token) else open_end(token[len(head) :])


def split_part(token: bytes) -> tuple[bytes, str, bytes] | None:
    """A token as the end of a character, whole characters, and the beginning of one; None if no UTF-8 holds it."""
    tail = tail_of(token)
    if tail is None:
        return None
    head = head_of(token)
    if len(head) == len(token):
        return head, "", b""
    return head, token[len(head) : len(token) - len(tail)].decode("utf-8"), tail
