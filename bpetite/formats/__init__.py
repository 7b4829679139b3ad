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
from typing import TYPE_CHECKING

from ..errors import FormatError
from ..vocabulary.vocab import Vocab
from .files import Source, parse_json, read_file, write_files

if TYPE_CHECKING:
    from . import gpt2, huggingface, native, ranks, tekken, tiktoken

__all__ = ["FORMATS", "gpt2", "huggingface", "load", "native", "packaged", "ranks", "save", "tekken", "tiktoken"]

FORMATS = ("native", "huggingface", "gpt2", "tiktoken", "tekken")

#: Where the tokenizers that ship with the package lie.
_PACKAGED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")

if not TYPE_CHECKING:

    def __getattr__(name):
        # a format's module is imported when it is first needed: who reads one format does not wait for the others
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f".{name}", __name__)

    def __dir__():
        return sorted({*globals(), *__all__})


def packaged(name: str) -> str | None:
    """The file of the tokenizer of this name that ships with the package; None if there is none."""
    path = os.path.join(_PACKAGED, f"{name}.json")
    return path if os.path.basename(name) == name and os.path.isfile(path) else None


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
    if not os.path.exists(name) and (ours := packaged(name)) is not None:
        from . import native

        return native.load(ours)
    if os.path.isdir(name):
        return _load_directory(name, format)
    data = read_file(name)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        from . import native

        if format in (None, "native") and (vocab := native.from_bytes(data)) is not None:
            return vocab
        content = parse_json(data, name)
        if format == "native" or (format is None and native.recognizes(content)):
            return native.from_json(content, name)
        from . import gpt2, huggingface, tekken

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
        from . import tiktoken

        found = f"a file that starts with {data[:24]!r}"
        if format == "tiktoken" or (format is None and tiktoken.recognizes(data)):
            return tiktoken.from_bytes(data, name)
    raise FormatError(f"{name}: {found} is no tokenizer in {'any known format' if format is None else format} form")


def _load_directory(folder: str, format: str | None) -> Vocab:
    from . import gpt2, huggingface, tekken

    for file, known, read in (
        (huggingface.FILE, "huggingface", huggingface.load),
        (gpt2.VOCAB, "gpt2", gpt2.load_directory),
        ("tekken.json", "tekken", lambda folder: tekken.load(os.path.join(folder, "tekken.json"))),
    ):
        if format in (None, known) and os.path.isfile(os.path.join(folder, file)):
            return read(folder)
    holds = ", ".join(sorted(os.listdir(folder))[:8]) or "nothing"
    raise FormatError(
        f"{folder}: a directory with no tokenizer in it that bpetite reads "
        f"(tokenizer.json, vocab.json with merges.txt, tekken.json); it holds {holds}"
    )


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
    from . import gpt2, huggingface, native, tiktoken

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
