"""The interface of a layout of token files, and a shard as its layout sees it.

While a shard grows, it is a file of tokens and, where the layout needs them, a spool of document lengths (int64; with
ids, the bytes of each line of ids beside them) and one of record ids and origins (JSON lines, see `meta_line`). All
three only grow at the end, so an interrupted run goes on by truncating them to a known size. When the shard is
complete, the files of the layout are made from them as streams: no layout holds more than a few megabytes.
"""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...errors import FormatError

__all__ = ["LENGTHS", "Layout", "OpenShard", "fill", "meta_line"]

#: Document lengths that are in memory at a time when an index is written.
LENGTHS = 1 << 17


@dataclass
class OpenShard:
    """A shard as its layout sees it at the end.

    Attributes:
        base: Path of the final files without their suffix.
        tokens_path, lengths_path, meta_path: The files that have been written.
        tokens, documents: Their numbers.
        dtype: Of the tokens.
        tokenizer: Its name.
        columns: Numbers a document in the spool of lengths.
    """

    base: Path
    tokens_path: Path
    lengths_path: Path
    meta_path: Path
    tokens: int
    documents: int
    dtype: np.dtype[Any]
    tokenizer: str = "tokenizer"
    columns: int = 1

    def lengths(self) -> Iterator[npt.NDArray[np.int64]]:
        """The lengths of the documents, up to `LENGTHS` at a time."""
        with self.lengths_path.open("rb") as file:
            while len(rows := np.fromfile(file, "<i8", self.columns * LENGTHS)):
                yield rows[:: self.columns]

    def ends(self) -> Iterator[npt.NDArray[np.int64]]:
        """The end of each document, in tokens."""
        total = 0
        for lengths in self.lengths():
            ends = np.cumsum(lengths) + total
            total = int(ends[-1])
            yield ends

    def meta(self) -> Iterator[list[Any]]:
        """[id, source, number of the record in it] of each document."""
        number = 0
        with self.meta_path.open("rb") as file:
            for line in file:
                try:
                    name, source, record = json.loads(line)
                except (ValueError, TypeError, RecursionError):
                    break
                yield [name, source, record]
                number += 1
        raise FormatError(f"{self.meta_path}: damaged at line {number + 1}; overwrite=True starts anew")


class Layout:
    """One kind of token file.

    Attributes:
        name: As in ``format``.
        suffix, others: Of the file of tokens, and of the other final files of a shard.
        spool_suffix: The suffix of a part's file of tokens, see `spool.Spool`.
        header: Bytes before the tokens.
        eot: Where the end-of-text token goes unless told otherwise.
        exact: Shards have exactly the number of tokens asked for, and documents may cross them; otherwise shards hold
            whole documents.
        lengths, meta: Whether document lengths and record ids are kept.
        numbered: Shards are numbered even if there is only one.
        dtypes: The types of tokens that the layout has.
        spooled: The file of tokens is not one of the final files.
        shard_tokens: Tokens of a shard unless told otherwise; None for one shard.
        eot_of_empty: Whether documents without text get an end-of-text token, too.
        most_tokens, longest: The most tokens of a file, and of a document.
        whole: The name of a file that all shards have together, without which readers find none of them. Such an
            output is a folder of its own.
        reader: The reader to use, where this package has none.
    """

    name: str
    suffix: str
    others: tuple[str, ...] = ()
    spool_suffix: str = ".tokens"
    header: int = 0
    eot: str = "append"
    exact: bool = False
    lengths: bool = False
    meta: bool = False
    numbered: bool = False
    dtypes: tuple[str, ...] = ("uint16", "uint32")
    spooled: bool = False
    eot_of_empty: bool = True
    shard_tokens: int | None = None
    most_tokens: int = 2**63 - 1
    longest: int = 2**63 - 1
    whole: str | None = None
    reader: str | None = None

    @property
    def columns(self) -> int:
        """Numbers a document in the spool of lengths: tokens, and with ids the bytes of its line of ids."""
        return 2 if self.meta else 1

    def require(self) -> None:
        """Raises MissingExtraError if a package is missing: before a run, not at its end."""

    def dtype(self, vocab_size: int, wanted: str = "auto") -> str:
        """The type of the tokens by the rule of the target.

        Raises:
            ValueError: Ids do not fit, or the layout has no such type.
        """
        chosen = self.auto(vocab_size) if wanted == "auto" else wanted
        if chosen not in self.dtypes:
            raise ValueError(f"format={self.name!r} has no {chosen} tokens, only {' and '.join(self.dtypes)}")
        highest = int(np.iinfo(chosen).max)
        if vocab_size - 1 > highest:
            way_out = "" if self.dtypes[-1] == chosen else f"; use dtype={self.dtypes[-1]!r}"
            if way_out == "" and self.name == "nanogpt":
                way_out = "; nanoGPT reads uint16 only, other formats hold larger ids"
            raise ValueError(f"ids up to {vocab_size - 1} do not fit {chosen} (up to {highest}){way_out}")
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
            raise ValueError(f"shard_tokens {shard_tokens} is too many for a file of format={self.name!r}; at most "
                             f"{largest}")

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

    def describe_all(self, manifest: dict[str, Any]) -> bytes:
        """The content of the file named ``whole``, by a manifest without it."""
        raise NotImplementedError(self.whole)


#: A source as JSON, which is the same for many lines.
_quoted = lru_cache(16)(json.dumps)


def meta_line(record_id: str | None, source: str, number: int) -> bytes:
    """A line of the spool of record ids: id, path of the file, number of the record in it.

    >>> meta_line("a", "x.jsonl", 3)
    b'["a", "x.jsonl", 3]\\n'
    """
    # a string is encoded at once; a list takes Python's encoder, which takes as long as the tokens of a short document
    name = "null" if record_id is None else json.dumps(record_id)
    return f"[{name}, {_quoted(source)}, {number}]\n".encode()


def fill(
    lengths: npt.NDArray[np.int64], tokens: int, documents: int, limit: int | None
) -> Iterator[tuple[int, int, bool]]:
    """Shards of whole documents: each takes as many as fit into ``limit`` tokens, and at least one.

    Args:
        lengths: Of the next documents.
        tokens, documents: In the open shard.
        limit: Of a shard; None for one shard.

    Yields:
        (documents that go into the open shard, their tokens, whether the next shard is opened behind them).

    >>> list(fill(np.array([3, 4, 9, 1]), 2, 1, 6))
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
