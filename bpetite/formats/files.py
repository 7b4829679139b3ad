"""Reading files for all formats: whole files, strict JSON, errors that name the file, settings in files beside it."""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NoReturn, TypeAlias

from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..vocabulary.vocab import Vocab

#: A path as callers give it.
Source: TypeAlias = str | os.PathLike[str]

#: key -> (start, stop) of its value in a JSON object, as :func:`bpetite.formats._json_tokens.members` finds them; empty
#: for other files.
Spans: TypeAlias = Mapping[Any, tuple[int, int]]

Format: TypeAlias = Literal["native", "huggingface", "gpt2", "tiktoken", "tekken", "sentencepiece", "gguf"]
WritableFormat: TypeAlias = Literal["native", "huggingface", "gpt2", "tiktoken"]

#: Byte -> a newline for a newline, a space for any other; and the bytes that begin no character.
BLANK, CONTINUING = bytes(10 if byte == 10 else 32 for byte in range(256)), bytes(range(0x80, 0xC0))
GGUF_MAGIC = b"GGUF"

#: The files of a tokenizer in a directory, by format; where there are several formats, the first is read.
FILES: dict[Format, tuple[str, ...]] = {
    "huggingface": ("tokenizer.json",),
    "gpt2": ("vocab.json", "merges.txt"),
    "tekken": ("tekken.json",),
    "sentencepiece": ("tokenizer.model",),
}

#: The files in which ``transformers`` keeps settings beside a tokenizer.json: named tokens, sides, chat templates.
BESIDE = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "config.json")
#: The two of them that name special tokens, and the folder of further chat templates.
CONFIG, TOKEN_MAP = BESIDE[:2]
#: The files that a directory may get when a tokenizer is saved in it, beside further chat templates.
#: Not config.json, which is the model's, and for huggingface not added_tokens.json, which repeats tokenizer.json.
WRITTEN: dict[Format, tuple[str, ...]] = {
    "huggingface": (*FILES["huggingface"], CONFIG, TOKEN_MAP, "chat_template.jinja"),
    "gpt2": (*FILES["gpt2"], "added_tokens.json"),
}
TEMPLATES = "additional_chat_templates"


@contextmanager
def errors_named(name: str, errors: type[Exception] | tuple[type[Exception], ...] = ValueError) -> Iterator[None]:
    """Turn errors into a FormatError that begins with the name of the file, unless they are such an error already."""
    try:
        yield
    except errors as bad:
        if isinstance(bad, FormatError) and str(bad).startswith(name):
            raise
        raise FormatError(f"{name}: {bad}") from None


def read_file(path: Source) -> bytes:
    """The content of a file that is not empty.

    Raises:
        FormatError: The path is a directory, or the file has 0 bytes.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        raise FormatError(f"{name}: a directory where a file was expected")
    with open(name, "rb") as file:
        data = file.read()
    if not data:
        raise FormatError(f"{name}: the file is empty (0 bytes)")
    return data


def is_gguf(path: Source) -> bool:
    """True if the file begins as GGUF does; False for a pipe, which can be read only once."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


def decode_utf8(data: bytes, name: str) -> str:
    """The text of a file without a byte-order mark."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as bad:
        raise FormatError(f"{name}: byte {bad.start} (0x{data[bad.start]:02x}) is not UTF-8") from None


@without_collector()
def parse_json(data: bytes, name: str, apart: Collection[tuple[int, int]] = ()) -> Any:
    """The value of a JSON text, read strictly: no repeated keys, no NaN, nothing after the value.

    Args:
        data: The text.
        name: The file, for error messages.
        apart: The (start, stop) of values that the caller reads from the text: each is 0 in the result.

    Raises:
        FormatError: The text is not such JSON; names the line and the column, or the key.
    """
    try:
        return _parse(_rest(data, apart), name)
    except FormatError:
        if not apart:
            raise
    return _parse(_rest(data, apart, blank=True), name)


def _rest(data: bytes, apart: Collection[tuple[int, int]], *, blank: bool = False) -> bytes:
    """A JSON text with 0 in place of some values; with `blank`, white space keeps the other values where they are."""
    kept, at = [], 0
    for start, stop in sorted(apart):
        kept += [data[at:start], b"0"]
        if blank:
            kept.append(data[start + 1 : stop].translate(BLANK, CONTINUING))
        at = stop
    return b"".join([*kept, data[at:]])


def _parse(data: bytes, name: str) -> Any:
    import json  # not at the top: names of published encodings do without it

    text = decode_utf8(data, name)

    def distinct(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) != len(items):
            repeated, _ = Counter(key for key, _ in items).most_common(1)[0]
            raise FormatError(f"{name}: the key {short_repr(repeated)} occurs twice in one JSON object")
        return made

    def no_constant(constant: str) -> NoReturn:
        raise FormatError(f"{name}: {constant} is not JSON")

    try:
        return json.loads(text, object_pairs_hook=distinct, parse_constant=no_constant)
    except FormatError:
        raise
    except RecursionError:
        raise FormatError(f"{name}: the JSON is nested too deep to be a tokenizer") from None
    except ValueError as error:  # a JSONDecodeError, or an integer of thousands of digits
        bad: Any = error
        fault = f"not JSON at line {bad.lineno}, column {bad.colno}: {bad.msg}" if hasattr(bad, "lineno") else bad
        raise FormatError(f"{name}: {fault}") from None


def expect_keys(value: Any, name: str, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Raise FormatError unless ``value`` is a JSON object with all required keys; others must be optional ones."""
    if not isinstance(value, dict):
        raise FormatError(f"{name}: {where} must be a JSON object, not {short_repr(value)}")
    for key in required:
        if key not in value:
            raise FormatError(f"{name}: {where} has no {key!r}")
    for key in value:
        if key not in required and key not in optional:
            raise FormatError(f"{name}: {where} has the unknown key {short_repr(key)}")


def check_ids(ids: Any, name: str, position: str) -> dict[str, int]:
    """Return ``ids`` if they are a JSON object of different ids; otherwise raise FormatError with the position."""
    if not isinstance(ids, dict):
        raise FormatError(f"{name}: {position} must be a JSON object, not {short_repr(ids)}")
    if set(map(type, ids.values())) - {int}:
        key, value = next(item for item in ids.items() if type(item[1]) is not int)
        raise FormatError(
            f"{name}: {position}: the id of {short_repr(key)} must be an integer, not {short_repr(value)}"
        )
    first: dict[int, str] = {}
    for key, token_id in ids.items():
        if first.setdefault(token_id, key) != key:
            here = f"{name}: {position}: {short_repr(first[token_id])} and {short_repr(key)}"
            raise FormatError(f"{here} have the same id {token_id}")
    return ids


def refuse_settings(vocab: Vocab, what: str, **held: object) -> None:
    """Raise FormatError for the first of these fields that is not the only value that the file called ``what`` can hold
    for it."""
    for name, only in held.items():
        if (value := getattr(vocab, name)) != only:
            raise FormatError(
                f"{what} cannot hold {name} {short_repr(value)}, only {only!r} "
                f"(dataclasses.replace(vocab, {name}=...) makes a vocabulary with another one)"
            )


def refuse_aliases(vocab: Vocab, what: str) -> None:
    """Raise FormatError where special tokens share an id, which the file called ``what`` cannot hold."""
    for literal, token_id in vocab.aliases.items():
        raise FormatError(
            f"{what} cannot hold the special token {literal!r}, which has the id {token_id} of "
            f"{vocab.tokens[token_id].decode('utf-8')!r} (dataclasses.replace(vocab, special_tokens=...) "
            "makes a vocabulary without it)"
        )


def settings_in(beside: Mapping[str, str]) -> dict[str, Any]:
    """The settings of ``transformers`` in the files of :attr:`Vocab.beside`, as ``from_pretrained`` reads them: the
    older special_tokens_map.json decides, unless tokenizer_config.json lists the added tokens itself."""
    import json  # not at the top: a regular file is read without it

    settings: dict[str, Any] = json.loads(beside.get(CONFIG, "{}"))
    if "added_tokens_decoder" not in settings:
        settings |= json.loads(beside.get(TOKEN_MAP, "{}"))
    return settings


def with_settings(vocab: Vocab, folder: str) -> Vocab:
    """The vocabulary with the settings in its directory; of config.json, only the type of the model is kept.

    Raises:
        FormatError: A file is not UTF-8, or not a JSON object; names it.
        OSError: A file cannot be read.
    """
    import json  # not at the top: a regular file is read without it

    templates = os.path.join(folder, TEMPLATES)
    names = [*BESIDE]
    if os.path.isdir(templates):
        names += [f"{TEMPLATES}/{name}" for name in sorted(os.listdir(templates)) if name.endswith(".jinja")]
    settings: dict[str, str] = {}
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            content = decode_utf8(file.read(), path)
        if name.endswith(".json"):
            try:
                value = json.loads(content)  # as transformers reads it, with NaN and with repeated keys
            except ValueError as bad:
                raise FormatError(f"{path}: not JSON: {bad}; mend or delete the file") from None
            if not isinstance(value, dict):
                raise FormatError(f"{path}: must be a JSON object, not {short_repr(value)}")
            if name == "config.json":
                if not isinstance(value.get("model_type"), str):
                    continue
                content = json.dumps({"model_type": value["model_type"]})
        settings[name] = content
    return replace(vocab, beside=settings)
