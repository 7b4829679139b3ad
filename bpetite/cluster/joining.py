"""The files of several shard tasks joined into those of one run, each final file by a task of its own.

The lengths of documents alone say where one run would cut its shards: they are read here, eight bytes a document, and
only the tasks read tokens. The tasks write through the same writer that a single run uses, so the bytes are the same.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..corpus import ShardTask
from ..corpus.layouts.layouts import Layout
from ..corpus.layouts.reading import open_token_file
from ..corpus.output.checksums import FileCheck, check_file
from ..corpus.output.durable import Journal
from ..corpus.output.manifest import list_files
from ..corpus.output.naming import Names
from ..corpus.output.shards import ShardWriter, settle
from ..corpus.run.assembly import copy_spans
from ..corpus.run.outputs import files_of_shard, token_files_of_split
from .executor import Executor, Report, run_all
from .parcel import Parcel

__all__ = ["join", "patiently"]

Result = TypeVar("Result")

#: Seconds to wait until a lost worker is gone.
PATIENCE = 60.0


@dataclass(frozen=True)
class _File:
    """A file of tokens that a task wrote, and all files of its shard as the task's manifest lists them."""

    path: str
    tokens: int
    listed: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class _Extent:
    """Consecutive documents of a file, or consecutive tokens where the layout keeps no documents."""

    file: _File
    first: int
    count: int
    tokens: int


@dataclass
class _Shard:
    """A final shard and the documents in it."""

    split: str
    index: int
    extents: list[_Extent] = field(default_factory=list)
    tokens: int = 0
    documents: int = 0


@dataclass(frozen=True)
class _Shared:
    names: Names
    dtype: str
    overwrite: bool
    tokenizer: str


def join(
    executor: Executor, whole: ShardTask, manifests: Sequence[dict[str, Any]], journal: Journal
) -> list[dict[str, Any]]:
    """Assemble the files of a run from those of its tasks.

    Args:
        executor: Runs the tasks.
        whole: The run as one task.
        manifests: Of its tasks, in order.
        journal: Of the run; shards that it has a record of are not made again.

    Returns:
        The files as the manifest lists them.
    """
    dtype = np.dtype(whole.rules.dtype)
    shards = []
    for split in whole.splits:
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

    shared = Parcel(_Shared(whole.names, dtype.name, whole.overwrite, whole.codec.name))
    run_all(executor, _make_shard, shared, left, on_result=finish)
    for shard in shards:
        Journal.discard(_lock_of(whole.names, shard))
    for path in whole.names.temporary():  # of a worker that did the job of another once more
        path.unlink(missing_ok=True)
    return list_files(
        {split: [done[split, shard.index] for shard in shards if shard.split == split] for split in whole.splits}
    )


def _files(whole: ShardTask, manifests: Sequence[dict[str, Any]], split: str) -> list[_File]:
    """The token files of a split, in order."""
    return [
        _File(str(whole.names.folder / file["name"]), file["tokens"], tuple(files_of_shard(manifest, file["name"])))
        for manifest in manifests
        for file in token_files_of_split(manifest, split)
    ]


def _whole_files(
    split: str, files: Sequence[_File], whole: ShardTask, dtype: np.dtype[Any]
) -> _Shard:
    """One shard of all the files."""
    shard = _Shard(split, 0)
    for file in files:
        count: int | None = file.tokens
        if not whole.layout.exact:
            count = open_token_file(file.path, format=whole.options.format, dtype=dtype.name).documents
            shard.documents += count or 0
        shard.tokens += file.tokens
        if count:
            shard.extents.append(_Extent(file, 0, count, file.tokens))
    return shard


def _cut_tokens(split: str, files: Iterable[_File], limit: int, layout: Layout) -> list[_Shard]:
    """Shards of exactly ``limit`` tokens; the last one has the rest, and never less than the layout's `least_tail`."""
    files = list(files)
    left = sum(file.tokens for file in files)
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
            file = files[number]
            take = min(size, file.tokens - at)
            if take:
                shard.extents.append(_Extent(file, at, take, take))
            size, at = size - take, at + take
            if at == file.tokens:
                number, at = number + 1, 0
        shards.append(shard)
    return shards


def _cut_documents(
    split: str, files: Iterable[_File], limit: int, format: str, dtype: np.dtype[Any]
) -> list[_Shard]:
    """Shards of whole documents, each with as many as fit into ``limit`` tokens, and at least one."""
    shards = [_Shard(split, 0)]
    for file in files:
        first = 0
        for lengths in open_token_file(file.path, format=format, dtype=dtype.name).lengths():
            for count, tokens, full in _fill(lengths, shards[-1], limit):
                if count:
                    shards[-1].extents.append(_Extent(file, first, count, tokens))
                    shards[-1].documents += count
                    shards[-1].tokens += tokens
                    first += count
                if full:
                    shards.append(_Shard(split, len(shards)))
    for shard in shards:
        shard.extents = _joined(shard.extents)
    return shards


def _fill(lengths: npt.NDArray[np.int64], shard: _Shard, limit: int) -> Iterator[tuple[int, int, bool]]:
    """(documents that go into the open shard, their tokens, whether the shard is full then), until all are assigned."""
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


def _joined(extents: Sequence[_Extent]) -> list[_Extent]:
    """The same extents, with neighbours in a file joined."""
    joined: list[_Extent] = []
    for extent in extents:
        if joined and joined[-1].file == extent.file and joined[-1].first + joined[-1].count == extent.first:
            before = joined.pop()
            extent = replace(before, count=before.count + extent.count, tokens=before.tokens + extent.tokens)
        joined.append(extent)
    return joined


def _lock_of(names: Names, shard: _Shard) -> Path:
    base = names.base(shard.split, shard.index)
    return base.with_name(base.name + ".lock")


def patiently(work: Callable[[], Result]) -> Result:
    """``work()``, tried again while another process holds the lock that it needs.

    A worker that the executor has given up may go on writing until it has been ended.
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
    """What a worker does: write a shard under its temporary names. Doing it again overwrites the files.

    Returns:
        The record of the shard.

    Raises:
        FormatError: A file was changed after its task had written it.
    """
    lock = patiently(lambda: Journal(_lock_of(shared.names, shard)))
    layout = shared.names.layout
    writer = ShardWriter(
        lambda _: shared.names.base(shard.split, shard.index),
        layout,
        shared.dtype,
        None,
        overwrite=shared.overwrite,
        known=(shard.tokens, shard.documents),
        tokenizer=shared.tokenizer,
    )
    with closing(lock), closing(writer):
        for extent in shard.extents:
            path = Path(extent.file.path)
            for listed in extent.file.listed:
                if listed["name"] != path.name or layout.spooled:
                    check_file(path.with_name(listed["name"]), listed)
            file = open_token_file(path, format=layout.name, dtype=shared.dtype)
            listed = next(one for one in extent.file.listed if one["name"] == path.name)
            if not layout.spooled:
                file.check = FileCheck(path, listed)
            copy_spans(file.extent(extent.first, extent.count), writer, np.dtype(shared.dtype))
            if file.check is not None:
                file.check.finish(whole=False)
        writer.finish()
        return writer.take_finished()[0]
