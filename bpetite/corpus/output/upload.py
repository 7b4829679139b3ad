"""Outputs at URLs: they grow in a local folder, and the store has what any other machine needs to go on.

Objects cannot be appended to, synced or locked. So temporary files and the journal are local, in a folder whose name
follows from the output's, and each finished file is uploaded whole, compared, and then deleted here. Each checkpoint
also uploads what has been added to the files that grow, as objects NAME.OFFSET, and then the journal: its last record
there says no more than the objects hold. A run that finds another journal here than in the store takes the one there,
and the files that it lists. An object beside the output, until the manifest is there, names the process that writes it:
the last one that began. Another one, which it may have replaced, finds that at its next checkpoint, and ends.
"""
from __future__ import annotations

import errno
import json
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ...core._threads import Future
from ..sources.paths import RemotePath
from .durable import Increments, Journal, put_whole
from .naming import Names
from .shards import publish

__all__ = ["Publisher", "begin_staging", "end_staging", "leave_staging"]


def begin_staging(names: Names) -> None:
    """Make the folder where an output grows; one in the folder of temporary files is the user's own."""
    own = names.folder.parent
    if names.home is not None:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and own.stat().st_uid != os.getuid():
            raise PermissionError(errno.EACCES, "of another user; TMPDIR names another folder", str(own))
    names.folder.mkdir(parents=True, exist_ok=True)


def end_staging(names: Names) -> None:
    """After the end of a run: what says that it is unfinished goes, and the folder."""
    if names.home is not None:
        with suppress(OSError):
            names.clear_home()
        with suppress(OSError):
            names.clear_temporary(unknown=True)
        leave_staging(names)


def leave_staging(names: Names) -> None:
    if names.home is not None:
        with suppress(OSError):
            names.folder.rmdir()


class Publisher:
    """Makes checkpoints; at a URL they are uploaded in the background, one at a time."""

    def __init__(self, names: Names, journal: Journal) -> None:
        self._names = names
        self._journal = journal
        self._uploading: Future[None] | None = None
        self._copies: dict[str, Increments] = {}  # of the files that grow
        self._claim: dict[str, str] = {
            "host": socket.gethostname(), "staging": os.path.abspath(names.folder), "token": secrets.token_hex(8),
        }  # fmt: skip

    def claim(self) -> None:
        """Say in the store that this run is writing the output; finds out at the start whether that can be written."""
        if self._names.home is not None:
            put_whole(self._names.marker, json.dumps(self._claim).encode() + b"\n", self._names.folder)

    def restore(self, files: Mapping[str, int]) -> None:
        """Have the files that grow, name -> bytes, as the journal's last record lists them."""
        if self._names.home is None:
            return
        self._copies = {name: Increments(self._names.home / name) for name in files}
        sizes = {} if self._journal.adopted else self._names.home.sizes()
        for name, copy in self._copies.items():
            if self._journal.adopted:
                with (self._names.folder / name).open("wb") as file:
                    file.writelines(copy.read())
            copy.find(sizes)

    def checkpoint(self, record: dict[str, Any]) -> None:
        """Add a record of what has been synced to the journal, and then publish what it lists, see `shards.py`.

        Raises:
            BlockingIOError: Another run has taken this output over.
            OSError: This checkpoint, or the one before it, cannot be written.
        """
        self.finish()
        self._journal.append(record)
        shards = [shard for new in record["finished"].values() for shard in new]
        if self._names.home is None:
            publish(self._names, shards)
            return
        grown = {name: size for state in record["writers"].values() for name, (size, _) in state["files"].items()}
        self._uploading = Future.started(partial(self._upload, self._names.home, shards, grown))

    def _upload(self, home: RemotePath, shards: Sequence[dict[str, Any]], grown: Mapping[str, int]) -> None:
        self._check_claim()
        publish(self._names, shards)
        for name, size in grown.items():
            copy = self._copies.setdefault(name, Increments(home / name))
            copy.push(self._names.folder / name, size)
        self._journal.push()
        for name in self._copies.keys() - grown.keys():
            self._copies.pop(name).delete()

    def _check_claim(self) -> None:
        claim: Any = {}
        with suppress(FileNotFoundError, ValueError):
            claim = json.loads(self._names.marker.read_bytes())
        if claim != self._claim:
            where = f"{claim.get('host')}:{claim.get('staging')}" if claim else "a run that has ended"
            raise BlockingIOError(errno.EAGAIN, f"taken over by {where}", str(self._names.marker))

    def finish(self) -> None:
        """Wait until all of the last checkpoint is in the store."""
        uploading, self._uploading = self._uploading, None
        if uploading is not None:
            uploading.result()

    def close(self) -> None:
        """Wait for what is going on, however it ends."""
        if self._uploading is not None:
            self._uploading.wait()
