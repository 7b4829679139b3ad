"""Parts of UTF-8 characters: which bytes of a token begin or end inside a character, and what completes it."""
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

_CONTINUATION = range(0x80, 0xC0)
_LEADS = {2: range(0xC2, 0xE0), 3: range(0xE0, 0xF0), 4: range(0xF0, 0xF5)}

#: Lead byte -> first and last second byte, where that is not all of 80..BF: overlong forms, surrogates, above U+10FFFF.
_SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}

#: The bytes that may precede a part, a range for each, and those that may follow it.
Frame = tuple[list[range], list[range]]


def _frames(part: bytes, before: bool, after: bool) -> Iterator[Frame]:
    for size, leads in _LEADS.items():
        missing = size - len(part)
        if missing < 1:
            continue
        if not before:
            if part[0] in leads:
                yield [], [_CONTINUATION] * missing
            continue
        for number in range(1 if after else missing, missing + 1):
            yield [leads] + [_CONTINUATION] * (number - 1), [_CONTINUATION] * (missing - number)


def characters_with(part: bytes, *, before: bool = False, after: bool = False) -> Iterator[bytes]:
    """The UTF-8 of every character that consists of a part and of bytes before it, after it, or on both sides."""
    for front, back in _frames(part, before, after):
        for filled in product(*front, *back):
            data = bytes(filled[: len(front)]) + part + bytes(filled[len(front) :])
            if is_character(data):
                yield data


def some_characters_with(part: bytes, most: int, *, before: bool = False, after: bool = False) -> list[bytes]:
    """At most ``most`` of these characters: all, or a random sample that is the same in every call."""
    found = list(islice(characters_with(part, before=before, after=after), most + 1))
    if len(found) <= most:
        return found
    draw = random.Random(0).choice
    frames = list(_frames(part, before, after))
    found.clear()
    while len(found) < most:
        front, back = draw(frames)
        data = bytes(map(draw, front)) + part + bytes(map(draw, back))
        if is_character(data):
            found.append(data)
    return found


def open_end(data: bytes) -> bytes | None:
    """The bytes at the end of some UTF-8 that begin a character without ending it; None if the data is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    rest = decoder.getstate()[0]
    if len(rest) > 1:  # the decoder refuses a surrogate only at its third byte
        low, high = _SECOND.get(rest[0], (0x80, 0xBF))
        if not low <= rest[1] <= high:
            return None
    return rest


def is_character(data: bytes) -> bool:
    """Whether bytes are the UTF-8 of one character."""
    try:
        return len(data.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


def head_of(token: bytes) -> bytes:
    """The continuation bytes at the start of a token: the end of a character that began before it."""
    return token[: len(token) - len(token.lstrip(bytes(_CONTINUATION)))]


def tail_of(token: bytes) -> bytes | None:
    """The bytes at a token's end that begin a character; all of it if it consists of continuation bytes.

    Empty when the token ends with a whole character; None when its bytes occur in no UTF-8.
    """
    head = head_of(token)
    if len(head) > 3:
        return None
    return token if len(head) == len(token) else open_end(token[len(head) :])


def split_part(token: bytes) -> tuple[bytes, str, bytes] | None:
    """A token as the end of a character, whole characters, and the beginning of one; None if no UTF-8 holds it."""
    head, tail = head_of(token), tail_of(token)
    if tail is None:
        return None
    if len(head) == len(token):
        return head, "", b""
    return head, token[len(head) : len(token) - len(tail)].decode("utf-8"), tail
