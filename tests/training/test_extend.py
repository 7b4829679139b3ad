"""Extending a vocabulary: the tokens of the trainer that recounts, and nothing else changed."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from recounting import learn

from bpetite import Tokenizer, TrainingWarning, Vocab, count_pretokens, patterns, reference
from bpetite.analysis import explain
from bpetite.reference import Pair
from bpetite.steps import normalizers, splits
from bpetite.training.counting.counts import CountFile

pytestmark = pytest.mark.filterwarnings("ignore:no pair is left to learn")

BYTES = {byte: bytes([byte]) for byte in range(256)}
documents = st.lists(st.text("abc '1ß的\n", max_size=30), min_size=1, max_size=4)


def cut(tok: Tokenizer, texts: Iterable[str]) -> Counter[bytes]:
    """The pre-tokens of texts, cut as the tokenizer cuts."""
    return Counter(one.data for text in texts for one in explain(tok, text).pretokens if one.rule != "special")


def origins_in(old: Tokenizer, new: Tokenizer) -> dict[int, list[int]]:
    """For each token that an old tokenizer lacks, the tokens that it makes of the bytes."""
    known = old.vocab
    return {one: old._encode_pretoken(token) for one, token in new.vocab.items() if known.get(one) != token}


def recount(counts: Counter[bytes], tok: Tokenizer, n: int, least: int = 1) -> list[Pair]:
    """The plain trainer, after the merges of a tokenizer: what it learns until there are n new tokens."""
    listed = tok.to_merges()
    merges, vocab = listed.merges, listed.to_vocab()
    words = Counter[tuple[bytes, ...]]()
    for pretoken, count in counts.items():
        if not (vocab.ignore_merges and vocab.token_table.find_id(pretoken) is not None):
            words[tuple(reference.apply_merges(pretoken, merges))] += count
    known = dict.fromkeys([*BYTES.values(), *(left + right for left, right in merges)])
    known |= dict.fromkeys(vocab.tokens[number] for number in sorted(vocab.tokens.keys() - vocab.not_looked_up))
    return learn(words, known, n, least=least)


repeats = st.lists(st.text("ab ", max_size=60), min_size=1, max_size=4)


@settings(deadline=None, max_examples=150)
@given(documents, documents | repeats, st.integers(0, 12), st.integers(0, 30), st.sampled_from([patterns.GPT2, None]),
       st.integers(1, 6))  # fmt: skip
def test_equals_the_recounting_trainer(
    first: list[str], more: list[str], size: int, n: int, pattern: Any, least: int
) -> None:
    """Neighbours whose pair is too rare are passed over: "aaa" too, and pairs that come and go within a merge."""
    tok = Tokenizer.train(first, 256 + size, pattern=pattern)
    longer = tok.extend(more, n, min_frequency=least)
    assert longer.merges == tok.merges + recount(cut(tok, more), tok, n, least)
    assert longer.vocab.items() >= tok.vocab.items()
    assert longer == tok.extend(cut(tok, more), n, min_frequency=least)
    assert longer == tok.extend(iter(more), n, min_frequency=least, num_threads=2)
    # ranks: the same tokens with the same ids, and the same ids of texts
    ranks = tok.to_ranks().extend(more, n, min_frequency=least)
    assert (ranks.kind, ranks.vocab) == ("ranks", longer.vocab)
    assert ranks.to_merges().merges == longer.merges
    for text in [*first, *more]:
        assert ranks.encode(text) == longer.encode(text)
        # old tokens in front of the new ones are what the text was before
        origins = origins_in(tok, longer)
        assert [part for one in longer.encode(text) for part in origins.get(one, [one])] == tok.encode(text)


@settings(deadline=None, max_examples=40)
@given(documents, st.integers(0, 40), st.integers(0, 40), st.sampled_from(["ids", "bytes", "tokenizers"]))
def test_the_same_text_gives_what_one_training_gives(texts: list[str], size: int, n: int, tie_break: Any) -> None:
    whole = Tokenizer.train(texts, 256 + size + n, tie_break=tie_break)
    grown = Tokenizer.train(texts, 256 + size, tie_break=tie_break).extend(texts, n, tie_break=tie_break)
    assert grown.merges == whole.merges


@pytest.mark.parametrize("name", [
    "gpt2", "prefix space", "cl100k, ignore_merges", "deepseek", "digits, each", "prefix space, no pattern",
])
def test_the_steps_of_tokenizer_json_are_kept(name: str, tmp_path: Path) -> None:
    zoo = pytest.importorskip("huggingface_zoo")
    theirs = pytest.importorskip("tokenizers")
    tok = Tokenizer.from_huggingface(zoo.build(name))
    corpus = [text for text in zoo.HARD if text] * 3
    longer = tok.extend(corpus, 40)
    counts = cut(tok, corpus)
    assert longer.merges == tok.merges + recount(counts, tok, 40)
    assert longer.to_vocab().pattern == tok.to_vocab().pattern
    longer.save(tmp_path / "tokenizer.json")
    other = theirs.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in zoo.HARD:
        assert longer.encode(text) == other.encode(text, add_special_tokens=False).ids


@settings(deadline=None, max_examples=15)
@given(documents, st.integers(1, 12))
def test_steps_that_rewrite_the_text(texts: list[str], n: int) -> None:
    tokens = BYTES | {256: b"ab", 257: b"<a>", 258: b" a"}
    for settings_ in (
        {"pattern": (splits.PrefixSpace(), patterns.GPT2)},
        {"normalization": (normalizers.Replace("b", "aa"), "NFC")},
        {"token_flags": {"<a>": ("lstrip",)}},
    ):
        tok = Tokenizer.from_vocab(Vocab(tokens, ((97, 98), (32, 97)), {"<a>": 257}, **settings_))
        longer = tok.extend([*texts, "ab  <a>a"], n)
        counts = cut(tok, [*texts, "ab  <a>a"])
        assert longer.merges == tok.merges + recount(counts, tok, n)
        with pytest.raises(ValueError, match=r"Give the texts|contradict the tokenizer"):
            tok.extend(count_pretokens(texts, pattern=r"\w+"), n)


def test_it_keeps_ids_that_no_text_gives() -> None:
    tokens = BYTES | {256: b"ab", 257: b"", 258: b"abc", 259: b"<a>"}
    vocab = Vocab(tokens, ((97, 98),), {"<a>": 259, "<b>": 259}, ignore_merges=True, unreachable=frozenset({258}))
    longer = Tokenizer.from_vocab(vocab).extend(["abc abc abc"], 1, special_tokens=["<c>"])
    assert longer.merges == [(b"a", b"b"), (b"ab", b"c")]
    assert longer.to_vocab().unreachable == {257, 258}
    assert longer.encode("abc<a><b><c>") == [260, 259, 259, 261]
    assert longer.decode([258, 257, 259]) == "abc<a>"


def test_tokens_that_no_merge_gives() -> None:
    tokens = BYTES | {300: b"abc", 301: b"ab", 302: b"zz"}
    longer = Tokenizer.from_vocab(Vocab(tokens, ((97, 98),), {"zz": 302})).extend("abc abc abc abcd", 1)
    assert longer.merges == [(b"a", b"b"), (b" ", b"ab")]
    assert (longer.token_bytes(303), longer.encode("abc")) == (b" ab", [301, 99])
    whole = Tokenizer.from_vocab(Vocab(tokens, ((97, 98),), {}, ignore_merges=True))
    assert whole.extend({b"abc": 9, b"xy": 1}, 1).merges[1:] == [(b"x", b"y")]


@settings(deadline=None, max_examples=60)
@given(st.permutations([(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"abc", b"ab"), (b"c", b"a")]),
       st.lists(st.lists(st.sampled_from(["abc", "ab", "c", " "]), min_size=2).map("".join), min_size=1, max_size=4),
       st.integers(1, 4))  # fmt: skip
@example([(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"abc", b"ab"), (b"c", b"a")], ["abcab abcab abcab"], 3)
def test_after_merges_that_do_not_make_every_token(ways: list[Pair], texts: list[str], n: int) -> None:
    merges: list[Pair] = []
    for left, right in ways:
        if {left, right} <= {*BYTES.values(), *(one + other for one, other in merges)}:
            merges.append((left, right))
    parts = dict.fromkeys(left + right for left, right in merges)
    tok = Tokenizer(BYTES | dict(enumerate(parts, 256)), merges)
    longer = tok.extend(texts, n)
    assert longer.merges == merges + recount(cut(tok, texts), tok, n)
    origins = origins_in(tok, longer)
    for text in texts:
        assert [part for one in longer.encode(text) for part in origins.get(one, [one])] == tok.encode(text)


def test_further_special_tokens() -> None:
    tok = Tokenizer.train("ab ab ab", 258, special_tokens={"<eot>": 300})
    longer = tok.extend("cd<pad>cd<pad>cd cd", 2, special_tokens={"<pad>": 290, "<eot>": 300, "<more>": 400})
    assert longer.special_tokens == {"<eot>": 300, "<pad>": 290, "<more>": 400}
    assert (longer.token_bytes(301), longer.encode("cd<pad>")) == (b"cd", [301, 290])
    assert tok.extend("cd cd", 1, special_tokens=["<a>", "ab"]).special_tokens == {"<eot>": 300, "<a>": 302, "ab": 256}
    for given_, message in (
        ({"<eot>": 9}, "cannot have the id 9: it has 300"),
        ({"<a>": 97}, "it belongs to b'a'"),
        ({"<a>": 302}, "learned tokens have 301..302"),
        ({"<a>": 500, "<b>": 500}, "'<b>' cannot have the id 500: '<a>' has it"),
        ({"<a>": "7"}, "ids are int"),
    ):
        with pytest.raises(ValueError, match=message):
            tok.extend("cd cd", 2, special_tokens=given_)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text("ab c", max_size=20), max_size=6), st.integers(1, 3), st.integers(0, 6), st.booleans())
def test_counts_on_disk_are_read_as_a_stream(texts: list[str], least: int, n: int, ranks: bool) -> None:
    tok = Tokenizer.train("abc ab ab c", 259)
    tok = tok.to_ranks() if ranks else tok
    with count_pretokens(texts, memory="1MB", min_count=least) as frequent:
        with pytest.MonkeyPatch.context() as patched:
            patched.delattr(CountFile, "load")
            longer = tok.extend(frequent, n)
        assert longer == tok.extend(frequent.load(), n)


def test_too_few_pairs_and_progress() -> None:
    tok = Tokenizer.train("ab ab", 257)
    calls: list[tuple[Any, ...]] = []
    with pytest.warns(TrainingWarning, match=r"1 new tokens, not 9; extend with more text") as caught:
        longer = tok.extend("ab ab", 9, progress=lambda *call: calls.append(call))
    assert longer.merges[1:] == [(b" ", b"ab")]
    assert [warning.filename for warning in caught] == [__file__]
    assert calls == [("count", 5, 5), ("merge", 1, 9)]


@pytest.mark.parametrize(
    ("tok", "arguments", "error", "message"),
    [
        (Tokenizer({0: b"a"}, []), {}, ValueError, "no token for the byte 0x00"),
        (Tokenizer(BYTES | {256: b"ab", 257: b"abc"}, [(b"ab", b"c"), (b"a", b"b")]), {}, ValueError,
         "merge 0 takes b'ab', which no byte or earlier merge gives"),
        (Tokenizer.train("ab", 256), {"add": -1}, ValueError, "add must be at least 0, not -1"),
        (Tokenizer.train("ab", 256), {"add": "9"}, TypeError, "add is an int, not '9'"),
        (Tokenizer.train("ab", 256), {"corpus": {"ab": 1}}, TypeError, "a pre-token is bytes"),
        (Tokenizer.train("ab", 256), {"corpus": __file__}, ValueError, "the path of a file"),
        (Tokenizer.train("ab", 256, special_tokens=["aa"]), {"corpus": {b"aa": 2}}, ValueError, "'aa' as text"),
    ],
)  # fmt: skip
def test_what_cannot_be(tok: Tokenizer, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tok.extend(**{"corpus": "ab ab", "add": 3} | arguments)


