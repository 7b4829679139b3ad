"""Exception classes of bpetite.

Each derives from the built-in class that a caller would catch anyway, so ``except ValueError`` keeps working.
"""
from __future__ import annotations

import errno
import os

__all__ = ["FormatError", "MissingExtraError", "UnknownTokenError", "file_exists"]


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


class UnknownTokenError(KeyError):
    """A vocabulary does not have a token.

    Args:
        token: The id, or the bytes or text, that it does not have; the first of ``args``.
        message: What to tell people.

    >>> error = UnknownTokenError(7, "no token has the id 7: the vocabulary has 2 tokens, with ids from 0 to 1")
    >>> error.args, str(error)
    ((7,), 'no token has the id 7: the vocabulary has 2 tokens, with ids from 0 to 1')
    """

    def __init__(self, token: int | bytes | str, message: str = "") -> None:
        super().__init__(token)
        self.message = message

    def __str__(self) -> str:
        return self.message or super().__str__()


def file_exists(
    path: str | os.PathLike[str], message: str = "the file exists; overwrite=True replaces it"
) -> FileExistsError:
    """The error to raise for a file that is in the way, with ``errno`` and ``filename`` set.

    >>> str(file_exists("out.bin", "exists already; --overwrite replaces it"))
    "[Errno 17] exists already; --overwrite replaces it: 'out.bin'"
    """
    return FileExistsError(errno.EEXIST, message, os.fspath(path))
