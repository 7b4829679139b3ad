"""One stream of documents into shard files that can be resumed after a crash.

Everything is written under a temporary name. A full shard is finished (indexes, header, checksum, sync) by a thread of
its own while the next one grows, but keeps its temporary name until the journal has a record of it; only then does
`settle` give it its final one. So the journal's last record always describes files that exist, whenever the process was
killed: open files are truncated to the sizes in it, finished ones are renamed unless they have been, others deleted.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ...core._threads import Future
from ...errors import FormatError, file_exists
from ...formats.atomic import sync_folder
from ..layouts.layouts import Layout, OpenShard, Windows
from ..sources.paths import RemotePath
from .appending import Appender, Writers
from .checksums import Sums, check_file, sums_of
from .durable import PARTIAL, Journal, explained, open_own, write_all, write_at
from .shapes import TASK_RECORD, check_shape

__all__ = ["ShardWriter", "outputs_in", "settle", "task_records"]


@dataclass
class _Growing:
    """The open shard, and its files by their paths."""

    shard: OpenShard
    files: dict[Path, BinaryIO]
    appenders: dict[Path, Appender]

    @property
    def tokens(self) -> Appender:
        """The file of tokens."""
        return self.appenders[self.shard.tokens_path]

    def drain(self) -> None:
        """Wait until everything is in the files."""
        for appender in self.appenders.values():
            appender.drain()

    def close(self) -> None:
        """Close the files; bytes that have not been written are dropped."""
        for appender in self.appenders.values():
            appender.close()
        for file in self.files.values():
            file.close()


class ShardWriter:
    """Writes tokens to shards of a layout.

    Args:
        base: Number of a shard -> path of its final files without suffix.
        layout: What the files look like.
        dtype: Of the tokens.
        shard_tokens: Tokens of a shard; None for one shard.
        state: From :meth:`state` of an earlier process, to go on from there.
        overwrite: Replace final files that exist.
        durable: Sync files when they are finished. Without, they survive a killed process but not a power failure, and
            their checksums are CRC-32, which tells whether they did, instead of SHA-256.
        known: Tokens and documents (0 where the layout keeps none) of the only shard, if they are known: then its
            header is written first.
        tokenizer: Its name.
        threads: That write and take checksums.
        taken: Whether there is a final file of a name already.
        pad: The token that fills the last window of a layout of windows; None drops a window that is not full.

    Raises:
        FileExistsError: A final file exists already.
        ValueError: A shard is too large for its layout, or has another size than the one ``known``.
        OSError: A file cannot be written.
    """

    def __init__(
        self,
        base: Callable[[int], Path],
        layout: Layout,
        dtype: str,
        shard_tokens: int | None,
        *,
        state: dict[str, Any] | None = None,
        overwrite: bool = False,
        durable: bool = True,
        known: tuple[int, int] | None = None,
        tokenizer: str = "tokenizer",
        threads: int = 1,
        taken: Callable[[Path], bool] = os.path.lexists,
        pad: int | None = None,
    ) -> None:
        self.layout = layout
        self._base = base
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._limit = shard_tokens
        self._pad = pad
        if isinstance(layout, Windows) and shard_tokens is not None:
            self._limit = shard_tokens // layout.window * layout.window
        self._tail = 0 if shard_tokens is None else layout.least_tail(shard_tokens)
        self._overwrite = overwrite
        self._taken = taken
        self._durable = durable
        self._known = known
        self._tokenizer = tokenizer
        self._threads = threads
        self._algorithm = "sha256" if durable else "crc32"
        self._writers = Writers(threads)
        self._index = 0
        self._growing: _Growing | None = None
        self._finishing: Future[dict[str, Any]] | None = None
        self._finished: list[dict[str, Any]] = []
        if state is not None:
            self._restore(state)

    # Growing

    def add(
        self,
        tokens: npt.NDArray[Any],
        lengths: npt.NDArray[np.int64] | None = None,
        meta: Sequence[bytes] | None = None,
    ) -> None:
        """Add the tokens of documents.

        Args:
            tokens: In the type of the files, end-of-text tokens included.
            lengths: Of each document; layouts whose shards cut documents do not need them.
            meta: A `meta_line` for each document, for layouts that keep them.
        """
        growing = self._growing or self._open()
        if self.layout.exact:
            ends = np.cumsum(lengths) if self.layout.lengths and lengths is not None else None
            self._add_tokens(growing, tokens, ends)
        else:
            assert lengths is not None
            self._add_documents(growing, tokens, lengths, meta)

    def _add_tokens(
        self, growing: _Growing, tokens: npt.NDArray[Any], ends: npt.NDArray[np.int64] | None = None
    ) -> None:
        """Add tokens; ``ends`` are the places in them where documents end, for layouts that keep these."""
        at = done = 0
        while at < len(tokens):
            # Past its size a shard goes on until the next one would have its least number of tokens; those then move.
            # So the last shard is never too small, and the files do not depend on how the tokens were passed in.
            room = len(tokens) if self._limit is None else self._limit + self._tail - growing.shard.tokens
            taken = tokens[at : at + room]
            growing.tokens.append(taken)
            if ends is not None:
                upto = int(np.searchsorted(ends, at + len(taken), side="right"))
                self._add_ends(growing, ends[done:upto] - at + growing.shard.tokens)
                done = upto
            growing.shard.tokens += len(taken)
            at += len(taken)
            if len(taken) == room and self._limit is not None:
                growing = self._cut(growing, self._limit)

    def _add_ends(self, growing: _Growing, ends: npt.NDArray[np.int64]) -> None:
        """Keep the places in a shard where documents end."""
        growing.appenders[growing.shard.lengths_path].append(ends.astype("<i8"))
        growing.shard.documents += len(ends)

    def _cut(self, growing: _Growing, limit: int) -> _Growing:
        """Finish a shard at ``limit`` tokens, and move the tokens after them to the next one."""
        growing.drain()
        ends = None
        if self.layout.lengths:
            ends = np.fromfile(growing.shard.lengths_path, "<i8")
            ends = ends[ends > limit] - limit
        with growing.shard.tokens_path.open("rb") as file:
            file.seek(self.layout.header + limit * self._dtype.itemsize)
            tail = np.fromfile(file, self._dtype)
        growing.shard.tokens = limit
        self._finish(growing)
        following = self._open()
        following.tokens.append(tail)
        following.shard.tokens = len(tail)
        if ends is not None:
            self._add_ends(following, ends)
        return following

    def _add_documents(
        self,
        growing: _Growing,
        tokens: npt.NDArray[Any],
        lengths: npt.NDArray[np.int64],
        meta: Sequence[bytes] | None,
    ) -> None:
        ends = np.cumsum(lengths)
        if int(lengths.max(initial=0)) > self.layout.longest:
            raise ValueError(f"{growing.shard.base}: a document of {int(lengths.max())} tokens; format="
                             f"{self.layout.name!r} has at most {self.layout.longest}")
        done = start = 0
        while done < len(lengths):
            shard = growing.shard
            upto = len(lengths)
            if self._limit is not None:
                upto = int(np.searchsorted(ends, start + self._limit - shard.tokens, side="right"))
                if upto <= done and not shard.documents:
                    upto = done + 1  # a document larger than a shard has one of its own
            if upto > done:
                stop = int(ends[upto - 1])
                growing.tokens.append(tokens[start:stop])
                if self.layout.lengths:
                    growing.appenders[shard.lengths_path].append(lengths[done:upto].astype("<i8"))
                if self.layout.meta:
                    growing.appenders[shard.meta_path].append(b"".join((meta or ())[done:upto]))
                shard.tokens += stop - start
                shard.documents += upto - done
                done, start = upto, stop
            if done < len(lengths):
                self._finish(growing)
                growing = self._open()

    # Opening and finishing

    def next_shard(self) -> OpenShard:
        """The shard that will be opened next, empty, with the paths of its files while it grows."""
        base = self._base(self._index)
        tokens = self.layout.outputs(base)[0]
        tokens = tokens.with_name(tokens.name + (".tokens" if self.layout.spooled else "") + PARTIAL)
        lengths = base.with_name(base.name + ".lengths" + PARTIAL)
        meta = base.with_name(base.name + ".meta" + PARTIAL)
        return OpenShard(base, tokens, lengths, meta, 0, 0, self._dtype, self._tokenizer)

    def _spools(self, shard: OpenShard) -> list[Path]:
        wanted = [(shard.lengths_path, self.layout.lengths), (shard.meta_path, self.layout.meta)]
        return [path for path, kept in wanted if kept]

    def _open(self) -> _Growing:
        shard = self.next_shard()
        for path in self.layout.outputs(shard.base):
            if not self._overwrite and self._taken(path):
                raise file_exists(path, "exists already; overwrite=True replaces it")
        growing = self._grow(shard, None)
        head = bytes(self.layout.header)
        if self._known is not None:
            tokens, documents = self._known
            head = self.layout.head(replace(shard, tokens=tokens, documents=documents))
        growing.tokens.append(head)
        return growing

    def _grow(self, shard: OpenShard, sizes: dict[str, int] | None) -> _Growing:
        """Open the files of a shard: new ones, or with `sizes` (by their names) those of an earlier process."""
        files: dict[Path, BinaryIO] = {}
        appenders: dict[Path, Appender] = {}
        limit = None
        if self.layout.exact and self._limit is not None:
            limit = self.layout.header + self._limit * self._dtype.itemsize  # what follows moves to the next shard
        with ExitStack() as opened:
            for path in [shard.tokens_path, *self._spools(shard)]:
                if sizes is not None and not (path.name in sizes and path.exists()):
                    raise FormatError(f"{path}: missing, or not in the journal; overwrite=True starts anew")
                handle = open_own(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if sizes is None else 0))
                file: BinaryIO = opened.enter_context(open(handle, "r+b", buffering=0))
                size = 0 if sizes is None else sizes[path.name]
                if os.fstat(file.fileno()).st_size < size:
                    raise FormatError(f"{path}: shorter than the journal says; overwrite=True starts anew")
                file.truncate(size)
                if path == shard.tokens_path and size:
                    # a run that was killed while it finished the shard may have written the header, which is not known
                    write_at(file, bytes(self.layout.header), 0)
                files[path] = file
                appenders[path] = Appender(
                    file, path, size, writers=self._writers, algorithm=self._algorithm,
                    limit=limit if path == shard.tokens_path else None, durable=self._durable,
                )  # fmt: skip
                opened.callback(appenders[path].close)
            opened.pop_all()
        self._growing = _Growing(shard, files, appenders)
        return self._growing

    def _finish(self, growing: _Growing) -> None:
        """Have the final files made, under temporary names, while the next shard grows."""
        self._wait()  # one shard at a time is enough, and bounds what many small ones hold
        self._finishing = Future.started(partial(self._complete, growing))
        self._growing = None
        self._index += 1

    def _wait(self) -> None:
        """Wait for the shard that is being finished."""
        finishing, self._finishing = self._finishing, None
        if finishing is not None:
            self._finished.append(finishing.result())

    def _complete(self, growing: _Growing) -> dict[str, Any]:
        """Make the final files, durable and with checksums; returns the journal's record of them."""
        shard = growing.shard
        try:
            growing.drain()
            tokens, *others = self.layout.outputs(shard.base)
            drop = self._spools(shard)
            outputs = []
            if self.layout.spooled:
                others = [tokens, *others]
                drop.append(shard.tokens_path)
            else:
                if self._known not in (None, (shard.tokens, shard.documents)):
                    raise ValueError(f"{shard.base}: {shard.tokens} tokens of {shard.documents} documents, not "
                                     f"{self._known[0]} of {self._known[1]}")
                file = growing.files[shard.tokens_path]
                file.seek(0)
                write_all(file, self.layout.head(shard))
                size = self.layout.header + shard.tokens * self._dtype.itemsize
                if self._durable:
                    os.fsync(file.fileno())
                # most headers come first and are known last
                sums = growing.tokens.sums(size, head=bool(self.layout.header) and self._known is None)
                outputs.append(_output(shard.tokens_path, tokens, size, sums))
            for path in others:
                temporary = path.with_name(path.name + PARTIAL)
                with open(open_own(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC), "w+b") as file:
                    self.layout.index(shard, path, file)
                    file.flush()
                    if self._durable:
                        os.fsync(file.fileno())
                    size = os.fstat(file.fileno()).st_size
                outputs.append(_output(temporary, path, size, sums_of(temporary, size, self._algorithm, self._threads)))
        except OSError as error:
            raise explained(error, shard.base) from None
        finally:
            growing.close()
        return {
            "tokens": shard.tokens,
            "documents": None if self.layout.exact else shard.documents,
            "outputs": outputs,
            "drop": [path.name for path in drop],
        }

    def finish(self) -> None:
        """Finish the last shard; without any documents, an empty one."""
        if self._growing is None and self._index == 0:
            self._open()
        if self._growing is not None:
            if isinstance(self.layout, Windows):
                self._fill(self._growing, self.layout.window)
            self._finish(self._growing)

    def _fill(self, growing: _Growing, window: int) -> None:
        """Fill the last window, or drop it if it is not full."""
        rest = growing.shard.tokens % window
        if rest and self._pad is not None:
            growing.tokens.append(np.full(window - rest, self._pad, self._dtype))
            growing.shard.tokens += window - rest
        else:
            growing.shard.tokens -= rest

    def close(self) -> None:
        """Close open files, and leave them for a later process to go on with."""
        growing, self._growing = self._growing, None
        if growing is not None:
            growing.close()
        if self._finishing is not None:
            self._finishing.wait()
        self._writers.close()

    # Crash safety

    def sync(self) -> None:
        """Make what has been added durable."""
        if self._growing is not None:
            self._growing.drain()
            for file in self._growing.files.values():
                os.fsync(file.fileno())

    def take_finished(self) -> list[dict[str, Any]]:
        """The shards finished since the last call, for the journal and then for `settle`."""
        self._wait()
        finished, self._finished = self._finished, []
        return finished

    def state(self) -> dict[str, Any]:
        """What the journal records: the open shard and the sizes of its files."""
        state: dict[str, Any] = {"index": self._index, "open": False, "tokens": 0, "documents": 0, "files": {}}
        growing = self._growing
        if growing is not None:
            state |= {"open": True, "tokens": growing.shard.tokens, "documents": growing.shard.documents}
            state["files"] = {
                path.name: [appender.size, appender.root()] for path, appender in growing.appenders.items()
            }
        return state

    def _restore(self, state: dict[str, Any]) -> None:
        self._index = state["index"]
        if state["open"]:
            shard = self.next_shard()
            shard.tokens, shard.documents = state["tokens"], state["documents"]
            sizes = {shard.tokens_path: self.layout.header + shard.tokens * self._dtype.itemsize}
            if self.layout.lengths:
                sizes[shard.lengths_path] = 8 * shard.documents
            found = {name: size for name, (size, _) in state["files"].items()}
            for path, size in sizes.items():
                if found.get(path.name) != size:
                    raise FormatError(f"{path}: not {size} bytes in the journal; overwrite=True starts anew")
            try:
                growing = self._grow(shard, found)
                for path, appender in growing.appenders.items():
                    if appender.root() != state["files"][path.name][1]:
                        raise FormatError(f"{path}: has been changed since the run was interrupted: its first "
                                          f"{appender.size} bytes differ from the checksum in the journal; "
                                          "overwrite=True starts anew")
            except BaseException:
                self.close()
                raise


def _output(temporary: Path, path: Path, size: int, sums: Sums) -> dict[str, Any]:
    """The journal's record of a finished file."""
    return {"temporary": temporary.name, "name": path.name, "bytes": size, "checksum": sums.listed()}


def task_records(journal: Journal) -> list[dict[str, Any]]:
    """The records of a task's progress, without the header.

    Raises:
        FormatError: One of them is something else.
    """
    _check_records(journal.records[1:], journal.path)
    return journal.records[1:]


def outputs_in(records: Sequence[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """What the records of a task's journal, without the header, have of each file of its finished shards.

    Raises:
        FormatError: One of them is something else.
    """
    _check_records(records, path)
    finished = [shards for record in records for shards in record["finished"].values()]
    return [output for shards in finished for shard in shards for output in shard["outputs"]]


def _check_records(records: Sequence[dict[str, Any]], path: Path) -> None:
    for number, record in enumerate(records, 1):
        check_shape(record, TASK_RECORD, path, f"record {number}")


def settle(
    folder: Path, shards: Sequence[dict[str, Any]], *, check: bool = False, home: RemotePath | None = None
) -> None:
    """Give finished shards that the journal has a record of their final names; doing it again changes nothing.

    Args:
        home: Where they are uploaded to, and then deleted here.
        check: Compare files with their checksums before they get their names: they are of an earlier process.

    Raises:
        FormatError: A shard has neither its temporary nor its final name, or has another size.
    """
    if not shards:
        return
    there: dict[str, int] | None = None  # in the store, when it is asked
    for shard in shards:
        for output in shard["outputs"]:
            temporary, path, size = folder / output["temporary"], folder / output["name"], output["bytes"]
            if temporary.exists():
                if temporary.stat().st_size > size:
                    os.truncate(temporary, size)
                    with temporary.open("r+b") as file:  # Windows syncs no file that is open for reading alone
                        os.fsync(file.fileno())
                if check:
                    check_file(temporary, output)
                if home is None:
                    os.replace(temporary, path)
                else:
                    (home / path.name).upload(temporary)
                    temporary.unlink()
                continue
            if home is not None:
                there = home.sizes() if there is None else there
                whole = there.get(path.name) == size
            else:
                whole = path.exists() and path.stat().st_size == size
            if not whole:
                raise FormatError(f"{path if home is None else home / path.name}: finished by an earlier run, but "
                                  "missing or changed now; overwrite=True starts anew")
        for name in shard["drop"]:
            (folder / name).unlink(missing_ok=True)
    sync_folder(folder)
