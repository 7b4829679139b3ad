"""The vocabulary in a GGUF file of llama.cpp: its metadata ``tokenizer.ggml.*``, without the tensors.

The model "llama" has pieces with scores, as a model of SentencePiece; the model "gpt2" has tokens in printable form,
merges, and the name of a split pattern; the model "gemma4" has merges that begin from characters.

``tokenizer.ggml.pre`` names a split pattern; here it is the one in that model's tokenizer.json. llama.cpp runs
approximations of some patterns, which give other ids for a few texts:

- gpt-4o and its like, tekken, kimi-k2, youtu, tiny_aya: letters that are not ASCII have both cases; in most of them,
  marks are no letters;
- tiny_aya, afmoe: the last of several white spaces before a number is cut off, and digits before a letter count as a
  number of their own;
- superbpe: only ASCII digits are grouped;
- deepseek-llm, deepseek-coder: the range of Chinese characters, from U+0800, does not hold the white space in it.

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
from .sentencepiece import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Piece, Rules, vocab_of_pieces

PREFIX = "tokenizer.ggml."
#: The codes of :mod:`struct` for the types of values; 8 is a string, 9 an array.
CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
#: The types of tokens that are found in a text before it is cut.
ADDED_TYPES = (CONTROL, UNKNOWN, USER_DEFINED)
#: Names of Llama 3's pattern. For these, llama.cpp sets ignore_merges and puts the BOS token before a text.
LLAMA3 = {
    "llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"
}  # fmt: skip
#: Names with which merges begin from characters, "▁" stands for a space, and characters without a token become bytes.
CHARACTER_MODELS = {"gemma4", "granite-embed-multi-311m", "sarvam-moe"}
#: The steps around these models, and around the others, in the form of a tokenizer.json.
AS_CHARACTERS: dict[str, Any] = {
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}
        ],
    },
}  # fmt: skip
AS_BYTES: dict[str, dict[str, Any]] = {
    "pre_tokenizer": {"type": "ByteLevel", "use_regex": False}, "decoder": {"type": "ByteLevel"}
}  # fmt: skip
#: All names for which llama.cpp sets ignore_merges; for which it puts the BOS token before a text; for which it puts a
#: separator between two texts.
IGNORE_MERGES = {*LLAMA3, "tekken", "minicpm5", "youtu", "glm4", "glm5", "granite-embed-multi-97m"}
ADD_BOS = {*LLAMA3, "tekken", "chameleon", "gemma4", "granite-embed-multi-311m"}
ADD_SEP = {"roberta-bpe", "jina-v1-en", "jina-v2-code"}


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

    def _value(self, code: int) -> Any:
        if code == STRING:
            return self._string()
        if code != ARRAY:
            return self._read(CODES[code])
        code, count = self._read("I"), self._read("Q")
        if count > len(self._data) - self._at:
            raise struct.error(f"an array of {count} values")
        return [self._string() for _ in range(count)] if code == STRING else self._read(f"{count}{CODES[code]}")

    def get(self, key: str, default: Any, types: type | tuple[type, ...], length: int | None = None) -> Any:
        value = self.values.get(key, default)
        is_other = not isinstance(value, types)
        if is_other or (length is not None and len(value) != length):
            raise FormatError(f"{self._name}: {PREFIX}{key} must not be {short_repr(value)}")
        return value


@without_collector()
def read(path: Source) -> Vocab:
    """The vocabulary in a file.

    Raises:
        FormatError: The file is damaged, or its tokenizer is none that bpetite reads; names the model.
        OSError: The file cannot be read.
    """
    name = os.fspath(path)
    if not os.path.getsize(name):  # which cannot be mapped
        raise FormatError(f"{name}: the file is empty (0 bytes)")
    with open(name, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        metadata = _Metadata(data, name)
    model = metadata.get("model", "", str)
    tokens = metadata.get("tokens", [], list)
    if model not in ("llama", "gpt2", "gemma4") or not tokens:
        raise FormatError(
            f"{name}: {PREFIX}model is {model!r}, with {len(tokens)} tokens; bpetite reads llama, gpt2 and gemma4"
        )
    token_types = metadata.get("token_type", (NORMAL,) * len(tokens), tuple, len(tokens))
    pre = model if model == "gemma4" else metadata.get("pre", "default", str)
    if model == "llama":
        scores = metadata.get("scores", (), tuple, len(tokens))
        unknown = metadata.get("unknown_token_id", 0, int)
        others = {UNUSED: NORMAL, UNKNOWN: CONTROL}  # as llama.cpp has them
        pieces = [
            Piece(token, score, UNKNOWN if token_id == unknown else others.get(token_type, token_type))
            for token_id, (token, score, token_type) in enumerate(zip(tokens, scores, token_types, strict=True))
        ]
        rules = Rules(metadata.get("add_space_prefix", True, bool))
        template = _template(metadata, begins=True)
        return vocab_of_pieces(pieces, rules, name, flags=("plain",), template=template)
    if pre not in patterns.LLAMA_CPP:
        known = ", ".join(patterns.LLAMA_CPP)
        raise FormatError(f"{name}: {PREFIX}pre is {pre!r}, a split pattern that is not known; known are {known}")
    if len(set(tokens)) != len(tokens):
        raise FormatError(f"{name}: {len(tokens)} tokens, of which {len(set(tokens))} differ")
    added = [
        {"id": token_id, "content": token, "special": token_type != USER_DEFINED, "normalized": False}
        for token_id, (token, token_type) in enumerate(zip(tokens, token_types, strict=True))
        if token_type in ADDED_TYPES
    ]
    # the model's own tokens; what was added after them may be spelled as one of its bytes is ("õ")
    own = (token_id for token_id, token_type in enumerate(token_types) if token_type not in ADDED_TYPES)
    size = max(own, default=-1) + 1
    ids = {token: token_id for token_id, token in enumerate(tokens[:size])}
    merges = metadata.get("merges", [], list)
    model_part = {"type": "BPE", "vocab": ids, "merges": merges, "ignore_merges": pre in IGNORE_MERGES}
    characters = pre in CHARACTER_MODELS
    content = {
        "model": model_part | {"byte_fallback": characters},
        "added_tokens": added,
        **(AS_CHARACTERS if characters else AS_BYTES),
    }
    if pre in CHARACTER_MODELS & ADD_BOS:  # whatever the file says, as in llama.cpp
        metadata.values["add_bos_token"] = True
    vocab = huggingface.read(json.dumps(content, ensure_ascii=False).encode(), name)
    template = _template(metadata, begins=pre in ADD_BOS, separates=pre in ADD_SEP)
    return replace(vocab, pattern=patterns.LLAMA_CPP[pre], template=template)


def _template(metadata: _Metadata, *, begins: bool, separates: bool = False) -> Template | None:
    """The template; by default the BOS token is put before a text if `begins`, and the separator between two texts if
    `separates`."""
    parts = {
        token: (TemplatePart((metadata.get(key, None, int),)),)
        for token, key, default in (
            ("bos", "bos_token_id", begins),
            ("eos", "eos_token_id", False),
            ("sep", "seperator_token_id", separates),  # as GGUF spells it
        )
        if metadata.get(f"add_{token}_token", default, bool)
    }
    if not parts:
        return None
    before, after = parts.get("bos", ()), parts.get("eos", ())
    single = (*before, TemplatePart(text="A"), *after)
    return Template(single, (*single, *parts.get("sep", before), TemplatePart(text="B", type_id=1), *after))
