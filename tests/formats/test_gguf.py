"""llama.cpp's GGUF files: the vocabulary in their metadata, as SentencePiece and tokenizer.json would give it."""
from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer, patterns

CODES = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}
LLAMA: dict[str, Any] = {
    "model": "llama",
    "tokens": ["<unk>", "<s>", "</s>", "▁", "a", "b", "ab", "▁ab", "<x>", "[PAD9]", *"[PAD9]"],
    "scores": [0.0] * 4 + [-9.0, -9.0, -1.0, -2.0] + [0.0, -1000.0] + [-9.0] * 6,
    "token_type": [2, 3, 3, 1, 1, 1, 1, 1, 4, 5] + [1] * 6, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "model": "gpt2", "pre": "llama-bpe", "tokens": ["a", "b", "ab", "Ġ", "Ġab", "<s>", "abab"],
    "merges": ["a b", "Ġ ab"], "token_type": [1, 1, 1, 1, 1, 3, 1], "bos_token_id": 5,
}  # fmt: skip


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def value_of(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, list):
        kind, code = CODES.get(type(value[0]), (8, ""))
        items = b"".join(text(one) if kind == 8 else struct.pack(f"<{code}", one) for one in value)
        return struct.pack("<IIQ", 9, kind, len(value)) + items
    kind, code = CODES[type(value)]
    return struct.pack(f"<I{code}", kind, value)


def file(values: dict[str, Any], version: int = 3) -> bytes:
    every = {"general.architecture": "llama"} | {f"tokenizer.ggml.{key}": value for key, value in values.items()}
    rows = b"".join(text(key) + value_of(value) for key, value in every.items())
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(every)) + rows


def load(folder: Path, data: bytes) -> Tokenizer:
    path = folder / "model.gguf"
    path.write_bytes(data + b"tensors")
    return Tokenizer.load(path)


def test_pieces_with_scores(tmp_path: Path) -> None:
    tok = load(tmp_path, file(LLAMA))
    assert tok.encode("ab ab") == [7, 7]
    assert tok.encode("a<x>ab</s>[PAD9]") == [3, 4, 8, 7, 2, 3, 10, 11, 12, 13, 14, 15]
    assert tok.encode("ab", add_special_tokens=True) == [1, 7]
    both = load(tmp_path, file(LLAMA | {"add_bos_token": False, "add_eos_token": True, "add_space_prefix": False}))
    assert both.encode("ab", add_special_tokens=True) == [6, 2]


def test_merges_and_the_name_of_a_pattern(tmp_path: Path) -> None:
    tok = load(tmp_path, file(GPT2))
    assert (tok.pattern, tok.to_vocab().ignore_merges) == (patterns.LLAMA3, True)
    assert tok.encode("ab abab<s>", add_special_tokens=True) == [5, 2, 4, 2, 5]
    assert load(tmp_path, file(GPT2 | {"pre": "gpt-2"})).encode("abab") == [2, 2]


def test_the_package_gguf_reads_the_same(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "made.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(LLAMA["tokens"])
    writer.add_token_scores(LLAMA["scores"])
    writer.add_token_types(LLAMA["token_type"])
    writer.add_bos_token_id(1)
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file, writer.close):
        step()
    assert Tokenizer.load(path) == load(tmp_path, file(LLAMA))
    found = gguf.GGUFReader(tmp_path / "model.gguf").get_field("tokenizer.ggml.tokens").contents()
    assert [tok.encode() for tok in found] == [
        token if token == b"<unk>" else token.replace(b" ", "▁".encode())
        for token in Tokenizer.load(path).to_vocab().tokens.values()
    ]


@pytest.mark.parametrize(("data", "message"), [
    (file(LLAMA, version=1), "version 1 of GGUF"), (file(LLAMA)[:200], "no metadata of GGUF"),
    (file(LLAMA | {"model": "bert"}), "of the kind 'bert'"), (file(GPT2 | {"pre": "viking"}), "names no split pattern"),
    (file(LLAMA | {"scores": [1.0]}), r"scores must not be \(1.0,\)"), (file(LLAMA | {"tokens": "a"}), "ggml.tokens"),
    (file(GPT2 | {"tokens": ["a", "a"], "token_type": [1, 1]}), "of which 1 differ"),
    (file({key: value for key, value in LLAMA.items() if key != "bos_token_id"}), "bos_token_id must not be None"),
])  # fmt: skip
def test_refused_by_name(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load(tmp_path, data)
