"""The inputs of a corpus: files, folders, globs and standard input become an ordered list of pieces.

The order of the pieces is the order of the output, so it is the same on every machine: arguments as given, files of a
folder or a glob by the bytes of their names.
"""
from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .stores import Found, find_objects, found_here, is_url, local_name

__all__ = [
    "KINDS",
    "GIVEN",
    "STDIN",
    "Piece",
    "Sources",
    "find_sources",
    "refuse_unread",
]

STDIN = "-"

#: The kind of a piece that is no file: a program gives its documents, see `given.py`.
GIVEN = "given"

#: File name suffix -> how the content is read.
KINDS = {".txt": "text", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet"}
COMPRESSIONS = {
    ".gz": "gz", ".gzip": "gz", ".zst": "zst", ".zstd": "zst", ".bz2": "bz2", ".xz": "xz",
}  # fmt: skip


@dataclass(frozen=True, slots=True)  # there may be millions
class Piece:
    """A file, or the part of one whose documents start at ``start <= offset < stop`` (bytes).

    ``size`` and ``version`` are those of the file when it was found, see `Found`; if it has changed when it is read,
    that is an error, and not a different output. ``touched`` has the time of change and the inode of a local file,
    which differ between machines and after a copy, but also after an edit that keeps size and time of modification.

    A piece that can be read ``once`` has no identity: standard input, a pipe, the iterable of a program.
    """

    path: str
    kind: str
    compression: str | None = None
    size: int = 0
    version: str = ""
    start: int = 0
    stop: int | None = None
    once: bool = False
    touched: str = field(default="", compare=False)

    @property
    def raw_bytes(self) -> int:
        """Bytes on disk of this piece; 0 if they are unknown."""
        return (self.size if self.stop is None else self.stop) - self.start

    def describe(self) -> list[object]:
        """The identity of the piece in a journal, as JSON."""
        return [self.path, self.kind, self.compression, self.size, self.version, self.start, self.stop]


@dataclass(frozen=True)
class Sources:
    """The pieces found; the files of folders that are left out because no reader knows their suffix; and the names of
    files that are read under another name already."""

    pieces: tuple[Piece, ...]
    left_out: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


def find_sources(
    arguments: Iterable[str | os.PathLike[str]], *, kind: str | None = None, whole_files: bool = False
) -> Sources:
    """The pieces that files, folders, glob patterns and "-" (standard input) stand for.

    Args:
        arguments: Paths, URLs that fsspec knows, or patterns of either. A folder is read with all its subfolders,
            without hidden files. A file is read once, however many arguments, links and folders name it.
        kind: "text", "jsonl", "json" or "parquet" for every file, whatever its name; None goes by the name, and reads a
            file that is named itself and has any other suffix (.md, .py, .html) as text.
        whole_files: Read every text file as one document.

    Raises:
        FileNotFoundError: A path does not exist, a pattern matches nothing, a folder holds nothing to read.
        ValueError: A compressed file named directly has a suffix that no reader knows.
        ImportError: A URL needs a package that is not installed.

    >>> [(p.kind, p.compression) for p in find_sources(["-"], kind="text").pieces]
    [('text', None)]
    """
    if kind is not None and kind not in KINDS.values():
        raise ValueError(f"kind {kind!r} is not one of {', '.join(dict.fromkeys(KINDS.values()))}")
    pieces: list[Piece] = []
    left_out: list[str] = []
    repeated: list[str] = []
    seen: set[object] = set()
    for argument in arguments:
        name = local_name(argument)
        if name == STDIN:
            pieces.append(Piece(STDIN, _document_kind(kind or "text", whole_files), once=True))
            continue
        objects: dict[str, Found] = {}
        itself = False
        if is_url(name):
            listed, itself = find_objects(name)
            objects = {one.url: one for one in listed}
        for file in objects or _files(name):
            holds, compression = _content_of(file, kind)
            named = itself or file == name
            if holds is None and named and compression is None:
                holds = "text"
            if holds is None and named:
                raise ValueError(
                    f"{file}: no reader for this suffix, and a compressed file may be an archive (known: "
                    f"{', '.join(KINDS)}, each also {', '.join(COMPRESSIONS)}); input_kind='text' (or jsonl, json, "
                    "parquet) says what it holds"
                )
            if holds is None:
                left_out.append(file)
                continue
            holds = _document_kind(holds, whole_files)
            identity: object = file
            if about := objects.get(file):
                piece = Piece(file, holds, compression, about.size, about.version)
            else:
                piece, identity = _local_piece(file, holds, compression)
            if identity in seen:
                repeated.append(file)
            else:
                seen.add(identity)
                pieces.append(piece)
    if not pieces:
        known = f"known suffixes: {', '.join(KINDS)}; input_kind='text' reads any file"
        raise FileNotFoundError(errno.ENOENT, f"nothing to read here ({known})", name)
    if sum(piece.path == STDIN for piece in pieces) > 1:
        raise ValueError("standard input (-) can be read only once")
    return Sources(tuple(pieces), tuple(left_out), tuple(repeated))


def refuse_unread(left_out: Sequence[str], on_error: str) -> None:
    """Raises ValueError for files of folders and patterns that no reader knows, if every problem ends a run."""
    if left_out and on_error == "fail":
        more = f", nor for that of {len(left_out) - 1:,} more files here" if len(left_out) > 1 else ""
        raise ValueError(
            f"{left_out[0]}: no reader for this suffix{more}; a pattern such as *.jsonl leaves them out, "
            "input_kind='text' (or jsonl, json, parquet) says what all files hold, on_error='skip' counts such files"
        )


def _files(name: str) -> list[str]:
    """The files that one argument stands for; a folder's or a pattern's are sorted by the bytes of their paths."""
    if os.path.lexists(name) and not os.path.isdir(name):
        return [name]
    named = {name} if os.path.isdir(name) else _expand(name) if glob.has_magic(name) else set()
    if not named:
        raise FileNotFoundError(errno.ENOENT, "no such file, folder or match of a pattern", name)
    paths: set[str] = set()
    for path in named:
        if os.path.isdir(path):
            for _, files in _walk(path):
                paths.update(files)
        else:
            paths.add(path)
    return sorted(paths, key=os.fsencode)


def _expand(pattern: str) -> set[str]:
    """`glob.glob` with ``**``, which follows links; but each real folder once, so it ends whatever the links are."""
    head, star, tail = _at_stars(pattern)
    if not star:
        return set(glob.glob(pattern))
    matches = set()
    for base in glob.glob(head) if head else [""]:
        for folder, files in _walk(base) if not base or os.path.isdir(base) else ():
            matches |= _expand(os.path.join(glob.escape(folder), tail)) if tail else set(files)
    return matches


def _at_stars(pattern: str) -> tuple[str, bool, str]:
    """(what is before the first component that is ``**``, whether there is one, what is after it)."""
    separators = re.escape(os.sep + (os.altsep or ""))
    stars = re.search(rf"(?:^|(?<=[{separators}]))\*\*(?:[{separators}]|$)", pattern)
    if stars is None:
        return pattern, False, ""
    return pattern[: stars.start()], True, pattern[stars.end() :]


def _walk(top: str) -> Iterator[tuple[str, list[str]]]:
    """(folder, its files) for a folder and all below it that are not hidden. Links to folders are followed after all
    folders that are in their places, and each real folder is visited once: links may form loops."""
    folders, links = deque([top]), deque[str]()
    seen: set[object] = set()
    while folders or links:
        folder = folders.popleft() if folders else links.popleft()
        identity = _identity(folder, os.stat(folder or os.curdir))
        if identity in seen:
            continue
        seen.add(identity)
        files = []
        with os.scandir(folder or os.curdir) as entries:
            for entry in sorted(entries, key=lambda entry: os.fsencode(entry.name)):
                path = os.path.join(folder, entry.name)
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    (links if entry.is_symlink() else folders).append(path)
                else:
                    files.append(path)
        yield folder, files


def _identity(path: str, status: os.stat_result) -> object:
    """A value that is equal for two names of the same file or folder."""
    # one int takes a third of the memory of a pair of them
    return status.st_dev << 64 | status.st_ino if status.st_ino else os.path.realpath(path)


def _document_kind(kind: str, whole_files: bool) -> str:
    return "whole" if whole_files and kind == "text" else kind


def _content_of(path: str, kind: str | None) -> tuple[str | None, str | None]:
    """(the kind of content, or None if the suffix is unknown; the compression) of a file or an object."""
    name = Path(path.partition("?")[0] if path.startswith(("http://", "https://")) else path)
    compression = COMPRESSIONS.get(name.suffix.lower())
    if compression:
        name = name.with_suffix("")
    return kind or KINDS.get(name.suffix.lower()), compression


def _local_piece(path: str, kind: str, compression: str | None) -> tuple[Piece, object]:
    status = os.stat(path)
    if stat.S_ISFIFO(status.st_mode):
        return Piece(path, kind, compression, once=True), _identity(path, status)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path}: not a file that can be read from start to end")
    opened = found_here(path, status)
    touched = f"{status.st_ctime_ns} {status.st_ino}"
    return Piece(path, kind, compression, opened.size, opened.version, touched=touched), _identity(path, status)
