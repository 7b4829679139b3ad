"""Merging: the order of merges as in Hugging Face's trainer, and words of any size as in the plain trainer."""
import json
import random
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recounting import corpora

from bpetite import Tokenizer, patterns, reference
from bpetite.bytelevel import decode_token_bytes
from bpetite.training.merging._merger import Merger


def huggingface_merges(texts, vocab_size, *, pattern=True, **options):
    """The merges, in bytes, that Hugging Face's trainer learns from texts."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size, show_progress=False, initial_alphabet=alphabet, **options
    )
    theirs.train_from_iterator(texts, trainer)
    learned = json.loads(theirs.to_str())["model"]["merges"]
    return [tuple(map(decode_token_bytes, pair)) for pair in learned]


@settings(deadline=None, max_examples=150)
@given(
    corpus=corpora,
    vocab_size=st.integers(256, 330),
    pattern=st.booleans(),
    min_frequency=st.integers(1, 3),
    max_token_bytes=st.sampled_from([None, None, 2, 3, 7]),
    num_threads=st.integers(1, 3),
)
@pytest.mark.filterwarnings("ignore:no pair is left")
def test_the_merges_of_huggingface(corpus, vocab_size, pattern, min_frequency, max_token_bytes, num_threads):
    longest = None if max_token_bytes is None else max_token_bytes + 1  # there a token is shorter than this
    theirs = huggingface_merges(
        corpus, vocab_size, pattern=pattern, min_frequency=min_frequency, max_token_length=longest
    )
    ours = Tokenizer.train(
        corpus, vocab_size, pattern=patterns.GPT2 if pattern else None, min_frequency=min_frequency,
        max_token_bytes=max_token_bytes, tie_break="tokenizers", num_threads=num_threads,
    )
    assert ours.merges == theirs
    assert ours.vocab.items() >= {byte: bytes([byte]) for byte in range(256)}.items()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no pair is left")
@pytest.mark.parametrize("name", ["english", "code", "multilingual", "cjk", "cs336"])
def test_the_merges_of_huggingface_on_texts(shared, name):
    length = 300_000 if name == "cjk" else 1_500_000  # that trainer is slow on long pre-tokens
    data = shared("cs336/corpus.en" if name == "cs336" else f"text/{name}.txt", length).read_bytes()[:length]
    text = data.decode("utf-8", "ignore")
    texts = [text[start : start + 50_000] for start in range(0, len(text), 50_000)]
    theirs = huggingface_merges(texts, 32_000)
    for num_threads in (1, 4):
        ours = Tokenizer.train(
            texts, 32_000, special_tokens=[], tie_break="tokenizers", num_threads=num_threads
        )
        assert ours.merges == theirs


def test_pairs_in_any_number_of_words():
    """Lists of up to two strips, of powers of two and past them, of up to 1024 and longer."""
    numbers = (1, 2, 3, 8, 9, 16, 17, 64, 65, 1024, 1025, 2049)
    words = {f"xy{chr(65 + at)}{word:04}".encode(): 1 for at, number in enumerate(numbers) for word in range(number)}
    _, merges = reference.train([word.decode() for word in words], 300)
    assert Tokenizer.train_from_counts(words, 300, special_tokens=[]).merges == merges


def test_what_is_known_has_ids_that_there_are():
    merger = Merger()
    merger.know(array("I", [97, 98, 256, 97]))
    assert (merger.all_tokens()[257], merger.tokens) == (b"aba", 258)
    for pairs in ([97, 258], [300, 97]):
        with pytest.raises(ValueError, match=f"no token has the internal id {max(pairs)}"):
            merger.know(array("I", pairs))


#: Slots that are searched at a time, and those of a strip.
SIZES = [2, 3, 7, 8, 9, 15, 16, 17, 24, 25, 63, 64, 65, 128, 129, 200]


def check(texts: list[str], vocab_size: int, tie_break: Any = "ids") -> None:
    """The merges of the plain trainer, each text one pre-token."""
    _, merges = reference.train(texts, vocab_size, pattern=None, tie_break=tie_break)
    assert Tokenizer.train(texts, vocab_size, pattern=None, tie_break=tie_break).merges == merges


@pytest.mark.parametrize("tie_break", ["ids", "bytes", "tokenizers"])
@pytest.mark.parametrize("size", [*SIZES, 1000, 4096])
@pytest.mark.parametrize("period", ["a", "ab", "aab", "abcab"])
def test_words_of_any_size(size: int, period: str, tie_break: str) -> None:
    word = (period * size)[:size]
    check([word, word[1:], word[::-1], word + "b"], 300, tie_break)


@pytest.mark.parametrize("number", [63, 64, 65, 127, 128, 129, 300])
def test_a_pair_in_so_many_words(number: int) -> None:
    words = [f"{chr(0x4E00 + at)}ab{'ab' * (at % 3)}{chr(0x4E00 + at // 2)}" for at in range(number)]
    check(words, 256 + 40)


@pytest.mark.parametrize("number", [3, 4, 5, 40])
def test_a_pair_with_so_many_neighbours(number: int) -> None:
    """Strips full of the pair, each time next to other tokens."""
    rng = random.Random(number)
    words = ["".join(f"ab{chr(rng.randrange(0x21, 0x7F))}" for _ in range(43)) for _ in range(number)]
    check(words, 256 + 30)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.builds(lambda piece, size: (piece * size)[:size], st.text("abc", min_size=1, max_size=5),
                          st.sampled_from(SIZES)), min_size=1, max_size=80))  # fmt: skip
@pytest.mark.filterwarnings("ignore:no pair is left")
def test_any_words(words: list[str]) -> None:
    check(words, 275)
