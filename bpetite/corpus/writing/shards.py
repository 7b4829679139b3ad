"""One stream of documents into shard files that can be taken up again after a crash.

Everything is written under a temporary name. A shard that is full is finished (indexes, header, checksum, sync) by a
thread of its own while the next one grows, but keeps its temporary name until the journal has a record of it; only then
does `settle` give it its final one. So the journal's last record always describes files that are there, whatever moment
the process was killed at: open files are cut back to the sizes it names, finished ones renamed if they have not been,
others deleted.
"""
from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..parallel import Later
from .appending import Appender
from .checksums import Crc32, crc32_of, sha256_of
from .durable import explained, sync_folder, write_all
from .layouts import Layout, OpenShard

__all__ = ["PARTIAL", "ShardWriter", "settle"]

PARTIAL = ".partial"


class ShardWriter:
    """Writes tokens to shards of a layout.

    Args:
        base: Number of a shard -> path of its final files without suffix.
        layout: What the files look like.
        dtype: Of the tokens.
        shard_tokens: Tokens of a shard; None for one shard.
        state: From :meth:`state` of an earlier process, to go on from there.
        overwrite: Replace final files that exist.
        durable: Sync files when they are finished. Without, a power failure can damage them, but not a killed process;
            their checksum is then one for telling just that, and no SHA-256.
        known: Tokens and documents (0 where the layout keeps none) of the one shard that will be written, where that
            is known: then its header is written first, and the checksum needs not wait for the end.

    Raises:
        FileExistsError: A final file exists already.
        ValueError: A shard is too large for its layout, or not as large as was ``known``.
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
    ) -> None:
        self.layout = layout
        self._base = base
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._limit = shard_tokens
        self._tail = 0 if shard_tokens is None else layout.least_tail(shard_tokens)
        self._overwrite = overwrite
        self._durable = durable
        self._files: dict[Path, BinaryIO] = {}
        self._sizes: dict[Path, int] = {}  # of all but the tokens
        self._finished: list[dict[str, Any]] = []
        self._finishing: Later[dict[str, Any]] | None = None
        self._known = known
        self._tokens: Appender | None = None
        self._index = 0
        self._shard: OpenShard | None = None
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
            tokens: In the type of the files, with end-of-text tokens in place.
            lengths: Of each document; layouts that are cut anywhere do without.
            meta: A JSON line of each document, for layouts that keep them.
        """
        if self._shard is None:
            self._open()
        if self.layout.exact:
            self._add_tokens(tokens)
        else:
            assert lengths is not None
            self._add_documents(tokens, lengths, meta)

    def _add_tokens(self, tokens: npt.NDArray[Any]) -> None:
        at = 0
        while at < len(tokens):
            assert self._shard is not None
            assert self._tokens is not None
            # Past its size a shard goes on until the next one would have its least number of tokens; those then move.
            # So the last shard is never too small, and what was written does not depend on how it came in.
            room = len(tokens) if self._limit is None else self._limit + self._tail - self._shard.tokens
            piece = tokens[at : at + room]
            self._tokens.append(piece)
            self._shard.tokens += len(piece)
            at += len(piece)
            if len(piece) == room and self._limit is not None:
                self._split(self._limit)

    def _split(self, limit: int) -> None:
        """Finish a shard at ``limit`` tokens and begin the next one with what lies behind."""
        assert self._shard is not None
        assert self._tokens is not None
        self._tokens.drain()
        with self._shard.tokens_path.open("rb") as file:
            file.seek(self.layout.header + limit * self._dtype.itemsize)
            tail = np.fromfile(file, self._dtype)
        self._shard.tokens = limit
        self._finish()
        self._open()
        self._tokens.append(tail)
        self._shard.tokens = len(tail)

    def _add_documents(
        self, tokens: npt.NDArray[Any], lengths: npt.NDArray[np.int64], meta: Sequence[bytes] | None
    ) -> None:
        ends = np.cumsum(lengths)
        done = start = 0
        while done < len(lengths):
            assert self._shard is not None
            assert self._tokens is not None
            upto = len(lengths)
            if self._limit is not None:
                upto = int(np.searchsorted(ends, start + self._limit - self._shard.tokens, side="right"))
                if upto <= done and not self._shard.documents:
                    upto = done + 1  # a document larger than a shard has one of its own
            if upto > done:
                stop = int(ends[upto - 1])
                self._tokens.append(tokens[start:stop])
                if self.layout.lengths:
                    self._write(self._shard.lengths_path, lengths[done:upto].astype("<i8"))
                if self.layout.meta:
                    self._write(self._shard.meta_path, b"".join((meta or ())[done:upto]))
                self._shard.tokens += stop - start
                self._shard.documents += upto - done
                done, start = upto, stop
            if done < len(lengths):
                self._finish()
                self._open()

    def _write(self, path: Path, data: Any) -> None:
        try:
            self._sizes[path] += write_all(self._files[path], data)
        except OSError as error:
            raise explained(error, path) from None

    # Opening and finishing

    def paths(self) -> OpenShard:
        """The shard to be opened next: where its files are while it grows."""
        base = self._base(self._index)
        tokens = self.layout.outputs(base)[0]
        tokens = tokens.with_name(tokens.name + (".tokens" if self.layout.spooled else "") + PARTIAL)
        lengths = base.with_name(base.name + ".lengths" + PARTIAL)
        meta = base.with_name(base.name + ".meta" + PARTIAL)
        return OpenShard(base, tokens, lengths, meta, 0, 0, self._dtype)

    def _spools(self, shard: OpenShard) -> list[Path]:
        wanted = [(shard.lengths_path, self.layout.lengths), (shard.meta_path, self.layout.meta)]
        return [path for path, kept in wanted if kept]

    def _open(self) -> None:
        shard = self.paths()
        for path in self.layout.outputs(shard.base):
            if path.exists() and not self._overwrite:
                raise FileExistsError(17, "exists already; --overwrite replaces it", str(path))
        for path in [shard.tokens_path, *self._spools(shard)]:
            self._files[path] = open(path, "w+b", buffering=0)  # noqa: SIM115
            self._sizes[path] = 0
        self._shard = shard
        self._tokens = self._appender(shard, 0)
        head = bytes(self.layout.header)
        if self._known is not None:
            tokens, documents = self._known
            head = self.layout.head(replace(shard, tokens=tokens, documents=documents))
        self._tokens.append(head)

    def _appender(self, shard: OpenShard, size: int) -> Appender:
        """What writes the tokens of the open shard."""
        # most headers come first and are known last: the checksum of such a file cannot begin before its end
        follows = not self.layout.spooled and (self._known is not None or not self.layout.header)
        limit = None
        if self.layout.exact and self._limit is not None:
            limit = self.layout.header + self._limit * self._dtype.itemsize  # what lies behind moves to the next shard
        return Appender(
            self._files[shard.tokens_path],
            shard.tokens_path,
            size,
            checksum=(hashlib.sha256() if self._durable else Crc32()) if follows else None,
            limit=limit,
            durable=self._durable,
        )

    def _finish(self) -> None:
        """Have the final files made, under temporary names, while the next shard grows."""
        shard = self._shard
        assert shard is not None
        self._wait()  # one shard at a time is enough, and bounds what many small ones hold
        files, tokens = self._files, self._tokens
        assert tokens is not None
        self._files, self._sizes, self._tokens = {}, {}, None
        self._shard = None
        self._index += 1
        self._finishing = Later.started(partial(self._complete, shard, files, tokens))

    def _wait(self) -> None:
        """Wait for the shard that is being finished."""
        finishing, self._finishing = self._finishing, None
        if finishing is not None:
            self._finished.append(finishing.result())

    def _complete(self, shard: OpenShard, files: dict[Path, BinaryIO], appender: Appender) -> dict[str, Any]:
        """Make the final files, durable and with checksums; returns what the journal is to say of them."""
        try:
            appender.drain()
            tokens, *others = self.layout.outputs(shard.base)
            drop = self._spools(shard)
            outputs = []
            if self.layout.spooled:
                others = [tokens]
                drop.append(shard.tokens_path)
            else:
                if self._known not in (None, (shard.tokens, shard.documents)):
                    raise ValueError(f"{shard.base}: {shard.tokens} tokens of {shard.documents} documents, not "
                                     f"{self._known[0]} of {self._known[1]}")
                file = files[shard.tokens_path]
                file.seek(0)
                write_all(file, self.layout.head(shard))
                size = self.layout.header + shard.tokens * self._dtype.itemsize
                outputs.append(_output(shard.tokens_path, tokens, size, file, self._durable, appender))
            for path in others:
                temporary = path.with_name(path.name + PARTIAL)
                with temporary.open("w+b") as file:
                    self.layout.index(shard, path, file)
                    file.flush()
                    outputs.append(_output(temporary, path, os.fstat(file.fileno()).st_size, file, self._durable))
        except OSError as error:
            raise explained(error, shard.base) from None
        finally:
            appender.close()
            for file in files.values():
                file.close()
        return {
            "tokens": shard.tokens,
            "documents": None if self.layout.exact else shard.documents,
            "outputs": outputs,
            "drop": [path.name for path in drop],
        }

    def finish(self) -> None:
        """Finish the last shard; of no documents at all, an empty one."""
        if self._shard is None and self._index == 0:
            self._open()
        if self._shard is not None:
            self._finish()

    def close(self) -> None:
        """Close open files; they stay where they are, to be gone on with."""
        if self._tokens is not None:
            self._tokens.close()
        for file in self._files.values():
            file.close()
        self._files, self._sizes, self._tokens = {}, {}, None
        if self._finishing is not None:
            self._finishing.wait()

    # Crash safety

    def sync(self) -> None:
        """Make what has been added durable."""
        if self._tokens is not None:
            self._tokens.drain()
        for file in self._files.values():
            os.fsync(file.fileno())

    def take_finished(self) -> list[dict[str, Any]]:
        """The shards finished since the last call, for the journal and then for `settle`."""
        self._wait()
        finished, self._finished = self._finished, []
        return finished

    def state(self) -> dict[str, Any]:
        """What the journal keeps: the open shard and the sizes of its files."""
        shard, sizes = self._shard, {path.name: size for path, size in self._sizes.items()}
        if shard is not None and self._tokens is not None:
            sizes[shard.tokens_path.name] = self._tokens.size
        return {
            "index": self._index,
            "open": shard is not None,
            "tokens": shard.tokens if shard else 0,
            "documents": shard.documents if shard else 0,
            "sizes": sizes,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._index = state["index"]
        if not state["open"]:
            return
        shard = self.paths()
        shard.tokens, shard.documents = state["tokens"], state["documents"]
        with ExitStack() as opened:
            for path in [shard.tokens_path, *self._spools(shard)]:
                size = state["sizes"][path.name]
                file: BinaryIO = opened.enter_context(open(path, "r+b", buffering=0))
                if os.fstat(file.fileno()).st_size < size:
                    raise ValueError(f"{path}: shorter than the journal says; delete the journal to start anew")
                file.truncate(size)
                file.seek(size)
                self._files[path], self._sizes[path] = file, size
            opened.pop_all()
        self._shard = shard
        self._tokens = self._appender(shard, self._sizes[shard.tokens_path])


def _output(
    temporary: Path, path: Path, size: int, file: BinaryIO, durable: bool, appender: Appender | None = None
) -> dict[str, Any]:
    """Seal a file: what the journal is to say of it."""
    output = {"temporary": temporary.name, "name": path.name, "bytes": size}
    kind = "sha256" if durable else "crc32"
    if appender is not None and appender.checksum is not None:
        if durable:
            os.fsync(file.fileno())
        return {**output, kind: appender.digest()}
    if not durable:
        return {**output, kind: crc32_of(temporary, size)}
    digest = Later.started(partial(sha256_of, temporary, size))  # while the disk is busy
    try:
        os.fsync(file.fileno())
    finally:
        digest.wait()
    return {**output, kind: digest.result()}


def settle(folder: Path, shards: Sequence[dict[str, Any]]) -> None:
    """Give finished shards that the journal knows their final names; doing it again changes nothing.

    Raises:
        ValueError: A shard is neither under its temporary nor under its final name, or has another size.
    """
    if not shards:
        return
    for shard in shards:
        for output in shard["outputs"]:
            temporary, path, size = folder / output["temporary"], folder / output["name"], output["bytes"]
            if temporary.exists():
                if temporary.stat().st_size > size:
                    os.truncate(temporary, size)
                    with temporary.open("rb") as file:
                        os.fsync(file.fileno())
                os.replace(temporary, path)
            elif not path.exists() or path.stat().st_size != size:
                raise ValueError(f"{path}: finished by an earlier run, but missing or changed now; "
                                 "delete the journal to start anew")
        for name in shard["drop"]:
            (folder / name).unlink(missing_ok=True)
    sync_folder(folder)
