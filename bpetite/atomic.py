"""Atomic writes: a reader of a file sees its old content or its new content, never a part, whatever fails.

A file is written next to its target and synced to disk, then renamed, and then its folder is synced.
"""
from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from .errors import file_exists

Source = str | os.PathLike[str]

#: Errors of network file systems that cannot sync a folder.
_NO_FOLDER_SYNC = (errno.EBADF, errno.EINVAL, errno.EOPNOTSUPP)


def write_file(path: Source, data: bytes, *, overwrite: bool = False, suffix: str | None = None) -> None:
    """Write one file; for arguments and errors see :func:`create_files`."""
    with create_file(path, overwrite=overwrite, suffix=suffix) as file:
        file.write(data)


def write_files(contents: Mapping[str, bytes], *, overwrite: bool = False) -> None:
    """Write several files, path -> content: all of them, or after a failure none.

    Only a failure between two renames over old files leaves the first of them new and the others old. Arguments and
    errors are those of :func:`create_files`.
    """
    with create_files(contents, overwrite=overwrite) as files:
        for file, data in zip(files, contents.values(), strict=True):
            file.write(data)


@contextmanager
def create_file(path: Source, *, overwrite: bool = False, suffix: str | None = None) -> Iterator[BinaryIO]:
    """:func:`create_files` for one file."""
    with create_files([path], overwrite=overwrite, suffix=suffix) as (file,):
        yield file


@contextmanager
def create_files(
    paths: Iterable[Source], *, overwrite: bool = False, suffix: str | None = None
) -> Iterator[list[BinaryIO]]:
    """Files to write; they get their names when the block ends, and are deleted when it raises.

    Args:
        paths: The targets. A symbolic link stays one, and the file that it points to is written.
        overwrite: Replace files that exist.
        suffix: The end of a file's name until the file is complete. A file that a killed process left under this name
            is overwritten, so only one process at a time may write these paths. By default the name is hidden and
            random.

    Raises:
        FileExistsError: A file exists and ``overwrite`` is false, when the block begins or when it ends.
        IsADirectoryError: A path is a folder.
        FileNotFoundError: A path is in a folder that does not exist.
        OSError: A file cannot be written.
    """
    targets = [_target(path, overwrite) for path in paths]
    if suffix is None:
        temporaries = [target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp") for target in targets]
    else:
        temporaries = [target.with_name(target.name + suffix) for target in targets]
    created: list[Path] = []
    try:
        with ExitStack() as opened:
            mode: Literal["xb", "wb"] = "xb" if suffix is None else "wb"
            files: list[BinaryIO] = [opened.enter_context(open(path, mode)) for path in temporaries]
            yield files
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        for temporary, target in zip(temporaries, targets, strict=True):
            is_new = not target.exists()
            (os.replace if overwrite else rename_to_new)(temporary, target)
            if is_new:
                created.append(target)
    except BaseException:
        for leftover in (*temporaries, *created):
            leftover.unlink(missing_ok=True)
        raise
    for folder in {target.parent for target in targets}:
        sync_folder(folder)


def _target(path: Source, overwrite: bool) -> Path:
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder has this name", str(target))
    if not overwrite and target.exists():
        raise file_exists(target)
    return target


def rename_to_new(temporary: Path, target: Path) -> None:
    """Rename a file, with an error if the new name is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise file_exists(target) from None
    except OSError:  # a file system without hard links
        if target.exists():
            raise file_exists(target) from None
        os.replace(temporary, target)
    else:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder (new, renamed, deleted) durable, where the system can."""
    if os.name == "nt":
        return  # a folder cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)
