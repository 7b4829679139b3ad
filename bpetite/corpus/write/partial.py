"""The folder of all that is unfinished of an output: growing and finished shards, rejected lines, the state of the run.

The state is one JSON file that is replaced atomically. A second file is locked while a process works here. At the end
the finished files move to their place, the manifest last.

An output at a URL has this folder on the local machine. The store gets each finished shard, and then the state and the
files that grow, so that another machine can go on. The state in the store names its writer; a writer that another one
has replaced finds that at its next shard, and ends.
"""
from __future__ import annotations

import errno
import itertools
import json
import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from ...atomic import sync_folder, write_file
from ...errors import FormatError, file_exists
from ..read.stores import ANEW, AnyPath, RemotePath, exists, names_in
from .growing import check_file, open_own
from .manifest import VERSION, check_name, entries_in, manifest_bytes, read_manifest
from .names import Names, names_like

STATE, LOCK, MANIFEST = "state.json", "lock", "manifest.json"
LISTING = "listing.json"  # a manifest of files that others have made: they stay where they are

IN_THE_WAY = "exists, and is no folder of an unfinished run; move it away"
BUSY = "another run is writing this output"


class PartialFolder:
    """The folder of an output, locked by this process. With ``overwrite``, a damaged state is ignored. ``claimed``: the
    store has a state, so an earlier process has begun this output, and the finished shards there belong to it."""

    def __init__(self, names: Names, *, overwrite: bool = False) -> None:
        self.names = names
        self.folder: Path = names.folder
        self._store = names.place if isinstance(names.place, RemotePath) else None
        self.claimed: bool = False
        self._has_state = False
        self._copied: set[str] = set()  # growing files that the store has
        self._unsent: list[dict[str, Any]] = []  # finished shards of an earlier process that the store lacks
        self._claim: dict[str, Any] = {
            "host": socket.gethostname(), "pid": os.getpid(), "folder": str(self.folder), "token": secrets.token_hex(8),
        }  # fmt: skip
        self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o777 if self._store is None else 0o700)
        if self._store is not None and hasattr(os, "getuid") and self.folder.parent.stat().st_uid != os.getuid():
            raise PermissionError(errno.EACCES, "of another user; TMPDIR names another folder", str(self.folder.parent))
        try:
            self.folder.mkdir(exist_ok=True)
        except FileExistsError:
            raise file_exists(self.folder, IN_THE_WAY) from None
        try:
            if (there := os.listdir(self.folder)) and LOCK not in there:
                raise file_exists(self.folder, IN_THE_WAY)
            self._lock = open_own(self.folder / LOCK, new=True)
        except FileNotFoundError:  # a run that ends has just deleted the folder
            raise BlockingIOError(errno.EAGAIN, BUSY, str(self.folder)) from None
        try:
            _lock(self._lock.fileno(), self.folder / LOCK)
            self.state: dict[str, Any] | None = None
            with suppress(FormatError) if overwrite else nullcontext():
                self.state = self._restored()
        except BaseException:
            self._lock.close()
            raise

    def _restored(self) -> dict[str, Any] | None:
        here = _parsed(self.folder / STATE)
        there = None if self._store is None else _parsed(self._remote(STATE))
        self.claimed = self._has_state = there is not None
        if there is None or there["identity"] is None:
            return here
        self._copied = {*there["copied"]}
        if here is not None and all(here["claim"][name] == there["claim"][name] for name in ("host", "folder")):
            return here  # at least as new as the state in the store
        self._empty()  # the files here are older than the state in the store
        for name, size in there["copied"].items():
            try:
                data = self._remote(check_name(name, self.folder)).read_bytes()
            except FileNotFoundError:
                raise FormatError(f"{self._remote(name)}: missing; {ANEW}") from None
            if len(data) < size:  # longer is right: this file was uploaded before a newer state that never arrived
                raise FormatError(f"{self._remote(name)}: {len(data)} bytes, not {size}; {ANEW}")
            (self.folder / name).write_bytes(data[:size])
        return there

    def begin(self) -> None:
        """Claim an output at a URL. This fails at the start of a run if the store cannot be written to."""
        if self._store is not None:
            nothing: dict[str, Any] = {"version": VERSION, "identity": None, "copied": {}}
            there = None if self.state is None else _parsed(self._remote(STATE))
            self._put_state({**(there or nothing), "claim": self._claim})

    def save(self, state: dict[str, Any], finished: Sequence[dict[str, Any]] = ()) -> None:
        """Replace the state; then delete the sources of newly finished shards, and bring these shards to the store."""
        state = {"version": VERSION, "claim": self._claim, **state}
        write_file(self.folder / STATE, json.dumps(state, separators=(",", ":")).encode(), overwrite=True)
        self.state = state
        for shard in finished:
            self.settle(shard)
        finished = [*self._unsent, *finished]
        if self._store is not None and finished:
            if (claim := (_parsed(self._remote(STATE)) or {}).get("claim")) != self._claim:
                where = f"{claim['host']}:{claim['folder']}" if claim else "a run that has ended"
                raise BlockingIOError(errno.EAGAIN, f"taken over by {where}", str(self._remote(STATE)))
            for file in (file for shard in finished for file in shard["files"]):
                self._move(file)
            copied = {name: (self.folder / name).stat().st_size for name in _growing_files(state)}
            for name in copied:
                self._remote(name).upload(self.folder / name, replaces=name in self._copied)
            self._put_state({**state, "copied": copied})
            for name in self._copied - {*copied}:
                self._remote(name).unlink(missing_ok=True)
            self._copied = {*copied}
            self._unsent = []

    def settle(self, shard: dict[str, Any]) -> None:
        """Cut the files of a finished shard to their length, and delete what it was made from."""
        for file in shard["files"]:
            path = self.folder / check_name(file["name"], self.folder)
            if path.exists() and path.stat().st_size > file["bytes"]:
                with path.open("r+b") as opened:
                    opened.truncate(file["bytes"])
                    os.fsync(opened.fileno())
        for name in shard["drop"]:
            (self.folder / check_name(name, self.folder)).unlink(missing_ok=True)

    def go_on(self) -> None:
        """Check finished files by their hashes, and delete every file that the state does not list."""
        assert self.state is not None
        known = {STATE, LOCK, MANIFEST, *_growing_files(self.state)}
        for shard in (shard for finished in self.state["finished"].values() for shard in finished):
            self.settle(shard)
            for file in shard["files"]:
                known.add(check_name(file["name"], self.folder))
                here = self.folder / file["name"]
                if here.exists() or self._store is None:
                    check_file(here, file)
                elif self._place(file).stat().st_size != file["bytes"]:
                    raise FormatError(f"{self._place(file)}: has changed since it was written; {ANEW}")
            if any((self.folder / file["name"]).exists() for file in shard["files"]):
                self._unsent.append(shard)
        for path in self.folder.iterdir():
            if path.name not in known:
                path.unlink()

    def unpublished(self) -> tuple[str, dict[str, Any]] | None:
        """The manifest of a process that was killed while it published, by its name here: `MANIFEST` or `LISTING`."""
        for name in (MANIFEST, LISTING):
            if (self.folder / name).exists():
                return name, read_manifest(self.folder / name)
        return None

    def publish_rest(self, *, overwrite: bool, of: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """Publish again after a kill; returns the manifest, or None if there is none, or another run's than ``of``."""
        if (found := self.unpublished()) is None:
            return None
        name, manifest = found
        if name == LISTING if of is None else any(manifest[key] != of[key] for key in ("run", "rank", "options")):
            return None
        self.publish(manifest, overwrite=overwrite, listing=name == LISTING)
        return manifest

    def publish(self, manifest: dict[str, Any], *, overwrite: bool, listing: bool = False) -> None:
        """Move the listed files that are here to their place, and then the manifest. Without ``overwrite``, a file in
        the way is an error, and nothing is moved. After a kill at any moment, it can be called again. ``listing``: the
        files were made by ranks, and no later run of this output may delete them."""
        files = entries_in(manifest)
        made = self.folder / (LISTING if listing else MANIFEST)
        if not made.exists():  # else an earlier process was killed here
            if self._store is None and not overwrite:
                for file in files:
                    if (self.folder / file["name"]).exists() and exists(self._place(file)):
                        raise file_exists(self._place(file), "is in the way; move it, or overwrite=True replaces it. "
                                          "The same command goes on")
            write_file(made, manifest_bytes(manifest), overwrite=True)
        if overwrite:
            kept = {file["name"] for file in files}
            with suppress(FileNotFoundError, FormatError):  # delete the files of an earlier output
                for file in entries_in(read_manifest(self.names.manifest, of_any_version=True)):
                    if file["name"] not in kept:
                        self._place(file).unlink(missing_ok=True)
            if self._store is not None:
                self.names.manifest.unlink(missing_ok=True)
        for file in files:
            self._move(file)
        place = self.names.manifest
        if isinstance(place, Path):
            sync_folder(self.names.place)  # type: ignore[arg-type]
            os.replace(made, place)
            sync_folder(place.parent)
        else:
            place.upload(made)
        self.delete(done=True)

    def _place(self, file: dict[str, Any]) -> AnyPath:
        return self.names.place / str(file["name"])

    def _move(self, file: dict[str, Any]) -> None:
        here, place = self.folder / file["name"], self._place(file)
        if not here.exists():  # moved by an earlier process, or made by a rank
            if not exists(place) or place.stat().st_size != file["bytes"]:
                raise FormatError(f"{place}: missing, or not of {file['bytes']} bytes as it was made; {ANEW}")
            return
        if isinstance(place, Path):
            os.replace(here, place)
        else:
            place.upload(here)
            here.unlink()

    def delete(self, *, done: bool = False) -> None:
        """Forget everything that is unfinished. No thread may be writing."""
        if self._store is not None and (done or self.state is not None or not self.claimed):  # else shards are there
            with suppress(OSError):
                start = self.names.sibling("partial.")
                names = [name for name in names_in(self._store) if name.startswith(start) and name != start + STATE]
                for name in (*names, start + STATE):
                    (self._store / name).unlink(missing_ok=True)
        self._empty()
        if os.name == "nt":
            self._lock.close()  # Windows deletes no open file; elsewhere the lock is held until it is gone
        (self.folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # another process has begun there
            self.folder.rmdir()
        self._lock.close()

    def start_over(self) -> None:
        """Delete all but the lock, and the files that a killed process made and moved to their place."""
        with suppress(FormatError):
            name, manifest = self.unpublished() or ("", {"files": []})
            for file in entries_in({**manifest, "files": []} if name == LISTING else manifest):
                if not (self.folder / file["name"]).exists():
                    self._place(file).unlink(missing_ok=True)
        self._empty()
        self.state = None

    def _empty(self) -> None:
        for path in self.folder.iterdir():
            if path.name != LOCK:
                path.unlink()

    def unlock(self) -> None:
        self._lock.close()

    def _remote(self, name: str) -> RemotePath:
        assert self._store is not None
        return self._store / self.names.sibling(f"partial.{name}")

    def _put_state(self, state: dict[str, Any]) -> None:
        here = self.folder / f"{STATE}.copy"
        here.write_bytes(json.dumps(state).encode())
        self._remote(STATE).upload(here, replaces=self._has_state)
        self._has_state = True
        here.unlink()


def _growing_files(state: dict[str, Any]) -> list[str]:
    growing = [one["growing"]["files"] for one in state["writers"].values() if one["growing"]]
    return [*itertools.chain.from_iterable(growing), *state["lists"]]


def unfinished(path: AnyPath) -> dict[str, dict[str, Any] | None]:
    """Name -> the state of an unfinished output, or that of each of its ranks, which processes may be writing; None
    before their first state; the manifest of a rank that is finished."""
    found: dict[str, dict[str, Any] | None] = {}
    for names in names_like(path):
        for rank in names.ranks(".manifest.json"):
            found[str(rank.place / rank.stem)] = read_manifest(rank.manifest)
        for one in (names, *names.ranks(".partial")):
            state = _state_or_claim(one)
            if state is not None or one.folder.is_dir():
                found[str(one.place / (one.stem or "."))] = state if state and state["identity"] else None
    return dict(sorted(found.items()))


def _state_or_claim(names: Names) -> dict[str, Any] | None:
    state = _parsed(names.folder / STATE)
    if state is None and isinstance(names.place, RemotePath):
        state = _parsed(names.place / names.sibling(f"partial.{STATE}"))
    return state


def clean_up(names: Names, run: str) -> None:
    """Delete the folder of a process that was killed after the manifest of its run was in place."""
    with suppress(OSError, FormatError):
        state = _state_or_claim(names)  # raises for a state that this release cannot read, which stays
        if names.folder.exists() or state is not None:
            partial = PartialFolder(names, overwrite=True)  # it may have been killed while it deleted its files
            if partial.state is None or partial.state["identity"]["run"] == run:
                partial.delete(done=True)
            partial.unlock()


def _parsed(path: AnyPath) -> dict[str, Any] | None:
    try:
        state = json.loads(path.read_bytes())
        version, _, _ = state["version"], state["identity"], state["claim"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError, RecursionError) as wrong:
        raise FormatError(f"{path}: not the state of a run ({wrong}); {ANEW}") from None
    if version != VERSION:
        raise FormatError(f"{path}: state version {version!r}; this release goes on from {VERSION}; {ANEW}")
    return dict(state)


def _lock(handle: int, path: Path) -> None:
    """Lock a file, which must still be there: another run may just have ended, and deleted it."""
    held = False
    with suppress(BlockingIOError, FileNotFoundError):
        if os.name == "nt":
            import msvcrt

            with suppress(PermissionError):  # it is held
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
                held = True
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.path.samestat(os.fstat(handle), os.stat(path))
    if not held:
        raise BlockingIOError(errno.EAGAIN, BUSY, str(path.parent))
