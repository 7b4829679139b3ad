"""Cutting text into pre-tokens: the compiled scanner if the pattern allows it, else `regex` itself."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Literal, TypeAlias

from .. import patterns
from ..patterns import Pattern, PatternLike, as_tuple
from .compile.scanner_tables import ScannerTables, shipped
from .scan._scan import Scanner

ScannerName: TypeAlias = Literal["vector", "regex", "none", "words"]
Matcher: TypeAlias = Callable[[str], Iterator[tuple[int, int]]]  # finds the matches of one regular expression


class Pretokenizer:
    """One split pattern, ready to cut.

    `scanner_name` is "vector" (the pattern is compiled, and has `tables`), "words" (no pattern: cut where no merge
    joins), "regex" (the pattern cannot be compiled) or "none" (no pattern: the whole text is one pre-token). The first
    two have a `scanner`.
    """

    def __init__(
        self,
        pattern: Pattern,
        scanner_name: ScannerName,
        scanner: Scanner | None = None,
        tables: ScannerTables | None = None,
    ) -> None:
        self.pattern = pattern
        self.scanner_name = scanner_name
        self.scanner = scanner
        self.tables = tables
        self.matchers: tuple[Matcher, ...] = ()
        if scanner_name == "regex":
            import regex  # these two here, because a scanner does not need them

            from .pattern.regex_text import matches

            self.matchers = tuple(partial(matches, regex.compile(one)) for one in as_tuple(pattern))

    def ends(self, data: bytes) -> array[int]:
        """The ends of the pre-tokens of `data` in bytes, ascending, the last one at its length.

        Raises `UnicodeDecodeError` when `data` is not UTF-8.
        """
        if self.scanner is not None:
            if not data.isascii():
                data.decode("utf-8")
            found: array[int] = self.scanner.ends(data)
            return found
        text = data.decode("utf-8")
        ends = array("q")
        at = 0
        for pretoken in self.split(text):
            at += len(pretoken.encode("utf-8"))
            ends.append(at)
        return ends

    def split(self, text: str) -> list[str]:
        """The pre-tokens of `text`, in order; joined they give the text.

        Raises `UnicodeEncodeError` for a lone surrogate.
        """
        data = text.encode("utf-8")  # raises for a lone surrogate, with a scanner or without
        if self.scanner is None:
            parts = [text] if text else []
            for matcher in self.matchers:
                parts = [part for whole in parts for part in split_one(matcher, whole)]
            return parts
        ends = self.scanner.ends(data)
        if len(data) == len(text):
            return [text[start:end] for start, end in zip([0, *ends], ends)]
        return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends)]

    def __repr__(self) -> str:
        return f"<Pretokenizer {self.scanner_name} {self.pattern!r}>"


def split_one(matcher: Matcher, text: str) -> Iterator[str]:
    """The matches of one regular expression and the text between them."""
    at = 0
    for start, end in matcher(text):
        if start > at:
            yield text[at:start]
        if end > start:
            yield text[start:end]
        at = end
    if at < len(text):
        yield text[at:]


@lru_cache(maxsize=64)
def pretokenizer(pattern: Pattern = patterns.GPT2) -> Pretokenizer:
    """The pre-tokenizer of a pattern, compiled on its first use in a process if it can be compiled."""
    if not (pattern is None or isinstance(pattern, (str, tuple))) or not patterns.is_plain(pattern):
        raise TypeError(f"a split pattern is a str, a tuple of str or None, not {pattern!r}")
    if pattern in (None, ()):
        return Pretokenizer(pattern, "none")
    tables = compiled(as_tuple(pattern))
    if isinstance(tables, str):
        return Pretokenizer(pattern, "regex")
    return Pretokenizer(pattern, "vector", Scanner(tables), tables)


@lru_cache(maxsize=64)
def compiled(stages: tuple[str, ...]) -> ScannerTables | str:
    """The tables of a scanner for regular expressions, each inside the parts of the one before; or the reason why they
    cannot be compiled. ValueError if one is no regular expression."""
    if tables := shipped(stages):
        return tables
    from .compile.compile_pattern import compile_pattern  # here: few patterns need these
    from .pattern.char_classes import NoTransducer
    from .pattern.regex_parser import UnsupportedPattern, compile_regex

    for stage in stages:
        if stage not in patterns.STAGES:
            compile_regex(stage)
    try:
        return compile_pattern(stages)
    except (UnsupportedPattern, NoTransducer) as error:
        return str(error)


def pretokenize(text: str, pattern: PatternLike = patterns.GPT2) -> Iterator[str]:
    """Yield the pre-tokens of `text`. For the arguments see :class:`bpetite.Tokenizer`.

    >>> list(pretokenize("Hello world's end"))
    ['Hello', ' world', "'s", ' end']
    """
    return iter(pretokenizer(patterns.resolve(pattern)).split(text))
