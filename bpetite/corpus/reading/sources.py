"""What a corpus consists of: files, folders, globs and standard input become an ordered list of pieces.

The order of the pieces is the order of the output, so it is the same on every machine: arguments as given, files of a
folder or a glob by the bytes of their names. A piece is a whole file, or the documents that start in a byte range of
one; that is how several machines share one large file without communication.
"""
from __future__ import annotations

import errno
import glob
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

__all__ = [
    "KINDS",
    "STDIN",
    "TASK_BYTES",
    "Piece",
    "Sources",
    "find_sources",
    "overlaps_itself",
    "share",
    "shares",
]

STDIN = "-"

#: File name suffix -> how the content is read.
KINDS = {".txt": "text", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet"}
COMPRESSIONS = {".gz": "gz", ".zst": "zst"}

#: Bytes of input of a task on a cluster, unless told otherwise.
TASK_BYTES = 256 << 20


@dataclass(frozen=True)
class Piece:
    """A file, or the part of one whose documents start at ``start <= offset < stop`` (bytes).

    ``size`` and ``mtime_ns`` are those of the file when it was found; if the file has changed when it is read, that is
    an error, and not a different output.
    """

    path: str
    kind: str
    compression: str | None = None
    size: int = 0
    mtime_ns: int = 0
    start: int = 0
    stop: int | None = None

    @property
    def raw_bytes(self) -> int:
        """Bytes on disk of this piece; 0 if they are unknown."""
        return (self.size if self.stop is None else self.stop) - self.start

    def describe(self) -> list[object]:
        """What identifies the piece in a journal, as JSON."""
        return [self.path, self.kind, self.compression, self.size, self.mtime_ns, self.start, self.stop]


@dataclass(frozen=True)
class Sources:
    """The pieces found, and the files of folders that are left out because no reader knows their suffix."""

    pieces: tuple[Piece, ...]
    left_out: tuple[str, ...] = ()


def find_sources(
    arguments: Iterable[str | os.PathLike[str]], *, kind: str | None = None, whole_files: bool = False
) -> Sources:
    """The pieces that files, folders, glob patterns and "-" (standard input) stand for.

    Args:
        arguments: Paths or patterns. A folder is read with all its subfolders, without hidden files.
        kind: "text", "jsonl", "json" or "parquet" for every file, whatever its name; None goes by the name.
        whole_files: Read every text file as one document.

    Raises:
        FileNotFoundError: A path does not exist, a pattern matches nothing, a folder holds nothing to read.
        ValueError: A file named directly has a suffix that no reader knows.

    >>> [(p.kind, p.compression) for p in find_sources(["-"], kind="text").pieces]
    [('text', None)]
    """
    if kind is not None and kind not in KINDS.values():
        raise ValueError(f"kind {kind!r} is not one of {', '.join(dict.fromkeys(KINDS.values()))}")
    pieces: list[Piece] = []
    left_out: list[str] = []
    for argument in arguments:
        name = os.fspath(argument)
        if name == STDIN:
            pieces.append(Piece(STDIN, _document_kind(kind or "text", whole_files)))
            continue
        named = [name] if os.path.lexists(name) else _matches(name)
        for path in named:
            for file in _walk(path) if os.path.isdir(path) else [path]:
                piece = _piece(file, kind, whole_files)
                if piece is not None:
                    pieces.append(piece)
                elif file == name:
                    raise ValueError(
                        f"{file}: no reader for this suffix (known: {', '.join(KINDS)}, each also .gz and .zst); "
                        f"say what it holds with --input-format text, jsonl, json or parquet"
                    )
                else:
                    left_out.append(file)
    if not pieces:
        raise FileNotFoundError(errno.ENOENT, f"nothing to read here (known suffixes: {', '.join(KINDS)})", name)
    if sum(piece.path == STDIN for piece in pieces) > 1:
        raise ValueError("standard input (-) can be read only once")
    return Sources(tuple(pieces), tuple(left_out))


def _matches(pattern: str) -> list[str]:
    found = sorted(glob.glob(pattern, recursive=True), key=os.fsencode) if glob.has_magic(pattern) else []
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no such file, folder or match of a pattern", pattern)
    return found


def _walk(folder: str) -> list[str]:
    """All files below a folder that are not hidden, by the bytes of their paths."""
    found = []
    for parent, folders, files in os.walk(folder, onerror=_raise, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(parent, name) for name in files if not name.startswith(".")]
    return sorted(found, key=os.fsencode)


def _raise(error: OSError) -> None:
    raise error


def _document_kind(kind: str, whole_files: bool) -> str:
    return "whole" if whole_files and kind == "text" else kind


def _piece(path: str, kind: str | None, whole_files: bool) -> Piece | None:
    """The piece of a whole file, or None if its suffix is unknown."""
    name = Path(path)
    compression = COMPRESSIONS.get(name.suffix.lower())
    if compression:
        name = name.with_suffix("")
    found = kind or KINDS.get(name.suffix.lower())
    if found is None:
        return None
    status = os.stat(path)
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        raise ValueError(f"{path}: not a file that can be read from start to end")
    return Piece(path, _document_kind(found, whole_files), compression, status.st_size, status.st_mtime_ns)


def overlaps_itself(separator: bytes) -> bool:
    r"""Whether a separator starts with its own end, as b"\n\n" does: where it occurs then depends on the text before,
    so a file cannot be cut at every occurrence of its bytes.

    >>> overlaps_itself(b"\n\n"), overlaps_itself(b"<|endoftext|>")
    (True, False)
    """
    return any(separator.startswith(separator[-size:]) for size in range(1, len(separator)))


def share(pieces: Sequence[Piece], rank: int, world_size: int, *, cut_files: bool = True) -> tuple[Piece, ...]:
    """The share of one of several equal workers; in the order of ranks, the shares are the whole, each document once.

    A document belongs to the rank in whose range of the concatenated files it starts. Plain text and JSON lines are
    cut at any byte (the reader finds the next document); other files go as a whole to the rank in which they start.

    Args:
        pieces: Whole files, as :func:`find_sources` gives them.
        rank: In 0 .. world_size - 1.
        world_size: Number of workers.
        cut_files: False keeps every file whole.

    Raises:
        ValueError: The rank is out of range, or the input is standard input, which only one process can read.
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not in 0..{world_size - 1}")
    return next(shares(pieces, world_size, ranks=[rank], cut_files=cut_files))


def shares(
    pieces: Sequence[Piece], world_size: int, *, ranks: Iterable[int] | None = None, cut_files: bool = True
) -> Iterator[tuple[Piece, ...]]:
    """The `share` of each of some ranks, or of all."""
    if world_size == 1:
        yield tuple(pieces)
        return
    if any(piece.path == STDIN for piece in pieces):
        raise ValueError("standard input (-) cannot be shared between ranks; name files")
    bases = [0, *accumulate(piece.size for piece in pieces)]
    total = bases[-1]
    for rank in range(world_size) if ranks is None else ranks:
        low, high = total * rank // world_size, total * (rank + 1) // world_size
        last = rank == world_size - 1
        mine = []
        # from the piece that holds the first byte of the range on
        first = max(0, bisect_left(bases, low) - 1)
        for number in range(first, len(pieces)):
            piece, base = pieces[number], bases[number]
            if base >= high and not last:
                break
            if cut_files and piece.kind in ("text", "jsonl") and piece.compression is None and piece.size:
                start, stop = max(0, low - base), min(piece.size, high - base)
                if start < stop:
                    mine.append(replace(piece, start=start, stop=stop))
            elif low <= base < high or (base == total and last):
                mine.append(piece)
        yield tuple(mine)
