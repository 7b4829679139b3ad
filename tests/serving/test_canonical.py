"""Whether ids are those of their text, against encoding it again."""
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limit_cases import CORPUS, END
from limit_cases import TOKENIZERS as CASES

from bpetite import Tokenizer, patterns, serving
from bpetite.errors import UnknownTokenError

SPARSE = {(token_id if token_id < 300 else token_id + 2**31): token for token_id, token in CASES["gpt2"].vocab.items()}
NAMES = ("gpt2", "gpt2, ranks", "cl100k, ranks", "NFC", "none", "regex", "pipeline")
TOKENIZERS = {name: CASES[name] for name in NAMES}
TOKENIZERS["sparse"] = Tokenizer({i: t for i, t in SPARSE.items() if t != END.encode()}, CASES["gpt2"].merges, [END])


def first_divergence(tok: Tokenizer, ids: list[int]) -> int | None:
    """The plain meaning."""
    data = tok.decode_bytes(ids)
    try:
        expected = tok.encode(data)
    except UnicodeDecodeError as error:
        return next(n for n in range(len(ids)) if len(tok.decode_bytes(ids[: n + 1])) > error.start)
    if expected == ids:
        return None
    same = (one == other for one, other in zip(ids, expected))
    return next((index for index, equal in enumerate(same) if not equal), min(len(ids), len(expected)))


@pytest.mark.parametrize("name", TOKENIZERS)
@given(st.data())
def test_against_encoding_again(name: str, data: st.DataObject) -> None:
    tok = TOKENIZERS[name]
    ids = tok.encode(data.draw(st.sampled_from([CORPUS[:90], "aaaa\t\t622", "", "<|endoftext|> e\u0301"])))
    known = st.sampled_from(sorted(tok.vocab))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(ids)))
        ids[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(known, max_size=2))
    expected = first_divergence(tok, ids)
    dtype = data.draw(st.sampled_from([list, tuple, iter, np.array, lambda ids: array("I", ids)]))
    assert serving.first_divergence(tok, dtype(ids) if ids else []) == expected
    assert serving.is_canonical(tok, ids) == (expected is None)


def test_edges_of_pretokens_decide(shared) -> None:
    tok = Tokenizer.from_tiktoken(shared("openai/cl100k_base.tiktoken"), pattern=patterns.CL100K)
    assert tok.encode("\t\t") == [298]
    assert serving.is_canonical(tok, [197, 197, 19808])
    assert serving.first_divergence(tok, [298, 19808]) == 0
    assert serving.first_divergence(tok, [197, 197]) == 0


def test_special_tokens_and_threads() -> None:
    tok = TOKENIZERS["gpt2"]
    ids = tok.encode("the<|endoftext|>cat " * 50_000)
    assert serving.is_canonical(tok, ids)
    assert serving.is_canonical(tok, np.array(ids), num_threads=2)
    assert serving.first_divergence(tok, ids, allowed_special=()) == ids.index(tok.special_tokens["<|endoftext|>"])
    assert serving.is_canonical(tok, tok.encode_ordinary("<|endoftext|>"), allowed_special=())


def test_errors() -> None:
    tok = TOKENIZERS["gpt2"]
    with pytest.raises(UnknownTokenError, match=r"99999 \(ids\[1\]\)"):
        serving.is_canonical(tok, [65, 99_999])
    with pytest.raises(TypeError, match="ids is a sequence of ints"):
        serving.is_canonical(tok, "ab")  # type: ignore[arg-type]
    assert serving.first_divergence(tok, [65, 0xE4, 0xB8]) == 1
    assert not serving.is_canonical(tok, [0xFF])


@pytest.mark.parametrize("name", ["gpt2", "cl100k, ranks", "sparse"])
def test_texts_of_several_stretches(name: str) -> None:
    """Words, special tokens and one long pre-token over the places where a stretch ends."""
    tok = TOKENIZERS[name]
    for text in ("ab é " * 20_000, "<|endoftext|> x" * 7000, "a" * 100_000 + " b", " " * 70_000, "的" * 40_000):
        for shift in range(4):
            ids = tok.encode("b" * shift + text)
            assert serving.is_canonical(tok, ids)
            assert serving.first_divergence(tok, ids[:-1]) == first_divergence(tok, ids[:-1])
        at = len(ids) * 2 // 3
        changed = ids[:at] + list(tok.decode_bytes([ids[at]])) + ids[at + 1 :]
        assert serving.first_divergence(tok, changed) == first_divergence(tok, changed)


@pytest.mark.slow
def test_characters_over_the_edges_of_blocks() -> None:
    """Each byte is an id: characters, and what is none, lie over the places where reading stops."""
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    for shift in range(4):
        ids = tok.encode("b" * shift + "的é😀 " * 900)
        assert serving.is_canonical(tok, ids)
        assert serving.is_canonical(tok, tuple(ids))
        assert serving.is_canonical(tok, np.array(ids, np.uint16))
        assert serving.is_canonical(tok, [*map(np.int64, ids)])
        for at in (8191, 8193):
            changed = [*ids[:at], 0xFF, *ids[at:]]
            assert serving.first_divergence(tok, changed) == first_divergence(tok, changed)
        for end in (8191, 8192, 8193):
            assert serving.first_divergence(tok, ids[:end]) == first_divergence(tok, ids[:end])


@pytest.mark.parametrize("name", ["gpt2", "sparse"])
def test_what_stands_behind_a_difference(name: str) -> None:
    tok = TOKENIZERS[name]
    ids = tok.encode("the cat's naïve " * 1000)
    at = next(index for index, token_id in enumerate(ids) if len(tok.token_bytes(token_id)) > 1)
    changed = ids[:at] + list(tok.token_bytes(ids[at])) + ids[at + 1 :]
    assert serving.first_divergence(tok, changed) == at
    with pytest.raises(UnknownTokenError, match=rf"4000000000 \(ids\[{len(changed)}\]\)"):
        serving.first_divergence(tok, [*changed, 4_000_000_000])
    with pytest.raises(UnknownTokenError, match=rf"-1 \(ids\[{len(changed)}\]\)"):
        serving.first_divergence(tok, [*changed, -1])
    for rest in ([0xC3], [0xC3, 65], [0xE4, 0xB8], ids[:at]):
        assert serving.first_divergence(tok, changed + rest) == first_divergence(tok, changed + rest)
        assert serving.first_divergence(tok, np.array(changed + rest)) == first_divergence(tok, changed + rest)


def test_a_byte_without_a_token() -> None:
    """Only a special token has it, which is not recognised."""
    tok = Tokenizer({byte: bytes([byte]) for byte in range(256) if byte != 122}, [], {"z": 300})
    assert serving.is_canonical(tok, [97, 300])
    with pytest.raises(ValueError, match="byte 0x7a, at offset 9001"):
        serving.is_canonical(tok, [97, *[98] * 9000, 300], allowed_special=())
    assert serving.first_divergence(tok, [0xFF, *[98] * 9000, 300], allowed_special=()) == 0
