"""The vocabulary in a GGUF file of llama.cpp: its metadata ``tokenizer.ggml.*``, without the tensors.

The kind "llama" has pieces with scores, as a model of SentencePiece; the kind "gpt2" has tokens in printable form,
merges, and the name of a split pattern.

Source: https://github.com/ggml-org/ggml, ``docs/gguf.md``, and ``src/llama-vocab.cpp`` of llama.cpp
"""
from __future__ import annotations

import json
import mmap
import os
import struct
from dataclasses import replace
from typing import Any

from .. import patterns
from ..errors import FormatError, short_repr
from ..lazy import without_collector
from ..steps.template import Template, TemplatePart
from ..vocabulary.vocab import Vocab
from . import huggingface
from .files import GGUF_MAGIC, Source
from .huggingface_steps import write_pre_tokenizer
from .sentencepiece import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Piece, Rules, vocab_of_pieces

PREFIX = "tokenizer.ggml."
#: The codes of :mod:`struct` for the types of values; 8 is a string, 9 an array.
CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
#: Split patterns by the name that llama.cpp has for them.
PATTERNS: dict[str, Any] = {
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais"), patterns.GPT2),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "falcon3", "dbrx", "smaug-bpe"), patterns.LLAMA3),
    **dict.fromkeys(("qwen2", "stablelm2", "deepseek-r1-qwen"), patterns.QWEN2),
    **dict.fromkeys(("starcoder", "refact", "command-r", "smollm", "codeshell"), patterns.STARCODER),
    "deepseek-v3": patterns.DEEPSEEK_V3,
    "gpt-4o": patterns.O200K,
}
#: Names with which a pre-token that is a token is taken whole, and the first special token is put before a text.
LLAMA3 = ("llama-bpe", "llama3", "llama-v3", "falcon3")


class _Metadata:
    """The values under :data:`PREFIX`, by the rest of their keys."""

    def __init__(self, data: mmap.mmap, name: str) -> None:
        self._data, self._name, self._at = data, name, len(GGUF_MAGIC)
        self.values: dict[str, Any] = {}
        try:
            version = self._read("I")
            if version not in (2, 3):
                raise FormatError(f"{name}: version {version} of GGUF, or the order of bytes of another machine")
            self._read("Q")  # tensors
            for _ in range(self._read("Q")):
                key = self._string()
                value = self._value(self._read("I"))
                if key.startswith(PREFIX):
                    self.values[key.removeprefix(PREFIX)] = value
        except (struct.error, UnicodeDecodeError, KeyError, OverflowError) as bad:
            raise FormatError(f"{name}: no metadata of GGUF at byte {self._at}: {bad}") from None

    def _read(self, code: str) -> Any:
        values = struct.unpack_from(f"<{code}", self._data, self._at)
        self._at += struct.calcsize(f"<{code}")
        return values if code[:1].isdigit() else values[0]

    def _string(self) -> str:
        size = self._read("Q")
        if size > len(self._data) - self._at:
            raise struct.error(f"a string of {size} bytes")
        self._at += size
        return self._data[self._at - size : self._at].decode("utf-8")

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._read(CODES[kind])
        kind, count = self._read("I"), self._read("Q")
        if count > len(self._data) - self._at:
            raise struct.error(f"an array of {count} values")
        return [self._string() for _ in range(count)] if kind == STRING else self._read(f"{count}{CODES[kind]}")

    def get(self, key: str, default: Any, kinds: type | tuple[type, ...], length: int | None = None) -> Any:
        value = self.values.get(key, default)
        is_other = not isinstance(value, kinds)
        if is_other or (length is not None and len(value) != length):
            raise FormatError(f"{self._name}: {PREFIX}{key} must not be {short_repr(value)}")
        return value


@without_collector()
def read(path: Source) -> Vocab:
    """The vocabulary in a file.

    Raises:
        FormatError: The file is damaged, or its tokenizer is none that bpetite reads; names the kind.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    if not os.path.getsize(name):  # which cannot be mapped
        raise FormatError(f"{name}: the file is empty (0 bytes)")
    with open(name, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        metadata = _Metadata(data, name)
    model = metadata.get("model", "", str)
    tokens = metadata.get("tokens", [], list)
    if model not in ("llama", "gpt2") or not tokens:
        raise FormatError(f"{name}: {len(tokens)} tokens of the kind {model!r}; bpetite reads llama and gpt2")
    kinds = metadata.get("token_type", (NORMAL,) * len(tokens), tuple, len(tokens))
    pre = metadata.get("pre", "default", str)
    template = _template(metadata, begins=model == "llama" or pre in LLAMA3)
    if model == "llama":
        scores = metadata.get("scores", (), tuple, len(tokens))
        unknown = metadata.get("unknown_token_id", 0, int)
        others = {UNUSED: NORMAL, UNKNOWN: CONTROL}  # as llama.cpp has them
        pieces = [
            Piece(token, score, UNKNOWN if token_id == unknown else others.get(kind, kind))
            for token_id, (token, score, kind) in enumerate(zip(tokens, scores, kinds, strict=True))
        ]
        rules = Rules(metadata.get("add_space_prefix", True, bool))
        return vocab_of_pieces(pieces, rules, name, flags=("plain",), template=template)
    if pre not in PATTERNS:
        raise FormatError(f"{name}: {PREFIX}pre {pre!r} names no split pattern of {', '.join(PATTERNS)}")
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    if len(ids) != len(tokens):
        raise FormatError(f"{name}: {len(tokens)} tokens, of which {len(ids)} differ")
    added = [
        {"id": token_id, "content": token, "special": kind != USER_DEFINED, "normalized": False}
        for token_id, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (CONTROL, UNKNOWN, USER_DEFINED)
    ]
    merges = metadata.get("merges", [], list)
    content = {
        "model": {"type": "BPE", "vocab": ids, "merges": merges, "ignore_merges": pre in LLAMA3},
        "added_tokens": added,
        "pre_tokenizer": write_pre_tokenizer(PATTERNS[pre]),
        "decoder": {"type": "ByteLevel"},
    }
    return replace(huggingface.read(json.dumps(content, ensure_ascii=False).encode(), name), template=template)


def _template(metadata: _Metadata, *, begins: bool) -> Template | None:
    """The template; `begins` if the first special token is put before a text unless the file says otherwise."""
    before: list[TemplatePart] = []
    after: list[TemplatePart] = []
    for token, default, parts in (("bos", begins, before), ("eos", False, after)):
        if metadata.get(f"add_{token}_token", default, bool):
            parts.append(TemplatePart((metadata.get(f"{token}_token_id", None, int),)))
    if not before and not after:
        return None
    single = (*before, TemplatePart(text="A"), *after)
    return Template(single, (*single, *before, TemplatePart(text="B", type_id=1), *after))
