"""Ids one at a time, ids that are checked, texts that grow: what a server does beside encoding.

    pytest benchmarks/test_growing.py --benchmark-only --benchmark-columns=median,iqr --benchmark-group-by=func

On the vocabulary of GPT-2. Peers take part where they are installed; results are compared before anything is timed.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from itertools import count

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bpetite import PrefixCache, Tokenizer

from . import texts

TURNS = 200
CHAT = 128_000  # tokens


@cache
def chat() -> list[str]:
    """The turns of a chat, 128,000 tokens in all."""
    tok = texts.tokenizer()
    whole = tok.decode(tok.encode(texts.text("english"))[:CHAT], errors="ignore")
    size = -(-len(whole) // TURNS)
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def tiktoken_encode() -> Callable[[str], list[int]]:
    tiktoken = pytest.importorskip("tiktoken")
    tok = texts.tokenizer()
    ranks = {token: token_id for token_id, token in tok.vocab.items() if token_id not in tok.special_tokens.values()}
    return tiktoken.Encoding("gpt2", pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


def tokenizers_tokenizer() -> object:
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(texts.vocabulary() / "tokenizer.json"))


def grow(tok: Tokenizer) -> list[int]:
    grown = tok.growing()
    for turn in chat():
        grown.append(turn)
    return grown.ids.tolist()


def again(encode: Callable[[str], list[int]]) -> list[int]:
    """The whole chat is encoded at each turn."""
    whole, ids = "", []
    for turn in chat():
        whole += turn
        ids = encode(whole)
    return ids


@pytest.mark.parametrize("way", ["encode once", "growing", "PrefixCache", "encode", "tiktoken", "tokenizers"])
def test_chat(benchmark: BenchmarkFixture, way: str) -> None:
    tok = texts.tokenizer()
    whole = "".join(chat())
    expected = tok.encode(whole)
    if way in ("encode once", "growing"):
        call = (lambda: tok.encode(whole)) if way == "encode once" else (lambda: grow(tok))
        assert call() == expected

        def appends() -> None:
            grown = tok.growing()
            for turn in chat():
                grown.append(turn)

        benchmark(call if way == "encode once" else appends)
        return
    if way == "tokenizers":
        peer = tokenizers_tokenizer()
        encode: Callable[[str], list[int]] = lambda text: peer.encode(text).ids  # type: ignore[attr-defined]  # noqa: E731
    elif way == "tiktoken":
        encode = tiktoken_encode()
    else:
        encode = tok.encode
    if way == "PrefixCache":
        assert again(PrefixCache(tok).encode) == expected
        benchmark.pedantic(lambda: again(PrefixCache(tok).encode), rounds=3)
        return
    assert encode(whole) == expected
    if way == "encode":
        benchmark.pedantic(lambda: again(encode), rounds=3)
    else:  # minutes for the whole chat: the last turn times the mean length of a turn's text
        benchmark.extra_info["turns"] = "one of 200"
        benchmark.pedantic(lambda: encode(whole[: len(whole) // 2]), rounds=3)
    benchmark.extra_info["version"] = version(way) if way != "encode" else "here"


@pytest.mark.parametrize("size", [100_000, 1_000_000, 4_000_000])
def test_edit_in_the_middle(benchmark: BenchmarkFixture, size: int) -> None:
    tok, whole = texts.tokenizer(), texts.text("english")[:size]
    grown = tok.growing(whole)
    steps = count(1)

    def edit() -> None:
        at = size // 2 + next(steps) * 7919 % 1000
        grown.replace(at, at + 3, "xyz and")

    benchmark(edit)
    assert grown.ids.tolist() == tok.encode(grown.text)


@pytest.mark.parametrize("way", ["feed", "feed, skipping special tokens", "decode_iterable", "tokenizers DecodeStream"])
@pytest.mark.parametrize("name", texts.NAMES)
def test_ids_one_at_a_time(benchmark: BenchmarkFixture, name: str, way: str) -> None:
    """100,000 ids; the time of one is a hundred-thousandth."""
    tok = texts.tokenizer()
    ids = tok.encode(texts.text(name))[:100_000]
    expected = tok.decode(ids, errors="ignore")
    if way == "tokenizers DecodeStream":
        peer = tokenizers_tokenizer()
        decoders = pytest.importorskip("tokenizers.decoders")

        def run() -> str:
            stream = decoders.DecodeStream(skip_special_tokens=False)
            return "".join([stream.step(peer, token_id) or "" for token_id in ids])

        benchmark.pedantic(run, rounds=2)
        return
    if way == "decode_iterable":
        call = lambda: "".join(tok.decode_iterable(ids, errors="ignore"))  # noqa: E731
    else:
        skip = way != "feed"
        call = lambda: "".join(map(tok.decoder(errors="ignore", skip_special_tokens=skip).feed, ids))  # noqa: E731
    assert call() == expected
    benchmark(call)


@pytest.mark.parametrize("length", [250_000, 1_000_000])
def test_halves_of_characters(benchmark: BenchmarkFixture, length: int) -> None:
    """Four times the ids take four times the time, though each is a part of a character, or never completes one."""
    tok = texts.tokenizer()
    bytes_of = {token: token_id for token_id, token in tok.vocab.items() if len(token) == 1}
    ids = [bytes_of[bytes([byte])] for byte in ("的🌸".encode() + b"\xf0\x9f") * (length // 9)]

    def run() -> None:
        feed = tok.decoder(errors="replace").feed
        for token_id in ids:
            feed(token_id)

    benchmark.pedantic(run, rounds=3)


@pytest.mark.parametrize("way", ["is_canonical", "is_canonical of an array", "encode(decode(ids)) == ids"])
@pytest.mark.parametrize("name", texts.NAMES)
def test_canonical(benchmark: BenchmarkFixture, name: str, way: str) -> None:
    """A million ids."""
    tok = texts.tokenizer()
    array = tok.encode_to_numpy(texts.text(name, 8_000_000))[:1_000_000]
    ids = tok.encode(tok.decode(array, errors="ignore"))
    array = tok.encode_to_numpy(tok.decode(ids))
    assert tok.is_canonical(ids)
    calls: dict[str, Callable[[], bool]] = {
        "is_canonical": lambda: tok.is_canonical(ids),
        "is_canonical of an array": lambda: tok.is_canonical(array),
        "encode(decode(ids)) == ids": lambda: tok.encode(tok.decode(ids)) == ids,
    }
    assert benchmark(calls[way])
