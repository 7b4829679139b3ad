"""Reading and writing tokenizer files; every format gives a :class:`bpetite.Vocab` or takes one.

=========== ============================================= ===========================================================
native      one JSON file, see :mod:`.native`               everything a tokenizer is
huggingface tokenizer.json, or a directory with one         merges kind; byte-level BPE in all its configurations
gpt2        a directory with vocab.json and merges.txt      merges kind, GPT-2's pattern
tiktoken    one file of base64 tokens and ranks             ranks kind; neither pattern nor special tokens
tekken      Mistral's tekken.json, read only                ranks kind
=========== ============================================= ===========================================================
"""
from __future__ import annotations

import os
from pathlib import Path

from ..errors import FormatError
from ..vocab import Vocab
from . import gpt2, huggingface, native, ranks, tekken, tiktoken
from .files import Source, parse_json, read_file, write_files

__all__ = ["FORMATS", "PACKAGED", "gpt2", "huggingface", "load", "native", "ranks", "save", "tekken", "tiktoken"]

FORMATS = ("native", "huggingface", "gpt2", "tiktoken", "tekken")

#: Where the tokenizers that ship with the package lie, and the ending of their names.
PACKAGED = Path(__file__).resolve().parent.parent / "data"


def load(path: Source, *, format: str | None = None) -> Vocab:
    """The vocabulary in a file or directory, in any format; which one is found from the content.

    Args:
        path: A file, or a directory with tokenizer.json, vocab.json and merges.txt, or tekken.json, or the name of a
            tokenizer that ships with the package ("bpetite-32k"), if there is no such file.
        format: Read as this format only: "native", "huggingface", "gpt2", "tiktoken", "tekken".

    Raises:
        FormatError: The file is damaged, or of no format known here; names the file and what was found.
        OSError: The file cannot be read.
        ValueError: No format of this name.
    """
    _check_format(format)
    name = os.fspath(path)
    if not os.path.exists(name) and os.path.basename(name) == name and (PACKAGED / f"{name}.json").is_file():
        return native.load(PACKAGED / f"{name}.json")
    if os.path.isdir(name):
        for file, known, read in (
            (huggingface.FILE, "huggingface", huggingface.load),
            (gpt2.VOCAB, "gpt2", gpt2.load_directory),
            ("tekken.json", "tekken", lambda folder: tekken.load(os.path.join(folder, "tekken.json"))),
        ):
            if format in (None, known) and os.path.isfile(os.path.join(name, file)):
                return read(name)
        holds = ", ".join(sorted(os.listdir(name))[:8]) or "nothing"
        raise FormatError(
            f"{name}: a directory with no tokenizer in it that bpetite reads "
            f"(tokenizer.json, vocab.json with merges.txt, tekken.json); it holds {holds}"
        )
    data = read_file(name)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        content = parse_json(data, name)
        if format == "native" or (format is None and native.recognizes(content)):
            return native.from_json(content, name)
        if format == "huggingface" or (format is None and huggingface.recognizes(content)):
            return huggingface.from_json(content, name)
        if format == "tekken" or (format is None and tekken.recognizes(content)):
            return tekken.from_json(content, name)
        if format == "gpt2" or (format is None and gpt2.recognizes(content)):
            return gpt2.from_json(content, name, os.path.join(os.path.dirname(name), gpt2.MERGES))
        found = "JSON"
        if isinstance(content, dict):
            found = f"a JSON object with the keys {', '.join(map(repr, list(content)[:8]))}"
    else:
        found = f"a file that starts with {data[:24]!r}"
        if format == "tiktoken" or (format is None and tiktoken.recognizes(data)):
            return tiktoken.from_bytes(data, name)
    raise FormatError(f"{name}: {found} is no tokenizer in {'any known format' if format is None else format} form")


def save(vocab: Vocab, path: Source, *, format: str | None = None, overwrite: bool = False) -> None:
    """Write a vocabulary; afterwards either all of it is there, or nothing has changed.

    Args:
        vocab: What to write.
        path: A file, or for "gpt2" a directory, which is made if it is not there.
        format: "native", "huggingface", "gpt2", "tiktoken". None means native, unless the name says otherwise:
            ``tokenizer.json`` is huggingface, ``*.tiktoken`` is tiktoken.
        overwrite: Replace files that exist.

    Raises:
        FormatError: The format cannot hold this vocabulary; the message says what.
        FileExistsError: A file exists and ``overwrite`` is false.
        OSError: A file cannot be written.
        ValueError: No format of this name.
    """
    _check_format(format)
    name = os.fspath(path)
    if format == "tekken":
        raise FormatError("tekken.json is read, not written: save as tiktoken or native")
    if format is None:
        format = "tiktoken" if name.endswith(".tiktoken") else "native"
        if os.path.basename(name) == huggingface.FILE:
            format = "huggingface"
    if format == "gpt2":
        files = gpt2.dump(vocab)
        missing = not os.path.isdir(name)
        if missing:
            os.mkdir(name)
        try:
            write_files({os.path.join(name, file): data for file, data in files.items()}, overwrite=overwrite)
        except BaseException:
            if missing:
                os.rmdir(name)
            raise
        return
    dump = {"native": native.dump, "huggingface": huggingface.dump, "tiktoken": tiktoken.dump}[format]
    write_files({name: dump(vocab)}, overwrite=overwrite)


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise ValueError(f"format {format!r} is not one of {', '.join(FORMATS)}")
