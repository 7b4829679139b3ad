"""Cutting text into pre-tokens: the compiled scanner where the pattern allows it, `regex` itself where not."""
from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from .. import patterns
from ..patterns import Pattern
from ._scan import Scanner

if TYPE_CHECKING:
    import regex

    from .scanner_tables import ScannerTables

__all__ = ["Pretokenizer", "pretokenize", "pretokenizer"]

PATHS = (None, "vector", "tables", "regex")


class Pretokenizer:
    """One split pattern, ready to cut.

    `kind` says how it cuts: "vector" or "tables" (compiled, `scanner` is set), "regex" (the pattern is outside the
    compiled subset, `reason` says why) or "none" (no pattern: the whole text is one pre-token).
    """

    def __init__(self, pattern: Pattern, kind: str, scanner: Scanner | None, reason: str | None) -> None:
        self.pattern = pattern
        self.kind = kind
        self.scanner = scanner
        self.reason = reason
        self.stages: tuple[regex.Pattern[str], ...] = ()
        if kind == "regex":
            import regex  # not at the top: a scanner does without it

            self.stages = tuple(map(regex.compile, stages_of(pattern)))

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
        data = text.encode("utf-8")  # raises where there is a lone surrogate, which no path could encode
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
        return f"<Pretokenizer {self.kind} {self.pattern!r}>"


def split_one(stage: regex.Pattern[str], text: str) -> Iterator[str]:
    """Matches of one regular expression and what lies between them."""
    at = 0
    for match in stage.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        if match.end() > match.start():
            yield match.group()
        at = match.end()
    if at < len(text):
        yield text[at:]


def stages_of(pattern: Pattern) -> tuple[str, ...]:
    if pattern is None:
        return ()
    return (pattern,) if isinstance(pattern, str) else pattern


#: Patterns that need no check: `regex` knows them to be regular expressions.
KNOWN = frozenset(stage for pattern in patterns.NAMED.values() for stage in stages_of(pattern))


def pretokenizer(pattern: Pattern = patterns.GPT2, *, path: str | None = None) -> Pretokenizer:
    """The pre-tokenizer of a pattern, compiled the first time it is asked for in a process.

    `path` asks for one way of cutting ("vector", "tables" or "regex") and raises `ValueError` where the pattern or the
    machine does not allow it; by default the fastest is taken.
    """
    if not (pattern is None or isinstance(pattern, (str, tuple))) or not all(
        isinstance(stage, str) for stage in stages_of(pattern)
    ):
        raise TypeError(f"a split pattern is a str, a tuple of str or None, not {pattern!r}")
    if path not in PATHS:
        raise ValueError(f"unknown path {path!r}: it is one of 'vector', 'tables', 'regex', or None for the fastest")
    return build(pattern, path)


@lru_cache(maxsize=64)
def build(pattern: Pattern, path: str | None) -> Pretokenizer:
    stages = stages_of(pattern)
    if not stages:
        return Pretokenizer(pattern, "none", None, None)
    from .scanner_tables import NoTransducer, UnsupportedPattern, check  # not at the top: what is compiled needs none

    for stage in stages:
        if stage not in KNOWN:
            check(stage)
    if path == "regex":
        return Pretokenizer(pattern, "regex", None, "asked for")
    try:
        tables = compiled(stages)
    except (UnsupportedPattern, NoTransducer) as error:
        if path is not None:
            raise ValueError(f"this pattern does not compile: {error}") from error
        return Pretokenizer(pattern, "regex", None, str(error))
    kind = path or "vector"
    return Pretokenizer(pattern, kind, Scanner(kind, tables), None)


@lru_cache(maxsize=64)
def compiled(stages: tuple[str, ...]) -> ScannerTables:
    from .scanner_tables import compile_pattern

    return compile_pattern(stages)


def pretokenize(text: str, pattern: Pattern = patterns.GPT2) -> Iterator[str]:
    """Yield the pre-tokens of `text`.

    >>> list(pretokenize("Hello world's end"))
    ['Hello', ' world', "'s", ' end']
    """
    return iter(pretokenizer(pattern).split(text))
