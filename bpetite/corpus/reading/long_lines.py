"""JSON lines with a very long string in them, parsed in little memory.

A parser's str has up to four bytes a character, so a document of a gigabyte with one emoji would take four, beside the
line and its UTF-8. Here long strings are cut out of the line, the rest is parsed as it is, and the strings are
unescaped a window at a time.
"""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

__all__ = ["parse_long_line"]

#: Bytes of a string that is cut out, and of the windows in which it is unescaped.
WINDOW = 1 << 20

#: The longest thing that a window must not cut is a pair of escaped surrogates: 12 bytes.
LONGEST = 12


def parse_long_line(line: bytes, loads: Callable[[bytes], Any]) -> tuple[Any, dict[str, bytes]]:
    """Parse a line.

    Args:
        line: A JSON value in UTF-8.
        loads: A parser; it raises ValueError for what is not JSON.

    Returns:
        (the value, with another string in place of each long one; those strings -> the long ones in UTF-8).

    Raises:
        ValueError: The line is not JSON, or a string in it is not text.
    """
    kept: list[bytes] = []
    found: dict[str, bytes] = {}
    at = cut = 0
    while (start := line.find(b'"', at)) >= 0:
        stop = _end_of_string(line, start + 1)
        if stop - start > WINDOW:
            name = f"bpetite-{len(found)}"
            while name.encode() in line:
                name += "-"
            found[name] = _unescaped(line, start + 1, stop, loads)
            kept += [line[cut:start], b'"', name.encode(), b'"']
            cut = stop + 1
        at = stop + 1
    return loads(b"".join([*kept, line[cut:]])), found


def _end_of_string(line: bytes, at: int) -> int:
    """The offset of the quote that ends the string whose first byte is at an offset."""
    start = at
    while (quote := line.find(b'"', at)) >= 0:
        back = quote
        while back > start and line[back - 1] == 0x5C:
            back -= 1
        if (quote - back) % 2 == 0:
            return quote
        at = quote + 1
    raise ValueError("a string without an end")


def _unescaped(line: bytes, at: int, stop: int, loads: Callable[[bytes], Any]) -> bytes:
    out = io.BytesIO()
    while at < stop:
        longest = min(at + WINDOW, stop)
        for upto in range(longest, max(at, longest - LONGEST), -1):
            try:
                out.write(loads(b'"%b"' % line[at:upto]).encode())
            except ValueError:
                continue  # perhaps only because the window ends inside of a character or of an escape
            at = upto
            break
        else:
            raise ValueError("a string that is not text")
    return out.getvalue()
