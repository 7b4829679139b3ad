"""Outputs of ``encode``, as the commands that read them find them."""
from __future__ import annotations

import errno
from typing import Any

import click

from ..corpus.layouts.registry import DTYPES, open_token_file
from ..corpus.layouts.token_file import TokenFile
from ..corpus.merge import find_manifest
from ..corpus.read.stores import AnyPath, path_of
from ..corpus.write.manifest import shards_in
from ..corpus.write.partial import unfinished
from ..errors import FormatError
from ..tokenizer import Tokenizer
from .loading import load_tokenizer
from .shared_options import Decorator, all_of

#: How a token file is read that does not say it itself.
layout_options: Decorator = all_of(
    click.option("-f", "--format", "format", help="Format of a file that has no manifest and does not say it."),
    click.option("--dtype", type=click.Choice(DTYPES), help="Type of its tokens, likewise."),
)


class Output:
    """A finished output, or a token file without a manifest.

    Args:
        name: Of a token file, an output, a manifest or a folder.
        format: The layout of a file without a manifest, where it does not say.
        dtype: Of its tokens.

    Attributes:
        path: The manifest, or the token file.
        manifest: Its content; {} for a file without one.
        shards: The files of each shard as the manifest lists them, the file of tokens first; of a name that is one of
            the files, only its shard.

    Raises:
        FormatError: There is neither, or the output is not finished.
        FileNotFoundError: Nothing has this name.
    """

    def __init__(self, name: str, format: str | None = None, dtype: str | None = None) -> None:
        self.format: str | None = format
        self.dtype: str | None = dtype
        found = None if format else find_manifest(name)
        self.path: AnyPath = path_of(name)
        self.manifest: dict[str, Any] = {}
        self.shards: list[list[dict[str, Any]]] = []
        if found is not None:
            own, (self.path, self.manifest) = self.path.name, found
            shards = list(shards_in(self.manifest))
            self.shards = [shard for shard in shards if own in [file["name"] for file in shard]] or shards
        elif not format and unfinished(self.path):
            raise FormatError(f"{name}: the output is not finished; the same command goes on, `merge` joins ranks, "
                              "`inspect` shows how far it is")
        elif self.path.is_dir():
            raise FormatError(f"{name}: a folder without a manifest.json; name a token file")
        elif not self.path.exists():
            raise FileNotFoundError(errno.ENOENT, "no token file, manifest or output of this name", name)

    def open(self, listed: dict[str, Any] | None = None) -> TokenFile:
        """A token file that the manifest lists, or the one without a manifest."""
        if listed is None:
            return open_token_file(self.path, format=self.format, dtype=self.dtype)
        form = {name: self.manifest[name] for name in ("format", "dtype")}
        return open_token_file(self.path.parent / listed["name"], **form)

    def tokenizer(self, spec: str | None, *, needed: bool) -> Tokenizer | None:
        """The tokenizer that is asked for, or the one that the manifest names; None if that is not needed, and not
        there or changed."""
        stored = self.manifest.get("tokenizer")
        if stored is None:
            if spec is None and needed:
                raise FormatError(f"{self.path}: nothing says which tokenizer made it; give --tokenizer")
            return None if spec is None else load_tokenizer(spec)
        try:
            tokenizer = load_tokenizer(spec or stored["name"])
        except (OSError, ValueError) as missing:
            if spec is not None:
                raise
            if needed:
                made = f"{self.path}: made with {stored['name']}, not found ({missing})"
                raise FormatError(f"{made}; give --tokenizer") from None
            return None
        if tokenizer.fingerprint() == stored["fingerprint"]:
            return tokenizer
        if spec is None and not needed:
            return None
        raise FormatError(f"{self.path}: made with tokenizer {stored['name']} ({stored['fingerprint'][:8]}), not with "
                          f"this one ({tokenizer.fingerprint()[:8]})")


def unknown_token(path: AnyPath, unknown: KeyError) -> FormatError:
    return FormatError(f"{path}: token {unknown.args[0]} is not in the tokenizer; was the file made with another one?")
