"""One stream of documents into shard files that can be resumed after a crash.

Everything is written under a temporary name. A full shard is finished (indexes, header, checksum, sync) by a thread of
its own while the next one grows, but keeps its temporary name until the journal has a record of it; only then does
`publish` give it its final one. So the journal's last record always describes files that exist, whenever the process
was killed: open files are truncated to the sizes in it, finished ones are renamed unless they have been, others
deleted.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...atomic import sync_folder
from ...core._threads import Future
from ...errors import FormatError
from ..layouts.layout import Layout, OpenShard, fill
from ..layouts.spool import Spool
from .appending import Appender
from .checksums import check_file, file_sums, list_sums
from .durable import PARTIAL, explained, open_own, write_at
from .manifest import check_name
from .naming import Names

__all__ = ["GrowingShard", "ShardWriter", "forget", "publish", "shard_sizes"]


def _temporary(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL)


def forget(layout: Layout, base: Path) -> None:
    """Delete the temporary files of a shard, which is made anew or has been made elsewhere."""
    for path in (*layout.growing(base), *layout.outputs(base)):
        _temporary(path).unlink(missing_ok=True)


class GrowingShard:
    """A shard and its open files: of tokens, and the spools of lengths and of ids where the layout needs them.

    Args:
        layout, base: Of the final files; their path without suffix.
        dtype, tokenizer, threads, state: As of `ShardWriter`; files that are not as the state says are an error.
    """

    def __init__(
        self,
        layout: Layout,
        base: Path,
        dtype: np.dtype[Any],
        tokenizer: str,
        threads: int = 1,
        state: dict[str, Any] | None = None,
    ) -> None:
        self.layout = layout
        self._threads = threads
        growing = list(map(_temporary, layout.growing(base)))
        lengths, meta = (_temporary(base.with_name(base.name + ending)) for ending in (".lengths", ".meta"))
        self.shard: OpenShard = OpenShard(base, growing[0], lengths, meta, 0, 0, dtype, tokenizer, layout.columns)
        self._files: dict[Path, BinaryIO] = {}
        self._appenders: dict[Path, Appender] = {}
        if state is not None:
            self.shard.tokens, self.shard.documents = state["tokens"], state["documents"]
        with ExitStack() as opened:
            opened.callback(self.close)
            for path in growing:
                size, root = (None, None) if state is None else state["files"][path.name]
                self._open(path, size)
                if root is not None and self._appenders[path].root() != root:
                    raise FormatError(f"{path}: has been changed since the run was interrupted: its first {size} bytes "
                                      "differ from the checksum in the journal; overwrite=True starts anew")
            if state is None:
                self._appenders[growing[0]].append(bytes(layout.header))
            opened.pop_all()

    def _open(self, path: Path, size: int | None) -> None:
        """Open a file: a new one, or one that an earlier process has written ``size`` bytes of."""
        if size is not None and not path.exists():
            raise FormatError(f"{path}: missing; overwrite=True starts anew")
        handle = open_own(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if size is None else 0))
        file: BinaryIO = open(handle, "r+b", buffering=0)  # noqa: SIM115 - `close` closes it
        self._files[path] = file
        size = size or 0
        if os.fstat(file.fileno()).st_size < size:
            raise FormatError(f"{path}: shorter than the journal says; overwrite=True starts anew")
        file.truncate(size)
        if path == self.shard.tokens_path and size:
            # a run that was killed while it finished the shard may have written the header, which is not known
            write_at(file, bytes(self.layout.header), 0)
        self._appenders[path] = Appender(file, path, size, self._threads)

    def append(self, *data: Any) -> None:
        """Add bytes to the files, tokens first; the caller counts tokens and documents."""
        for appender, added in zip(self._appenders.values(), data, strict=False):
            appender.append(added)

    def drain(self, *, sync: bool = False) -> None:
        """Wait until everything is in the files, and with ``sync`` on disk."""
        for appender in self._appenders.values():
            appender.drain()
        for file in self._files.values() if sync else ():
            os.fsync(file.fileno())

    def state(self) -> dict[str, Any]:
        """The sizes of the files, for a journal."""
        files = {path.name: [appender.size, appender.root()] for path, appender in self._appenders.items()}
        return {"open": True, "tokens": self.shard.tokens, "documents": self.shard.documents, "files": files}

    def close(self) -> None:
        """Close the files; bytes that have not been written are dropped."""
        for appender in self._appenders.values():
            appender.close()
        for file in self._files.values():
            file.close()

    def complete(self) -> dict[str, Any]:
        """Make the final files, durable and with checksums; returns the journal's record of them."""
        shard = self.shard
        try:
            self.drain()
            final = self.layout.outputs(shard.base)
            growing = list(self._files)
            kept = growing if isinstance(self.layout, Spool) else [] if self.layout.spooled else growing[:1]
            outputs = [self._keep(temporary, path) for temporary, path in zip(kept, final, strict=False)]
            for path in final[len(kept) :]:
                with open(open_own(_temporary(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC), "w+b") as file:
                    self.layout.index(shard, path, file)
                    file.flush()
                    os.fsync(file.fileno())
                    size = os.fstat(file.fileno()).st_size
                outputs.append(_output(_temporary(path), path, size, file_sums(_temporary(path), size, self._threads)))
        except OSError as error:
            raise explained(error, shard.base) from None
        finally:
            self.close()
        return {
            "tokens": shard.tokens,
            "documents": None if self.layout.exact else shard.documents,
            "outputs": outputs,
            "drop": [path.name for path in growing if path not in kept],
        }

    def _keep(self, temporary: Path, path: Path) -> dict[str, Any]:
        """The record of a growing file that becomes a final one; the header of tokens is written last."""
        file, appender, header = self._files[temporary], self._appenders[temporary], 0
        size = appender.size
        if temporary == self.shard.tokens_path:
            header = self.layout.header
            size = header + self.shard.tokens * self.shard.dtype.itemsize  # what is behind has moved to the next shard
            write_at(file, self.layout.head(self.shard), 0)
        os.fsync(file.fileno())
        return _output(temporary, path, size, appender.sums(size, head=header > 0))


class ShardWriter:
    """Writes a stream of tokens to shards.

    Args:
        names: Of the output.
        stream: A split, or `naming.REJECTED`.
        dtype: Of the tokens.
        shard_tokens: Tokens of a shard; None for one shard.
        state: From :meth:`state` of an earlier process, to go on from there.
        tokenizer: Its name.
        threads: That write and take checksums.
    """

    def __init__(
        self,
        names: Names,
        stream: str,
        dtype: str,
        shard_tokens: int | None,
        *,
        state: dict[str, Any] | None = None,
        tokenizer: str = "tokenizer",
        threads: int = 1,
    ) -> None:
        self.layout: Layout = names.layout_of(stream)
        self._names = names
        self._stream = stream
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._limit = shard_tokens
        self._tail = 0 if shard_tokens is None else self.layout.least_tail(shard_tokens)
        self._tokenizer = tokenizer
        self._threads = threads
        self._index = 0 if state is None else state["index"]
        self._growing: GrowingShard | None = None
        self._finishing: Future[dict[str, Any]] | None = None
        self._finished: list[dict[str, Any]] = []
        if state is not None and state["open"]:
            self._open(state)

    # Growing

    def add(
        self,
        tokens: npt.NDArray[Any],
        lengths: npt.NDArray[np.int64] | None = None,
        meta: Sequence[bytes] | None = None,
    ) -> None:
        """Add the tokens of documents, in the type of the files, the length of each where shards hold whole documents,
        and a `meta_line` of each for layouts that keep ids."""
        growing = self._growing or self._open()
        if self.layout.exact:
            self._add_tokens(growing, tokens)
        else:
            assert lengths is not None
            self._add_documents(growing, tokens, lengths, meta or ())

    def _add_tokens(self, growing: GrowingShard, tokens: npt.NDArray[Any]) -> None:
        at = 0
        while at < len(tokens):
            # Past its size a shard goes on until the next one would have its least number of tokens; those then move.
            # So the last shard is never too small, and the files do not depend on how the tokens were passed in.
            room = len(tokens) if self._limit is None else self._limit + self._tail - growing.shard.tokens
            taken = tokens[at : at + room]
            growing.append(taken)
            growing.shard.tokens += len(taken)
            at += len(taken)
            if len(taken) == room and self._limit is not None:
                growing = self._cut(growing, self._limit)

    def _cut(self, growing: GrowingShard, limit: int) -> GrowingShard:
        """Finish a shard at ``limit`` tokens, and move the tokens after them to the next one."""
        growing.drain()
        with growing.shard.tokens_path.open("rb") as file:
            tail = np.fromfile(file, self._dtype, offset=self.layout.header + limit * self._dtype.itemsize)
        growing.shard.tokens = limit
        self._finish(growing)
        following = self._open()
        following.append(tail)
        following.shard.tokens = len(tail)
        return following

    def _add_documents(
        self, growing: GrowingShard, tokens: npt.NDArray[Any], lengths: npt.NDArray[np.int64], meta: Sequence[bytes]
    ) -> None:
        if int(lengths.max(initial=0)) > self.layout.longest:
            raise ValueError(f"{growing.shard.base}: a document of {int(lengths.max())} tokens; format="
                             f"{self.layout.name!r} has at most {self.layout.longest}")
        rows = lengths.astype("<i8")
        if self.layout.meta:
            rows = np.stack([rows, np.fromiter(map(len, meta), "<i8", len(rows))], axis=1)
        done = start = 0
        for count, taken, is_full in fill(lengths, growing.shard.tokens, growing.shard.documents, self._limit):
            if count:
                upto = done + count
                growing.append(tokens[start : start + taken], rows[done:upto], b"".join(meta[done:upto]))
                growing.shard.tokens += taken
                growing.shard.documents += count
                done, start = upto, start + taken
            if is_full:
                self._finish(growing)
                growing = self._open()

    # Opening and finishing

    def _open(self, state: dict[str, Any] | None = None) -> GrowingShard:
        base = self._names.base(self._stream, self._index)
        self._growing = GrowingShard(self.layout, base, self._dtype, self._tokenizer, self._threads, state)
        return self._growing

    def _finish(self, growing: GrowingShard) -> None:
        """Have the final files made, under temporary names, while the next shard grows."""
        self._wait()  # one shard at a time is enough, and bounds what many small ones hold
        self._finishing = Future.started(growing.complete)
        self._growing = None
        self._index += 1

    def _wait(self) -> None:
        finishing, self._finishing = self._finishing, None
        if finishing is not None:
            self._finished.append(finishing.result())

    def finish(self) -> None:
        """Finish the last shard; without any documents, an empty one."""
        if self._growing is None and self._index == 0:
            self._open()
        if self._growing is not None:
            self._finish(self._growing)

    def close(self) -> None:
        """Close open files, and leave them for a later process to go on with."""
        growing, self._growing = self._growing, None
        if growing is not None:
            growing.close()
        if self._finishing is not None:
            self._finishing.wait()

    # Crash safety

    def sync(self) -> None:
        """Make what has been added durable."""
        if self._growing is not None:
            self._growing.drain(sync=True)

    def take_finished(self) -> list[dict[str, Any]]:
        """The shards finished since the last call, for the journal and then for `publish`."""
        self._wait()
        finished, self._finished = self._finished, []
        return finished

    def state(self) -> dict[str, Any]:
        """The open shard and the sizes of its files, for the journal."""
        state: dict[str, Any] = {"index": self._index, "open": False, "tokens": 0, "documents": 0, "files": {}}
        return state if self._growing is None else state | self._growing.state()


def _output(temporary: Path, path: Path, size: int, sums: Sequence[str]) -> dict[str, Any]:
    return {"temporary": temporary.name, "name": path.name, "bytes": size, "checksum": list_sums(sums)}


def publish(names: Names, shards: Sequence[dict[str, Any]], *, check: bool = False) -> None:
    """Give finished shards that the journal has a record of their final names, at a URL by uploading them; doing it
    again changes nothing. With ``check``, files of an earlier process are compared with their checksums before.

    Raises:
        FormatError: A shard has neither its temporary nor its final name, or has another size.
    """
    if not shards:
        return
    there: dict[str, int] | None = None  # in the store, when it is asked
    for shard in shards:
        for output in shard["outputs"]:
            temporary, path = (names.folder / check_name(output[name], names.folder) for name in ("temporary", "name"))
            size, final = output["bytes"], names.final(path.name)
            if temporary.exists():
                if temporary.stat().st_size > size:
                    os.truncate(temporary, size)
                    with temporary.open("r+b") as file:  # Windows syncs no file that is open for reading alone
                        os.fsync(file.fileno())
                if check:
                    check_file(temporary, output)
                if isinstance(final, Path):
                    os.replace(temporary, final)
                else:
                    final.upload(temporary)
                    temporary.unlink()
                continue
            if isinstance(final, Path):
                whole = final.exists() and final.stat().st_size == size
            else:
                there = final.parent.sizes() if there is None else there
                whole = there.get(path.name) == size
            if not whole:
                raise FormatError(f"{final}: finished by an earlier run, but missing or changed now; overwrite=True "
                                  "starts anew")
        for name in shard["drop"]:
            (names.folder / check_name(name, names.folder)).unlink(missing_ok=True)
    sync_folder(names.folder)


def shard_sizes(total: int, limit: int | None, layout: Layout) -> list[int]:
    """Shards of exactly ``limit`` tokens; the last one has the rest, and never less than the layout's `least_tail`."""
    if limit is None:
        return [total]
    count = max(0, (total - layout.least_tail(limit)) // limit)
    return [limit] * count + [total - limit * count]
