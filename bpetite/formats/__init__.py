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
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ..errors import FormatError, show
from ..vocabulary.vocab import Vocab
from .files import Source, parse_json, read_file

if TYPE_CHECKING:
    from . import gpt2, huggingface, native, ranks, tekken, tiktoken

__all__ = [
    "FILES",
    "FORMATS",
    "WRITABLE_FORMATS",
    "Format",
    "WritableFormat",
    "format_by_name",
    "gpt2",
    "huggingface",
    "load",
    "native",
    "packaged",
    "ranks",
    "save",
    "tekken",
    "tiktoken",
]

Format: TypeAlias = Literal["native", "huggingface", "gpt2", "tiktoken", "tekken"]
WritableFormat: TypeAlias = Literal["native", "huggingface", "gpt2", "tiktoken"]

FORMATS: tuple[Format, ...] = get_args(Format)
WRITABLE_FORMATS: tuple[WritableFormat, ...] = get_args(WritableFormat)

#: The files of a tokenizer in a directory, by format; where there are several formats, the first is read.
FILES: dict[Format, tuple[str, ...]] = {
    "huggingface": ("tokenizer.json",),
    "gpt2": ("vocab.json", "merges.txt"),
    "tekken": ("tekken.json",),
}

#: The directory with the tokenizers that ship with the package.
_PACKAGED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")

if not TYPE_CHECKING:

    def __getattr__(name):
        # a format's module is imported when it is first needed, so that reading one does not wait for the others
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _module(name)

    def __dir__():
        return sorted({*globals(), *__all__})


def _module(format: str) -> Any:
    return import_module(f".{format}", __name__)


def packaged(name: str) -> str | None:
    """The file of the tokenizer of this name that ships with the package; None if there is none."""
    path = os.path.join(_PACKAGED, f"{name}.json")
    return path if os.path.basename(name) == name and os.path.isfile(path) else None


def load(path: Source, *, format: Format | None = None) -> Vocab:
    """The vocabulary in a file or directory, in any format; which one is found from the content.

    Args:
        path: A file; a directory with tokenizer.json, vocab.json and merges.txt, or tekken.json; or, if neither
            exists, the name of a tokenizer that ships with the package ("bpetite-32k").
        format: Read as this format only.

    Raises:
        FormatError: The file is damaged or in no known format; names the file and what was found.
        OSError: The file cannot be read.
        ValueError: No format has this name.
    """
    _check_format(format)
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"load takes the path of a file or a folder, or a name, not {show(path)}")
    name = os.fspath(path)
    if not os.path.exists(name) and (shipped := packaged(name)) is not None:
        name, format = shipped, "native"
    if os.path.isdir(name):
        return _load_directory(name, format)
    data = read_file(name)
    vocab: Vocab
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        if format in (None, "native"):
            whole: Vocab | None = _module("native").from_bytes(data)
            if whole is not None:
                return whole
        content = parse_json(data, name)
        for known in ("native", "huggingface", "tekken", "gpt2"):
            if format == known or (format is None and _module(known).recognizes(content)):
                vocab = _module(known).from_json(content, name)
                return vocab
        found = "JSON"
        if isinstance(content, dict):
            found = f"a JSON object with the keys {', '.join(map(repr, list(content)[:8]))}" if content else "{}"
        elif isinstance(content, list):
            found = f"a JSON array of {len(content)} items"
    else:
        if format == "tiktoken" or (format is None and _module("tiktoken").recognizes(data)):
            vocab = _module("tiktoken").from_bytes(data, name)
            return vocab
        found = f"a file that starts with {data[:24]!r}"
    known_as = f"{format} form" if format else "any known format: " + ", ".join(FORMATS)
    raise FormatError(f"{name}: {found} is no tokenizer in {known_as}")


def _load_directory(folder: str, format: Format | None) -> Vocab:
    for known, files in FILES.items():
        first = os.path.join(folder, files[0])
        if format in (None, known) and os.path.isfile(first):
            vocab: Vocab = _module("gpt2").load_directory(folder) if known == "gpt2" else load(first, format=known)
            return vocab
    holds = ", ".join(sorted(os.listdir(folder))[:8]) or "nothing"
    raise FormatError(
        f"{folder}: a directory with no tokenizer in it that bpetite reads "
        f"(tokenizer.json, vocab.json with merges.txt, tekken.json); it holds {holds}"
    )


def format_by_name(path: Source) -> WritableFormat:
    """The format in which :func:`save` writes to a path when none is given.

    >>> format_by_name("out/tokenizer.json"), format_by_name("a.tiktoken"), format_by_name("a.json")
    ('huggingface', 'tiktoken', 'native')
    """
    name = os.path.basename(os.fspath(path))
    if name == FILES["huggingface"][0]:
        return "huggingface"
    return "tiktoken" if name.endswith(".tiktoken") else "native"


def save(vocab: Vocab, path: Source, *, format: WritableFormat | None = None, overwrite: bool = False) -> None:
    """Write a vocabulary; afterwards either all of it is there, or nothing has changed.

    Args:
        vocab: What to write.
        path: A file, or for "gpt2" a directory, which is made if it is not there.
        format: None means native, unless the name says otherwise: ``tokenizer.json`` is huggingface, ``*.tiktoken``
            is tiktoken.
        overwrite: Replace files that exist.

    Raises:
        FormatError: The format cannot hold this vocabulary; the message says what.
        FileExistsError: A file exists and ``overwrite`` is false.
        OSError: A file cannot be written.
        ValueError: No format has this name.
    """
    from .atomic import write_file, write_files  # not at the top: loading does without it

    _check_format(format)
    if format is not None and format not in WRITABLE_FORMATS:
        raise FormatError("tekken.json is read, not written: save as tiktoken or native")
    dumped = _module(format or format_by_name(path)).dump(vocab)
    if format != "gpt2":
        write_file(path, dumped, overwrite=overwrite)
        return
    missing = not os.path.isdir(path)
    if missing:
        os.mkdir(path)
    try:
        write_files({os.path.join(path, file): data for file, data in dumped.items()}, overwrite=overwrite)
    except BaseException:
        if missing:
            os.rmdir(path)
        raise


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise ValueError(f"format {format!r} is not one of {', '.join(FORMATS)}")
