"""The record beside an output: its content, and the inputs, tokenizer and options that it was made from.

It names no time of the run and no machine: the same inputs and options give the same manifest, whatever happened on the
way. What happened is in a file of its own, see `run.outputs.run_lines`.
"""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import regex

from ... import __version__
from ...atomic import write_file
from ...errors import FormatError
from ...splitting.pattern.unicode_version import unicode_version
from ..layouts.registry import layout_in
from ..reading.readers import parsers
from ..sources.find import Piece
from ..sources.paths import AnyPath, RemotePath
from .checksums import file_sums, list_sums
from .durable import PARTIAL, put_whole

__all__ = [
    "VERSION",
    "check_name",
    "digest",
    "libraries",
    "list_files",
    "list_inputs",
    "list_rejected",
    "listed_files",
    "read_manifest",
    "write_manifest",
    "write_small",
]

VERSION = 4

#: Inputs listed by name; of more, the manifest has the number and the digest.
LISTED = 10_000


def digest(value: object) -> str:
    """SHA-256 of a JSON value, in hex digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def libraries(pieces: Sequence[Piece] = ()) -> dict[str, str]:
    """The versions that decide the tokens, and the versions of packages that parse the inputs."""
    return {
        "bpetite": __version__, "regex": regex.__version__, "unicode": unicode_version(), **parsers(pieces),
    }  # fmt: skip


def listed_files(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [*manifest["files"], *([manifest["rejected"]] if "rejected" in manifest else [])]


def list_inputs(pieces: Sequence[Piece]) -> dict[str, Any]:
    """The inputs of a run for its manifest: by name unless they are too many."""
    listed = [{"path": piece.path, "bytes": piece.size, "version": piece.version} for piece in pieces[:LISTED]]
    return {
        "count": len(pieces),
        "bytes": sum(piece.size for piece in pieces),
        "digest": digest([piece.describe() for piece in pieces]),
        "files": listed if len(pieces) <= LISTED else [],
    }


def list_files(shards: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "name": output["name"],
            "split": split,
            "bytes": output["bytes"],
            "checksum": output["checksum"],
            "tokens": shard["tokens"],
            "documents": shard["documents"],
        }
        for split, finished in shards.items()
        for shard in finished
        for output in shard["outputs"]
    ]


def list_rejected(shards: Sequence[dict[str, Any]], problems: dict[str, dict[str, Any]]) -> dict[str, Any]:
    (shard,) = shards
    (output,) = shard["outputs"]
    records = sum(problem["count"] for problem in problems.values())
    return {"name": output["name"], "bytes": output["bytes"], "checksum": output["checksum"], "records": records}


def write_manifest(path: AnyPath, manifest: dict[str, Any], *, staging: Path | None = None) -> None:
    """Write a manifest with its own checksum, and before it the file that all shards have together; readers see the old
    files or the new ones. A part has no such file: no trainer reads it. What goes to a URL is first in ``staging``."""
    layout = layout_in(manifest)
    if layout.whole is not None:
        data = layout.describe_all(manifest)
        whole = path.with_name(layout.whole)
        write_small(whole, data, staging)
        sums = file_sums(whole, len(data))
        manifest["files"].append(
            {
                "name": layout.whole, "split": "all", "bytes": len(data), "checksum": list_sums(sums), "tokens": 0,
                "documents": 0,
            }
        )  # fmt: skip
    checked = {**manifest, "checksum": digest(manifest)}
    write_small(path, json.dumps(checked, indent=1, ensure_ascii=True).encode() + b"\n", staging)


def write_small(path: AnyPath, data: bytes, staging: Path | None = None) -> None:
    """Write a file, which appears whole; ``staging`` as of `write_manifest`."""
    if isinstance(path, RemotePath):
        assert staging is not None
        put_whole(path, data, staging)
    else:
        write_file(path, data, overwrite=True, suffix=PARTIAL)


def read_manifest(path: AnyPath) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        FormatError: It has been changed since it was written, is of another version, or is something else.
    """
    try:
        manifest = json.loads(path.read_bytes())
        version, checksum = manifest["manifest"], manifest.pop("checksum", None)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as wrong:
        raise FormatError(f"{path}: not a manifest of a token file: {wrong}") from None
    if version != VERSION:
        raise FormatError(f"{path}: manifest version {version!r}; this release reads {VERSION}")
    if checksum != digest(manifest):
        raise FormatError(f"{path}: has been changed since it was written; its checksum differs")
    for file in listed_files(manifest):
        check_name(file["name"], path)
    return dict(manifest)


def check_name(name: str, where: AnyPath) -> str:
    """The name of a file that a manifest or journal lists: files of these names are opened, renamed and deleted.

    Raises:
        FormatError: It is a path, and not a name.
    """
    if name in ("", ".", "..") or "\0" in name or os.path.basename(name) != name:
        raise FormatError(f"{where}: {name!a} is not the name of a file beside it")
    return name
