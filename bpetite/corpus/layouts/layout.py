"""The interface of a layout of token files, and a shard as its layout sees it.

A growing shard is a file of tokens and, where the layout needs them, one of document lengths (int64) and one of record
ids (JSON lines, see `meta_line`). They only grow at the end, so an interrupted run truncates them to a known size. The
files of the layout are made from them as streams, in a few megabytes of memory.
"""
from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...errors import FormatError
from ..read.stores import ANEW, AnyPath

#: Document lengths that are in memory at a time when an index is written.
LENGTHS = 1 << 17


@dataclass
class OpenShard:
    """A shard by its files that grow, and their numbers of tokens and documents."""

    base: Path  # of the final files, without a suffix
    dtype: np.dtype[Any]
    tokenizer: str = "tokenizer"
    tokens: int = 0
    documents: int = 0

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """The lengths of the documents, up to `LENGTHS` at a time."""
        with Path(f"{self.base}.lengths").open("rb") as file:
            while len(lengths := np.fromfile(file, "<i8", LENGTHS)):
                yield lengths

    def ends(self) -> Iterator[npt.NDArray[np.int64]]:
        total = 0
        for lengths in self.lengths():
            ends = np.cumsum(lengths) + total
            total = int(ends[-1])
            yield ends

    def meta(self) -> Iterator[list[Any]]:
        """[id, source, number of the record in it] of each document."""
        number = 0
        with Path(f"{self.base}.meta").open("rb") as file:
            for line in file:
                try:
                    name, source, record = json.loads(line)
                except (ValueError, TypeError, RecursionError):
                    break
                yield [name, source, record]
                number += 1
        raise FormatError(f"{self.base}.meta: damaged at line {number + 1}; {ANEW}")


class Layout:
    """The token files of one format, as they are written."""

    name: str  # the ``format``
    suffix: str  # of the file of tokens
    others: tuple[str, ...] = ()  # suffixes of the other final files
    header: int = 0  # bytes before the tokens
    eot: str = "append"
    fills_shards: bool = False  # documents may cross shards, which are full
    lengths: bool = False  # document lengths are kept
    meta: bool = False  # record ids are kept
    numbered: bool = False  # a single shard has a number, too
    dtypes: tuple[str, ...] = ("uint16", "uint32")
    spooled: bool = False  # the file of tokens is no final file
    keeps_whole: bool = False  # documents are held whole
    joins: bool = True  # several shards can be made one
    eot_of_empty: bool = True  # an empty document has one, too
    shard_tokens: int | None = None
    most_tokens: int = 2**63 - 1
    longest: int = 2**63 - 1  # tokens of a document
    reader: str | None = None  # where this package has none

    def require(self) -> None:
        """Raises MissingExtraError if a package is missing: before a run, not at its end."""

    def dtype(self, vocab_size: int, wanted: str = "auto") -> str:
        """The type of the tokens by the rule of the target."""
        chosen = self.auto(vocab_size) if wanted == "auto" else wanted
        if chosen not in self.dtypes:
            raise ValueError(f"format={self.name!r} has no {chosen} tokens, only {' and '.join(self.dtypes)}")
        highest = int(np.iinfo(chosen).max)
        if vocab_size - 1 > highest:
            advice = f"; use dtype={self.dtypes[-1]!r}"
            if self.dtypes[-1] == chosen:
                advice = "; nanoGPT reads uint16 only, other formats hold larger ids" if self.name == "nanogpt" else ""
            raise ValueError(f"ids up to {vocab_size - 1} do not fit {chosen} (up to {highest}){advice}")
        return chosen

    def auto(self, vocab_size: int) -> str:
        return self.dtypes[0] if vocab_size <= 65536 else self.dtypes[-1]

    def least_tail(self, shard_tokens: int) -> int:
        """The fewest tokens that the last shard may have, unless it is the only one."""
        return 1

    def check_shards(self, shard_tokens: int | None) -> None:
        """Raises ValueError if shards of this size would have more tokens than a file can: before a run, not in it."""
        if shard_tokens is not None and shard_tokens + self.least_tail(shard_tokens) - 1 > self.most_tokens:
            largest = self.most_tokens + 1 - self.least_tail(self.most_tokens)
            raise ValueError(f"shard_tokens {shard_tokens} is too many for a file of format={self.name!r}; "
                             f"at most {largest}")

    def check_meta(self, name: str | None, source: str) -> None:
        """Raises ValueError for an id of a record, or a path of an input, that the files cannot hold."""

    def outputs(self, base: Path) -> list[Path]:
        """The final files of a shard, starting with the file of tokens."""
        return [Path(f"{base}{suffix}") for suffix in (self.suffix, *self.others)]

    def growing(self, base: Path) -> list[Path]:
        """The files that grow: of tokens, and of lengths and ids where they are kept."""
        tokens = f"{self.outputs(base)[0]}{'.tokens' if self.spooled else ''}"
        kept = [(tokens, True), (f"{base}.lengths", self.lengths), (f"{base}.meta", self.meta)]
        return [Path(path) for path, is_kept in kept if is_kept]

    def head(self, shard: OpenShard) -> bytes:
        """The header of the file of tokens, which has the number of tokens in it."""
        return b""

    def index(self, shard: OpenShard, path: Path, file: BinaryIO) -> None:
        """Write one of the final files other than the file of tokens; of a `spooled` layout, that one."""
        raise NotImplementedError(path)

    def lengths_in(self, paths: Sequence[AnyPath]) -> Iterator[npt.NDArray[np.int64]]:
        """The lengths of the documents of a finished shard, where the layout keeps them."""
        raise NotImplementedError

    def meta_in(self, paths: Sequence[AnyPath]) -> Iterator[list[Any]]:
        """[id, source, number of the record in it] of each document, where the layout keeps them."""
        raise NotImplementedError


#: A source as JSON, which is the same for many lines.
_quoted = lru_cache(16)(json.dumps)


def meta_line(record_id: str | None, source: str, number: int) -> bytes:
    """A line of the file of record ids: id, path of the input, number of the record in it.

    >>> meta_line("a", "x.jsonl", 3)
    b'["a", "x.jsonl", 3]\\n'
    """
    # a string is encoded at once; a list takes Python's encoder, which takes as long as the tokens of a short document
    name = "null" if record_id is None else json.dumps(record_id)
    return f"[{name}, {_quoted(source)}, {number}]\n".encode()


def gzip_file(file: BinaryIO) -> gzip.GzipFile:
    """Write gzip without a name and a time in its header, so that equal contents are equal files."""
    return gzip.GzipFile("", "wb", 6, file, mtime=0)


def group_by_tokens(
    lengths: npt.NDArray[np.int64], tokens: int, documents: int, limit: int | None
) -> Iterator[tuple[int, int, bool]]:
    """Shards of whole documents: each takes as many as fit into ``limit`` tokens, and at least one. ``tokens`` and
    ``documents`` are in the open shard already. Yields (documents that go into it, their tokens, whether the next shard
    is opened after them).

    >>> list(group_by_tokens(np.array([3, 4, 9, 1]), 2, 1, 6))
    [(1, 3, True), (1, 4, True), (1, 9, True), (1, 1, False)]
    """
    ends = np.cumsum(lengths)
    done = start = 0
    while done < len(lengths):
        upto = len(lengths)
        if limit is not None:
            upto = int(np.searchsorted(ends, start + limit - tokens, side="right"))
            if upto <= done:
                upto = done if documents else done + 1  # a document larger than a shard has one of its own
        stop = int(ends[upto - 1]) if upto else 0
        yield upto - done, stop - start, upto < len(lengths)
        done, start = upto, stop
        tokens = documents = 0
