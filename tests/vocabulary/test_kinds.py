"""Merge lists to ranks and back: allowed where the ids stay the same, held to the readable definition."""
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, patterns, reference
from bpetite.formats import gpt2, tiktoken
from bpetite.vocabulary.kinds import to_merges, to_ranks
from bpetite.vocabulary.vocab import Vocab

LETTERS = {0: b"a", 1: b"b", 2: b"c", 3: b"d"}


def encode(vocab: Vocab, text: str) -> list[int]:
    special = set(vocab.special_tokens.values())
    merges = None if vocab.merges is None else [(vocab.tokens[x], vocab.tokens[y]) for x, y in vocab.merges]
    return reference.encode(
        text,
        {token_id: token for token_id, token in vocab.tokens.items() if token_id not in special},
        merges,
        special_tokens=vocab.special_tokens,
        pattern=vocab.pattern,
        ignore_merges=vocab.ignore_merges,
    )


@st.composite
def merge_lists(draw: st.DrawFn) -> Vocab:
    """Any merge list over a few letters, most of them never the work of a trainer."""
    tokens = dict(LETTERS)
    merges: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(0, 7))):
        pair = (draw(st.sampled_from(sorted(tokens))), draw(st.sampled_from(sorted(tokens))))
        joined = tokens[pair[0]] + tokens[pair[1]]
        if pair not in merges and (joined not in tokens.values() or draw(st.booleans())):
            merges.append(pair)
            if joined not in tokens.values():
                tokens[max(tokens) + draw(st.integers(1, 2))] = joined
    if draw(st.booleans()):
        merges = draw(st.permutations(merges))
    vocab = Vocab(tokens, tuple(merges), {}, pattern=None, ignore_merges=draw(st.booleans()))
    if draw(st.booleans()):
        return vocab
    ids = draw(st.permutations(sorted(tokens)))
    moved = dict(zip(sorted(tokens), ids, strict=True))
    moved_tokens = {moved[token_id]: token for token_id, token in tokens.items()}
    return Vocab(moved_tokens, tuple((moved[x], moved[y]) for x, y in merges), {}, pattern=None)


texts = st.lists(st.text("abcd", max_size=14), max_size=12)


@settings(max_examples=300)
@given(merge_lists(), texts)
def test_where_a_merge_list_becomes_ranks_every_text_keeps_its_ids(vocab: Vocab, some: list[str]) -> None:
    try:
        converted = to_ranks(vocab)
    except ValueError:
        return
    assert converted.kind == "ranks"
    for text in [*some, *(token.decode() for token in vocab.tokens.values())]:
        assert encode(converted, text) == encode(vocab, text)


@settings(max_examples=300)
@given(st.sets(st.text("abcd", min_size=2, max_size=5), max_size=9), st.randoms(), texts)
def test_where_ranks_become_a_merge_list_every_text_keeps_its_ids(
    words: set[str], order: random.Random, some: list[str]
) -> None:
    shuffled = sorted(words)
    order.shuffle(shuffled)
    vocab = Vocab(LETTERS | {9 + n: word.encode() for n, word in enumerate(shuffled)}, None, {}, pattern=None)
    converted = to_merges(vocab)
    tok = Tokenizer.from_vocab(converted)
    for text in [*some, *shuffled]:
        assert encode(converted, text) == encode(vocab, text) == tok.encode(text)
    assert to_ranks(converted) == vocab


def test_gpt2_becomes_ranks(shared: Callable[[str], Path]) -> None:
    vocab = gpt2.load(shared("gpt2/vocab.json"), shared("gpt2/merges.txt"))
    assert to_merges(to_ranks(vocab)) == vocab


def test_cl100k_becomes_a_merge_list(shared: Callable[[str], Path]) -> None:
    vocab = tiktoken.load(shared("openai/cl100k_base.tiktoken"), pattern=None, special_tokens={"<|endoftext|>": 100257})
    merges = to_merges(vocab)
    assert not merges.ignore_merges
    assert len(merges.merges or ()) == 100_000


@pytest.mark.parametrize(
    ("tokens", "merges", "message"),
    [
        ([b"ab", b"bc"], [(b"b", b"c"), (b"a", b"b")], "merge 0 joins b'b' and b'c', and by ranks b'a'"),
        ([b"ab", b"bc"], [(b"a", b"b")], "merge 1 is missing, and by ranks b'b' and b'c' are joined next"),
        ([b"abc"], [], "token 4 b'abc' is reached by no merge"),
    ],
)
def test_what_stands_in_the_way_of_ranks_is_named(
    tokens: list[bytes], merges: list[tuple[bytes, bytes]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        to_ranks(Vocab.build(LETTERS | dict(enumerate(tokens, 4)), merges, pattern=None))


@pytest.mark.parametrize(
    ("tokens", "special", "merges", "ignore_merges", "text", "ids"),
    [
        ([b"abc"], {}, (), True, "abcdabc", [0, 1, 2, 3, 0, 1, 2]),
        ([b"abc"], {}, (), True, "abc", [4]),
        ([b"abc", b"bc"], {}, ((0, 5), (1, 2)), False, "abcabbc", [4, 0, 1, 5]),  # a part may come later
        ([b"ab", b"abab"], {"abab": 5}, ((0, 1),), False, "ab", [4]),  # special tokens take no part
    ],
)
def test_merges_that_ranks_become(
    tokens: list[bytes], special: dict[str, int], merges: tuple[tuple[int, int], ...], ignore_merges: bool,
    text: str, ids: list[int],
) -> None:  # fmt: skip
    vocab = Vocab(LETTERS | dict(enumerate(tokens, 4)), None, special, pattern=None)
    made = to_merges(vocab)
    assert (made.merges, made.ignore_merges) == (merges, ignore_merges)
    assert encode(made, text) == encode(vocab, text) == ids
    assert to_ranks(made) == vocab


def test_a_token_with_a_byte_that_has_none_is_only_taken_whole() -> None:
    merges = to_merges(Vocab(LETTERS | {4: b"ax", 5: b"axa"}, None, {}, pattern=None))
    assert (merges.merges, merges.ignore_merges) == ((), True)


def test_a_long_token() -> None:
    length = 1 << 17  # the method that looks through all pairs at each step takes some minutes
    words = {1 + n: b"a" * (2 << n) for n in range(16)} | {40: b"a" * length + b"b", 41: b"a" * (length - 1)}
    merges = to_merges(Vocab({0: b"a", 30: b"b"} | words | {31: b"a" * length}, None, {}, pattern=None))
    assert (merges.merges or ())[:3] == ((0, 0), (1, 1), (2, 2))
    assert (merges.merges or ())[-2:] == ((16, 16), (31, 30))
    assert merges.ignore_merges


@pytest.mark.slow
@pytest.mark.parametrize("name", ["meta/llama3", "qwen/qwen"])
def test_published_ranks_are_written_as_a_merge_list(
    shared: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    pattern = patterns.CL100K if name == "meta/llama3" else patterns.QWEN2
    ranks = Tokenizer.from_tiktoken(shared(f"{name}.tiktoken"), pattern=pattern, special_tokens=["<|endoftext|>"])
    merges = ranks.to_merges()
    assert merges.to_vocab().ignore_merges == (name == "meta/llama3")
    merges.save(tmp_path / "tokenizer.json")
    assert Tokenizer.load(tmp_path / "tokenizer.json") == merges
    assert merges.to_ranks() == ranks
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    words = [token.decode("utf-8", "ignore") for token in list(ranks.vocab.values())[::31]]
    for text in [*("".join(words[at : at + 9]) for at in range(0, len(words), 9)), " ".join(words)]:
        assert merges.encode(text) == ranks.encode(text)
    for text in ["".join(words[at : at + 9]) for at in range(0, len(words), 90)]:
        assert theirs.encode(text).ids == ranks.encode(text)
