"""``bpetite decode``: token files back to text."""
from __future__ import annotations

import json

import click

from ..corpus.codec import codec_of
from ..corpus.layouts.registry import layout_of
from ..corpus.layouts.token_file import TokenFile, document_chunks
from ..corpus.read.stores import path_of
from ..corpus.write.manifest import shards_in
from ..errors import FormatError
from .base import Command
from .inputs import unescape
from .loading import load_tokenizer
from .output_files import create_output
from .shared_options import overwrite_option
from .token_outputs import Output, layout_options, unknown_token


def _files_of(output: Output, split: str | None) -> tuple[list[TokenFile], bool]:
    """The token files of a split, or all; and if other documents of the output follow these."""
    if not output.shards:
        return [output.open()], False
    listed = [shard[0] for shard in output.shards]
    files = [file for file in listed if split in (None, file["split"])]
    if not files:
        splits = sorted({file["split"] for file in listed})
        raise FormatError(f"{output.path}: no files of split {split}; it has {', '.join(splits)}")
    *_, last = shards_in(output.manifest)
    more_follow = files[-1] != last[0] or last[0]["split"] != "all"
    return [output.open(file) for file in files], more_follow


@click.command(
    cls=Command,
    reads_data=True,
    examples=[
        "bpetite decode tokens/gpt2",
        "bpetite decode tokens/nano --split val -o val.txt",
        "bpetite decode 5253 12 -t bpetite-32k",
        "bpetite decode tokens/gpt2.npy --jsonl | head -n 1",
    ],
)
@click.argument("tokens", nargs=-1, required=True)
@click.option("-o", "--output", default="-", show_default=True, help="Where the text goes; - is standard output.")
@click.option(
    "-t", "--tokenizer", metavar="TOKENIZER", help="The tokenizer, if the one that the manifest names is not found."
)
@layout_options
@click.option("--split", type=click.Choice(["train", "val"]), help="Only this part of an output with two.")
@click.option("--separator", callback=unescape, help="Between documents [default: the one they were split at].")
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

    Text that was encoded from one file comes back byte for byte, without a byte order mark at its start. The formats
    npy, nanogpt and llmc are read; an error names the reader of any other. Numbers that name no file are ids.
    """
    ids = [int(token) for token in tokens if token.isdecimal() and not path_of(token).exists()]
    if len(ids) == len(tokens):
        with create_output(output, overwrite) as file:
            file.write(load_tokenizer(tokenizer).decode_bytes(ids) + b"\n")
        return
    if len(tokens) > 1:
        raise click.UsageError(f"one output at a time, or ids: {' '.join(tokens[:8])}")
    found = Output(tokens[0], format, dtype)
    codec, manifest = codec_of(found.tokenizer(tokenizer, needed=True)), found.manifest
    files, more_follow = _files_of(found, split)
    eot = manifest.get("eot") or layout_of(files[0].format).eot
    between = separator or manifest.get("separator") or codec.eot_text or "\n"
    pending: list[bytes] = []  # the start of a line; of text, the separator that is due if another document follows
    with create_output(output, overwrite) as file:
        try:
            for ids_of_chunk, ends in document_chunks(files, eot, codec.eot_id):
                pending.append(codec.decode(ids_of_chunk))
                if not jsonl:
                    file.write(b"".join(pending))
                    pending = [between.encode("utf-8")] * ends
                elif ends:
                    text = b"".join(pending).decode("utf-8")
                    file.write(json.dumps({"text": text}, ensure_ascii=False).encode("utf-8") + b"\n")
                    pending = []
            # without a manifest a separator is assumed after the last document, as there is an end-of-text token
            if more_follow or manifest.get("final_separator", True):
                file.write(b"".join(pending))
        except KeyError as unknown:
            raise unknown_token(files[0].path, unknown) from None
