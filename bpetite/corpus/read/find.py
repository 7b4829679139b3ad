"""The inputs of a corpus: files, folders, globs, URLs and standard input become a list.

Its order is that of the output, so it is the same on every machine: arguments as given, files of a folder or a glob by
the bytes of their names.
"""
from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .stores import Found, find_objects, found_here, is_url, local_name

STDIN = "-"

GIVEN = "given"  # the kind of documents that a program gives

#: File name suffix -> how the content is read.
KINDS = {".txt": "text", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet"}
COMPRESSIONS = {
    ".gz": "gz", ".gzip": "gz", ".zst": "zst", ".zstd": "zst", ".bz2": "bz2", ".xz": "xz",
}  # fmt: skip


@dataclass(frozen=True, slots=True)  # there may be millions
class Input:
    """A file, an object of a store, or standard input. It is an error to read one whose size or version has changed."""

    path: str  # or URL
    kind: str  # of `KINDS`, "whole" (text) or `GIVEN`
    compression: str | None = None  # "gz", "zst", "bz2" or "xz"
    size: int = 0  # bytes on disk; 0 if they are unknown
    version: str = ""  # see `Found`
    read_once: bool = False  # standard input, a pipe, an iterable

    def describe(self) -> list[object]:
        """Its identity as JSON."""
        return [self.path, self.kind, self.compression, self.size, self.version]


@dataclass(frozen=True)
class Sources:
    """The inputs, and the files and folders that are left out."""

    inputs: tuple[Input, ...]
    left_out: tuple[str, ...] = ()  # files with a suffix that no reader knows
    repeated: tuple[str, ...] = ()  # other names of files that are read
    links: tuple[str, ...] = ()  # links to folders
    as_text: tuple[str, ...] = ()  # files that are named themselves, read as text for want of a known suffix


def find_sources(
    arguments: Iterable[str | os.PathLike[str]], *, kind: str | None = None, whole_files: bool = False
) -> Sources:
    """Find the inputs that are named by files, folders, glob patterns and "-" (standard input).

    Args:
        arguments: Paths, URLs that fsspec knows, or patterns of either. A folder is read with all its subfolders,
            without hidden files and links to folders. A file is read once, however many arguments name it.
        kind: "text", "jsonl", "json" or "parquet" for every file; None goes by the name, and reads a file that is named
            itself and has any other suffix (.md, .py, .html) as text.
        whole_files: Read every text file as one document.

    Raises:
        FileNotFoundError: A path does not exist, a pattern matches nothing, a folder holds nothing to read.
        ValueError: There are no arguments; a compressed file named directly has a suffix that no reader knows.
        ImportError: A URL needs a package that is not installed.

    >>> [(one.kind, one.compression) for one in find_sources(["-"], kind="text").inputs]
    [('text', None)]
    """
    if kind not in (None, *KINDS.values()):
        raise ValueError(f"kind {kind!r} is not one of {', '.join(dict.fromkeys(KINDS.values()))}")
    inputs: list[Input] = []
    left_out: list[str] = []
    repeated: list[str] = []
    links: list[str] = []
    as_text: list[str] = []
    seen: set[object] = set()
    name = None
    for name in map(local_name, arguments):
        if name == STDIN:
            inputs.append(Input(STDIN, _document_kind(kind or "text", whole_files), read_once=True))
            continue
        objects: dict[str, Found] = {}
        itself = False
        if is_url(name):
            listed, itself = find_objects(name)
            objects = {one.url: one for one in listed}
        for file in objects or _files(name, links):
            holds, compression = _content_of(file, kind)
            if holds is None and not (itself or file == name):
                left_out.append(file)
                continue
            if holds is None and compression is not None:
                raise ValueError(
                    f"{file}: no reader for this suffix, and a compressed file may be an archive (known: "
                    f"{', '.join(KINDS)}, each also {', '.join(COMPRESSIONS)}); input_kind='text' (or jsonl, json, "
                    "parquet) says what it holds"
                )
            if holds is None:
                as_text.append(file)
            holds = _document_kind(holds or "text", whole_files)
            identity: object = file
            if about := objects.get(file):
                found = Input(file, holds, compression, about.size, about.version)
            else:
                found, identity = _local_input(file, holds, compression)
            if identity in seen:
                repeated.append(file)
            else:
                seen.add(identity)
                inputs.append(found)
    if name is None:
        raise ValueError("no inputs are given; name files, folders, patterns or URLs, or - for standard input")
    if not inputs:
        known = f"nothing to read here (known suffixes: {', '.join(KINDS)}; input_kind='text' reads any file)"
        raise FileNotFoundError(errno.ENOENT, known, name)
    if sum(one.path == STDIN for one in inputs) > 1:
        raise ValueError("standard input (-) can be read only once")
    return Sources(tuple(inputs), *map(tuple, (left_out, repeated, links, as_text)))


def refuse_unread(left_out: Sequence[str], on_error: str) -> None:
    """Raises ValueError for files of folders and patterns that no reader knows, if every problem ends a run."""
    if left_out and on_error == "fail":
        more = f", nor for that of {len(left_out) - 1:,} more files here" if len(left_out) > 1 else ""
        raise ValueError(
            f"{left_out[0]}: no reader for this suffix{more}; a pattern such as *.jsonl leaves them out, "
            "input_kind='text' (or jsonl, json, parquet) says what all files hold, on_error='skip' leaves them out"
        )


def _files(name: str, links: list[str]) -> list[str]:
    if os.path.lexists(name) and not os.path.isdir(name):
        return [name]
    named = {name} if os.path.isdir(name) else _expand(name, links) if glob.has_magic(name) else set()
    if not named:
        raise FileNotFoundError(errno.ENOENT, "no such file, folder or match of a pattern", name)
    paths: set[str] = set()
    for path in named:
        paths.update(*(files for _, files in _walk(path, links)) if os.path.isdir(path) else [[path]])
    return sorted(paths, key=os.fsencode)


def _expand(pattern: str, links: list[str]) -> set[str]:
    """`glob.glob` with ``**``, which does not follow links to folders."""
    separators = re.escape(os.sep + (os.altsep or ""))
    stars = re.search(rf"(?:^|(?<=[{separators}]))\*\*(?:[{separators}]|$)", pattern)
    if stars is None:
        return set(glob.glob(pattern))
    head, tail = pattern[: stars.start()], pattern[stars.end() :]
    matches = set()
    for base in glob.glob(head) if head else [""]:
        for folder, files in _walk(base, links) if not base or os.path.isdir(base) else ():
            matches |= _expand(os.path.join(glob.escape(folder), tail), links) if tail else set(files)
    return matches


def _walk(top: str, links: list[str]) -> Iterator[tuple[str, list[str]]]:
    """(folder, its files) for a folder and all below it, without hidden ones and links to folders."""

    def refuse(error: OSError) -> None:
        raise error

    for folder, below, names in os.walk(top or os.curdir, onerror=refuse):
        folder = folder if top else os.path.relpath(folder)
        links += [path for name in below if os.path.islink(path := os.path.join(folder, name))]
        below[:] = [name for name in below if not name.startswith(".")]
        start = "" if folder == os.curdir and not top else folder
        yield start, [os.path.join(start, name) for name in names if not name.startswith(".")]


def _document_kind(kind: str, whole_files: bool) -> str:
    return "whole" if whole_files and kind == "text" else kind


def _content_of(path: str, kind: str | None) -> tuple[str | None, str | None]:
    """(the kind of content, or None if the suffix is unknown; the compression) of a file or an object."""
    name = Path(path.partition("?")[0] if path.startswith(("http://", "https://")) else path)
    compression = COMPRESSIONS.get(name.suffix.lower())
    if compression:
        name = name.with_suffix("")
    return kind or KINDS.get(name.suffix.lower()), compression


def _local_input(path: str, kind: str, compression: str | None) -> tuple[Input, object]:
    """(the input, a value that is equal for two names of the same file)."""
    status = os.stat(path)
    # one int takes a third of the memory of a pair of them
    identity = status.st_dev << 64 | status.st_ino if status.st_ino else os.path.realpath(path)
    if stat.S_ISFIFO(status.st_mode):
        return Input(path, kind, compression, read_once=True), identity
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path}: not a file that can be read from start to end")
    found = found_here(path, status)
    return Input(path, kind, compression, found.size, found.version), identity
