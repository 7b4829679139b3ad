"""``bpetite decode``: token files back to text."""
from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from ..corpus.codec import Codec, codec_of
from ..corpus.decoding import decode_files, pieces_of
from ..corpus.tokenfiles import TokenFile, find_manifest, open_token_file, token_files
from ..corpus.writing.layouts import layout_of
from ..errors import FormatError
from .common import load_tokenizer
from .reading import unescape

__all__ = ["Opened", "command", "open_output"]


class Opened:
    """Token files and how to read them, from their manifest or from options."""

    def __init__(self, files: list[TokenFile], manifest: dict[str, Any] | None, codec: Codec) -> None:
        self.files, self.manifest, self.codec = files, manifest, codec
        stored = manifest or {}
        self.eot: str = stored.get("eot") or layout_of(files[0].format).eot
        self.eot_id = codec.eot_id
        self.separator: str = stored.get("separator") or codec.eot_text or "\n"
        # Without a manifest every document is taken to have ended with a separator, as its tokens do.
        self.final_separator = bool(stored.get("final_separator", True))


def open_output(
    path: str, *, tokenizer: str | None, format: str | None, dtype: str | None, split: str | None = None
) -> Opened:
    """What a manifest, an output name, a folder or a single token file stands for.

    Raises:
        FormatError: There is nothing there that can be read, or another tokenizer made it.
    """
    found = None if format else find_manifest(path)
    if found is None:
        if not os.path.exists(path):
            raise FileNotFoundError(2, "no token file, manifest or output of this name", path)
        if os.path.isdir(path):
            raise FormatError(f"{path}: a folder without a manifest.json; name a token file")
        return Opened([open_token_file(path, format=format, dtype=dtype)], None, codec_of(load_tokenizer(tokenizer)))
    place, manifest, names = found
    stored = manifest["tokenizer"]
    try:
        codec = codec_of(load_tokenizer(tokenizer or stored["name"]))
    except OSError as missing:
        raise FormatError(f"{place}: made with {stored['name']}, not found ({missing}); give --tokenizer") from None
    if codec.fingerprint != stored["fingerprint"]:
        raise FormatError(
            f"{place}: made with tokenizer {stored['name']} ({stored['fingerprint'][:8]}), "
            f"not with this one ({codec.fingerprint[:8]})"
        )
    splits = {file["name"]: file["split"] for file in manifest["files"]}
    names = [name for name in names if split is None or splits[name] == split]
    if not names:
        raise FormatError(f"{place}: no files of split {split}; it has {', '.join(sorted(set(splits.values())))}")
    files = [
        open_token_file(place.parent / name, format=manifest["format"], dtype=manifest["dtype"]) for name in names
    ]
    opened = Opened(files, manifest, codec)
    if names[-1] != token_files(manifest)[-1] or "all" not in splits.values():
        opened.final_separator = True  # a document follows these, if not here then in the other files
    return opened


@click.command()
@click.argument("output")
@click.option("-o", "--to", "target", type=click.Path(path_type=Path), help="Where the text goes [standard output].")
@click.option("-t", "--tokenizer", help="The tokenizer, where the manifest's name is not to be found.")
@click.option("-f", "--format", "format", help="What the file is, where neither it nor a manifest says.")
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="Type of the tokens, where nothing says.")
@click.option("--split", type=click.Choice(["train", "val"]), help="Only this part of an output with two.")
@click.option("--separator", help="Between documents [default: the one they were split at].")
@click.option("--jsonl", is_flag=True, help='Write {"text": ...} lines instead of text with separators.')
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
def command(
    output: str,
    target: Path | None,
    tokenizer: str | None,
    format: str | None,
    dtype: str | None,
    split: str | None,
    separator: str | None,
    jsonl: bool,
    overwrite: bool,
) -> None:
    """Decode OUTPUT: a token file, an output name as given to encode, a manifest, or a folder.

    Text that was encoded from one file comes back byte for byte.
    """
    opened = open_output(output, tokenizer=tokenizer, format=format, dtype=dtype, split=split)
    if target is not None and target.exists() and not overwrite:
        raise FileExistsError(17, "exists already; --overwrite replaces it", str(target))
    partial = None if target is None else target.with_name(target.name + ".partial")
    stream: BinaryIO = sys.stdout.buffer if partial is None else partial.open("wb")
    try:
        if jsonl:
            _write_lines(opened, stream)
        else:
            decode_files(
                opened.files,
                opened.codec.decode,
                stream.write,
                eot=opened.eot,
                eot_id=opened.eot_id,
                separator=(unescape(separator) or opened.separator).encode("utf-8"),
                final_separator=opened.final_separator,
            )
        stream.flush()
    except BaseException:
        if partial is not None:
            stream.close()
            partial.unlink()
        raise
    if partial is not None and target is not None:
        stream.close()
        os.replace(partial, target)


def _write_lines(opened: Opened, stream: BinaryIO) -> None:
    for text in _texts(opened):
        stream.write(json.dumps({"text": text}, ensure_ascii=False).encode("utf-8") + b"\n")


def _texts(opened: Opened) -> Iterator[str]:
    parts = []
    for tokens, ends in pieces_of(opened.files, opened.eot, opened.eot_id):
        parts.append(opened.codec.decode(tokens))
        if ends:
            yield b"".join(parts).decode("utf-8")
            parts = []
