"""What servers ask of a tokenizer besides ids: counts to a limit, truncation, chunks, text of which parts are trusted.

    pytest benchmarks/test_limits.py --benchmark-only

Results are compared with those of counting before anything is timed. The rows of `test_against_count` are to be read
beside "count", those of `test_segments` beside "joined". `test_chunks_of_lines` needs the package
semantic-text-splitter, and the ranks of cl100k_base.
"""
from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from . import texts

SIZE = 10_000_000


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
    from bpetite import get_encoding

    tok, whole = get_encoding("cl100k_base"), texts.text("english", 1_000_000)
    if form == "bpetite":
        made = benchmark(lambda: [chunk.text for chunk in tok.chunks(whole, 512, boundaries="paragraph")])
    else:
        one = splitter.TextSplitter.from_tiktoken_model("gpt-4", 512, trim=False)
        made = benchmark.pedantic(one.chunks, (whole,), rounds=1)
    assert "".join(made) == whole
    benchmark.extra_info["over the limit"] = sum(not tok.fits(part, 512) for part in made)


@pytest.mark.parametrize("form", ["joined", "segments"])
def test_segments(benchmark: BenchmarkFixture, form: str) -> None:
    tok, whole = texts.tokenizer(), texts.text("english")
    segments = [(whole[at : at + 1000], at % 2000 == 0) for at in range(0, 100_000, 1000)]
    assert tok.encode_segments(segments) == tok.encode(whole[:100_000])
    if form == "joined":
        benchmark(tok.encode, whole[:100_000])
    else:
        benchmark(tok.encode_segments, segments)
