"""Outputs of commands: standard output, a stream, or a file, which is written whole; its folder is made."""
from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import file_exists

#: Names of standard output.
STDOUT = ("-", "/dev/stdout")


def named(path: str | os.PathLike[str]) -> str:
    """An output, for people."""
    return "standard output" if os.fspath(path) in STDOUT else os.fspath(path)


def is_stream(path: str | os.PathLike[str]) -> bool:
    """True for an output that goes to a reader, and not into a file: standard output, a pipe, a terminal."""
    name = os.fspath(path)
    if name in STDOUT:
        return True
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def check_output(path: str | os.PathLike[str] | None, overwrite: bool) -> None:
    """Find out now, not at the end of the work, that a file cannot be written, if one is asked for.

    Raises:
        OSError: It exists, or cannot be made in its place.
    """
    if path is None or is_stream(path):
        return
    name = os.fspath(path)
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, "a folder has this name; name a file", name)
    if os.path.exists(name) and not overwrite:
        raise file_exists(name)
    folder = Path(os.path.abspath(name)).parent
    if not os.path.lexists(folder):  # it will be made
        folder = folder.parent
    if not folder.is_dir():
        what = "not a folder" if os.path.lexists(folder) else "no such folder; one level is made, not more"
        raise NotADirectoryError(errno.ENOTDIR, what, str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


@contextmanager
def create_output(path: str | os.PathLike[str], overwrite: bool) -> Iterator[BinaryIO]:
    """Bytes to write to an output; a file gets its name when all of it is there, and its folder is made."""
    check_output(path, overwrite)
    if os.fspath(path) in STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif is_stream(path):
        with open(path, "wb") as stream:
            yield stream
    else:
        from ..atomic import create_file

        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with create_file(path, overwrite=overwrite) as file:
            yield file
