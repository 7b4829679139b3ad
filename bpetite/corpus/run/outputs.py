"""The outputs of runs: found by any of their names, and the files that their manifests list."""
from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..layouts.layouts import layout_in
from ..output.manifest import read_manifest
from ..sources.paths import AnyPath, path_of

__all__ = ["file_of_all", "files_of_shard", "find_manifest", "stems_of", "token_files", "token_files_of_split"]


def find_manifest(path: str | os.PathLike[str]) -> tuple[AnyPath, dict[str, Any], list[str]] | None:
    """The manifest of an output, found from its own path, the output's name, its folder, or one of its files.

    Returns:
        (path of the manifest, its content, names of the token files that were meant), or None if there is none.
    """
    path = path_of(path)
    if path.name.endswith("manifest.json") and path.is_file():
        manifest = read_manifest(path)
        return path, manifest, token_files(manifest)
    if path.is_dir():
        return find_manifest(path / "manifest.json") if (path / "manifest.json").is_file() else None
    named = [path.with_name(f"{stem}.manifest.json") for stem in stems_of(path.name)]
    for candidate in [*named, path.with_name("manifest.json")]:
        if not candidate.is_file():
            continue
        manifest = read_manifest(candidate)
        files = {file["name"] for file in manifest["files"]}
        if path.name in files:
            names = {file["name"] for file in files_of_shard(manifest, path.name)}
            return candidate, manifest, [name for name in token_files(manifest) if name in names]
        if not path.exists():
            return candidate, manifest, token_files(manifest)
    return None


def stems_of(name: str) -> list[str]:
    """What the names of an output may begin with, of which this is its name or that of one of its files."""
    endings = (
        r"\.(offsets|cu_seqlens|windows|loss_mask)\.npy", r"\.npy", r"\.csv\.gz", r"\.ds\.index", r"\.ds\.metadata",
        r"\.ds", r"\.parquet", r"\.bin", r"\.idx", r"\.mds",
    )  # fmt: skip
    stem = re.sub(f"({'|'.join(endings)})$", "", name)
    stem = stem.removesuffix("_text_document")
    return [name, stem, re.sub(r"_\d{6,}$", "", stem), re.sub(r"(_(train|val))?(_\d{6,})?$", "", stem)]


def token_files(manifest: dict[str, Any]) -> list[str]:
    """The names of the files that hold tokens, without indexes."""
    return [file["name"] for file in _of_shards(manifest)[:: _files_a_shard(manifest)]]


def files_of_shard(manifest: dict[str, Any], token_file: str) -> list[dict[str, Any]]:
    """A file of tokens and those that belong to it, as the manifest lists them."""
    size, files = _files_a_shard(manifest), _of_shards(manifest)
    at = next(index for index, file in enumerate(files) if file["name"] == token_file) // size * size
    return list(files[at : at + size])


def token_files_of_split(manifest: dict[str, Any], split: str) -> list[dict[str, Any]]:
    """The files that hold the tokens of a split, in order, as the manifest lists them."""
    return [file for file in _of_shards(manifest)[:: _files_a_shard(manifest)] if file["split"] == split]


def file_of_all(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The file that all shards have together, if there is one, as the manifest lists it."""
    whole = layout_in(manifest).whole
    return [file for file in manifest["files"] if file["name"] == whole]


def _of_shards(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The files of shards, without the one that all of them have together."""
    return [file for file in manifest["files"] if file not in file_of_all(manifest)]


def _files_a_shard(manifest: dict[str, Any]) -> int:
    return len(layout_in(manifest).outputs(Path("x")))
