"""What manifests and journals must hold, checked when they are read: the code after that relies on it.

They are files that anything can have changed. Names in them are names of files in their own folder and nothing else,
because files of these names are opened, renamed and deleted.
"""
from __future__ import annotations

import os
from typing import Any

from ...errors import FormatError
from ..encoding.rows import EOT
from ..layouts.layouts import LAYOUTS
from ..sources.paths import AnyPath
from .durable import PARTIAL

__all__ = ["CLUSTER_HEADER", "CLUSTER_SHARD", "MANIFEST", "TASK_HEADER", "TASK_RECORD", "check_shape"]

#: The most that a count, size or offset may be; what is larger cannot be a size of a file.
MOST = 2**63 - 1


def count(value: object) -> bool:
    """A number of bytes, tokens or documents."""
    return type(value) is int and 0 <= value <= MOST


def name(value: object) -> bool:
    """The name of a file in the folder of the manifest or journal."""
    if not isinstance(value, str) or value in ("", ".", "..") or "\0" in value or os.path.basename(value) != value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def window(value: object) -> bool:
    """The tokens of a window."""
    return count(value) and value != 0


def temporary(value: object) -> bool:
    """The name of a file that is not finished."""
    return name(value) and str(value).endswith(PARTIAL)


def number(value: object) -> bool:
    """An int or a float."""
    return type(value) in (int, float)


def pair(value: object) -> bool:
    """Two counts."""
    return isinstance(value, list) and len(value) == 2 and all(map(count, value))


def rank(value: object) -> bool:
    """[rank, world size]."""
    return isinstance(value, list) and len(value) == 2 and all(map(count, value)) and value[0] < value[1]


def described(value: object) -> bool:
    """An input, as `Piece.describe` has it."""
    if not isinstance(value, list) or len(value) not in (7, 8, 11):
        return False
    if not all(one is None or isinstance(one, str) for one in value[7:9]):
        return False
    if len(value) == 11 and not (count(value[9]) and number(value[10])):
        return False
    path, kind, compression, *numbers, stop = value[:7]
    return (
        isinstance(path, str) and isinstance(kind, str) and (compression is None or isinstance(compression, str))
        and all(map(count, numbers)) and (stop is None or count(stop))
    )


def sized(value: object) -> bool:
    """[number of bytes, checksum]."""
    return isinstance(value, list) and len(value) == 2 and count(value[0]) and isinstance(value[1], str)


#: Of a file: that of each range, and that of them.
_CHECKSUM = {"algorithm": ("sha256", "crc32"), "range_bytes": count, "root": str, "ranges": [str]}
_OUTPUT = {"temporary": temporary, "name": name, "bytes": count, "checksum": _CHECKSUM}
_SHARD = {"tokens": count, "documents": (None, count), "outputs": [_OUTPUT], "drop": [temporary]}
_PROBLEMS = {"*": {"count": count, "first": str, "detail": str}}

#: A shape is a type, a value, a function that says yes or no, a tuple of shapes of which one is enough, a list with the
#: shape of all items, or a dict: key -> shape, "key?" for a key that may be missing, "*" for every key.
MANIFEST: dict[str, Any] = {
    "run": str,
    "rank": (None, rank),
    "format": tuple(LAYOUTS),
    "dtype": ("uint16", "uint32", "int32"),
    "tokenizer": {
        "name": str,
        "fingerprint": str,
        "vocab_size": count,
        "eot_id": (None, count),
        "eot_text": (None, str),
    },
    "libraries": {"*": str},
    "eot": EOT,
    "separator": str,
    "final_separator": (None, bool),
    "documents": count,
    "tokens": count,
    "bytes": count,
    "on_error": str,
    "problems": _PROBLEMS,
    "filtered": {"*": count},
    "inputs": {
        "count": count, "bytes": count, "digest": str, "files": [{"path": str, "bytes": count}],
        "unread?": count,
    },
    "sources?": {"*": {"documents": count, "tokens": count, "repeats": number}},
    "rejected?": {"name": name, "bytes": count, "checksum": _CHECKSUM, "records": count},
    "packed?": {"window": count, "windows": count, "dropped": count, "padded": count},
    "options": {"shard_tokens": (None, count), "val_fraction": number, "pack?": (None, window), "loss_mask?": bool},
    "files": [
        {
            "name": name,
            "split": ("all", "train", "val"),
            "bytes": count,
            "checksum": _CHECKSUM,
            "tokens": count,
            "documents": (None, count),
        }
    ],
}

TASK_HEADER: dict[str, Any] = {"settings": dict, "inputs": [described], "rank": (None, rank)}

TASK_RECORD: dict[str, Any] = {
    "position": {"piece": count, "offset": count},
    "on_error": str,
    "tally": {
        "documents": count,
        "tokens": count,
        "bytes": count,
        "problems": _PROBLEMS,
        "filtered": {"*": count},
        "sources": {"*": pair},
        "final_separator": (None, bool),
        "piece": count,
        "records": count,
        "all_records": count,
    },
    "writers": {"*": {"index": count, "open": bool, "tokens": count, "documents": count, "files": {"*": sized}}},
    "finished": {"*": [_SHARD]},
    "shuffle?": pair,
    "digests?": pair,
}

CLUSTER_HEADER: dict[str, Any] = {"run": str, "tasks": count, "joined": bool}

CLUSTER_SHARD: dict[str, Any] = {"split": str, "index": count, "shard": _SHARD}


def check_shape(value: object, shape: Any, path: AnyPath, at: str = "") -> None:
    """Check a JSON value.

    Args:
        value: What was read.
        shape: What it must be.
        path: Of the file, for the message.
        at: Where in the file the value is, for the message.

    Raises:
        FormatError: It is something else; the message says where and what.
    """
    if isinstance(shape, dict) and isinstance(value, dict):
        for key, inner in shape.items():
            if key == "*":
                for found, item in value.items():
                    check_shape(item, inner, path, f"{at}.{found}")
            elif key.rstrip("?") in value:
                check_shape(value[key.rstrip("?")], inner, path, f"{at}.{key.rstrip('?')}")
            elif not key.endswith("?"):
                where = at.lstrip(".") or "the file"
                raise FormatError(f"{path}: {where} has no {key!r}; damaged, or of another program")
    elif isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(value):
            check_shape(item, shape[0], path, f"{at}[{index}]")
    elif not _fits(value, shape):
        raise FormatError(f"{path}: {at.lstrip('.') or 'the file'} is {_short(value)}, which cannot be; "
                          "damaged, or of another program")


def _fits(value: object, shape: Any) -> bool:
    if isinstance(shape, tuple):
        return any(_fits(value, one) for one in shape)
    if isinstance(shape, type):
        return type(value) is shape
    if callable(shape):
        return bool(shape(value))
    return type(value) is type(shape) and bool(value == shape) and not isinstance(shape, dict | list)


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
