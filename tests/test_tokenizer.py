"""The facade: the cases that users meet first, through the public interface alone."""
import inspect
import pickle
import pydoc
import sys
from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import Tokenizer, UnknownTokenError, Vocab, patterns, reference
from bpetite.engine.call_options import BatchOptions
from bpetite.steps.splits import Split

CORPUS = (
    "The cat ate the other cat's hat, and then it sat. 1234 5678! The naïve café owner said: “größer” — 猫が食べた。 "
    "нужно нужна нужны\n\n    def f(x):\n        return x + 1\n"
) * 3


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.train(CORPUS, 400, special_tokens=["<|endoftext|>", "<|endoftext|><|endoftext|>"])


def test_train_encode_decode_by_hand() -> None:
    tok = Tokenizer.train("ab ab ab", 258)
    assert tok.merges == [(b"a", b"b"), (b" ", b"ab")]
    assert tok.special_tokens == {"<|endoftext|>": 258}
    assert tok.encode("ab<|endoftext|>ab") == [256, 258, 256]
    assert tok.decode([256, 258, 256]) == "ab<|endoftext|>ab"
    assert tok.token_bytes(257) == b" ab"
    assert tok.token_id(" ab") == tok.token_id(b" ab") == 257
    assert len(tok) == tok.vocab_size == 259
    assert tok.eot_token == 258
    assert repr(tok).startswith("<bpetite.Tokenizer: 259 tokens, 2 merges, 1 special tokens, scanner ")
    assert Tokenizer(bytes_and(), [], ["<pad>", "</s>"]).eot_token == 257
    assert Tokenizer(bytes_and(), []).eot_token is None


def bytes_and(*tokens: bytes) -> dict[int, bytes]:
    return dict(enumerate([*(bytes([byte]) for byte in range(256)), *tokens]))


def test_merge_list_and_ranks_differ() -> None:
    vocab = bytes_and(b"ab", b"bc", b"abc")
    listed, ranks = Tokenizer(vocab, [(b"b", b"c"), (b"a", b"b")]), Tokenizer(vocab, None)
    assert (listed.kind, listed.encode("abc")) == ("merges", [97, 257])
    assert (ranks.kind, ranks.merges, ranks.encode("abc")) == ("ranks", [], [258])


def test_round_trips(tok: Tokenizer) -> None:
    texts = [
        "", "x", "a" * 10_000, "word " * 25_000, "العربية نص", "e\u0301\u0308\u0323", " \t\n\r\u00a0\u3000" * 50,
        "<|endoftext|>" * 7, "\ufeffBOM", "'ll 'S 'ſ",
        "".join(chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000),
    ]  # fmt: skip
    for text in texts:
        assert tok.decode(tok.encode(text)) == tok.decode(tok.encode(text.encode())) == text
        assert tok.decode(tok.encode_ordinary(text)) == text
        assert tok.count(text) == len(tok.encode(text))
        assert tok.encode_to_numpy(text).tolist() == tok.encode(text)


def test_identity(tok: Tokenizer) -> None:
    again = Tokenizer.train(CORPUS, 400, special_tokens=list(tok.special_tokens))
    assert again == tok
    assert hash(again) == hash(tok)
    fingerprint = tok.fingerprint()
    tok.encode(CORPUS)
    assert tok.fingerprint() == again.fingerprint() == fingerprint
    assert tok != Tokenizer.train(CORPUS, 399)
    assert tok != "tok"
    assert pickle.dumps(tok) == pickle.dumps(again)


def test_the_ids_of_another_vocabulary() -> None:
    tok = Tokenizer.train("ab ab ab", 258)
    tokens = {0: b"ab", 5: b"a", 9: b"<|endoftext|>", 11: b"b", 12: b"", 13: b" "}
    other = Tokenizer.from_vocab(Vocab(tokens, None, {"<|endoftext|>": 9}, unreachable=frozenset({11})))
    there, back = tok.id_map(other), other.id_map(tok)
    assert (there.dtype, there.shape, back.shape) == (np.int64, (259,), (14,))
    # b"b" is no token that a text gives, and neither is one without bytes
    assert {token_id: found for token_id, found in enumerate(there.tolist()) if found >= 0} == {
        97: 5, 32: 13, 256: 0, 258: 9,
    }  # fmt: skip
    assert back.tolist() == [256, *[-1] * 4, 97, *[-1] * 3, 258, -1, 98, -1, 32]
    assert tok.id_map(tok).tolist() == [*range(259)]
    with pytest.raises(TypeError, match=r"id_map takes the other Tokenizer, not \{0: b'ab'\}"):
        tok.id_map({0: b"ab"})  # type: ignore[arg-type]


def test_vocab_and_merges_are_views(tok: Tokenizer) -> None:
    vocab, merges = dict(tok.vocab), list(tok.merges)
    assert tok.vocab == vocab
    assert vocab == tok.vocab
    assert tok.merges == merges
    assert merges == tok.merges
    assert tok.merges != merges[1:]
    assert tok.merges != "merges"
    assert (tok.merges[-1], tok.merges[2:9:3], len(tok.merges)) == (merges[-1], merges[2:9:3], len(merges))
    assert repr(tok.merges) == repr(merges)
    with pytest.raises(IndexError):
        tok.merges[len(merges)]
    assert pickle.loads(pickle.dumps((tok.vocab, tok.merges))) == (vocab, merges)
    assert [tok.vocab[token_id] for token_id in range(tok.vocab_size)] == list(vocab.values())


def test_it_cannot_be_changed(tok: Tokenizer) -> None:
    tok.special_tokens.clear()
    assert tok.special_tokens
    with pytest.raises(TypeError):
        tok.vocab[0] = b"x"  # type: ignore[index]
    with pytest.raises(TypeError):
        tok.merges[0] = (b"x", b"y")  # type: ignore[index]
    for name in ("encode", "anything"):
        with pytest.raises(AttributeError):
            setattr(tok, name, None)


def keywords(method: Callable[..., object]) -> set[str]:
    found = set(inspect.signature(method).parameters)
    return found | (set(BatchOptions.__annotations__) if "options" in found else set())


def test_one_set_of_keywords() -> None:
    for name in ("decode", "decode_bytes", "decode_batch", "decode_iterable", "decode_stream"):
        assert "skip_special_tokens" in keywords(getattr(Tokenizer, name)), name
    selection, batch = {"allowed_special", "disallowed_special"}, {"add_special_tokens", "num_threads"}
    for name, wanted in {
        "encode": selection | batch,
        "encode_to_numpy": selection | batch,
        "encode_batch": selection | batch,
        "encode_batch_to_numpy": selection | batch,
        "encode_batch_to_arrow": selection | batch,
        "encode_padded": selection | batch,
        "count": selection | batch,
        "encode_ordinary": {"num_threads"},
        "encode_with_offsets": selection | {"num_threads"},  # no token can be added
        "encode_iterable": selection | {"add_special_tokens"},  # a stream has one thread
    }.items():
        assert wanted <= keywords(getattr(Tokenizer, name)), name


@given(st.lists(st.sampled_from([65, 0xC3, 0xA9, 256, 257, 258]), max_size=12))
def test_special_tokens_are_skipped(ids: list[int]) -> None:
    specials = {"<s>": 256, "<t>": 257, "é": 258}
    tokens = bytes_and(*map(str.encode, specials))
    tok = Tokenizer.from_vocab(Vocab(tokens, (), specials, errors="replace", token_flags={"é": ("plain",)}))
    shown = [one for one in ids if one not in (256, 257)]
    expected = tok.decode(shown)
    skip: dict[str, Any] = {"skip_special_tokens": True}
    for given_ in (ids, tuple(ids), iter(ids), np.array(ids, np.int64), array("I", ids)):
        assert tok.decode(given_, **skip) == expected
    assert tok.decode_bytes(ids, **skip) == tok.decode_bytes(shown)
    assert tok.decode_batch([ids, iter(ids), []], **skip) == [expected, expected, ""]
    assert "".join(tok.decode_iterable(ids, **skip)) == expected
    stream = tok.decode_stream(**skip)
    assert stream.feed(ids) + stream.flush() == expected


def test_errors_name_the_place_when_special_tokens_are_skipped(tok: Tokenizer) -> None:
    eot = tok.special_tokens["<|endoftext|>"]
    for call, message in (
        (lambda: tok.decode([eot, 65, 99999], skip_special_tokens=True), r"99999 \(ids\[2\]\)"),
        (lambda: tok.decode_bytes([eot, 99999], skip_special_tokens=True), r"99999 \(ids\[1\]\)"),
        (lambda: tok.decode_batch([[65], [eot, 99999]], skip_special_tokens=True), r"^text 1 .* 99999 \(ids\[1\]\)"),
        (lambda: list(tok.decode_iterable([eot, 99999], skip_special_tokens=True)), r"99999 \(ids\[1\]\)"),
    ):
        with pytest.raises(UnknownTokenError, match=message):
            call()
    for wrong in (None, 5, "a", b"a", [eot, "a"], [[eot]], [eot, None], np.array([float(eot)]), {eot: 1}):
        with pytest.raises(TypeError) as plain:
            tok.decode(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError) as skipping:
            tok.decode(wrong, skip_special_tokens=True)  # type: ignore[arg-type]
        assert str(skipping.value) == str(plain.value)


#: Letters and marks from Unicode 7.0 to 16.0, a digit of 17.0, and what is unassigned in all.
LATER = "\U00011de0\u037f\u1ac1\u1ac5\u1c89\u1dfa\U00010570\U00011935\U00011930\u0378"


@pytest.mark.parametrize("pattern", [
    patterns.GPT2, patterns.O200K, r"(?<!\d)\p{L}+|\s+", None, r"\d", (r"\d", patterns.GPT2),
])  # fmt: skip
@pytest.mark.parametrize("form", slow_but([None, "NFC", "NFKD"], None, "NFKD"))
@settings(max_examples=30, deadline=None)
@given(text=st.text(st.sampled_from(LATER) | st.sampled_from("ab'l\n<é1 e\u0301\u0323가\u11a8"), max_size=14))
def test_with_characters_of_all_versions_encoding_is_the_reference(
    pattern: patterns.Pattern, form: str | None, text: str
) -> None:
    settings: dict[str, Any] = {"pattern": pattern, "normalization": form}
    corpus = [LATER, "é1 " + LATER[::-1], "ab " + LATER] * 2
    tok = Tokenizer.train(corpus, 320, special_tokens=["<s>"], **settings)
    tokens, merges = reference.train(corpus, 320, special_tokens=["<s>"], **settings)
    assert tok.merges == merges
    expected = reference.encode(text + "<s>" + text, tokens, merges, special_tokens=tok.special_tokens, **settings)
    assert tok.encode(text + "<s>" + text) == expected
    assert list(tok.encode_iterable(text + "<s>" + text)) == expected
    assert form or tok.decode(expected) == text + "<s>" + text
    ids, spans = tok.encode_with_offsets(text + "<s>" + text)
    assert ids == expected
    assert all(0 <= start <= end <= 2 * len(text) + 3 for start, end in spans)
    cut = (*patterns.as_tuple(pattern), Split("zz", "removed"))
    steps = Tokenizer.from_vocab(replace(tok.to_vocab(), pattern=cut))
    assert steps.scanner == "pipeline"
    assert steps.encode(text + "<s>" + text) == expected


def test_added_tokens_that_are_words_look_at_unicode_16() -> None:
    """U+1C89 is a letter from 16.0 on, U+11DE0 a digit from 17.0 on."""
    tok = Tokenizer.train("ab", 256, special_tokens=["ab"])
    marked = Tokenizer.from_vocab(replace(tok.to_vocab(), token_flags={"ab": ("single_word",)}))
    assert len(marked.encode("\u1c89ab")) == 5
    assert marked.encode("\U00011de0ab")[-1] == tok.special_tokens["ab"]


def test_the_packaged_tokenizer() -> None:
    tok = Tokenizer.load("bpetite-32k")
    assert len(tok) == 32_001
    assert tok.eot_token == 32_000
    assert tok.decode(tok.encode(CORPUS)) == CORPUS
    assert tok.count(CORPUS) < len(CORPUS.encode()) / 2.5


def test_help_shows_types_and_no_machinery() -> None:
    shown = pydoc.plain(pydoc.render_doc(Tokenizer))
    assert "__pyx" not in shown
    methods = [name for name in dir(Tokenizer) if name[0] != "_" and callable(getattr(Tokenizer, name))]
    assert len(methods) > 30
    for name in methods:
        method = getattr(Tokenizer, name)
        signature = inspect.signature(method)
        assert signature.return_annotation is not signature.empty, name
        assert [key for key, one in signature.parameters.items() if one.annotation is one.empty and key != "self"] == []
        assert "tokenizer" not in signature.parameters, name
        assert not method.__doc__.startswith(f"{name}("), name
