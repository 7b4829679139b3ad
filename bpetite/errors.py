"""Exception classes of bpetite.

Each derives from the built-in class that a caller would catch anyway, so ``except ValueError`` keeps working.
"""
from __future__ import annotations

import errno
import os
import sys
import warnings

__all__ = ["FormatError", "MissingExtraError", "TrainingWarning", "file_exists", "warn_caller"]


class FormatError(ValueError):
    """A tokenizer or token file cannot be read or written as asked.

    The message names the file, the position in it, what was found and what was expected.
    """


class MissingExtraError(ImportError):
    """A feature needs a package that is not installed; the message names the extra that brings it."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}: pip install 'bpetite[{extra}]'")
        self.feature = feature
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.feature, self.package, self.extra)


class TrainingWarning(UserWarning):
    """Training went otherwise than asked: it ended before ``vocab_size``, since no pair was left to learn."""


def file_exists(
    path: str | os.PathLike[str], message: str = "the file exists; overwrite=True replaces it"
) -> FileExistsError:
    """The error to raise for a file that is in the way, with ``errno`` and ``filename`` set.

    >>> str(file_exists("out.bin"))
    "[Errno 17] the file exists; overwrite=True replaces it: 'out.bin'"
    """
    return FileExistsError(errno.EEXIST, message, os.fspath(path))


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called into this package, however deep the call goes."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "bpetite":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
