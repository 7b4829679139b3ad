"""What all formats share: reading a file whole, strict JSON, writing so that nothing half-written can remain."""
from __future__ import annotations

import errno
import gc
import os
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from ..errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Source", "expect_keys", "parse_json", "read_file", "show", "without_collector", "write_files"]

#: What a path may be given as.
Source = str | os.PathLike[str]


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def without_collector(load: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Switch the cyclic garbage collector off while a function runs: none of the hundreds of thousands of objects that
    loading makes is garbage, and the collector would walk them again and again, a third of the time it takes."""

    @wraps(load)
    def run(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        if not gc.isenabled():
            return load(*arguments, **keywords)
        gc.disable()
        try:
            return load(*arguments, **keywords)
        finally:
            gc.enable()

    return run


def read_file(path: Source) -> bytes:
    """The bytes of a file, at least one.

    Raises:
        FormatError: A directory, or a file of 0 bytes.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        raise FormatError(f"{name}: a directory where a file was expected")
    with open(name, "rb") as file:
        data = file.read()
    if not data:
        raise FormatError(f"{name}: the file is empty (0 bytes)")
    return data


def decode_utf8(data: bytes, name: str) -> str:
    """The text of a file, a byte-order mark dropped."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        raise FormatError(f"{name}: byte {bad.start} (0x{data[bad.start]:02x}) is not UTF-8") from None


@without_collector
def parse_json(data: bytes | str, name: str) -> Any:
    """The value that a JSON text holds, strictly: no repeated keys, no NaN, nothing after the value.

    Raises:
        FormatError: With the line and column, or the key.
    """
    text = decode_utf8(data, name) if isinstance(data, bytes) else data

    def distinct(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) != len(items):
            seen: set[str] = set()
            twice = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise FormatError(f"{name}: the key {show(twice)} occurs twice in one JSON object")
        return made

    def no_constant(constant: str) -> NoReturn:
        raise FormatError(f"{name}: {constant} is not JSON")

    import json  # not at the top: a file that is as expected is read without it

    try:
        return json.loads(text, object_pairs_hook=distinct, parse_constant=no_constant)
    except FormatError:
        raise
    except RecursionError:
        raise FormatError(f"{name}: the JSON is nested too deep to be a tokenizer") from None
    except json.JSONDecodeError as bad:
        raise FormatError(f"{name}: not JSON at line {bad.lineno}, column {bad.colno}: {bad.msg}") from None
    except ValueError as bad:  # an integer of thousands of digits
        raise FormatError(f"{name}: {bad}") from None


def expect_keys(found: Any, name: str, place: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Raise FormatError unless ``found`` is a JSON object with the required keys and none beyond the optional ones."""
    if not isinstance(found, dict):
        raise FormatError(f"{name}: {place} must be a JSON object, not {show(found)}")
    for key in required:
        if key not in found:
            raise FormatError(f"{name}: {place} has no {key!r}")
    for key in found:
        if key not in required and key not in optional:
            raise FormatError(f"{name}: {place} has the unknown key {show(key)}")


def show(value: object) -> str:
    """A repr short enough for an error message."""
    if isinstance(value, dict | list) and len(value) > 8:
        return f"a {type(value).__name__} of {len(value)} items"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def write_files(contents: Mapping[str, bytes], *, overwrite: bool) -> None:
    """Write files so that after a failure each is what it was before.

    Every file is written beside its place and flushed to disk before the first one is renamed into place.

    Args:
        contents: path -> what to write.
        overwrite: Replace files that exist.

    Raises:
        FileExistsError: A file exists and ``overwrite`` is false.
        OSError: A file cannot be written.
    """
    import secrets  # not at the top: loading does without them
    from pathlib import Path

    # through links, so that a link stays one
    places = [Path(os.path.realpath(path)) for path in contents]
    for place in places:
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(place.parent))
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "a directory is in the way", str(place))
        if not overwrite and place.exists():
            raise FileExistsError(errno.EEXIST, "the file exists; overwrite=True replaces it", str(place))
    beside = [place.with_name(f".{place.name}.{secrets.token_hex(6)}.tmp") for place in places]
    placed: list[Path] = []
    try:
        for temporary, data in zip(beside, contents.values(), strict=True):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
        for temporary, place in zip(beside, places, strict=True):
            if overwrite:
                os.replace(temporary, place)
            else:
                _rename_to_nothing(temporary, place)
                placed.append(place)
    except BaseException:
        for leftover in (*beside, *placed):
            leftover.unlink(missing_ok=True)
        raise
    for folder in {place.parent for place in places}:
        _sync_directory(folder)


def _rename_to_nothing(temporary: Path, place: Path) -> None:
    """Rename, failing if a file has come to be at the new place in the meantime."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "the file exists; overwrite=True replaces it", str(place)) from None
    except OSError:  # a file system without hard links
        if place.exists():
            raise FileExistsError(errno.EEXIST, "the file exists; overwrite=True replaces it", str(place)) from None
        os.replace(temporary, place)
    else:
        temporary.unlink()


def _sync_directory(folder: Path) -> None:
    if os.name == "nt":
        return  # a directory cannot be opened there
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse; the files themselves are on disk
        pass
    finally:
        os.close(descriptor)
