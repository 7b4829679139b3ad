"""llama.cpp's GGUF files: the vocabulary in their metadata, as SentencePiece and tokenizer.json would give it."""
from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from bpetite import FormatError, Tokenizer, patterns
from bpetite.formats.gguf import CHARACTER_MODELS

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


@pytest.mark.parametrize("pre", patterns.LLAMA_CPP)
def test_every_name_of_a_pattern_loads(tmp_path: Path, pre: str) -> None:
    tokens, merges = (["▁", "a", "▁a"], ["▁ a"]) if pre in CHARACTER_MODELS else (["Ġ", "a", "Ġa"], ["Ġ a"])
    made = GPT2 | {"pre": pre, "tokens": [*tokens, "</s>"], "merges": merges, "token_type": [1, 1, 1, 3]}
    tok = load(tmp_path, file(made | {"bos_token_id": 3, "seperator_token_id": 3}))
    assert tok.pattern == patterns.LLAMA_CPP[pre]
    assert tok.encode("a")[0] == 1
    assert tok.decode(tok.encode("a a</s> ")) == "a a</s> "


def test_characters_with_merges(tmp_path: Path) -> None:
    spelled = [f"<0x{byte:02X}>" for byte in range(256)]
    made = {
        "model": "gemma4", "tokens": ["▁", "a", "▁a", "\n", "\n\n", *spelled, "<bos>", "<|x>"], "bos_token_id": 261,
        "merges": ["▁ a", "\n \n"], "token_type": [1] * 5 + [6] * 256 + [3, 4], "add_bos_token": False,
    }  # fmt: skip
    tok = load(tmp_path, file(made))
    assert tok.encode("a a\n\né<|x>", add_special_tokens=True) == [261, 1, 2, 4, 5 + 0xC3, 5 + 0xA9, 262]
    assert tok.decode(tok.encode("a a\n\né<|x> ")) == "a a\n\né<|x> "


@pytest.mark.parametrize(("pre", "single", "pair"), [
    ("gpt-2", "A", "AB"), ("llama-bpe", "sA", "sAsB"), ("glm4", "A", "AB"), ("chameleon", "sA", "sAsB"),
    ("roberta-bpe", "A", "A|B"),
])  # fmt: skip
def test_special_tokens_that_a_name_adds(tmp_path: Path, pre: str, single: str, pair: str) -> None:
    ids = {"bos_token_id": 3, "eos_token_id": 4, "seperator_token_id": 5}
    made = GPT2 | ids | {
        "pre": pre, "tokens": [*"AB", "BA", *"se|"], "merges": ["B A"], "token_type": [1] * 3 + [3] * 3,
    }  # fmt: skip
    tok = load(tmp_path, file(made))
    assert tok.decode(tok.encode("A", add_special_tokens=True)) == single
    assert tok.template is None or tok.decode(template_ids(tok, pair=True)) == pair
    both = load(tmp_path, file(made | {"add_bos_token": True, "add_eos_token": True}))
    assert both.decode(both.encode("A", add_special_tokens=True)) == "sAe"
    assert both.decode(template_ids(both, pair=True)) == ("sAe|Be" if pre == "roberta-bpe" else "sAesBe")


def template_ids(tok: Tokenizer, *, pair: bool) -> list[int]:
    parts = tok.template.pair if pair else tok.template.single  # type: ignore[union-attr]
    return [token_id for part in parts for token_id in (part.ids or tok.encode(part.text))]


def test_a_token_added_after_the_others_may_be_spelled_as_a_byte(tmp_path: Path) -> None:
    made = GPT2 | {"pre": "deepseek-coder", "tokens": ["Ã", "µ", "Ãµ", "õ"], "merges": ["Ã µ"]}
    tok = load(tmp_path, file(made | {"token_type": [1, 1, 1, 4]}))
    assert (tok.encode("õ"), tok.encode_ordinary("õ"), tok.decode([3])) == ([3], [2], "õ")


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
    (file(LLAMA | {"model": "bert"}), "tokenizer.ggml.model is 'bert'"),
    (file(GPT2 | {"pre": "vikings"}), "is 'vikings', .* known are default, "),
    (file(LLAMA | {"scores": [1.0]}), r"scores must not be \(1.0,\)"), (file(LLAMA | {"tokens": "a"}), "ggml.tokens"),
    (file(GPT2 | {"tokens": ["a", "a"], "token_type": [1, 1]}), "of which 1 differ"),
    (file({key: value for key, value in LLAMA.items() if key != "bos_token_id"}), "bos_token_id must not be None"),
])  # fmt: skip
def test_refused_by_name(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        load(tmp_path, data)
