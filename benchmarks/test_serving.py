"""What servers ask of a tokenizer besides ids: limits, chunks, trusted segments, chats, ids one at a time.

    pytest benchmarks/test_serving.py --benchmark-only --benchmark-columns=median,iqr --benchmark-group-by=func
    python -m benchmarks.test_serving           ratios of processor time, taken in turn: the table of the docs

On the vocabulary of GPT-2. Results are checked before anything is timed. Peers take part where they are installed:
tiktoken, tokenizers, semantic-text-splitter (which needs the ranks of cl100k_base).
"""
from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bpetite import serving

from . import texts
from .rounds import interleaved, median_ratio, processor, timed

SIZE = 10_000_000
TURNS = 200
CHAT = 128_000  # tokens


@pytest.mark.parametrize("name", texts.NAMES)
def test_count_to_a_limit(benchmark: BenchmarkFixture, name: str) -> None:
    tok, whole = texts.tokenizer(), texts.text(name, SIZE)
    assert benchmark(tok.count, whole, limit=100) == 101


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("form", ["count_batch", "encode_batch_to_numpy"])
def test_count_batch(benchmark: BenchmarkFixture, form: str, name: str) -> None:
    tok, documents = texts.tokenizer(), texts.documents(name, SIZE)
    assert tok.count_batch(documents).sum() == len(tok.encode_batch_to_numpy(documents)[0])
    benchmark(getattr(tok, form), documents, num_threads=1)


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("form", ["count", "right", "left", "chunks of 512", "chunks of 2048", "chunks of 8192"])
def test_against_count(benchmark: BenchmarkFixture, form: str, name: str) -> None:
    tok, whole = texts.tokenizer(), texts.text(name, SIZE)
    most = tok.count(whole) * 9 // 10
    calls: dict[str, Callable[[], object]] = {
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


@pytest.mark.parametrize("form", ["bpetite", "semantic-text-splitter"])
def test_chunks_of_lines(benchmark: BenchmarkFixture, form: str) -> None:
    """The same text and vocabulary (cl100k), a megabyte."""
    splitter = pytest.importorskip("semantic_text_splitter")
    tok, whole = texts.cl100k(), texts.text("english", 1_000_000)
    if form == "bpetite":
        made = benchmark(lambda: [chunk.text for chunk in tok.chunks(whole, 512, boundaries="paragraph")])
    else:
        one = splitter.TextSplitter.from_tiktoken_model("gpt-4", 512, trim=False)
        made = benchmark.pedantic(one.chunks, (whole,), rounds=1)
    assert "".join(made) == whole
    benchmark.extra_info["over the limit"] = sum(tok.count(part, limit=512) > 512 for part in made)


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
def chat(name: str = "english") -> list[str]:
    """The turns of a chat, 128,000 tokens in all."""
    tok = texts.tokenizer()
    whole = tok.decode(tok.encode(texts.text(name))[:CHAT], errors="ignore")
    size = -(-len(whole) // TURNS)
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def tiktoken_encode() -> Callable[[str], list[int]]:
    tiktoken = pytest.importorskip("tiktoken")
    tok = texts.tokenizer()
    ranks = {token: token_id for token_id, token in tok.vocab.items() if token_id not in tok.special_tokens.values()}
    return tiktoken.Encoding("gpt2", pat_str=tok.pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary


@cache
def tokenizers_tokenizer() -> object:
    return pytest.importorskip("tokenizers").Tokenizer.from_file(str(texts.vocabulary() / "tokenizer.json"))


def again(encode: Callable[[str], list[int]]) -> list[int]:
    """The whole chat is encoded at each turn."""
    whole, ids = "", []
    for turn in chat():
        whole += turn
        ids = encode(whole)
    return ids


@pytest.mark.parametrize("way", ["encode once", "encode", "tiktoken", "tokenizers"])
def test_chat(benchmark: BenchmarkFixture, way: str) -> None:
    tok = texts.tokenizer()
    whole = "".join(chat())
    expected = tok.encode(whole)
    if way == "encode once":
        benchmark(tok.encode, whole)
        return
    if way == "tokenizers":
        peer = tokenizers_tokenizer()
        encode: Callable[[str], list[int]] = lambda text: peer.encode(text).ids  # type: ignore[attr-defined]  # noqa: E731
    elif way == "tiktoken":
        encode = tiktoken_encode()
    else:
        encode = tok.encode
    assert encode(whole) == expected
    if way == "encode":
        benchmark.pedantic(lambda: again(encode), rounds=3)
    else:  # minutes for the whole chat: the last turn times the mean length of a turn's text
        benchmark.extra_info["turns"] = "one of 200"
        benchmark.pedantic(lambda: encode(whole[: len(whole) // 2]), rounds=3)
    benchmark.extra_info["version"] = version(way) if way != "encode" else "here"


@pytest.mark.parametrize("way", ["feed", "feed, skipping special tokens", "decode_iterable", "tokenizers DecodeStream"])
@pytest.mark.parametrize("name", texts.NAMES)
def test_ids_one_at_a_time(benchmark: BenchmarkFixture, name: str, way: str) -> None:
    """100,000 ids; the time of one is a hundred-thousandth."""
    tok = texts.tokenizer()
    ids = tok.encode(texts.text(name))[:100_000]
    expected = tok.decode(ids, errors="ignore")
    if way == "tokenizers DecodeStream":
        pytest.importorskip("tokenizers.decoders")
        benchmark.pedantic(one_by_one(ids)["DecodeStream"], rounds=2)
        return
    if way == "decode_iterable":
        call = lambda: "".join(tok.decode_iterable(ids, errors="ignore"))  # noqa: E731
    else:
        skip = way != "feed"
        call = lambda: "".join(map(tok.decode_stream(errors="ignore", skip_special_tokens=skip).feed, ids))  # noqa: E731
    assert call() == expected
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
@pytest.mark.parametrize("name", texts.NAMES)
def test_canonical(benchmark: BenchmarkFixture, name: str, way: str) -> None:
    """A million ids."""
    tok = texts.tokenizer()
    array = tok.encode_to_numpy(texts.text(name, 8_000_000))[:1_000_000]
    ids = tok.encode(tok.decode(array, errors="ignore"))
    array = tok.encode_to_numpy(tok.decode(ids))
    assert serving.is_canonical(tok, ids)
    calls: dict[str, Callable[[], bool]] = {
        "is_canonical": lambda: serving.is_canonical(tok, ids),
        "is_canonical of an array": lambda: serving.is_canonical(tok, array),
        "encode(decode(ids)) == ids": lambda: tok.encode(tok.decode(ids)) == ids,
    }
    assert benchmark(calls[way])


def ratios(name: str) -> None:
    """Prints ratios of processor time for one of the texts."""
    tok, whole, documents = texts.tokenizer(), texts.text(name, SIZE), texts.documents(name, SIZE)
    most = tok.count(whole) * 9 // 10
    ids = tok.encode(tok.decode(tok.encode(texts.text(name, 8_000_000))[:1_000_000], errors="ignore"))

    def chunks(size: int, **options: Any) -> Callable[[], object]:
        return lambda: [None for _ in tok.chunks(whole, size, **options)]

    short = "".join(chat(name))[:100_000]
    segments = [(short[at : at + 1000], at % 2000 == 0) for at in range(0, 100_000, 1000)]

    for over, calls in (
        ("count", {
            "count": lambda: tok.count(whole),
            "truncate to 90 %, right": lambda: tok.truncate(whole, most),
            "truncate to 90 %, left": lambda: tok.truncate(whole, most, truncation_side="left"),
            "truncate to 10,000, left": lambda: tok.truncate(whole, 10_000, truncation_side="left"),
            **{f"chunks of {size}": chunks(size) for size in (512, 2048, 8192)},
            **{f"chunks of 512, {at}": chunks(512, boundaries=at) for at in ("line", "paragraph")},
            "chunks of 512, overlap 50": chunks(512, overlap=50),
        }),
        ("encode_batch_to_numpy", {
            "encode_batch_to_numpy": lambda: tok.encode_batch_to_numpy(documents, num_threads=1),
            "count_batch": lambda: tok.count_batch(documents, num_threads=1),
        }),
        ("encode of the joined text", {
            "encode of the joined text": lambda: [tok.encode(short) for _ in range(50)],
            "encode_segments, 100": lambda: [serving.encode_segments(tok, segments) for _ in range(50)],
        }),
        ("encode(decode(ids)) == ids", {
            "encode(decode(ids)) == ids": lambda: tok.encode(tok.decode(ids)) == ids,
            "is_canonical": lambda: serving.is_canonical(tok, ids),
        }),
    ):  # fmt: skip
        times = interleaved({row: timed(call) for row, call in calls.items()}, 11)
        for row in calls:
            if row != over:
                ratio = median_ratio(processor(times[row][1:]), processor(times[over][1:]))
                print(f"{name:13s} {row:25s} {ratio:5.2f} of {over}", flush=True)
    limited = timed(lambda: [tok.count(whole, limit=100) for _ in range(1000)])
    print(f"{name:13s} count(limit=100) of 10 MB {statistics.median(limited()[1] for _ in range(11)) * 1e3:5.2f} us")
    feeds = interleaved({way: timed(call) for way, call in one_by_one(ids[:100_000]).items()}, 7)
    for way, measured in feeds.items():
        print(f"{name:13s} {way:25s} {statistics.median(processor(measured)) * 1e4:5.0f} ns an id", flush=True)


def one_by_one(ids: list[int]) -> dict[str, Callable[[], None]]:
    """Loops over ids whose texts are dropped."""
    tok = texts.tokenizer()

    def feed() -> None:
        stream = tok.decode_stream(errors="replace").feed
        for token_id in ids:
            stream(token_id)

    try:
        from tokenizers.decoders import DecodeStream
    except ImportError:
        return {"feed": feed}
    peer = tokenizers_tokenizer()

    def decode_stream() -> None:
        step = DecodeStream(skip_special_tokens=False).step
        for token_id in ids:
            step(peer, token_id)

    return {"feed": feed, "DecodeStream": decode_stream}


def splitter() -> None:
    """Prints what chunks of 512 tokens of a megabyte take beside semantic-text-splitter, on cl100k."""
    try:
        from semantic_text_splitter import TextSplitter
    except ImportError:
        return
    tok, whole = texts.cl100k(), texts.text("english", 1_000_000)
    peer = TextSplitter.from_tiktoken_model("gpt-4", 512, trim=False)
    times = interleaved({
        "semantic-text-splitter": timed(lambda: peer.chunks(whole)),
        "chunks of 512": timed(lambda: [chunk.text for chunk in tok.chunks(whole, 512)]),
        "at paragraphs": timed(lambda: [chunk.text for chunk in tok.chunks(whole, 512, boundaries="paragraph")]),
    }, 3)  # fmt: skip
    peers = processor(times.pop("semantic-text-splitter"))
    for row, measured in times.items():
        print(f"{row:39s} {median_ratio(peers, processor(measured)):5.0f} times as fast as semantic-text-splitter "
              f"{version('semantic-text-splitter')}", flush=True)


if __name__ == "__main__":
    for each in texts.NAMES:
        ratios(each)
    splitter()
