"""Superwords: the merges of the trainer that recounts whole phrases."""
from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recounting import learn

from bpetite import CountFile, Tokenizer, count_pretokens, patterns, reference
from bpetite.reference import Pair
from bpetite.training.train import MAX_WORDS

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to learn")

BYTES = [bytes([byte]) for byte in range(256)]
PATTERNS = [patterns.GPT2, patterns.O200K, r"\w", None]
documents = st.lists(st.text("ab .:\n1'的", max_size=40), min_size=1, max_size=4)


def allowed(token: bytes, most: int | None) -> bool:
    return len(token) <= (most or len(token)) and b": " not in token and len(token.split(b" ")) - token.split(
        b" ").count(b"") <= MAX_WORDS  # fmt: skip


def second_stage(texts: list[str], tok: Tokenizer, pattern: Any, n: int, most: int | None = None) -> list[Pair]:
    """The plain trainer, on phrases that have all merges of the first stage."""
    words = Counter[tuple[bytes, ...]]()
    for text in texts:
        for phrase in reference.split(text, pattern):
            words[tuple(reference.apply_merges(phrase.encode(), tok.merges))] += 1
    known = dict.fromkeys([*BYTES, *(a + b for a, b in tok.merges)])
    return learn(words, known, n, lambda token: allowed(token, most))


@settings(deadline=None, max_examples=50)
@given(documents, st.integers(0, 12), st.integers(0, 12), st.sampled_from(PATTERNS),
       st.sampled_from([patterns.SUPERBPE, None]))  # fmt: skip
def test_equals_the_recounting_trainer(texts: list[str], t: int, n: int, pattern: Any, loose: Any) -> None:
    first = Tokenizer.train(texts, 256 + t, pattern=pattern, special_tokens=[])
    expected = first.merges + second_stage(texts, first, loose, 256 + t + n - len(first))
    options: Any = {"pattern": pattern, "superwords_from": 256 + t, "superword_pattern": loose}
    tok = Tokenizer.train(texts, 256 + t + n, **options)
    assert tok.merges == expected
    assert tok.to_vocab().pattern == loose
    assert tok == Tokenizer.train(texts, 256 + t + n, num_threads=3, **options)
    for text in texts:
        assert tok.encode(text) == reference.encode(text, tok.vocab, tok.merges, pattern=loose)
    # the same by extending, with texts or with the counts of phrases
    counts = count_pretokens(texts, pattern=loose, special_tokens=[])
    for corpus in (texts, counts, dict(counts)):
        longer = first.extend(corpus, 256 + t + n - len(first), superword_pattern=loose or "none")
        assert (longer.merges, longer.to_vocab().pattern) == (expected, loose)


@pytest.fixture(scope="module")
def prose() -> list[str]:
    """Sentences of a few hundred words, some frequent, most rare."""
    random.seed(1)
    words = ["".join(random.choice(part) for part in ("bcdfg", "aeiou", "lmnrst", "aeiou")) for _ in range(300)]
    frequent = [1 / (rank + 1) for rank in range(len(words))]
    return [" ".join(random.choices(words, frequent, k=random.randint(3, 20))).capitalize() + "." for _ in range(600)]


@pytest.fixture(scope="module")
def merges(prose: list[str]) -> list[Pair]:
    """What the plain trainer learns from it: 244 merges within words, then 30."""
    first = Tokenizer.train(prose, 500, special_tokens=[])
    return first.merges + second_stage(prose, first, patterns.SUPERBPE, 30)


def test_phrases_of_prose(prose: list[str], merges: list[Pair], tmp_path: Path) -> None:
    for threads in (1, 3):
        assert Tokenizer.train(prose, 530, superwords_from=500, num_threads=threads).merges == merges
    first = Tokenizer.train(prose, 500, special_tokens=[])
    count_pretokens(prose, pattern=patterns.SUPERBPE, special_tokens=[]).save(tmp_path / "phrases.counts")
    with CountFile(tmp_path / "phrases.counts") as counts:
        assert first.extend(counts, 30, superword_pattern="superbpe").merges == merges


def test_long_words_among_phrases() -> None:
    """Phrases are encoded word by word, long ones without spaces as well."""
    texts = ["ab" * 300, "x" * 500 + " " + "ab" * 90, "ab " * 200, "word " * 50]
    first = Tokenizer.train(texts, 262, special_tokens=[])
    expected = first.merges + second_stage(texts, first, patterns.SUPERBPE, 20)
    assert first.extend(texts, 20, superword_pattern="superbpe").merges == expected


def test_what_superwords_are() -> None:
    texts = ["a b c d e f", "to: be to: be", "x,  y x,  y"] * 5
    tok = Tokenizer.train(texts, 400, superwords_from=256)
    tokens = {token.decode(errors="replace") for token in tok.vocab.values()}
    assert {"a b c d", "to:", " be"} <= tokens
    assert not {token for token in tokens if ": " in token or len(token.split()) > 4}
    assert tok.encode("a b c d<|endoftext|>") == [tok.token_id("a b c d"), tok.eot_token]
    short = Tokenizer.train(texts, 400, superwords_from=256, max_token_bytes=4, min_frequency=6, tie_break="bytes")
    assert max(map(len, [token for token in short.vocab.values() if token != b"<|endoftext|>"])) <= 4


@pytest.mark.parametrize(("tie_break", "special_ids"), [("ids", "after"), ("bytes", "before"), ("tokenizers", "after")])
def test_saved_for_tokenizers(prose: list[str], tie_break: Any, special_ids: Any, tmp_path: Path) -> None:
    theirs = pytest.importorskip("tokenizers")
    texts = ["<|endoftext|>".join(prose[:300]), *prose[300:], "größer als 12345 -- oder?  nein\n\n\nja"]
    tok = Tokenizer.train(
        texts, 560, superwords_from=500, pattern="o200k", tie_break=tie_break, special_ids=special_ids
    )
    assert tok.scanner == "vector"
    assert any(token.count(b" ") > 1 for token in tok.vocab.values())
    tok.save(tmp_path / "tokenizer.json")
    other = theirs.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*texts, "a  b \n c -- 1234,5", " ".join(texts)]:
        assert tok.encode(text) == other.encode(text).ids
        assert tok.decode(tok.encode(text)) == text


def test_special_tokens_keep_their_place(prose: list[str]) -> None:
    tok = Tokenizer.train(prose, 560, superwords_from=500, special_tokens=["<a>", "<b>"])
    assert tok.special_tokens == {"<a>": 560, "<b>": 561}
    before = Tokenizer.train(prose, 560, superwords_from=500, special_tokens=["<a>", "<b>"], special_ids="before")
    assert before.special_tokens == {"<a>": 0, "<b>": 1}
    assert before.merges == tok.merges
    longer = Tokenizer.train(prose, 500, special_tokens=["<a>"]).extend(
        ["<b>".join(prose)], 60, superword_pattern="superbpe", special_tokens=["<b>"]
    )
    assert longer.merges[244:] == tok.merges[244:]
    assert longer.special_tokens == {"<a>": 500, "<b>": 561}


def test_the_manifest(prose: list[str]) -> None:
    options = Tokenizer.train(prose, 520, superwords_from=500).to_vocab().train_config["options"]  # type: ignore[index]
    assert (options["superwords_from"], options["pattern"]) == (500, patterns.GPT2)
    longer = Tokenizer.train(prose, 500).extend(prose, 20, superword_pattern="superbpe").to_vocab().train_config
    assert options["superword_pattern"] == longer["options"]["superword_pattern"] == patterns.SUPERBPE  # type: ignore[index]


def test_errors(prose: list[str]) -> None:
    with pytest.raises(ValueError, match="superwords_from is at most vocab_size=300, not 301"):
        Tokenizer.train("a", 300, superwords_from=301)
    with pytest.raises(ValueError, match="superword_pattern is for superwords_from"):
        Tokenizer.train("a", 300, superword_pattern="o200k")
    with pytest.raises(TypeError, match="a generator is empty after the first time"):
        Tokenizer.train((text for text in prose), 300, superwords_from=280)
    with pytest.raises(ValueError, match=r"to_merges\(\)"):
        Tokenizer.train("ab", 257).to_ranks().extend("a b", 1, superword_pattern="superbpe")
    whole = replace(Tokenizer.train("ab", 257).to_vocab(), ignore_merges=True)
    with pytest.raises(ValueError, match="takes pre-tokens that are tokens whole"):
        Tokenizer.from_vocab(whole).extend("a b", 1, superword_pattern="superbpe")
    with pytest.raises(ValueError, match="contradict the tokenizer"):
        Tokenizer.train("ab", 257).extend(count_pretokens("a b"), 1, superword_pattern="superbpe")
    calls: list[int] = []

    class Changing:
        def __iter__(self) -> Any:
            calls.append(1)
            return iter(prose if len(calls) < 3 else prose[1:])

    with pytest.raises(ValueError, match="the corpus had 600 documents when it was read first, and then 599"):
        Tokenizer.train(Changing(), 560, superwords_from=500)
