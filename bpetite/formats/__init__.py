"""Reading and writing tokenizer files; every format gives a :class:`bpetite.Vocab` or takes one.

============= ========================================== ==============================================
native        one JSON file, see :mod:`.native`          everything a tokenizer is
huggingface   tokenizer.json, or a directory with one    merges kind; BPE of bytes, or of characters
gpt2          a directory with vocab.json and merges.txt merges kind, GPT-2's pattern
tiktoken      one file of base64 tokens and ranks        ranks kind; neither pattern nor special tokens
tekken        Mistral's tekken.json, read only           ranks kind
sentencepiece a .model file of the type BPE, read only   merges kind
gguf          llama.cpp's files, read only               merges kind
============= ========================================== ==============================================
"""
from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from glob import escape, glob
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast, get_args

from ..errors import FormatError, nearest, short_repr
from ..lazy import names_of, without_collector
from ..vocabulary.vocab import Vocab
from .files import FILES, Format, Source, WritableFormat, errors_named, is_gguf, read_file, with_settings

if TYPE_CHECKING:
    from . import gguf, gpt2, huggingface, native, sentencepiece, tekken, tiktoken

__all__ = [
    "FILES",
    "FORMATS",
    "WRITABLE_FORMATS",
    "Format",
    "WritableFormat",
    "dump",
    "format_by_name",
    "gguf",
    "gpt2",
    "huggingface",
    "in_folder",
    "load",
    "named",
    "native",
    "unknown_name",
    "packaged",
    "save",
    "sentencepiece",
    "tekken",
    "tiktoken",
]

FORMATS: tuple[Format, ...] = get_args(Format)
WRITABLE_FORMATS: tuple[WritableFormat, ...] = get_args(WritableFormat)

#: The directory with the tokenizers that ship with the package.
_PACKAGED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")

if not TYPE_CHECKING:  # reading one format does not wait for the others
    __getattr__, __dir__ = names_of(__name__, __all__, {})


def _module(format: str) -> Any:
    return import_module(f".{format}", __name__)


def _packaged_names() -> list[str]:
    return sorted(file.removesuffix(".json") for file in os.listdir(_PACKAGED) if file.endswith(".json"))


def packaged(name: str) -> str | None:
    """The file of a tokenizer that ships with the package, by its name; None if there is none."""
    return os.path.join(_PACKAGED, f"{name}.json") if name in _packaged_names() else None


def named(name: str) -> Vocab | None:
    """The vocabulary of a name: of a tokenizer that ships with the package, or of a published encoding or model, see
    :func:`bpetite.formats.published_ranks.load`; None for any other name."""
    shipped = packaged(name)
    if shipped is not None:
        return load(shipped, format="native")
    encoding = _module("encodings").find_name(name)
    if encoding is None:
        return None
    return cast("Vocab", _module("published_ranks").load(encoding))


def unknown_name(name: str) -> FileNotFoundError:
    """The error for a name that is neither a file nor a tokenizer. It gives the nearest name."""
    if "://" in name:
        return FileNotFoundError(errno.ENOENT, "a URL, and tokenizers are read from local files: copy it first", name)
    if beside := sorted(glob(f"{escape(name)}.*")):
        return FileNotFoundError(errno.ENOENT, f"no such file or folder; did you mean {beside[0]!r}?", name)
    encodings = _module("encodings")
    if re.search(r"[/\\]|\.[A-Za-z]\w*$", name):  # a folder's separator, or a suffix as in x.json
        of_hub = name.count("/") == 1 and not name.startswith((".", "/", "~"))
        hint = "; Tokenizer.from_pretrained asks the Hugging Face Hub" if of_hub else ""
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT) + hint, name)
    near = nearest(name, [*encodings.PUBLISHED, *encodings.MODELS, *_packaged_names()])
    hint = "" if near is None else f"; did you mean {near!r}?"
    if encoding := encodings.of_model(name):
        hint = f"; OpenAI's models whose names begin so have the encoding {encoding}"
    return FileNotFoundError(errno.ENOENT, f"no such file or folder, and no name of a tokenizer{hint}", name)


@without_collector()
def load(path: Source, *, format: Format | None = None) -> Vocab:
    """The vocabulary in a file or directory of any format, or of a name.

    Args:
        path: A file; a directory with tokenizer.json, vocab.json and merges.txt, tekken.json or tokenizer.model; or, if
            there is no such path, a name for :func:`named`: "bpetite-32k", "o200k_base", "gpt-4o".
        format: The only format to try; found from the content when None.

    Raises:
        FormatError: The file is damaged or in no known format; names the file and its content.
        OSError: The file cannot be read, or the ranks of a published encoding cannot be downloaded.
        ValueError: No format has this name.
    """
    _check_format(format)
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"load takes the path of a file or a folder, or a name, not {short_repr(path)}")
    name = os.fspath(path)
    if not os.path.exists(name):
        by_name = named(name) if isinstance(path, str) else None
        if by_name is None:
            raise unknown_name(name)
        return by_name
    if os.path.isdir(name):
        return _load_directory(name, format)
    if format == "gguf" or (format is None and is_gguf(name)):
        return cast("Vocab", _module("gguf").read(name))
    data, spans = read_file(name), {}
    known_formats: tuple[Format, ...] = "tiktoken", "sentencepiece"
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"{":
        from ._json_tokens import members

        with errors_named(name):
            spans = members(data)
        likely: Format = "huggingface" if "model" in spans else "tekken" if "config" in spans else "native"
        known_formats = likely, "native", "huggingface", "tekken", "gpt2"  # mostly, one module is imported
    for known in known_formats:
        if format == known or (format is None and _module(known).recognizes(data, spans)):
            return cast("Vocab", _module(known).read(data, name, spans))
    described = f"a file that starts with {data[:24]!r}"
    if start in (b"{", b"["):
        keys = [repr(key) for key in spans if isinstance(key, str)][:8]
        empty = "{}" if start == b"{" else "a JSON array"
        described = f"a JSON object with the keys {', '.join(keys)}" if keys else empty
    elif data.startswith(b"\x80"):
        described = "a pickle, which bpetite does not open (save it as tokenizer.json where it was made),"
    elif data.startswith((b"\x1f\x8b", b"#version")) or re.match(rb"\S+ \S+( [0-9]+)?\r?\n", data):
        described = "a list of merges without ids (docs/formats.md says how to make a tokenizer.json of one),"
    known_as = f"{format} form" if format else "any known format: " + ", ".join(FORMATS)
    raise FormatError(f"{name}: {described} is no tokenizer in {known_as}")


def _load_directory(folder: str, format: Format | None) -> Vocab:
    there = [known for known, files in FILES.items() if os.path.isfile(os.path.join(folder, files[0]))]
    for known in there:
        if format in (None, known):
            first = os.path.join(folder, FILES[known][0])
            vocab = _module("gpt2").load_directory(folder) if known == "gpt2" else load(first, format=known)
            return with_settings(vocab, folder)
    holds = ", ".join(there or sorted(os.listdir(folder))[:8]) or "nothing"
    if format is not None:
        raise FormatError(f"{folder}: a directory with no {format} files; it holds {holds}")
    raise FormatError(
        f"{folder}: a directory with no tokenizer in it that bpetite reads "
        f"(tokenizer.json, vocab.json with merges.txt, tekken.json, tokenizer.model); it holds {holds}"
    )


def format_by_name(path: Source) -> WritableFormat:
    """The format in which :func:`save` writes to a path when none is given.

    >>> format_by_name("out/tokenizer.json"), format_by_name("a.tiktoken"), format_by_name("a.json")
    ('huggingface', 'tiktoken', 'native')

    Raises:
        FormatError: The name names a folder, or a file that no format here writes.
    """
    whole = os.fspath(path)
    if whole.endswith(("/", os.sep)):
        raise FormatError(f"{whole}: a folder; its format is huggingface or gpt2, and has to be named")
    if whole.endswith((".model", ".gguf")):
        raise FormatError(f"{whole}: {whole[whole.rindex('.'):]} files are not written; name a .json or .tiktoken file")
    name = os.path.basename(whole)
    if name == FILES["huggingface"][0]:
        return "huggingface"
    return "tiktoken" if name.endswith(".tiktoken") else "native"


def in_folder(path: Source, format: WritableFormat) -> bool:
    """True if :func:`save` writes a directory at this path.

    >>> in_folder("tokenizer.json", "huggingface"), in_folder("model", "huggingface"), in_folder("a.json", "gpt2")
    (False, True, True)
    """
    return format == "gpt2" or (
        format == "huggingface" and (os.path.isdir(path) or not os.fspath(path).endswith(".json"))
    )


def dump(vocab: Vocab, format: WritableFormat) -> Any:
    """The content of a vocabulary's file; for "gpt2", a directory, name -> content.

    Raises:
        FormatError: The format cannot hold this vocabulary; the message says why.
        ValueError: No format has this name.
    """
    _check_format(format)
    if format not in WRITABLE_FORMATS:
        raise FormatError(f"{format} files are read, not written: save as native, or another format")
    return _module(format).dump(vocab)


def save(vocab: Vocab, path: Source, *, format: WritableFormat | None = None, overwrite: bool = False) -> None:
    """Write a vocabulary; afterwards either all of it is there, or nothing has changed.

    Args:
        vocab: The vocabulary.
        path: A file; for "gpt2" a directory, which is made if it does not exist. For "huggingface" a name that ends in
            ``.json`` is a file, and any other a directory, which ``transformers.AutoTokenizer`` then loads.
        format: By default native, but huggingface for ``tokenizer.json`` and tiktoken for ``*.tiktoken``.
        overwrite: Replace files that exist.

    Raises:
        FormatError: The format cannot hold this vocabulary; the message says why.
        FileExistsError: A file exists and ``overwrite`` is false.
        OSError: A file cannot be written.
        ValueError: No format has this name.
    """
    from ..atomic import write_file, write_files  # not at the top: loading does without it

    format = format or format_by_name(path)
    dumped = dump(vocab, format)
    if not in_folder(path, format):
        write_file(path, dumped, overwrite=overwrite)
        return
    if format == "huggingface":
        dumped = {FILES[format][0]: dumped, **_module(format).dump_beside(vocab)}
    folders = {os.path.dirname(os.path.join(path, file)) for file in dumped}
    missing = [folder for folder in sorted(folders) if not os.path.isdir(folder)]
    try:
        for folder in missing:
            os.mkdir(folder)
        write_files({os.path.join(path, file): data for file, data in dumped.items()}, overwrite=overwrite)
    except BaseException:
        for folder in reversed(missing):
            with suppress(OSError):  # another process may have put a file there
                os.rmdir(folder)
        raise


def _check_format(format: str | None) -> None:
    if format is not None and format not in FORMATS:
        near = "huggingface" if format in ("hf", "transformers") else nearest(str(format), FORMATS)
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"format {format!r} is not one of {', '.join(FORMATS)}{hint}")
