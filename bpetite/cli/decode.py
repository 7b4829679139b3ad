"""``bpetite decode``: token files back to text."""
from __future__ import annotations

import errno
import json
from typing import Any, BinaryIO

import click

from ..corpus.decoding import decode_files, document_chunks
from ..corpus.encoding.codec import Codec, codec_of
from ..corpus.layouts.registry import DTYPES, layout_of, open_in, open_token_file
from ..corpus.layouts.token_file import TokenFile
from ..corpus.run.outputs import find_manifest, token_files
from ..corpus.sources.paths import path_of
from ..errors import FormatError
from .base import Command
from .options import load_tokenizer, overwrite_option, unescape
from .outputs import create_output, one_stream

__all__ = ["Opened", "command", "open_output"]


class Opened:
    """Token files and how to read them, from their manifest or from options."""

    def __init__(self, files: list[TokenFile], manifest: dict[str, Any] | None, codec: Codec) -> None:
        self.files = files
        self.manifest = manifest
        self.codec = codec
        stored = manifest or {}
        self.eot: str = stored.get("eot") or layout_of(files[0].format).eot
        self.eot_id: int | None = codec.eot_id
        self.separator: str = stored.get("separator") or codec.eot_text or "\n"
        # Without a manifest a separator is assumed after the last document, as there is an end-of-text token.
        self.final_separator: bool = bool(stored.get("final_separator", True))


def open_output(
    path: str, *, tokenizer: str | None, format: str | None, dtype: str | None, split: str | None = None
) -> Opened:
    """The token files of an output, from its manifest, name or folder, or a single token file.

    Raises:
        FormatError: There is nothing that can be read, or another tokenizer made it.
    """
    found = None if format else find_manifest(path)
    if found is None:
        file = path_of(path)
        if not (file.exists() or file.is_dir()):
            raise FileNotFoundError(errno.ENOENT, "no token file, manifest or output of this name", path)
        if file.is_dir():
            raise FormatError(f"{path}: a folder without a manifest.json; name a token file")
        opened_file = open_token_file(path, format=format, dtype=dtype)
        if tokenizer is None:
            raise FormatError(f"{path}: nothing says which tokenizer made it; give --tokenizer")
        return Opened([opened_file], None, codec_of(load_tokenizer(tokenizer)))
    found_at, manifest, names = found
    stored = manifest["tokenizer"]
    try:
        codec = codec_of(load_tokenizer(tokenizer or stored["name"]))
    except OSError as missing:
        if tokenizer is not None:
            raise
        raise FormatError(f"{found_at}: made with {stored['name']}, not found ({missing}); give --tokenizer") from None
    if codec.tokenizer_digest != stored["fingerprint"]:
        raise FormatError(
            f"{found_at}: made with tokenizer {stored['name']} ({stored['fingerprint'][:8]}), "
            f"not with this one ({codec.tokenizer_digest[:8]})"
        )
    splits = {file["name"]: file["split"] for file in manifest["files"]}
    names = [name for name in names if split is None or splits[name] == split]
    if not names:
        raise FormatError(f"{found_at}: no files of split {split}; it has {', '.join(sorted(set(splits.values())))}")
    files = [open_in(found_at.parent, manifest, name) for name in names]
    opened = Opened(files, manifest, codec)
    if names[-1] != token_files(manifest)[-1] or "all" not in splits.values():
        opened.final_separator = True  # other documents follow these, in files that are not decoded
    return opened


@click.command(
    cls=Command,
    examples=[
        "bpetite decode tokens/gpt2",
        "bpetite decode tokens/nano --split val -o val.txt",
        "bpetite decode 5253 12 -t bpetite-32k",
        "bpetite decode tokens/gpt2.npy --jsonl | head -n 1",
    ],
)
@click.argument("tokens", nargs=-1, required=True)
@click.option("-o", "--output", default="-", show_default=True, help=one_stream("the text"))
@click.option(
    "-t", "--tokenizer", metavar="TOKENIZER", help="The tokenizer, if the one that the manifest names is not found."
)
@click.option("-f", "--format", "format", help="What the file is, if neither it nor a manifest says.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Type of the tokens, if neither says.")
@click.option("--split", type=click.Choice(["train", "val"]), help="Only this part of an output with two.")
@click.option("--separator", help="Between documents [default: the one they were split at].")
@click.option("--jsonl", is_flag=True, help='Write {"text": ...} lines instead of text with separators.')
@overwrite_option
def command(
    tokens: tuple[str, ...],
    output: str,
    tokenizer: str | None,
    format: str | None,
    dtype: str | None,
    split: str | None,
    separator: str | None,
    jsonl: bool,
    overwrite: bool,
) -> None:
    """Decode TOKENS: a token file, an output name as given to encode, a manifest, or a folder.

    Text that was encoded from one file comes back byte for byte. The formats npy, nanogpt, llmc and megatron are read;
    an error names the reader of any other. Numbers that name no file are ids.
    """
    ids = [int(token) for token in tokens if token.isdecimal() and not path_of(token).exists()]
    if len(ids) == len(tokens):
        with create_output(output, overwrite) as file:
            file.write(load_tokenizer(tokenizer).decode_bytes(ids) + b"\n")
        return
    if len(tokens) > 1:
        raise click.UsageError(f"one output at a time, or ids: {' '.join(tokens[:8])}")
    opened = open_output(tokens[0], tokenizer=tokenizer, format=format, dtype=dtype, split=split)
    with create_output(output, overwrite) as file:
        _write(opened, file, jsonl, separator)


def _write(opened: Opened, stream: BinaryIO, jsonl: bool, separator: str | None) -> None:
    try:
        _write_documents(opened, stream, jsonl, separator)
    except KeyError as unknown:
        raise FormatError(
            f"{opened.files[0].path}: token {unknown.args[0]} is not in the tokenizer, here or in a file after it; "
            "was it made with another one?"
        ) from None


def _write_documents(opened: Opened, stream: BinaryIO, jsonl: bool, separator: str | None) -> None:
    if not jsonl:
        decode_files(
            opened.files,
            opened.codec.decode,
            stream.write,
            eot=opened.eot,
            eot_id=opened.eot_id,
            separator=(unescape(separator) or opened.separator).encode("utf-8"),
            final_separator=opened.final_separator,
        )
        return
    parts = []
    for tokens, ends in document_chunks(opened.files, opened.eot, opened.eot_id):
        parts.append(opened.codec.decode(tokens))
        if ends:
            text = b"".join(parts).decode("utf-8")
            stream.write(json.dumps({"text": text}, ensure_ascii=False).encode("utf-8") + b"\n")
            parts = []
