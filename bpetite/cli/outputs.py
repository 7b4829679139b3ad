"""Outputs of ``encode``, as the commands that read them find them."""
from __future__ import annotations

import errno
from typing import Any

from ..corpus.layouts.registry import open_token_file
from ..corpus.layouts.token_file import TokenFile
from ..corpus.merge import find_manifest
from ..corpus.read.stores import AnyPath, path_of
from ..corpus.write.partial import unfinished
from ..errors import FormatError
from ..tokenizer import Tokenizer
from .shared_options import load_tokenizer


def find_output(path: str, format: str | None) -> tuple[AnyPath, dict[str, Any]] | None:
    """An output as `find_manifest` finds it; None for a token file without a manifest.

    Raises:
        FormatError: There is neither, or the output is not finished.
    """
    output = None if format else find_manifest(path)
    if output is not None:
        return output
    if not format and unfinished(path_of(path)):
        raise FormatError(f"{path}: the output is not finished; the same command goes on, `merge` joins ranks, "
                          "`inspect` shows how far it is")
    if path_of(path).is_dir():
        raise FormatError(f"{path}: a folder without a manifest.json; name a token file")
    if not path_of(path).exists():
        raise FileNotFoundError(errno.ENOENT, "no token file, manifest or output of this name", path)
    return None


def open_listed(manifest_path: AnyPath, manifest: dict[str, Any], file: dict[str, Any]) -> TokenFile:
    """A token file that a manifest lists."""
    return open_token_file(manifest_path.parent / file["name"], format=manifest["format"], dtype=manifest["dtype"])


def tokenizer_of(path: AnyPath, stored: dict[str, Any], spec: str | None, *, needed: bool) -> Tokenizer | None:
    """The tokenizer that is asked for, or the one that a manifest names; None if that is not needed, and not there or
    changed."""
    try:
        tokenizer = load_tokenizer(spec or stored["name"])
    except (OSError, ValueError) as missing:
        if spec is not None:
            raise
        if needed:
            raise FormatError(f"{path}: made with {stored['name']}, not found ({missing}); give --tokenizer") from None
        return None
    if tokenizer.fingerprint() == stored["fingerprint"]:
        return tokenizer
    if spec is None and not needed:
        return None
    raise FormatError(f"{path}: made with tokenizer {stored['name']} ({stored['fingerprint'][:8]}), not with this one "
                      f"({tokenizer.fingerprint()[:8]})")


def unknown_token(path: AnyPath, unknown: KeyError) -> FormatError:
    return FormatError(f"{path}: token {unknown.args[0]} is not in the tokenizer; was the file made with another one?")
