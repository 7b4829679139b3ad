"""Words that are tokens where they are a whole pre-token."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, get_encoding, patterns
from bpetite.engine.pretokens import pretokens
from bpetite.steps import splits

texts = st.text("abc ", max_size=14)


@st.composite
def vocabularies(draw: st.DrawFn) -> Tokenizer:
    """Any tokens and any merges of them: parts that no merge makes, merges that never apply, specials among them. Where
    a token comes with all that it holds, its own merges often do not make it."""
    parts = draw(st.lists(st.text("abc", min_size=2, max_size=5), unique=True, max_size=8))
    if parts and draw(st.booleans()):
        held = {parts[0][at:end] for at in range(len(parts[0])) for end in range(at + 2, len(parts[0]) + 1)}
        parts = list(dict.fromkeys([*parts, *sorted(held)]))
    tokens = {0: b"a", 1: b"b", 2: b"c", 3: b" "} | {10 + at: part.encode() for at, part in enumerate(parts)}
    ways = [
        (token[:at], token[at:])
        for token in tokens.values()
        for at in range(1, len(token))
        if token[:at] in tokens.values() and token[at:] in tokens.values()
    ]
    merges = draw(st.permutations(ways))[: draw(st.integers(0, len(ways)))]
    return Tokenizer(tokens, draw(st.sampled_from([merges, None])), draw(st.sampled_from([[], ["cab"], ["<s>"]])))


@settings(deadline=None, max_examples=80)
@given(vocabularies(), st.lists(st.text("abc", min_size=1, max_size=6), max_size=3), st.lists(texts, max_size=4))
def test_only_whole_words_change(tok: Tokenizer, words: list[str], more: list[str]) -> None:
    words = [word for word in words if pretokens(tok.to_vocab(), word) == [word.encode()]]
    new = tok.with_words(words)
    assert [new.count(word) for word in words] == [1] * len(words)
    for text in [*more, " ".join([*more, *words])]:
        expected: list[int] = []
        for part in pretokens(tok.to_vocab(), text):
            if isinstance(part, int):
                expected.append(part)
            elif part.decode() in words:
                expected.append(new.token_id(part))
            else:
                expected += tok.encode_ordinary(part)
        if tok.kind == "merges":
            assert new.encode(text) == expected
        assert new.decode(new.encode(text)) == text
    assert all(new.token_bytes(one) == token for one, token in tok.vocab.items())


def test_of_a_published_encoding() -> None:
    gpt2 = get_encoding("gpt2")
    for old in (gpt2, gpt2.to_merges()):
        tok = old.with_words(["ibuprofen", " ibuprofen", " the"])
        assert (tok.kind, len(tok)) == (old.kind, len(old) + 2)
        assert tok.encode("ibuprofen, ibuprofen the<|endoftext|>") == [50257, 11, 50258, 262, 50256]
        assert tok.encode(" ibuprofens") == old.encode(" ibuprofens")
        assert tok.token_origins(old) == [(50257, old.encode("ibuprofen")), (50258, old.encode(" ibuprofen"))]


def test_a_word_of_ranks_joins_inside_of_others() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)}
    tok = Tokenizer(tokens, None).with_words(["ab", "cde"])
    assert (tok.encode("xab"), tok.encode("cdef"), tok.encode("cde")) == ([120, 256], [99, 100, 101, 102], [257])


def test_words_of_ranks_are_ordered_by_length() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)}
    tok = Tokenizer(tokens, None).with_words(["abab", "cd", "ab"])
    assert [tok.token_bytes(one) for one in (256, 257, 258)] == [b"cd", b"ab", b"abab"]
    longer = tok.extend("xabab xabab", 1).to_merges()
    assert longer.merges == [(b"c", b"d"), (b"a", b"b"), (b"ab", b"ab"), (b"x", b"abab")]
    listed = Tokenizer(tokens, []).with_words(["abab", "cd", "ab"])
    assert [listed.token_bytes(one) for one in (256, 257, 258)] == [b"abab", b"cd", b"ab"]


def test_a_token_that_other_merges_keep_from_being_made() -> None:
    tokens = {0: b"a", 1: b"b", 2: b"c", 3: b"bc", 4: b"ab", 5: b"abc"}
    tok = Tokenizer(tokens, [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")], pattern=None)
    new = tok.with_words(["cc"])
    assert (new.merges, new.to_vocab().unreachable) == ([(b"b", b"c"), (b"a", b"b")], {5})
    assert (new.encode("abc"), new.encode("ab"), new.encode("cc")) == ([0, 3], [4], [6])


def test_a_token_that_its_merges_do_not_make_is_not_found_now() -> None:
    tok = Tokenizer({0: b"a", 1: b"b", 2: b"ab", 3: b"aba"}, [(b"a", b"b"), (b"ab", b"b")][:1], pattern=None)
    assert tok.encode("aba") == [2, 0]
    new = tok.with_words(["bb"])
    assert (new.encode("aba"), new.encode("bb"), new.to_vocab().unreachable) == ([2, 0], [4], {3})
    assert tok.with_words(["aba"]).encode("aba") == [3]


def test_what_is_no_word() -> None:
    tok = Tokenizer.train("ab ab ab", 258)
    for word, message in (
        ("two words", r"'two words' is not one pre-token: this tokenizer cuts it into \['two', ' words'\]"),
        ("", "'' is not one pre-token"),
        ("a<|endoftext|>", r"cuts it into \['a', '<\|endoftext\|>'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            tok.with_words([word])
    for words in ("ab", [b"ab"], 7):
        with pytest.raises(TypeError, match=r"is a list of str|a word is a str"):
            tok.with_words(words)  # type: ignore[arg-type]
    composed = Vocab({0: b"a", 1: "é".encode()}, (), {"é": 1}, normalization="NFC")
    with pytest.raises(ValueError, match="is a special token, with the id 1"):
        Tokenizer.from_vocab(composed).with_words(["e\u0301"])


def test_a_word_is_what_the_steps_make_of_it() -> None:
    vocab = Vocab({0: b"a", 1: b" "}, (), {}, pattern=(splits.PrefixSpace(), patterns.GPT2))
    tok = Tokenizer.from_vocab(vocab).with_words(["aa"])
    assert (tok.token_bytes(2), tok.encode("aa aa a")) == (b" aa", [2, 2, 1, 0])
