"""Encoding and decoding with a warm tokenizer, and loading one, on one thread.

    pytest benchmarks/test_encode.py --benchmark-only
    python -m benchmarks.compare             # beside the peers that are installed

Ids are compared with the definition before anything is timed.
"""
from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bpetite import Tokenizer, patterns

from . import texts

pytestmark = pytest.mark.benchmark(max_time=0.3, min_rounds=3)


def timed(benchmark: BenchmarkFixture, name: str, size: int, call: Callable[[], object]) -> None:
    texts.check(name)
    benchmark.extra_info["bytes"] = size
    benchmark(call)


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("form", ["array", "list", "count", "batch", "batch-list"])
def test_encode(benchmark: BenchmarkFixture, form: str, name: str) -> None:
    tok, whole, documents = texts.tokenizer(), texts.text(name), texts.documents(name)
    calls: dict[str, Callable[[], object]] = {
        "array": lambda: tok.encode_to_numpy(whole),
        "list": lambda: tok.encode_ordinary(whole),
        "count": lambda: tok.count(whole),
        "batch": lambda: tok.encode_batch_to_numpy(documents, num_threads=1),
        "batch-list": lambda: tok.encode_batch(documents, num_threads=1),
    }
    timed(benchmark, name, len(whole.encode()), calls[form])


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("length", [20, 200, 2000])
def test_short_call(benchmark: BenchmarkFixture, length: int, name: str) -> None:
    tok, short = texts.tokenizer(), texts.text(name)[10_000 : 10_000 + length]
    timed(benchmark, name, len(short.encode()), lambda: tok.encode(short))


@pytest.mark.parametrize("specials", [0, 1, 1000])
def test_special_tokens(benchmark: BenchmarkFixture, specials: int) -> None:
    """What looking for registered special tokens costs, on a text that holds none."""
    name = "english"
    plain = texts.tokenizer()
    literals = [f"<|reserved_{number}|>" for number in range(specials)]
    tok = Tokenizer(plain.vocab, plain.merges, literals, pattern=plain.to_vocab().pattern)
    whole = texts.text(name)
    timed(benchmark, name, len(whole.encode()), lambda: tok.encode_to_numpy(whole))


@pytest.mark.parametrize("unit", ["a", " ", "的", "abcdefghij"])
@pytest.mark.parametrize("length", [100_000, 1_000_000])
def test_one_long_pretoken(benchmark: BenchmarkFixture, unit: str, length: int) -> None:
    """Ten times the text may take about ten times the time, whatever the text."""
    tok, run = texts.tokenizer(), unit * (length // len(unit))
    benchmark(tok.encode_ordinary, run)


@pytest.mark.parametrize("name", texts.NAMES)
@pytest.mark.parametrize("form", ["list", "array"])
def test_decode(benchmark: BenchmarkFixture, form: str, name: str) -> None:
    tok, whole = texts.tokenizer(), texts.text(name)
    ids, array = tok.encode_ordinary(whole), tok.encode_to_numpy(whole)
    calls: dict[str, Callable[[], object]] = {
        "list": lambda: tok.decode(ids),
        "array": lambda: tok.decode_bytes(array),
    }
    timed(benchmark, name, len(whole.encode()), calls[form])


@pytest.mark.parametrize("format", ["native", "gpt2", "huggingface"])
def test_load(benchmark: BenchmarkFixture, tmp_path_factory: pytest.TempPathFactory, format: str) -> None:
    """A tokenizer from its files, the split pattern compiled already; test_first_call.py has the first time."""
    path = tmp_path_factory.mktemp("load") / "tokenizer"
    texts.tokenizer().save(path, format=format)
    assert benchmark(Tokenizer.load, path, format=format) == texts.tokenizer()


@pytest.mark.parametrize("cache", ["cold", "warm"])
def test_first_call(benchmark: BenchmarkFixture, cache: str) -> None:
    """The same text with an empty word cache and with a full one."""
    name = "english"
    tok, whole = texts.tokenizer(), texts.text(name)

    def fresh() -> tuple[tuple[Tokenizer], dict[str, object]]:
        return (tok.with_cache(64 << 20) if cache == "cold" else tok,), {}

    texts.check(name)
    benchmark.pedantic(lambda tok: tok.encode_to_numpy(whole), setup=fresh, rounds=10)


#: What CLIP's tokenizer.json holds beside its model and its added tokens.
CLIP_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def clip() -> Tokenizer:
    """A small tokenizer with the steps of CLIP: marks at the ends of words, lower case, no white space."""
    tokenizers = pytest.importorskip("tokenizers")
    steps, cuts = tokenizers.normalizers, tokenizers.pre_tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=texts.END, end_of_word_suffix="</w>"))
    made.normalizer = steps.Sequence([steps.NFC(), steps.Replace(tokenizers.Regex(r"\s+"), " "), steps.Lowercase()])
    split = cuts.Split(tokenizers.Regex(CLIP_PATTERN), "removed", invert=True)
    made.pre_tokenizer = cuts.Sequence([split, cuts.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    letters = cuts.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=4000, special_tokens=[texts.END, *(letter + "</w>" for letter in letters)], show_progress=False,
        initial_alphabet=letters, end_of_word_suffix="</w>",
    )  # fmt: skip
    made.train_from_iterator([texts.text(name, 200_000) for name in texts.NAMES], trainer)
    content = json.loads(made.to_str())
    del content["added_tokens"][1:]
    return Tokenizer.from_huggingface(content)


def sentencepiece(folder: Path) -> Tokenizer:
    """A small .model file, with the map of characters that sentencepiece takes by default."""
    trainer, file = pytest.importorskip("sentencepiece").SentencePieceTrainer, folder / "tokenizer.model"
    lines = [line for name in texts.NAMES for line in texts.text(name, 200_000).splitlines()]
    trainer.train(
        sentence_iterator=iter(lines), model_prefix=str(file.with_suffix("")), model_type="bpe", vocab_size=4000,
        byte_fallback=True, normalization_rule_name="nmt_nfkc", minloglevel=3,
    )  # fmt: skip
    return Tokenizer.load(file)


@pytest.fixture(scope="module", params=["Qwen 3", "CLIP", "nmt_nfkc"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer with the steps of a model that people run."""
    if request.param == "Qwen 3":
        vocab = replace(texts.tokenizer().to_vocab(), normalization="NFC", pattern=patterns.QWEN2)
        return Tokenizer.from_vocab(vocab)
    return clip() if request.param == "CLIP" else sentencepiece(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("name", texts.NAMES)
def test_model(benchmark: BenchmarkFixture, model: Tokenizer, name: str) -> None:
    """The core does all that the steps of the model ask for."""
    whole = texts.text(name)
    assert model.scanner in ("vector", "words")
    assert model.encode_to_numpy(whole[:20_000]).tolist() == model.encode_with_offsets(whole[:20_000])[0]
    timed(benchmark, name, len(whole.encode()), lambda: model.encode_to_numpy(whole))
