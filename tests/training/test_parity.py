"""Parity-aware BPE: the merges of a plain trainer that recounts each language."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import PretokenCounts, Tokenizer, TrainingWarning, count_pretokens, reference
from bpetite.reference import Pair
from bpetite.training import parity, train_parity

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to learn")

Words = Counter[tuple[bytes, ...]]
texts = st.text("ab c1的", max_size=30)
corpora = st.dictionaries(st.sampled_from(["de", "fr", "ja", "sw"]), st.lists(texts, max_size=3), min_size=1)


def words_of(documents: list[str]) -> Words:
    return Words({
        tuple(bytes([byte]) for byte in pretoken): count for pretoken, count in count_pretokens(documents).items()
    })  # fmt: skip


def length(words: Words) -> int:
    return sum(len(word) * count for word, count in words.items())


def joined(words: Words, pair: Pair) -> Words:
    again = Words()
    for word, count in words.items():
        again[tuple(reference.replace_pair(word, pair))] += count
    return again


def recount(
    given_: Mapping[str, list[str]], dev: Mapping[str, list[str]] | None, size: int, shared: int, least: int
) -> list[Pair]:
    """The plain trainer: the tokens of every language are counted again before each merge."""
    training = {name: words_of(one) for name, one in given_.items()}
    units = {name: length(one) for name, one in training.items()} if dev is None else dict.fromkeys(given_, 1)
    judging = training if dev is None else {name: words_of(dev[name]) for name in given_}
    order = {bytes([byte]): byte for byte in range(256)}
    merges: list[Pair] = []
    while len(order) < size:
        if len(order) < 256 + shared:
            candidates = [sum((one for one in training.values()), Words())]
        else:
            names = [name for name in training if units[name]]
            worst = sorted(names, key=lambda name: -Fraction(length(judging[name]), units[name]))
            candidates = [training[name] for name in worst]
        for words in candidates:
            pairs = {pair: count for pair, count in reference.count_pairs(words).items() if count >= least}
            if pairs:
                break
        else:
            if len(order) < 256 + shared:
                shared = 0
                continue
            break
        pair = min(pairs, key=lambda one: (-pairs[one], order[one[0]], order[one[1]]))
        merges.append(pair)
        order.setdefault(pair[0] + pair[1], len(order))
        training = {name: joined(one, pair) for name, one in training.items()}
        judging = training if dev is None else {name: joined(one, pair) for name, one in judging.items()}
    return merges


@settings(deadline=None, max_examples=20)
@given(corpora, st.booleans(), st.integers(0, 14), st.integers(0, 6), st.integers(1, 3), st.data())
def test_equals_the_recounting_trainer(
    given_: dict[str, list[str]], parallel: bool, n: int, shared: int, least: int, data: Any
) -> None:
    dev = {name: data.draw(st.lists(texts, max_size=2)) for name in reversed(given_)} if parallel else None
    options: Any = {"dev": dev, "global_merges": shared, "min_frequency": least}
    tok = train_parity(given_, 256 + n, **options)
    assert tok.merges == recount(given_, dev, 256 + n, shared, least)
    # counts, texts, iterators; any number of threads; any split of the counts
    counts = {name: count_pretokens(one, special_tokens=["<|endoftext|>"]) for name, one in given_.items()}
    assert train_parity(counts, 256 + n, **options) == tok
    assert train_parity({k: dict(v) for k, v in counts.items()}, 256 + n, **options) == tok
    again = train_parity({k: iter(v) for k, v in given_.items()}, 256 + n, num_threads=3, **options)
    assert again.to_vocab().train_config == tok.to_vocab().train_config
    # pairs in any order in which the languages come first in theirs
    first = [(name, "") for name in given_]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parity, "BLOCK", data.draw(st.sampled_from([1, 20, 1 << 24])))
        patched.setattr(parity, "HELD", data.draw(st.sampled_from([1, 40])))
        pairs = first + data.draw(st.permutations([(name, text) for name, one in given_.items() for text in one]))
        assert train_parity(pairs, 256 + n, **options).merges == tok.merges


def test_costs_that_round_alike() -> None:
    same = {"de": {b"ab": 2**60}, "fr": {b"ab": 2**60 + 1}}
    tok = train_parity({"de": "cd", "fr": "ef"}, 257, dev=same)
    assert tok.merges == [(b"e", b"f")]
    assert train_parity({"de": "cd", "fr": "ef"}, 257, dev={one: {b"ab": 7} for one in same}).merges == [
        (b"c", b"d")
    ]


def test_one_language_is_ordinary_training() -> None:
    text = "the cat sat on the mat, the dog sat on the log " * 3
    for options in ({}, {"tie_break": "bytes"}, {"tie_break": "tokenizers", "special_ids": "before"}):
        assert train_parity({"en": text}, 290, **options) == Tokenizer.train(text, 290, **options)
    both = {"en": text, "de": "der Hund saß auf dem Dach"}
    every = Tokenizer.train(both.values(), 290)
    assert train_parity(both, 290, global_merges=34) == every
    assert train_parity(both, 290) != every


def test_languages_become_equal() -> None:
    random.seed(3)

    def corpus(letters: str, size: int, words: int) -> list[str]:
        known = ["".join(random.choices(letters, k=random.randint(2, 9))) for _ in range(words)]
        return [" ".join(random.choices(known, [1 / (k + 1) for k in range(words)], k=20)) for _ in range(size)]

    given_ = {"en": corpus("abcdefgh", 200, 300), "sw": corpus("ijklmnop", 10, 300), "ru": corpus("абвгдежз", 20, 300)}
    costs = {}
    for name, tok in (("plain", Tokenizer.train([one for part in given_.values() for one in part], 700)),
                      ("parity", train_parity(given_, 700))):  # fmt: skip
        size = {k: sum(len(one.encode()) for one in v) for k, v in given_.items()}
        costs[name] = [sum(map(len, tok.encode_batch(v))) / size[k] for k, v in given_.items()]
    spread = {name: max(rates) - min(rates) for name, rates in costs.items()}
    assert spread["parity"] < spread["plain"] / 4


def test_the_manifest() -> None:
    tok = train_parity({"de": ["ab ab"], "fr": "cd"}, 257, dev={"fr": "cd", "de": "ab"}, global_merges=1)
    config = tok.to_vocab().train_config
    assert config is not None
    assert config["method"] == "train_parity"
    assert (config["options"]["languages"], config["options"]["global_merges"]) == (["de", "fr"], 1)


def test_special_tokens_and_patterns() -> None:
    tok = train_parity({"de": "ab<s>ab 12", "fr": "cd"}, 300, special_tokens=["<s>"], pattern=r"\w")
    assert (tok.merges, tok.special_tokens) == ([], {"<s>": 256})
    counts = count_pretokens("abab", pattern=None)
    assert train_parity({"de": counts, "fr": "a b"}, 258).to_vocab().pattern is None
    of_dev = train_parity({"de": "a b a b"}, 257, dev={"de": counts})  # all texts are cut as the counts were
    assert (of_dev.to_vocab().pattern, of_dev.merges) == (None, [(b" ", b"b")])


def test_errors() -> None:
    with pytest.raises(ValueError, match="takes one language at least"):
        train_parity({}, 300)
    for wrong in (["a"], "a", None, [(1, "a")], [("de", 1)]):
        with pytest.raises(TypeError, match=r"languages to texts or counts, or pairs|text of 'de' is str"):
            train_parity(wrong, 300)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes one language at least"):
        train_parity(iter([]), 300)
    with pytest.raises(ValueError, match="the corpus holds paths of files"):
        train_parity([("de", __file__)], 300)
    for wrong in ({"\ud800": "a"}, [("\ud800", "a")]):
        with pytest.raises(UnicodeEncodeError):
            train_parity(wrong, 300)  # type: ignore[arg-type]
    rest = iter([("de", "a"), ("fr", "b"), ("it", "c")])
    with pytest.raises(ValueError, match=r"the corpora have the language 'fr', and dev has \['de'\]"):
        train_parity(rest, 300, dev=[("de", "a")])
    assert len(list(rest)) == 1
    with pytest.raises(ValueError, match=r"dev has the languages \['de', 'fr'\], and the corpora are of \['de'\]"):
        train_parity([("de", "a")], 300, dev=[("de", "a"), ("fr", "a")])
    with pytest.raises(TypeError, match="corpora: the name of a language is a str, not 1"):
        train_parity({1: "a"}, 300)  # type: ignore[dict-item]
    with pytest.raises(ValueError, match=r"dev has the languages \['de'\], and the corpora are of \['de', 'fr'\]"):
        train_parity({"fr": "a", "de": "b"}, 300, dev={"de": "b"})
    with pytest.raises(ValueError, match="contradicts these counts"):
        train_parity({"fr": PretokenCounts({b"a": 1}), "de": count_pretokens("a", pattern=None)}, 300)
    with pytest.raises(ValueError, match="global_merges must be at least 0"):
        train_parity({"fr": "a"}, 300, global_merges=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        train_parity({"fr": "a"}, 300, size=3)  # type: ignore[call-arg]
    with pytest.warns(TrainingWarning, match="no pair is left to learn"):
        train_parity({"fr": "ab", "de": ""}, 300)
