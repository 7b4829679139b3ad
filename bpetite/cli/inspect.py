"""``bpetite inspect``: what a token file holds."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..corpus.tokenfiles import TokenFile, find_manifest, open_token_file
from ..corpus.writing.checksums import sha256_of
from ..errors import FormatError
from .options import load_tokenizer

__all__ = ["command"]


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("-t", "--tokenizer", help="Shows the first tokens as text [default: the manifest's, if it is there].")
@click.option("-f", "--format", "format", help="What the files are, where neither they nor a manifest say.")
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="Type of the tokens, where nothing says.")
@click.option("--tokens", "shown", type=click.IntRange(0), default=32, show_default=True, help="Tokens to show.")
@click.option("--verify", is_flag=True, help="Compare every file with the checksum in the manifest.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, an object a file.")
def command(
    files: tuple[str, ...],
    tokenizer: str | None,
    format: str | None,
    dtype: str | None,
    shown: int,
    verify: bool,
    as_json: bool,
) -> None:
    """Say what token FILES hold: documents, tokens, type, the first tokens as text.

    A file may also be an output name as given to encode, a manifest, or a folder.
    """
    for name in files:
        for found in _look(name, tokenizer, format, dtype, shown, verify):
            if as_json:
                click.echo(json.dumps(found))
                continue
            for key, value in found.items():
                text = json.dumps(value, ensure_ascii=False) if key == "text" else value
                click.echo(f"{key}: {' '.join(map(str, text)) if isinstance(text, list) else text}")


def _look(
    name: str, spec: str | None, format: str | None, dtype: str | None, shown: int, verify: bool
) -> list[dict[str, Any]]:
    place = None if format else find_manifest(name)
    if place is None:
        if verify:
            raise FormatError(f"{name}: --verify needs the manifest, and there is none beside it")
        opened = [open_token_file(name, format=format, dtype=dtype)]
        return [_describe(opened[0], None if spec is None else load_tokenizer(spec), shown)]
    path, manifest, names = place
    stored = manifest["tokenizer"]
    tokenizer = None
    try:
        tokenizer = load_tokenizer(spec or stored["name"])
    except (OSError, ValueError):
        if spec is not None:
            raise
    if tokenizer is not None and tokenizer.fingerprint() != stored["fingerprint"]:
        if spec is not None:
            raise FormatError(f"{path}: made with another tokenizer ({stored['name']}, {stored['fingerprint'][:8]})")
        tokenizer = None
    described = []
    for token_file in names:
        file = open_token_file(path.parent / token_file, format=manifest["format"], dtype=manifest["dtype"])
        found = _describe(file, tokenizer, shown)
        found["tokenizer"] = f"{stored['name']} {stored['fingerprint'][:8]}"
        found["eot"] = manifest["eot"]
        if verify:
            found["verified"] = _verify(path.parent, manifest, token_file)
        described.append(found)
    return described


def _describe(file: TokenFile, tokenizer: Any, shown: int) -> dict[str, Any]:
    first = file.read(0, shown)
    found: dict[str, Any] = {
        "file": str(file.path),
        "format": file.format,
        "dtype": file.dtype.name,
        "tokens": file.tokens,
        "documents": "not in this format" if file.documents is None else file.documents,
        "first": first.tolist(),
    }
    if tokenizer is not None:
        try:
            found["text"] = tokenizer.decode(first, errors="replace")
        except KeyError as unknown:
            raise FormatError(f"{file.path}: token {unknown} is not in the tokenizer; is it another one's?") from None
    return found


def _verify(folder: Path, manifest: dict[str, Any], token_file: str) -> str:
    """Check a token file and what belongs to its shard."""
    stem = token_file.rsplit(".", 1)[0]
    for file in manifest["files"]:
        if file["name"].startswith(stem + "."):
            path = folder / file["name"]
            if "sha256" not in file:
                raise FormatError(f"{path}: of a task whose run has not been finished; it has no SHA-256 yet")
            if sha256_of(path) != file["sha256"]:
                raise FormatError(f"{path}: differs from the checksum in the manifest")
    return "sha256 as in the manifest"
