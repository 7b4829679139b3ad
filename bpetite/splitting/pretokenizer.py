"""Cutting text into pre-tokens: the compiled scanner if the pattern allows it, else `regex` itself."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Literal, TypeAlias, get_args

from .. import patterns
from ..patterns import Pattern, PatternLike, as_tuple
from .compile.scanner_tables import ScannerTables, shipped
from .scan._scan import Scanner

ScannerKind: TypeAlias = Literal["vector", "tables", "regex", "none", "words"]
Stage: TypeAlias = Callable[[str], Iterator[tuple[int, int]]]  # finds the matches of one regular expression


class Pretokenizer:
    """One split pattern, ready to cut.

    `scanner_kind` is "vector" or "tables" (the pattern is compiled), "words" (no pattern: cut where no merge joins),
    "regex" (`reason` says why the pattern is not compiled) or "none" (no pattern: the whole text is one pre-token). The
    first three have a `scanner`. `tables` belong to a compiled pattern.
    """

    def __init__(
        self,
        pattern: Pattern,
        scanner_kind: ScannerKind,
        scanner: Scanner | None = None,
        reason: str | None = None,
        tables: ScannerTables | None = None,
    ) -> None:
        self.pattern = pattern
        self.tables = tables
        self.scanner_kind = scanner_kind
        self.scanner = scanner
        self.reason = reason
        self.stages: tuple[Stage, ...] = ()
        if scanner_kind == "regex":
            import regex  # these two here, because a scanner does not need them

            from .pattern.regex_text import matches

            self.stages = tuple(partial(matches, regex.compile(stage)) for stage in as_tuple(pattern))

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
            for stage in self.stages:
                parts = [part for whole in parts for part in split_one(stage, whole)]
            return parts
        ends = self.scanner.ends(data)
        if len(data) == len(text):
            return [text[start:end] for start, end in zip([0, *ends], ends)]
        return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends)]

    def __repr__(self) -> str:
        return f"<Pretokenizer {self.scanner_kind} {self.pattern!r}>"


def split_one(stage: Stage, text: str) -> Iterator[str]:
    """The matches of one regular expression and the text between them."""
    at = 0
    for start, end in stage(text):
        if start > at:
            yield text[at:start]
        if end > start:
            yield text[start:end]
        at = end
    if at < len(text):
        yield text[at:]


def pretokenizer(pattern: Pattern = patterns.GPT2, *, scanner_kind: ScannerKind | None = None) -> Pretokenizer:
    """The pre-tokenizer of a pattern, compiled on its first use in a process; the fastest kind that the pattern allows
    unless one is named. ValueError if the pattern does not compile to this kind."""
    if not (pattern is None or isinstance(pattern, (str, tuple))) or not all(
        isinstance(stage, str) for stage in as_tuple(pattern)
    ):
        raise TypeError(f"a split pattern is a str, a tuple of str or None, not {pattern!r}")
    if scanner_kind not in (None, *get_args(ScannerKind)[:3]):
        raise ValueError(f"unknown scanner kind {scanner_kind!r}: it is 'vector', 'tables' or 'regex', or None for the "
                         "fastest")
    return build(pattern, scanner_kind)


@lru_cache(maxsize=64)
def build(pattern: Pattern, scanner_kind: ScannerKind | None) -> Pretokenizer:
    """:func:`pretokenizer`, with checked arguments."""
    stages = as_tuple(pattern)
    if not stages:
        return Pretokenizer(pattern, "none")
    tables = compiled(stages) if scanner_kind != "regex" else "asked for"
    if isinstance(tables, str):
        if scanner_kind not in (None, "regex"):
            raise ValueError(f"this pattern does not compile: {tables}")
        return Pretokenizer(pattern, "regex", reason=tables)
    kind: Literal["vector", "tables"] = "tables" if scanner_kind == "tables" else "vector"
    return Pretokenizer(pattern, kind, Scanner(kind, tables), tables=tables)


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
