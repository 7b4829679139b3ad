"""The record beside an output: what it holds, and from which inputs, with which tokenizer and options it was made.

It names no times and no machine: the same inputs and options give the same manifest, whatever happened on the way.
"""
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import regex

from ... import __version__
from ...errors import FormatError
from ...formats.atomic import write_file
from ...splitting.pattern.unicode_version import unicode_version
from ..layouts.layouts import layout_in
from ..sources.find import Piece
from ..sources.paths import AnyPath, RemotePath
from .checksums import Sums, sums_of
from .durable import PARTIAL, open_own
from .naming import REJECTED, REJECTED_SUFFIX, Names, splits_of
from .shapes import MANIFEST, check_shape

__all__ = [
    "VERSION",
    "check_files",
    "digest",
    "libraries",
    "list_files",
    "listed_files",
    "list_inputs",
    "read_manifest",
    "write_manifest",
]

VERSION = 2

#: Inputs listed by name; of more, the manifest has the number and the digest.
LISTED = 10_000


def digest(value: object) -> str:
    """SHA-256 of a JSON value, in hex digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def libraries() -> dict[str, str]:
    """The versions that decide what the tokens are."""
    return {"bpetite": __version__, "regex": regex.__version__, "unicode": unicode_version()}


def listed_files(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """All files that a manifest lists: those of tokens, and that of rejected records."""
    return [*manifest["files"], *([manifest["rejected"]] if "rejected" in manifest else [])]


def list_inputs(pieces: Sequence[Piece]) -> dict[str, Any]:
    """The inputs of a run, as its manifest lists them: by name unless they are too many."""
    listed = [{"path": piece.path, "bytes": piece.size} for piece in pieces[:LISTED]]
    return {
        "count": len(pieces),
        "bytes": sum(piece.size for piece in pieces),
        "digest": digest([piece.describe() for piece in pieces]),
        "files": listed if len(pieces) <= LISTED else [],
    }


def list_files(shards: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The files of finished shards (split -> shards), as a manifest lists them."""
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


def write_manifest(path: AnyPath, manifest: dict[str, Any], *, staging: Path | None = None) -> None:
    """Write a manifest, and before it the file that all shards have together; readers see the old ones or the new.

    The output of one rank of several has no such file: it is not read before it is merged.

    Args:
        staging: The folder where files are first written that go to a URL.
    """
    layout = layout_in(manifest)
    if layout.whole is not None and manifest["rank"] is None:
        data = layout.describe_all(manifest)
        sums = _write(path.with_name(layout.whole), data, staging)
        manifest["files"].append(
            {
                "name": layout.whole, "split": "all", "bytes": len(data), "checksum": sums.listed(), "tokens": 0,
                "documents": 0,
            }
        )  # fmt: skip
    _write(path, json.dumps(manifest, indent=1, ensure_ascii=True).encode() + b"\n", staging)


def _write(path: AnyPath, data: bytes, staging: Path | None) -> Sums:
    """Write a file, which appears whole; returns its checksums."""
    if not isinstance(path, RemotePath):
        write_file(path, data, overwrite=True, suffix=PARTIAL)
        return sums_of(path, len(data), "sha256")
    assert staging is not None
    here = staging / (path.name + PARTIAL)
    with open(open_own(here, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)
    path.upload(here)
    sums = sums_of(here, len(data), "sha256")
    here.unlink()
    return sums


def read_manifest(path: AnyPath) -> dict[str, Any]:
    """Read a manifest.

    The files in it are all those that a run writes, in order, so none of them can be passed over.

    Raises:
        FormatError: It is damaged, or its version is another one.
        OSError: It cannot be read.
    """
    try:
        manifest = json.loads(path.read_bytes())
        version = manifest["manifest"]
    except (ValueError, KeyError, TypeError, RecursionError) as wrong:
        raise FormatError(f"{path}: not a manifest of a token file: {wrong}") from None
    if version != VERSION:
        raise FormatError(f"{path}: manifest version {version!r}; this release reads {VERSION}")
    check_shape(manifest, MANIFEST, path)
    check_files(manifest, path)
    return dict(manifest)


def check_files(manifest: dict[str, Any], path: AnyPath, *, shards_only: bool = False) -> None:
    """Check that a manifest lists what its layout writes beside it, and that its totals are those of the files.

    Args:
        shards_only: The file that all shards have together is not written yet.

    Raises:
        FormatError: A file is missing, unknown or in another place, or tokens or documents are.
    """
    layout, files = layout_in(manifest), manifest["files"]
    stem = path.name.removesuffix("manifest.json").removesuffix(".")
    numbered = layout.numbered or manifest["options"]["shard_tokens"] is not None
    names = Names(Path(), stem, layout, numbered)  # of which the names alone are needed
    size = len(layout.outputs(Path("x")))
    expected = []
    of_shards = [file for file in files if file["name"] != layout.whole]
    for split in splits_of(manifest["options"]["val_fraction"]):
        shards = -(-sum(file["split"] == split for file in of_shards) // size) if numbered else 1
        for index in range(max(1, shards)):
            expected += [(output.name, split) for output in layout.outputs(names.base(split, index))]
    if layout.whole is not None and manifest["rank"] is None and not shards_only:
        expected.append((layout.whole, "all"))
    for index, (file, pair) in enumerate(zip_longest(files, expected)):
        listed = file and (file["name"], file["split"])
        if listed != pair:
            raise FormatError(f"{path}: files[{index}] is {listed!a}, not {pair!a}; damaged, or renamed")
    if ("rejected" in manifest) != bool(manifest["options"].get("rejected")):
        raise FormatError(f"{path}: its options and its list do not agree on a file of rejected records; damaged")
    if "rejected" in manifest and manifest["rejected"]["name"] != names.beside(REJECTED).name + REJECTED_SUFFIX:
        raise FormatError(f"{path}: rejected is {manifest['rejected']['name']!a}; damaged, or renamed")
    for name in ("tokens",) if layout.exact else ("tokens", "documents"):
        total = sum(file[name] or 0 for file in of_shards[::size])
        if total != manifest[name]:
            raise FormatError(f"{path}: {manifest[name]} {name}, but {total} in its files; damaged")
