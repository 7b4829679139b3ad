"""Write a stream of documents into shards; after a crash, the last state says where to go on.

A thread finishes a full shard (indexes, header, hash, sync) while the next one grows. The files that the shard was made
of stay until the state of the run lists the shard as finished: a run that goes on from an earlier state needs them.
"""
from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core._threads import Future
from ..layouts.layout import Layout, OpenShard, group_by_tokens
from .growing import CHUNK, HASH, GrowingFile, explained, file_entry, hash_file, open_own
from .names import Names


class GrowingShard:
    """A shard and its open files: tokens, and lengths and ids where the layout needs them."""

    def __init__(
        self, layout: Layout, base: Path, dtype: np.dtype[Any], tokenizer: str, state: dict[str, Any] | None
    ) -> None:
        self.layout = layout
        tokens, *others = layout.growing(base)
        self.shard: OpenShard = OpenShard(base, dtype, tokenizer)
        self.unended: int = 0  # tokens at the end that belong to a document that has not ended
        self.files: list[GrowingFile] = []
        try:
            for path in (tokens, *others):
                known = None if state is None else state["files"][path.name]
                self.files.append(GrowingFile(path, layout.header if path == tokens else 0, known))
        except BaseException:
            self.close()
            raise
        if state is not None:
            self.shard.tokens, self.shard.documents = state["tokens"], state["documents"]
            self.unended = state["unended"]

    def append(
        self, tokens: Any, lengths: npt.NDArray[np.int64] | None = None, meta: Sequence[bytes] = (), *, unended: int = 0
    ) -> None:
        """Add tokens, the lengths of the documents that end with them, and a `meta_line` of each."""
        self.files[0].append(tokens)
        self.shard.tokens += memoryview(tokens).nbytes // self.shard.dtype.itemsize
        self.unended = unended
        if lengths is not None and self.layout.lengths:
            self.files[1].append(np.ascontiguousarray(lengths, "<i8"))
            self.shard.documents += len(lengths)
        if self.layout.meta:
            self.files[2].append(b"".join(meta))

    def drain(self, *, sync: bool = False) -> None:
        for file in self.files:
            file.drain(sync=sync)

    def close(self) -> None:
        for file in self.files:
            file.close()

    def complete(self, tokens: int | None = None) -> dict[str, Any]:
        """Make and sync the final files, and return the record of the shard with their hashes. With ``tokens``, the
        shard ends there, because the rest has moved to the next shard. "drop" lists the files to delete."""
        shard, first = self.shard, self.files[0]
        moved = tokens is not None and tokens != shard.tokens
        shard.tokens = shard.tokens if tokens is None else tokens
        try:
            self.drain()
            final = self.layout.outputs(shard.base)
            listed = []
            if not self.layout.spooled:
                size = self.layout.header + shard.tokens * shard.dtype.itemsize
                first.write(self.layout.head(shard), 0)
                hashed = first.state()[1]
                if moved or self.layout.header:
                    hashed = hash_file(first.path, size).hexdigest()
                os.fsync(first.file.fileno())
                listed.append({"name": final[0].name, "bytes": size, HASH: hashed})
            for path in final[len(listed) :]:
                with open_own(path, new=True) as opened, io.BufferedWriter(opened) as file:
                    self.layout.index(shard, path, file)
                    file.flush()
                    os.fsync(opened.fileno())
                listed.append(file_entry(path))
        except OSError as error:
            raise explained(error, shard.base) from None
        finally:
            self.close()
        kept = {one["name"] for one in listed}
        return {
            "tokens": shard.tokens,
            "documents": None if self.layout.fills_shards else shard.documents,
            "files": listed,
            "drop": [file.path.name for file in self.files if file.path.name not in kept],
        }


class ShardWriter:
    """Writes a stream of tokens to the shards of a split of an output; ``state`` is from :meth:`state` of an earlier
    process."""

    def __init__(
        self, names: Names, split: str, dtype: str, tokenizer: str, shard_tokens: int | None,
        state: dict[str, Any] | None = None,
    ) -> None:
        self.layout: Layout = names.layout
        self._names = names
        self._split = split
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._tokenizer = tokenizer
        self._limit = shard_tokens
        self._tail = 0 if shard_tokens is None else self.layout.least_tail(shard_tokens)
        self._index = 0 if state is None else state["index"]
        self._growing: GrowingShard | None = None
        self._finishing: Future[dict[str, Any]] | None = None
        self._finished: list[dict[str, Any]] = []
        if state is not None and state["growing"] is not None:
            self._open(state["growing"])

    def add(
        self, tokens: npt.NDArray[Any], lengths: npt.NDArray[np.int64], meta: Sequence[bytes] = (), *,
        continues: bool = False, goes_on: bool = False,
    ) -> None:
        """Add the tokens of documents, and the length and a `meta_line` of each. ``continues``: the first document
        continues the last one of the previous call. ``goes_on``: the next call continues the last document."""
        growing = self._growing or self._open()
        if self.layout.fills_shards:
            self._add_tokens(growing, tokens)
        elif len(lengths):
            self._add_documents(growing, tokens, lengths, meta, continues, goes_on)

    def _add_tokens(self, growing: GrowingShard, tokens: npt.NDArray[Any]) -> None:
        at = 0
        while at < len(tokens):
            # A shard grows beyond its size until the next one would have its least number of tokens. Then these move.
            # So the last shard is never too small, and the files do not depend on the sizes of the calls.
            room = len(tokens) if self._limit is None else self._limit + self._tail - growing.shard.tokens
            taken = tokens[at : at + room]
            growing.append(taken)
            at += len(taken)
            if len(taken) == room and self._limit is not None:
                growing = self._cut(growing, self._limit)

    def _add_documents(
        self, growing: GrowingShard, tokens: npt.NDArray[Any], lengths: npt.NDArray[np.int64], meta: Sequence[bytes],
        continues: bool, goes_on: bool,
    ) -> None:  # fmt: skip
        begun = growing.unended if continues else 0  # tokens of the first document that are there
        whole = lengths.copy()
        whole[0] += begun
        if int(whole.max()) > self.layout.longest:
            raise ValueError(f"{growing.shard.base}: a document of {int(whole.max())} tokens; format="
                             f"{self.layout.name!r} has at most {self.layout.longest}")
        ending = whole[:-1] if goes_on else whole
        done = start = 0
        ended = growing.shard.tokens - growing.unended
        for count, taken, is_full in group_by_tokens(ending, ended, growing.shard.documents, self._limit):
            if count:
                stop = start + taken - (begun if not done else 0)
                growing.append(tokens[start:stop], ending[done : done + count], meta[done : done + count])
                done, start, begun = done + count, stop, 0
            if is_full:
                growing = self._cut(growing)
        if goes_on:
            growing.append(tokens[start:], unended=len(tokens) - start + begun)
            if self._limit is not None and growing.shard.tokens > self._limit and growing.shard.documents:
                self._cut(growing)

    def _cut(self, growing: GrowingShard, tokens: int | None = None) -> GrowingShard:
        """Finish a shard with its first ``tokens``, by default up to its last whole document. Move the rest to the next
        shard, and return that one."""
        growing.drain()
        first, unended = growing.files[0], growing.unended
        tokens = growing.shard.tokens - unended if tokens is None else tokens
        at, size = self.layout.header * (not self.layout.spooled) + tokens * self._dtype.itemsize, first.size
        self._finish(growing, tokens)
        following = self._open()
        with first.path.open("rb", buffering=0) as file:
            file.seek(at)
            while at < size:
                data = file.read(min(CHUNK, size - at))
                following.append(data, unended=unended)
                at += len(data)
        following.unended = unended
        return following

    def _open(self, state: dict[str, Any] | None = None) -> GrowingShard:
        base = self._names.folder / self._names.base(self._split, self._index)
        self._growing = GrowingShard(self.layout, base, self._dtype, self._tokenizer, state)
        return self._growing

    def _finish(self, growing: GrowingShard, tokens: int | None = None) -> None:
        """Start a thread that makes the final files while the next shard grows."""
        self._wait()  # one shard at a time is enough, and bounds what many small ones hold
        growing.unended = 0
        self._finishing = Future.started(lambda: growing.complete(tokens))
        self._growing = None
        self._index += 1

    def _wait(self) -> None:
        finishing, self._finishing = self._finishing, None
        if finishing is not None:
            self._finished.append(finishing.result())

    def finish(self, *, empty: bool = True) -> None:
        """Finish the last shard, and any open document; with ``empty``, make a shard even of no documents."""
        if empty and self._growing is None and self._index == 0:
            self._open()
        if self._growing is not None:
            if self._growing.unended and not self.layout.fills_shards:
                self._growing.append(b"", np.array([self._growing.unended]))
            self._finish(self._growing)

    def close(self) -> None:
        """Close open files, and leave them for a later process; no thread writes any more."""
        growing, self._growing = self._growing, None
        if growing is not None:
            growing.close()
        if self._finishing is not None:
            self._finishing.wait()

    def take_finished(self) -> list[dict[str, Any]]:
        """The records of the shards finished since the last call."""
        self._wait()
        finished, self._finished = self._finished, []
        return finished

    @property
    def has_finished(self) -> bool:
        return bool(self._finished) or (self._finishing is not None and self._finishing.done())

    def state(self) -> dict[str, Any]:
        """The open shard, made durable, for the state of the run."""
        state = None
        if (growing := self._growing) is not None:
            growing.drain(sync=True)
            shard, files = growing.shard, {file.path.name: file.state() for file in growing.files}
            state = {"tokens": shard.tokens, "documents": shard.documents, "unended": growing.unended, "files": files}
        return {"index": self._index, "growing": state}
