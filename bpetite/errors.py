"""Exception classes of bpetite.

Each derives from the built-in class that a caller would catch anyway, so ``except ValueError`` keeps working.
"""
from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import index


class FormatError(ValueError):
    """A tokenizer or token file cannot be read or written as asked.

    The message names the file and the position, and gives the value found and the value expected. A long message keeps
    its two ends.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) < 1000 else f"{message[:600]} ... {message[-300:]}")


class MissingExtraError(ImportError):
    """A feature needs a package that is not installed; the message names the extra that brings it."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        clone = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        of_clone = os.path.exists(os.path.join(clone, "pyproject.toml"))
        what = f"-e '{clone}[{extra}]'" if of_clone else f"'bpetite[{extra}]'"
        super().__init__(f"{feature} needs {package}: pip install {what}")
        self.feature = feature
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.feature, self.package, self.extra)


class TrainingWarning(UserWarning):
    """Training ended before ``vocab_size``, since no pair was left to learn."""


def failed_import(failed: ImportError, feature: str, package: str, extra: str) -> ImportError:
    """The error to raise after the import of an extra's package has failed: with the extra if the package is missing,
    else with the reason.

    >>> failed_import(ImportError("too old"), "encode_batch_to_arrow", "pyarrow", "arrow")
    ImportError('encode_batch_to_arrow: pyarrow is installed, but cannot be imported: too old')
    """
    for one in (failed, failed.__cause__):
        if isinstance(one, ModuleNotFoundError) and one.name is not None and one.name.partition(".")[0] == package:
            return MissingExtraError(feature, package, extra)
    return ImportError(f"{feature}: {package} is installed, but cannot be imported: {failed}", name=failed.name)


@contextmanager
def importing(feature: str, package: str, extra: str) -> Iterator[None]:
    """Import an extra's package, or raise `failed_import`."""
    try:
        yield
    except ImportError as failed:
        raise failed_import(failed, feature, package, extra) from None


class UnknownTokenError(KeyError):
    """A vocabulary does not have a token.

    Args:
        token: The id, the bytes or the text of the missing token; the first of ``args``.
        message: The text for people.

    >>> error = UnknownTokenError(7, "no token has the id 7: the vocabulary has 2 tokens, with ids from 0 to 1")
    >>> error.args, str(error)
    ((7,), 'no token has the id 7: the vocabulary has 2 tokens, with ids from 0 to 1')
    """

    def __init__(self, token: int | bytes | str, message: str = "") -> None:
        super().__init__(token)
        self.message = message

    def __str__(self) -> str:
        return self.message or super().__str__()


def check_integer(
    name: str, value: object, least: int, why: str = "", *, most: int | None = None, kind: str = "an int"
) -> int:
    """The number, or the error that says why it is none; a bool is none.

    >>> check_integer("n", 5, least=1)
    5
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {kind}, not {short_repr(value)}") from None
    if most is not None and not least <= number <= most:
        raise ValueError(f"{name} must be {least} to {most}, not {short_repr(number)}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}{why}, not {number}")
    return number


def amount_in(text: str, unit: int) -> int | None:
    """The number in a text that may end in K, M, G or T, which are powers of the unit, and for bytes, of the unit 1024,
    in B; None if there is none.

    >>> amount_in("32k", 1000), amount_in("1.5GB", 1024), amount_in("2 GiB", 1024), amount_in("2 GiB", 1000)
    (32000, 1610612736, 2147483648, None)
    """
    ending = "i?b?" if unit == 1024 else ""
    match = re.fullmatch(rf"(\d{{1,18}})(?:(\.\d{{1,9}})? ?([kmgt]))?{ending}", text.strip().lower(), re.ASCII)
    if match is None:
        return None
    scale: int = unit ** " kmgt".index(match[3] or " ")
    return int(match[1]) * scale + int(float(match[2] or 0) * scale)


def short_repr(value: object) -> str:
    """A repr short enough for an error message.

    >>> short_repr([1, 2]), short_repr([0] * 100), short_repr("a" * 100)[-6:]
    ('[1, 2]', 'a list of 100 items', 'aaa...')
    """
    if isinstance(value, dict | list | tuple | set | frozenset) and len(value) > 8:
        return f"a {type(value).__name__} of {len(value)} items"
    text = repr(value[:80] if isinstance(value, str | bytes | bytearray) else value)
    return text if len(text) <= 80 else text[:77] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like an unknown one; None if all are far from it.

    >>> nearest("CL100K_bse", ["o200k_base", "cl100k_base"])
    'cl100k_base'
    """
    from difflib import get_close_matches  # imported only on the way to an error

    spelled = {one.lower(): one for one in known}
    matches = get_close_matches(name.lower(), spelled, n=1, cutoff=0.7)
    return spelled[matches[0]] if matches else None


def not_a_text(given: object) -> TypeError:
    """The error to raise for a text that is neither str nor bytes.

    >>> str(not_a_text(["a", "b"]))
    "text is str or UTF-8 bytes, not ['a', 'b']; encode_batch and count_batch take several texts"
    """
    hint = ""
    if isinstance(given, bytearray | memoryview):
        hint = "; bytes(text) makes bytes of it"
    elif isinstance(given, list | tuple):
        hint = "; encode_batch and count_batch take several texts"
    elif given is None:
        hint = "; leave out what has no text, or give ''"
    elif hasattr(given, "read_text"):
        hint = "; text.read_text() reads the file"
    elif hasattr(given, "read"):
        hint = "; encode_iterable takes an open file"
    return TypeError(f"text is str or UTF-8 bytes, not {short_repr(given)}{hint}")


def file_exists(
    path: str | os.PathLike[str], message: str = "the file exists; overwrite=True replaces it"
) -> FileExistsError:
    """The error to raise if a file is in the way, with ``errno`` and ``filename`` set.

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


def counted(number: int, noun: str) -> str:
    """A number of things, for a message.

    >>> counted(0, "fault"), counted(1, "fault"), counted(1200, "fault")
    ('no faults', '1 fault', '1,200 faults')
    """
    return f"{f'{number:,}' if number else 'no'} {noun}{'' if number == 1 else 's'}"
