"""A folder for the files that targets write, in memory where the system offers it, gone at exit."""
from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["fresh", "scratch", "write"]


@cache
def scratch(name: str) -> Path:
    """The folder of a target."""
    path = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def fresh(name: str) -> Path:
    """The same folder, emptied."""
    path = scratch(name)
    for entry in os.scandir(path):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    return path


def write(target: str, name: str, data: bytes) -> Path:
    """A file with these bytes in the folder of a target."""
    path = scratch(target) / name
    path.write_bytes(data)
    return path
