"""What servers ask of a tokenizer besides ids: limits, chunks, trusted segments, chats, ids one at a time.

    pytest benchmarks/test_serving.py --benchmark-only --benchmark-columns=median,iqr --benchmark-group-by=func

On the vocabulary of GPT-2. Results are checked before anything is timed. tiktoken and tokenizers take part where they
are installed.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bpetite import serving

from . import texts

SIZE = 4_000_000
TURNS = 200
CHAT = 128_000  # tokens
NAMES = ("english", "multilingual")

pytestmark = pytest.mark.benchmark(max_time=0.3, min_rounds=3)


@pytest.mark.parametrize("form", ["count_batch", "encode_batch_to_numpy"])
def test_count_batch(benchmark: BenchmarkFixture, form: str) -> None:
    tok, documents = texts.tokenizer(), texts.documents("english", SIZE)
    assert tok.count_batch(documents).sum() == len(tok.encode_batch_to_numpy(documents)[0])
    benchmark(getattr(tok, form), documents, num_threads=1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["limit 100", "count", "right", "left", "chunks of 512", "chunks of 8192"])
def test_against_count(benchmark: BenchmarkFixture, form: str, name: str) -> None:
    tok, whole = texts.tokenizer(), texts.text(name, SIZE)
    most = tok.count(whole) * 9 // 10
    assert tok.count(whole, limit=100) == 101
    calls: dict[str, Callable[[], object]] = {
        "limit 100": lambda: tok.count(whole, limit=100),
        "count": lambda: tok.count(whole),
        "right": lambda: tok.truncate(whole, most),
        "left": lambda: tok.truncate(whole, 10_000, truncation_side="left"),
    }
    if form not in calls:
        size = int(form.split()[-1])
        made = list(tok.chunks(whole, size))
        assert "".join(chunk.text for chunk in made) == whole
        assert [tok.count(chunk.text) for chunk in made] == [chunk.tokens for chunk in made]
        assert max(chunk.tokens for chunk in made) <= size
        calls[form] = lambda: [None for _ in tok.chunks(whole, size)]
    benchmark(calls[form])


@pytest.mark.parametrize("form", ["joined", "segments"])
def test_segments(benchmark: BenchmarkFixture, form: str) -> None:
    tok, whole = texts.tokenizer(), texts.text("english")
    segments = [(whole[at : at + 1000], at % 2000 == 0) for at in range(0, 100_000, 1000)]
    assert serving.encode_segments(tok, segments) == tok.encode(whole[:100_000])
    if form == "joined":
        benchmark(tok.encode, whole[:100_000])
    else:
        benchmark(serving.encode_segments, tok, segments)


@cache
def tokenizers_tokenizer() -> Any:
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(texts.vocabulary() / "tokenizer.json"))


def tiktoken_encode() -> Callable[[str], list[int]]:
    tiktoken = pytest.importorskip("tiktoken")
    tok = texts.tokenizer()
    ranks = {token: token_id for token_id, token in tok.vocab.items() if token_id not in tok.special_tokens.values()}
    return tiktoken.Encoding("gpt2", pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


@pytest.mark.parametrize("way", ["each turn", "once", "tiktoken", "tokenizers"])
def test_chat(benchmark: BenchmarkFixture, way: str) -> None:
    """A chat of 128,000 tokens, encoded whole at each of its turns; or its first half once, the mean of a turn."""
    tok = texts.tokenizer()
    whole = tok.decode(tok.encode(texts.text("english"))[:CHAT], errors="ignore")
    size = -(-len(whole) // TURNS)
    encode: Callable[[str], list[int]] = tok.encode
    if way == "tiktoken":
        encode = tiktoken_encode()
    elif way == "tokenizers":
        encode = lambda text: tokenizers_tokenizer().encode(text).ids  # noqa: E731
    half = whole[: len(whole) // 2]
    assert encode(half) == tok.encode(half)
    ends = range(size, len(whole) + size, size) if way == "each turn" else [len(half)]
    benchmark.pedantic(lambda: [encode(whole[:end]) for end in ends], rounds=3)


@pytest.mark.parametrize("way", ["feed", "feed, skipping special tokens", "decode_iterable", "tokenizers DecodeStream"])
def test_ids_one_at_a_time(benchmark: BenchmarkFixture, way: str) -> None:
    """100,000 ids; the time of one is a hundred-thousandth."""
    tok = texts.tokenizer()
    ids = tok.encode(texts.text("multilingual"))[:100_000]
    if way == "tokenizers DecodeStream":
        decoders, peer = pytest.importorskip("tokenizers.decoders"), tokenizers_tokenizer()

        def by_tokenizers() -> None:
            step = decoders.DecodeStream(skip_special_tokens=False).step
            for token_id in ids:
                step(peer, token_id)

        benchmark.pedantic(by_tokenizers, rounds=2)
        return
    if way == "decode_iterable":
        call = lambda: "".join(tok.decode_iterable(ids, errors="ignore"))  # noqa: E731
    else:
        skip = way != "feed"
        call = lambda: "".join(map(tok.decode_stream(errors="ignore", skip_special_tokens=skip).feed, ids))  # noqa: E731
    assert call() == tok.decode(ids, errors="ignore")
    benchmark(call)


@pytest.mark.parametrize("length", [250_000, 1_000_000])
def test_halves_of_characters(benchmark: BenchmarkFixture, length: int) -> None:
    """Four times the ids take four times the time, though each is a part of a character, or never completes one."""
    tok = texts.tokenizer()
    bytes_of = {token: token_id for token_id, token in tok.vocab.items() if len(token) == 1}
    ids = [bytes_of[bytes([byte])] for byte in ("的🌸".encode() + b"\xf0\x9f") * (length // 9)]

    def run() -> None:
        feed = tok.decode_stream(errors="replace").feed
        for token_id in ids:
            feed(token_id)

    benchmark.pedantic(run, rounds=3)


@pytest.mark.parametrize("way", ["is_canonical", "is_canonical of an array", "encode(decode(ids)) == ids"])
@pytest.mark.parametrize("name", NAMES)
def test_canonical(benchmark: BenchmarkFixture, name: str, way: str) -> None:
    tok = texts.tokenizer()
    ids = tok.encode(texts.text(name, SIZE))
    array = tok.encode_to_numpy(texts.text(name, SIZE))
    calls: dict[str, Callable[[], bool]] = {
        "is_canonical": lambda: serving.is_canonical(tok, ids),
        "is_canonical of an array": lambda: serving.is_canonical(tok, array),
        "encode(decode(ids)) == ids": lambda: tok.encode(tok.decode(ids)) == ids,
    }
    assert benchmark(calls[way])
