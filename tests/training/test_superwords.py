"""Superwords: the merges of the trainer that recounts whole phrases, whatever the phrases were cut into."""
from __future__ import annotations

import random
from array import array
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recounting import learn

from bpetite import Tokenizer, TrainingWarning, count_pretokens, patterns, reference
from bpetite.reference import Pair
from bpetite.training import superwords
from bpetite.training._merger import Merger
from bpetite.training._pair_counts import FrequentPairs, PairCounts
from bpetite.training._phrases import PhraseReader
from bpetite.training._pieces import PieceTable
from bpetite.training.counts import table_of

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to learn")

BYTES = [bytes([byte]) for byte in range(256)]
PATTERNS = [patterns.GPT2, patterns.O200K, r"\w", None]
documents = st.lists(st.text("ab .:\n1'的", max_size=40), min_size=1, max_size=4)


def allowed(token: bytes, most: int | None) -> bool:
    return len(token) <= (most or len(token)) and b": " not in token and len(token.split(b" ")) - token.split(
        b" ").count(b"") <= superwords.MAX_WORDS  # fmt: skip


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
    for corpus in (texts, count_pretokens(texts, pattern=loose), dict(count_pretokens(texts, pattern=loose))):
        longer = first.extend(corpus, 256 + t + n - len(first), superword_pattern=loose)
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


@pytest.mark.parametrize(("kept", "threads"), [(superwords.KEPT, 1), (superwords.KEPT, 3), (0, 1), (0, 3)])
def test_phrases_are_cut_where_no_merge_comes(
    prose: list[str], merges: list[Pair], kept: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(superwords, "KEPT", kept)
    monkeypatch.setattr(superwords, "BLOCK", 20_000)
    floors: list[int] = []
    sizes: list[int] = []
    find = superwords._pieces

    def noted(*arguments: Any) -> Any:
        floors.append(arguments[-1])
        pieces = find(*arguments)
        sizes.append(pieces.size)
        return pieces

    monkeypatch.setattr(superwords, "_pieces", noted)
    tok = Tokenizer.train(prose, 530, superwords_from=500, num_threads=threads)
    assert tok.merges == merges
    assert (len(floors), floors[0] > 2, sizes[0] < 4000) == (1, True, True)  # of more than 10,000 tokens
    # a bound that turns out too high is lowered until it is right
    floors.clear()
    monkeypatch.setattr(superwords, "_first_floor", lambda pairs, n: 1000)
    assert Tokenizer.train(prose, 530, superwords_from=500, num_threads=threads) == tok
    assert floors == [1000, 250, 62, 15, 3]


def test_pairs_beyond_memory(prose: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rarer than the error is cut; what is as frequent is learned as ever."""
    many = prose * 40
    random.seed(2)
    others = [one + other for one in "bcdfglmnrs" for other in "aeiouxyzkp"]
    rare = [" ".join(random.sample(others, 12)) for _ in range(600)]
    monkeypatch.setattr(superwords, "MOST_PAIRS", 0)
    whole = Tokenizer.train([*many, *rare], 560, superwords_from=500, num_threads=1)
    assert whole.to_vocab().train_config is not None
    assert whole.to_vocab().train_config["corpus"]["superwords"]["checksum"] is None
    monkeypatch.undo()
    assert Tokenizer.train([*many, *rare], 560, superwords_from=500).merges == whole.merges
    monkeypatch.setattr(superwords, "MOST_PAIRS", 0)
    with pytest.warns(TrainingWarning, match="the rarest pairs were not counted"):
        Tokenizer.train([*prose, *rare], 8000, superwords_from=500, num_threads=1)


def test_pairs_that_are_too_many_are_low_by_the_error() -> None:
    vocab = Tokenizer.train("", 256, special_tokens=[]).to_vocab()
    reader = PhraseReader(vocab.token_table, vocab.merge_table, vocab.special_only, 0)
    few, all_ = PairCounts(0, 256), PairCounts(1 << 20, 256)
    for first in range(100):
        phrases = {bytes([first, second]): 1 + (first * second) % 50 for second in range(100)}
        for pairs in (few, all_):
            reader.count_pairs(table_of(phrases), pairs, 0, 1)
    total = sum(1 + (a * b) % 50 for a in range(100) for b in range(100))
    assert (len(all_), all_.error, all_.summary()[0]) == (10_000, 0, total)
    ordered = sorted((1 + (a * b) % 50 for a in range(100) for b in range(100)), reverse=True)
    assert [all_.count_at(place) for place in (1, 5000, 10_000)] == [ordered[at] for at in (0, 4999, 9999)]
    assert all_.count_at(10_001) == 0
    assert len(few) <= 4096
    assert 0 < few.error < 150
    assert 0 < all_.summary()[0] - few.summary()[0] <= few.error * len(all_)
    both = PairCounts(1 << 20, 256)
    both.update(few)
    both.update(all_)
    assert (both.summary()[0], both.error) == (few.summary()[0] + all_.summary()[0], few.error)


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=2, max_size=9), st.integers(1, 3)), max_size=400))
@settings(deadline=None, max_examples=60)
def test_pieces_are_counted(found: list[tuple[list[int], int]]) -> None:
    """By readers of two threads, each with a table; more of them than wait for their slots."""
    vocab = Tokenizer.train("", 256, special_tokens=[]).to_vocab()
    pairs = PairCounts(1 << 20, 256)
    tables = [PieceTable(), PieceTable()]
    expected: Counter[tuple[int, ...]] = Counter()
    for number, (piece, count) in enumerate(found):
        reader = PhraseReader(vocab.token_table, vocab.merge_table, vocab.special_only, 1000)
        reader.count_pairs(table_of({bytes(piece): count}), pairs, 0, 1)
        reader.cut_kept(FrequentPairs(pairs, 1), tables[number % 2])
        expected[tuple(piece)] += count
    tables[0].update(tables[1])
    assert dict(tables[0]) == expected
    assert (len(tables[0]), tables[0].size) == (len(expected), sum(map(len, expected)))


def test_many_pieces_are_counted() -> None:
    vocab = Tokenizer.train("", 256, special_tokens=[]).to_vocab()
    phrases = {bytes([one, other, *[7] * (one % 5)]): 1 + one for one in range(200) for other in range(50)}
    pairs, pieces, again = PairCounts(1 << 20, 256), PieceTable(), PieceTable()
    for kept in (1 << 20, 0):
        reader = PhraseReader(vocab.token_table, vocab.merge_table, vocab.special_only, kept)
        reader.count_pairs(table_of(phrases), pairs, 0, 1)
        assert reader.kept == (kept > 0)
    reader.cut(table_of(phrases), FrequentPairs(pairs, 1), pieces, 0, 1)
    assert dict(pieces) == {tuple(phrase): count for phrase, count in phrases.items()}
    again.update(pieces)
    again.update(pieces)
    assert dict(again) == {piece: 2 * count for piece, count in pieces}
    assert again.size == pieces.size
    reader.cut(table_of({b"abc": 2**63 - 1}), FrequentPairs(PairCounts(0, 256), 0), pieces, 0, 1)
    for _ in range(300):  # more than wait to be counted
        with pytest.raises(OverflowError):
            reader.cut(table_of({b"abc": 1}), FrequentPairs(PairCounts(0, 256), 0), pieces, 0, 1)
    counted = PairCounts(0, 256)
    reader.count_pairs(table_of({b"ab": 2**63 - 1}), counted, 0, 1)
    with pytest.raises(OverflowError):
        reader.count_pairs(table_of({b"abab" * 200: 1}), counted, 0, 1)
    reader.count_pairs(table_of({b"cd" * 2000: 1}), counted, 0, 1)  # nothing is left waiting
    assert len(counted) <= 4


@pytest.mark.parametrize("shift", [0, 1])
def test_pieces_of_any_size(shift: int) -> None:
    """Of one segment of a word and of several; what is learned from them is what is learned from the same words."""
    vocab = Tokenizer.train("", 256, special_tokens=[]).to_vocab()
    random.seed(5)
    sizes = [2, 3, 10, 11, 63, 64, 65, 127, 128, 129, 200]
    phrases = {bytes(random.choices(b"abc", [8, 2, 1], k=size)): 3 + size for size in sizes for _ in range(8)}
    tables = [PieceTable(), PieceTable()]
    for table in tables:
        reader = PhraseReader(vocab.token_table, vocab.merge_table, vocab.special_only, 0)
        for _ in range(2):
            reader.cut(table_of(phrases), FrequentPairs(PairCounts(0, 256), 0), table, 0, 1)
    tables[0].update(tables[1])
    assert dict(tables[0]) == {tuple(phrase): 4 * count for phrase, count in phrases.items()}
    ids = array("I", [(number + shift) % 256 for number in range(256)])
    by_pieces, by_words = Merger(first=bytes((byte - shift) % 256 for byte in range(256))), Merger()
    by_pieces.know(array("I"))
    by_pieces.add_pieces(tables[0], ids)
    with pytest.raises(RuntimeError):
        by_pieces.add_pieces(PieceTable(), ids)
    for phrase, count in phrases.items():
        by_words.add_word(phrase, 4 * count)
    for merger in (by_pieces, by_words):
        assert merger.learn(256 + 40, 1 << 30)
    assert by_pieces.all_tokens()[256:] == by_words.all_tokens()[256:]
    assert (list(tables[0]), len(tables[0]), tables[0].size) == ([], 0, 0)
    tables[0].update(tables[1])  # and may be filled again
    assert dict(tables[0]) == dict(tables[1])


@pytest.mark.parametrize("tokens", [257, 1 << 20, (1 << 29) + 1, 1 << 31])
def test_counts_that_are_too_large_for_a_slot(tokens: int) -> None:
    """From 46 bits down to 2 are left for a count, depending on how many tokens there may be."""
    vocab = Tokenizer.train("", 256, special_tokens=[]).to_vocab()
    reader = PhraseReader(vocab.token_table, vocab.merge_table, vocab.special_only, 0)
    found = {bytes([one, 255 - one]): 3**power for one, power in enumerate((0, 1, 1, 2, 5, 10, 15, 25, 38))}
    small, large = PairCounts(0, 256), PairCounts(0, tokens)
    for times in (1, 2):
        for pairs in (small, large):
            reader.count_pairs(table_of(found), pairs, 0, 1)
        assert large.summary() == small.summary()
        assert small.summary()[0] == times * sum(found.values())
        assert [large.count_at(place) for place in range(1, 11)] == [small.count_at(place) for place in range(1, 11)]
    both = PairCounts(0, tokens)
    both.update(large)
    both.update(large)
    assert both.summary()[0] == 2 * large.summary()[0]
    # the many that come then make room more than once
    many = {bytes([one, other]): 1 + one % 2 for one in range(200) for other in range(100)}
    for pairs in (small, large):
        reader.count_pairs(table_of(many), pairs, 0, 1)
    assert large.error == small.error > 0
    assert [large.count_at(place) for place in range(1, 8)] == [small.count_at(place) for place in range(1, 8)]
    reader.count_pairs(table_of({b"\xfa\xfb": 2**63 - 1}), large, 0, 1)
    with pytest.raises(OverflowError):
        reader.count_pairs(table_of({b"\xfa\xfb": 1}), large, 0, 1)


def test_tables_of_pairs_have_as_many_tokens() -> None:
    with pytest.raises(ValueError, match="there are 2147483649 tokens"):
        PairCounts(0, (1 << 31) + 1)
    with pytest.raises(ValueError, match="as many tokens"):
        PairCounts(0, 257).update(PairCounts(0, 256))


def test_what_superwords_are() -> None:
    texts = ["a b c d e f", "to: be to: be", "x,  y x,  y"] * 5
    tok = Tokenizer.train(texts, 400, superwords_from=256)
    tokens = {token.decode(errors="replace") for token in tok.vocab.values()}
    assert {"a b c d", "to:", " be"} <= tokens
    assert not {token for token in tokens if ": " in token or len(token.split()) > 4}
    assert tok.encode("a b c d<|endoftext|>") == [tok.token_id("a b c d"), 400 if len(tok.vocab) == 401 else
                                                   tok.special_tokens["<|endoftext|>"]]  # fmt: skip
    short = Tokenizer.train(texts, 400, superwords_from=256, max_token_bytes=4, min_frequency=6, tie_break="bytes")
    assert max(map(len, [token for token in short.vocab.values() if token != b"<|endoftext|>"])) <= 4


@pytest.mark.parametrize("tie_break", ["ids", "bytes", "tokenizers"])
@pytest.mark.parametrize("special_ids", ["after", "before"])
def test_saved_for_tokenizers(prose: list[str], tie_break: Any, special_ids: Any, tmp_path: Path) -> None:
    theirs = pytest.importorskip("tokenizers")
    texts = ["<|endoftext|>".join(prose[:300]), *prose[300:], "größer als 12345 -- oder?  nein\n\n\nja"]
    tok = Tokenizer.train(
        texts, 560, superwords_from=500, pattern="o200k", tie_break=tie_break, special_ids=special_ids
    )
    assert tok.scanner == "vector" or tok.scanner == "tables"
    assert any(token.count(b" ") > 1 for token in tok.vocab.values())
    tok.save(tmp_path / "tokenizer.json")
    other = theirs.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*texts, "a  b \n c -- 1234,5", " ".join(texts)]:
        assert tok.encode(text) == other.encode(text).ids
        assert tok.decode(tok.encode(text)) == text
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode(texts[0]) == tok.encode(texts[0])


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
    tok = Tokenizer.train(prose, 520, superwords_from=500, num_threads=1)
    config = tok.to_vocab().train_config
    assert config is not None
    assert config["options"]["superwords_from"] == 500
    assert (config["options"]["pattern"], config["options"]["superword_pattern"]) == (patterns.GPT2, patterns.SUPERBPE)
    assert config["corpus"]["superwords"]["documents"] == len(prose)
    for other in (prose[::-1], tuple(prose)):
        assert Tokenizer.train(other, 520, superwords_from=500, num_threads=2).to_vocab().train_config == config
    assert Tokenizer.train(prose[1:], 520, superwords_from=500).to_vocab().train_config != config
    longer = Tokenizer.train(prose, 500).extend(prose, 20, superword_pattern="superbpe")
    assert longer.to_vocab().train_config is not None
    assert longer.to_vocab().train_config["corpus"] == config["corpus"]["superwords"]
    assert longer.to_vocab().train_config["options"]["superword_pattern"] == patterns.SUPERBPE


def test_errors(prose: list[str]) -> None:
    with pytest.raises(ValueError, match="superwords_from is at most vocab_size=300, not 301"):
        Tokenizer.train("a", 300, superwords_from=301)
    with pytest.raises(ValueError, match="superword_pattern is for superwords_from"):
        Tokenizer.train("a", 300, superword_pattern="superbpe")
    with pytest.raises(TypeError, match="a generator is empty after the first"):
        Tokenizer.train((text for text in prose), 300, superwords_from=280)
    with pytest.raises(ValueError, match="learned from texts"):
        Tokenizer.train_from_counts({b"ab": 1}, 300, superwords_from=280)
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

    with pytest.raises(ValueError, match="the corpus had 600 documents when it was read before, and now 599"):
        Tokenizer.train(Changing(), 560, superwords_from=500)
