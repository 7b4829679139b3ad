"""The files of several shard tasks into those of one run, each final file by a task of its own.

Where one run would cut its shards is known from the lengths of documents alone: they are read here, eight bytes a
document, and only the tasks touch tokens. The tasks write through the same writer that a single run uses, so the bytes
are the same.
"""
from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..corpus import ShardTask
from ..corpus.plan import file_entry
from ..corpus.tokenfiles import open_token_file, token_files
from ..corpus.writing.durable import Journal
from ..corpus.writing.layouts import Layout
from ..corpus.writing.naming import Names
from ..corpus.writing.shards import ShardWriter, settle
from .engine import Engine, Report, run_all
from .parcel import Parcel

__all__ = ["join", "patiently"]

Result = TypeVar("Result")

#: Seconds to wait for a lost worker to be gone.
PATIENCE = 60.0


@dataclass(frozen=True)
class _Part:
    """Consecutive documents of a file, or consecutive tokens where the layout keeps no documents."""

    path: str
    first: int
    count: int
    tokens: int


@dataclass
class _Shard:
    """A final shard and what it is made of."""

    split: str
    index: int
    parts: list[_Part] = field(default_factory=list)
    tokens: int = 0
    documents: int = 0


@dataclass(frozen=True)
class _Shared:
    names: Names
    dtype: str
    overwrite: bool


def join(
    engine: Engine, whole: ShardTask, manifests: Sequence[dict[str, Any]], journal: Journal
) -> list[dict[str, Any]]:
    """Assemble the files of a run from those of its tasks.

    Args:
        whole: The run as one task.
        manifests: Those of its tasks in order.
        journal: Of the run; shards that it says are done are not made again.

    Returns:
        The files as the manifest lists them.
    """
    dtype = np.dtype(whole.encoding.dtype)
    shards = []
    for split in ("train", "val") if whole.options.val_fraction else ("all",):
        files = _files(whole, manifests, split)
        if whole.options.shard_tokens is None:
            shards.append(_whole_files(split, files, whole, dtype))
        elif whole.layout.exact:
            shards += _cut_tokens(split, files, whole.options.shard_tokens, whole.layout)
        else:
            shards += _cut_documents(split, files, whole.options.shard_tokens, whole.options.format, dtype)
    done: dict[tuple[str, int], dict[str, Any]] = {}
    for record in journal.records[1:]:
        settle(whole.names.folder, [record["shard"]])
        done[record["split"], record["index"]] = record["shard"]
    left = [shard for shard in shards if (shard.split, shard.index) not in done]

    def finish(number: int, made: dict[str, Any]) -> None:
        shard = left[number]
        journal.append({"split": shard.split, "index": shard.index, "shard": made})
        settle(whole.names.folder, [made])
        done[shard.split, shard.index] = made

    shared = Parcel(_Shared(whole.names, dtype.name, whole.overwrite))
    run_all(engine, _make_shard, shared, left, on_result=finish)
    for shard in shards:
        _lock_of(whole.names, shard).unlink(missing_ok=True)
    for path in whole.names.temporary():  # of a worker that did again what another had done
        path.unlink(missing_ok=True)
    return [
        file_entry(shard.split, done[shard.split, shard.index], output)
        for shard in shards
        for output in done[shard.split, shard.index]["outputs"]
    ]


def _files(whole: ShardTask, manifests: Sequence[dict[str, Any]], split: str) -> list[tuple[str, int]]:
    """(path, tokens) of the token files of a split, in order."""
    found = []
    for manifest in manifests:
        names = set(token_files(manifest))
        found += [
            (str(whole.names.folder / file["name"]), file["tokens"])
            for file in manifest["files"]
            if file["split"] == split and file["name"] in names
        ]
    return found


def _whole_files(
    split: str, files: Sequence[tuple[str, int]], whole: ShardTask, dtype: np.dtype[Any]
) -> _Shard:
    """One shard of all the files."""
    shard = _Shard(split, 0)
    for path, tokens in files:
        count: int | None = tokens
        if not whole.layout.exact:
            count = open_token_file(path, format=whole.options.format, dtype=dtype.name).documents
            shard.documents += count or 0
        shard.tokens += tokens
        if count:
            shard.parts.append(_Part(path, 0, count, tokens))
    return shard


def _cut_tokens(split: str, files: Iterable[tuple[str, int]], limit: int, layout: Layout) -> list[_Shard]:
    """Shards of exactly ``limit`` tokens; the last one has what is left, and never too little."""
    files = list(files)
    left = sum(tokens for _, tokens in files)
    sizes = []
    while left >= limit + layout.least_tail(limit):
        sizes.append(limit)
        left -= limit
    sizes.append(left)
    shards = []
    number = at = 0
    for index, size in enumerate(sizes):
        shard = _Shard(split, index, tokens=size)
        while size:
            path, tokens = files[number]
            take = min(size, tokens - at)
            if take:
                shard.parts.append(_Part(path, at, take, take))
            size, at = size - take, at + take
            if at == tokens:
                number, at = number + 1, 0
        shards.append(shard)
    return shards


def _cut_documents(
    split: str, files: Iterable[tuple[str, int]], limit: int, format: str, dtype: np.dtype[Any]
) -> list[_Shard]:
    """Shards of whole documents, each taking documents as long as they fit, and one at least."""
    shards = [_Shard(split, 0)]
    for path, _ in files:
        first = 0
        for lengths in open_token_file(path, format=format, dtype=dtype.name).lengths():
            for count, tokens, full in _fill(lengths, shards[-1], limit):
                if count:
                    shards[-1].parts.append(_Part(path, first, count, tokens))
                    shards[-1].documents += count
                    shards[-1].tokens += tokens
                    first += count
                if full:
                    shards.append(_Shard(split, len(shards)))
    for shard in shards:
        shard.parts = _runs(shard.parts)
    return shards


def _fill(lengths: npt.NDArray[np.int64], shard: _Shard, limit: int) -> Iterator[tuple[int, int, bool]]:
    """(documents that go into the open shard, their tokens, whether it is full then), until all are placed."""
    ends = np.cumsum(lengths)
    done = start = 0
    room, empty = limit - shard.tokens, not shard.documents
    while done < len(lengths):
        upto = int(np.searchsorted(ends, start + room, side="right"))
        if upto <= done:
            upto = done + 1 if empty else done
        stop = int(ends[upto - 1]) if upto else 0
        full = upto < len(lengths)
        yield upto - done, stop - start, full
        done, start = upto, stop
        room, empty = limit, True


def _runs(parts: Sequence[_Part]) -> list[_Part]:
    """The same parts, those that go on where the one before ended joined."""
    joined: list[_Part] = []
    for part in parts:
        if joined and joined[-1].path == part.path and joined[-1].first + joined[-1].count == part.first:
            before = joined.pop()
            part = _Part(part.path, before.first, before.count + part.count, before.tokens + part.tokens)
        joined.append(part)
    return joined


def _lock_of(names: Names, shard: _Shard) -> Path:
    base = names.base(shard.split, shard.index)
    return base.with_name(base.name + ".lock")


def patiently(work: Callable[[], Result]) -> Result:
    """``work()``, again and again while another process holds the lock that it needs.

    A worker that is given up for lost may still be writing, for as long as its engine takes to end it.
    """
    began = time.monotonic()
    while True:
        try:
            return work()
        except BlockingIOError:
            if time.monotonic() - began > PATIENCE:
                raise
            time.sleep(0.2)


def _make_shard(shared: _Shared, shard: _Shard, report: Report) -> dict[str, Any]:
    """What a worker does: write a shard under its temporary names. Doing it again overwrites them."""
    lock = patiently(lambda: Journal(_lock_of(shared.names, shard)))
    layout = shared.names.layout
    writer = ShardWriter(
        lambda _: shared.names.base(shard.split, shard.index),
        layout,
        shared.dtype,
        None,
        overwrite=shared.overwrite,
        known=(shard.tokens, shard.documents),
    )
    with closing(lock), closing(writer):
        for part in shard.parts:
            _copy(part, writer, layout.name, np.dtype(shared.dtype))
        writer.finish()
    return writer.take_finished()[0]


def _copy(part: _Part, writer: ShardWriter, format: str, dtype: np.dtype[Any]) -> None:
    """Add some of a task's documents to a shard."""
    for span in open_token_file(part.path, format=format, dtype=dtype.name).part(part.first, part.count):
        meta = None
        if span.ids is not None and span.places is not None:
            rows = zip(span.ids, span.places, strict=True)
            meta = [json.dumps([found, *place]).encode() + b"\n" for found, place in rows]
        writer.add(span.tokens.astype(dtype, copy=False), span.lengths, meta)
