"""encode_segments, held to its plain meaning."""
from itertools import chain
from typing import Literal

import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limit_cases import END, FLAGS, TOKENIZERS, flagged, names, pieces

from bpetite import Tokenizer, Vocab, serving
from bpetite.engine.call_options import SpecialSelection
from bpetite.steps.normalizers import Replace

segments = st.lists(st.tuples(st.lists(pieces, max_size=4).map("".join), st.booleans()), max_size=6)
#: Special tokens with every flag, but those that are looked for in the normalized text.
FLAGGED = flagged(TOKENIZERS["NFC"], {name: flags for name, flags in FLAGS.items() if flags != ("normalized",)})
allowed_sets = st.sampled_from(["all", (), (END,)])


@given(names, segments, allowed_sets)
@settings(max_examples=400)
def test_joined(name: str, pairs: list[tuple[str, bool]], allowed: SpecialSelection) -> None:
    tok = TOKENIZERS[name]
    literals = [*tok.special_tokens] if allowed == "all" else [*allowed]
    expected = []
    for piece, special in oracles.cut_segments(pairs, literals):
        expected += [tok.special_tokens[piece]] if special else tok.encode_ordinary(piece)
    assert serving.encode_segments(tok, pairs, allowed_special=allowed) == expected


@given(names, segments, allowed_sets)
@settings(max_examples=100)
def test_cut(name: str, pairs: list[tuple[str, bool]], allowed: SpecialSelection) -> None:
    tok = TOKENIZERS[name]
    apart = (tok.encode(text, allowed_special=allowed if trusted else ()) for text, trusted in pairs)
    assert serving.encode_segments(tok, pairs, seams="cut", allowed_special=allowed) == [*chain.from_iterable(apart)]


@given(segments)
@settings(max_examples=200)
def test_flags_of_special_tokens(pairs: list[tuple[str, bool]]) -> None:
    """Special tokens with flags are found in one trusted segment as in a text, and not at all without one."""
    joined = "".join(text for text, _ in pairs)
    assert FLAGGED.scanner == "pipeline"
    tok = FLAGGED
    assert serving.encode_segments(tok, [(joined, True)]) == tok.encode(joined)
    assert serving.encode_segments(tok, [(text, False) for text, _ in pairs]) == tok.encode_ordinary(joined)


def test_what_a_user_writes_is_no_special_token() -> None:
    tok = TOKENIZERS["cl100k"]
    end = tok.special_tokens[END]
    template = [(END, True), (f"{END} hi ", False), (END, True), ("<|endof", True), ("text|>", False)]
    ids = serving.encode_segments(tok, template)
    assert ids.count(end) == 2
    assert tok.decode(ids) == "".join(text for text, _ in template)
    assert serving.encode_segments(tok, []) == serving.encode_segments(tok, [("", True)]) == []


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda tok: serving.encode_segments(tok, ["ab"]), TypeError, "segment 0 is a pair .* not 'ab'"),
        (lambda tok: serving.encode_segments(tok, [("a", True), ("b", 1)]), TypeError, r"segment 1 .* not \('b', 1\)"),
        (lambda tok: serving.encode_segments(tok, [(b"a", True)]), TypeError, "segment 0"),
        (lambda tok: serving.encode_segments(tok, [("a", True)], seams="glue"), ValueError, "seams is .* not 'glue'"),
        (lambda tok: serving.encode_segments(tok, [(END, False)], disallowed_special=[END]), ValueError, "at offset 0"),
        (lambda tok: serving.encode_segments(tok, [("a", True)], allowed_special=["<x>"]), ValueError, "'<x>'"),
        (lambda tok: serving.encode_segments(tok, [("\ud800", False)]), UnicodeEncodeError, "surrogates"),
        (lambda tok: serving.encode_segments(tok, [("a\ud800", True)]), UnicodeEncodeError, "position 1:"),
    ],
)  # fmt: skip
def test_errors(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(TOKENIZERS["cl100k"])  # type: ignore[operator]


@pytest.mark.parametrize("seams", ["join", "cut"])
def test_all_others_are_disallowed_whatever_the_segment(seams: Literal["join", "cut"]) -> None:
    tok = TOKENIZERS["cl100k"]
    parts = [("a", True), (f"b{END}", False)]
    assert END not in tok.decode(serving.encode_segments(tok, parts, seams=seams)[:2])
    ids = serving.encode_segments(tok, parts, seams=seams, disallowed_special="all")
    assert tok.decode(ids) == f"ab{END}"
    with pytest.raises(ValueError, match="disallowed special token"):
        serving.encode_segments(tok, parts, seams=seams, allowed_special=(), disallowed_special="all")


def rewriting(*steps: str | Replace, literal: str = "<s>") -> Tokenizer:
    """A tokenizer that normalizes, with a special token that is looked for in the normalized text."""
    vocab = {number: bytes([number]) for number in range(256)} | {256: literal.encode()}
    built = Vocab.build(
        vocab, [], {literal: 256}, pattern=None, normalization=steps, token_flags={literal: ("normalized",)}
    )
    return Tokenizer.from_vocab(built)


@pytest.mark.parametrize("trusted", [(False, True), (True, False)])
def test_what_a_normalizer_makes_of_untrusted_characters_is_untrusted(trusted: tuple[bool, bool]) -> None:
    for tok, left, right in (
        (rewriting(Replace("ab", "<s>")), "a", "b"),
        (rewriting(Replace("a+b", "<s>")), "xaa", "ab"),
        (rewriting("NFC", literal="é"), "e", "\u0301"),
        (rewriting("NFC", literal="\u0323\u0301"), "x\u0301", "\u0323"),  # marks in another order
    ):
        assert 256 in tok.encode(left + right)
        assert 256 not in serving.encode_segments(tok, [(left, trusted[0]), (right, trusted[1])])


def test_segments_have_special_tokens_where_their_text_writes_them() -> None:
    tok = rewriting(Replace("ab", "<s>"), Replace("x", ""))
    ids = serving.encode_segments(tok, [("a", False), ("b", True), ("ab", True), ("x", False), ("<s>", True)])
    assert ids == [*b"<s><s>", 256]
