"""Outputs at a URL: they grow in a local folder, and each finished file goes to the store whole.

Objects cannot be appended to, synced or locked. So temporary files and the journal are local, in a folder whose name
follows from the output's: the same command finds them again. A file that is finished, and in the journal, is uploaded,
compared, and then deleted here; so one that is not here has been uploaded, as a local one has been renamed. An object
beside the output says where that folder is until the manifest is there: nobody else begins the same output.
"""
from __future__ import annotations

import errno
import json
import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ...atomic import write_file
from ...core._threads import Future
from ...errors import file_exists
from ..sources.paths import AnyPath
from .durable import PARTIAL
from .naming import Names, default_staging
from .shards import publish

__all__ = ["Publisher", "begin_staging", "claim", "claimed", "end_staging", "leave_staging"]


def begin_staging(names: Names) -> None:
    """Make the folder where an output grows; one in the folder of temporary files is the user's own.

    Raises:
        PermissionError: Somebody else has made it.
    """
    own = names.folder.parent
    if names.home is not None and own == default_staging():
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and own.stat().st_uid != os.getuid():
            raise PermissionError(errno.EACCES, "of another user; staging= names another folder", str(own))
    names.folder.mkdir(parents=True, exist_ok=True)


def end_staging(names: Names) -> None:
    """After the end of a run: what says that it is unfinished goes, and the folder."""
    if names.home is not None:
        with suppress(OSError):
            names.marker.unlink(missing_ok=True)
        with suppress(OSError):
            names.clear_temporary(unknown=True)
            names.claim.unlink(missing_ok=True)
        leave_staging(names)


def leave_staging(names: Names) -> None:
    """Delete the folder if it is empty."""
    if names.home is not None:
        with suppress(OSError):
            names.folder.rmdir()


def claim(names: Names, *, overwrite: bool) -> None:
    """Say in the store that this run is writing an output; finds out at the start whether that can be written.

    Raises:
        FileExistsError: Another run has said so, or this one, and its local files are lost.
        OSError: The store refuses.
    """
    if names.home is None:
        return
    kept = names.claim
    mine, other = claimed(kept), claimed(names.marker)
    if other is not None and other == mine:
        return
    mine = {"host": socket.gethostname(), "staging": os.path.abspath(names.folder), "token": secrets.token_hex(8)}
    if other is not None and not overwrite:
        where = f"{other.get('host')}:{other.get('staging')}"
        if where != f"{mine['host']}:{mine['staging']}":
            raise file_exists(names.marker.url, f"says that a run in {where} is writing this output; the same command "
                              "there goes on, overwrite=True starts anew here")
        if names.finished():
            raise file_exists(names.marker.url, f"of an unfinished run, and its files in {where} are gone; "
                              "overwrite=True starts anew")
    write_file(kept, json.dumps(mine).encode() + b"\n", overwrite=True, suffix=PARTIAL)
    try:
        names.marker.upload(kept)
    except BaseException:
        kept.unlink()
        raise


def claimed(marker: AnyPath) -> dict[str, Any] | None:
    """The content of the marker of an unfinished output, or None if there is none."""
    try:
        found = json.loads(marker.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


class Publisher:
    """Gives finished shards their names; uploads go on meanwhile, one call's shards at a time."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._uploading: Future[None] | None = None

    def publish(self, shards: Sequence[dict[str, Any]]) -> None:
        """After the journal has a record of them.

        Raises:
            OSError: Earlier ones cannot be uploaded.
        """
        if self._names.home is None:
            publish(self._names, shards)
        elif shards:
            self.finish()
            self._uploading = Future.started(partial(publish, self._names, shards))

    def finish(self) -> None:
        """Wait until all have their names."""
        uploading, self._uploading = self._uploading, None
        if uploading is not None:
            uploading.result()

    def close(self) -> None:
        """Wait for what is going on, however it ends."""
        if self._uploading is not None:
            self._uploading.wait()
