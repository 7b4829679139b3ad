"""Cutting text into pre-tokens: the compiled scanner where the pattern allows it, `regex` itself where not."""
from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from .. import patterns
from ..patterns import Pattern, PatternLike, as_tuple
from ._scan import Scanner

if TYPE_CHECKING:
    import regex

    from .scanner_tables import ScannerTables

__all__ = ["Pretokenizer", "ScannerKind", "pretokenize", "pretokenizer"]

ScannerKind: TypeAlias = Literal["vector", "tables", "regex", "none"]


class Pretokenizer:
    """One split pattern, ready to cut.

    `scanner_kind` says how it cuts: "vector" or "tables" (compiled, `scanner` is set), "regex" (`reason` says why the
    pattern is not compiled) or "none" (no pattern: the whole text is one pre-token).
    """

    def __init__(
        self, pattern: Pattern, scanner_kind: ScannerKind, scanner: Scanner | None = None, reason: str | None = None
    ) -> None:
        self.pattern = pattern
        self.scanner_kind = scanner_kind
        self.scanner = scanner
        self.reason = reason
        self.stages: tuple[regex.Pattern[str], ...] = ()
        if scanner_kind == "regex":
            import regex  # here, because a scanner does not need it

            self.stages = tuple(map(regex.compile, as_tuple(pattern)))

    def ends(self, data: bytes) -> array[int]:
        """The ends of the pre-tokens of `data` in bytes, ascending, the last one at its length.

        Raises `UnicodeDecodeError` when `data` is not UTF-8.
        """
        if self.scanner is not None:
            if not data.isascii():
                data.decode("utf-8")
            return self.scanner.ends(data)
        text = data.decode("utf-8")
        ends = array("q")
        at = 0
        for piece in self.split(text):
            at += len(piece.encode("utf-8"))
            ends.append(at)
        return ends

    def split(self, text: str) -> list[str]:
        """The pre-tokens of `text`, in order; joined they give the text.

        Raises `UnicodeEncodeError` for a lone surrogate.
        """
        data = text.encode("utf-8")  # raises for a lone surrogate, with a scanner or without
        if self.scanner is None:
            pieces = [text] if text else []
            for stage in self.stages:
                pieces = [part for piece in pieces for part in split_one(stage, piece)]
            return pieces
        ends = self.scanner.ends(data)
        if len(data) == len(text):
            return [text[start:end] for start, end in zip([0, *ends], ends)]
        return [data[start:end].decode("utf-8") for start, end in zip([0, *ends], ends)]

    def __repr__(self) -> str:
        return f"<Pretokenizer {self.scanner_kind} {self.pattern!r}>"


def split_one(stage: regex.Pattern[str], text: str) -> Iterator[str]:
    """The matches of one regular expression and the text between them."""
    at = 0
    for match in stage.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        if match.end() > match.start():
            yield match.group()
        at = match.end()
    if at < len(text):
        yield text[at:]


def pretokenizer(pattern: Pattern = patterns.GPT2, *, scanner_kind: ScannerKind | None = None) -> Pretokenizer:
    """The pre-tokenizer of a pattern, compiled on its first use in a process.

    `scanner_kind` asks for "vector", "tables" or "regex"; ValueError if the pattern does not compile to it. By default
    the fastest is taken. ValueError, with the position, if it is not a regular expression.
    """
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
    stages = as_tuple(pattern)
    if not stages:
        return Pretokenizer(pattern, "none")
    from .compile_regex import compile_regex  # here: they import `regex`, slowly
    from .scanner_tables import NoTransducer, UnsupportedPattern

    for stage in stages:
        if stage not in patterns.STAGES:
            compile_regex(stage)
    if scanner_kind == "regex":
        return Pretokenizer(pattern, "regex", reason="asked for")
    try:
        tables = compiled(stages)
    except (UnsupportedPattern, NoTransducer) as error:
        if scanner_kind is not None:
            raise ValueError(f"this pattern does not compile: {error}") from error
        return Pretokenizer(pattern, "regex", reason=str(error))
    kind: Literal["vector", "tables"] = "tables" if scanner_kind == "tables" else "vector"
    return Pretokenizer(pattern, kind, Scanner(kind, tables))


@lru_cache(maxsize=64)
def compiled(stages: tuple[str, ...]) -> ScannerTables:
    from .scanner_tables import compile_pattern

    return compile_pattern(stages)


def pretokenize(text: str, pattern: PatternLike = patterns.GPT2) -> Iterator[str]:
    """Yield the pre-tokens of `text`. The pattern may be a name or compiled, see :func:`bpetite.patterns.resolve`.

    >>> list(pretokenize("Hello world's end"))
    ['Hello', ' world', "'s", ' end']
    """
    return iter(pretokenizer(patterns.resolve(pattern)).split(text))
