"""The manifest beside an output. It names no time and no machine: equal inputs and options give equal manifests."""
from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import regex

from ...errors import FormatError
from ...release import __version__
from ...splitting.pattern.unicode_data import UNICODE
from ..layouts.registry import layout_of
from ..read.find import Input
from ..read.stores import AnyPath

VERSION = 6

#: The most inputs that are listed by name; of more, the manifest has the number and the digest.
LISTED = 10_000


def digest(value: object) -> str:
    """SHA-256 of a JSON value, in hex digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def libraries(inputs: Sequence[Input] = ()) -> dict[str, str]:
    """The versions that decide the tokens, and the versions of packages that parse the inputs."""
    versions = {"bpetite": __version__, "regex": regex.__version__, "unicode": UNICODE}
    kinds = {source.kind for source in inputs}
    for package, kind in (("orjson", "jsonl"), ("pyarrow", "parquet")):
        if kind in kinds and importlib.util.find_spec(package) is not None:
            versions[package] = importlib.import_module(package).__version__  # its metadata takes an import of email
    return versions


def entries_in(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [*manifest["files"], *([manifest["rejected"]] if "rejected" in manifest else [])]


def input_entries(inputs: Sequence[Input]) -> dict[str, Any]:
    """The inputs of a run for its manifest."""
    listed = [{"path": one.path, "bytes": one.size, "version": one.version} for one in inputs[:LISTED]]
    return {
        "count": len(inputs),
        "bytes": sum(one.size for one in inputs),
        "digest": digest([one.describe() for one in inputs]),
        "files": listed if len(inputs) <= LISTED else [],
    }


def file_entries(shards: Mapping[str, Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The files of the shards of each split, for a manifest."""
    return [
        {**file, "split": split, "tokens": shard["tokens"], "documents": shard["documents"]}
        for split, finished in shards.items()
        for shard in finished
        for file in shard["files"]
    ]


def shards_in(manifest: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """The entries of each shard's files, the file of tokens first."""
    size = len(layout_of(manifest["format"]).outputs(Path("x")))
    files = manifest["files"]
    yield from (files[at : at + size] for at in range(0, len(files), size))


def manifest_bytes(manifest: dict[str, Any]) -> bytes:
    """The content of the file, with its own checksum."""
    checked = {**manifest, "checksum": digest(manifest)}
    return json.dumps(checked, indent=1, ensure_ascii=True).encode() + b"\n"


def read_manifest(path: AnyPath, *, of_any_version: bool = False) -> dict[str, Any]:
    """Read a manifest; raises FormatError if it was changed, or has another version. All versions list files alike."""
    try:
        manifest = json.loads(path.read_bytes())
        version, checksum = manifest["manifest"], manifest.pop("checksum", None)
        names = [file["name"] for file in entries_in(manifest)]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as wrong:
        raise FormatError(f"{path}: not a manifest of a token file: {wrong}") from None
    if version != VERSION and not of_any_version:
        raise FormatError(f"{path}: manifest version {version!r}; this release reads {VERSION}")
    if checksum != digest(manifest):
        raise FormatError(f"{path}: has been changed since it was written; its checksum differs")
    for name in names:
        check_name(name, path)
    return dict(manifest)


def check_name(name: str, where: AnyPath) -> str:
    """The name; raises FormatError for a path, because files that a manifest or a state lists are moved and deleted."""
    if name in ("", ".", "..") or "\0" in name or os.path.basename(name) != name:
        raise FormatError(f"{where}: {name!a} is not the name of a file beside it")
    return name
