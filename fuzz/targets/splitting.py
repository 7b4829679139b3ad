"""Split patterns against `regex`: what compiles cuts as `regex` does, what does not is refused with ValueError."""
from __future__ import annotations

import warnings

import regex

from bpetite import patterns, reference
from bpetite.splitting.pretokenizer import Pretokenizer, pretokenizer
from bpetite.splitting.scan._scan import Scanner

__all__ = ["WORDS", "one", "seeds"]

WORDS = tuple(word.encode() for word in (
    r"\p{L}", r"\p{N}", r"\p{Lu}", r"\P{L}", r"\p{", r"\p", r"\s", r"\S", r"\d", r"\w", r"\W", r"\r\n", r"\R", r"\b",
    "[", "]", "[^", "[:alpha:]", "[[:digit:]]", "-", "&&", "--", "||", "(?:", "(?i:", "(?!", "(?=", "(?<=", "(?>", ")",
    "|", "*", "+", "?", "*+", "++", "?+", "*?", "{1,3}", "{2}", "{,3}", "{", "}", ",", "^", "$", ".", "\\", r"\x41",
    r"\u00e9", r"\U0001F600", r"\N{DIGIT ONE}", r"\Q", "(?V1)", "(?x)", "(?s)", "(?-i:", "#", "'s", "\u017f", "s", "S",
    "K", "\u212a", "é", "的", "😀", "\x85", "\u2028", "\r", "\n", "\t", " ", "   ", "\0",
))  # fmt: skip


def one(data: bytes) -> None:
    """A pattern, a zero byte, a text."""
    head, _, tail = data[:400].partition(b"\0")
    try:
        pattern, text = head.decode(), tail.decode()
    except UnicodeDecodeError:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pretokenizer(pattern)
    except ValueError:
        return
    if found.scanner is None:
        return
    try:  # a pattern can make `regex` work for hours
        regex.compile(pattern).sub("", text, timeout=2)
    except TimeoutError:
        return
    expected = reference.split(text, pattern)
    for lanes in (64, 1):
        pieces = Pretokenizer(pattern, "vector", Scanner(found.tables, lanes=lanes)).split(text)
        if pieces != expected:
            raise AssertionError(f"{lanes} lanes: pattern {pattern!r}, text {text!r}: {pieces}, regex: {expected}")


def seeds() -> list[bytes]:
    text = "I'll go  \n\t to 12345 HelloWORLD's [a-b]: {x} \\p{L} été e\u0301 的的 \u017f😀\r\n\r\n  "
    listed = [
        *(pattern for pattern in patterns.NAMED.values() if isinstance(pattern, str)),
        r"[^\r\n\p{L}\p{N}]?\p{Lu}*\p{Ll}+|\p{N}{1,3}|\s+(?!\S)|\s+", r"\w+(?:'\w+)?|[^\w\s]", r"[A-Z]?[a-z]+|\d{2}|.",
        r"(?i:s|k)|[^bc]+", r"[ -\[]+|[[:alpha:]]+", r"ab(?:cd)?|x\d{2}|\s", "a{2,}+b?|.", r".{1,3}\n?\d|.|\n",
    ]  # fmt: skip
    return [f"{pattern}\0{text}".encode() for pattern in listed]
