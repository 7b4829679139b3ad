"""Explanations: their merges give the ids of the encoder and of the plain definition."""
import json
from typing import Any

import pytest
from commands import bpe as run
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, patterns, reference
from bpetite.analysis import explain
from bpetite.vocabulary.alphabet import Alphabet

CORPUS = "the cat sat on the mat, the cats' mats; naïve café 猫🙂 " * 4
SMALL = Tokenizer.train(CORPUS, 290)
PIECES = ["the", " cat", "mats", "e", "\u0301", "é", "猫", "<s>", " ", "'", "s"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def made(kind: str, **settings: Any) -> Tokenizer:
    merges = None if kind == "ranks" else SMALL.merges
    return Tokenizer.from_vocab(Vocab.build(SMALL.vocab, merges, ["<|endoftext|>", "<s>"], **settings))


CASES: list[tuple[str, dict[str, Any]]] = [
    ("merges", {}), ("ranks", {}), ("merges", {"ignore_merges": True}), ("merges", {"normalization": "NFC"}),
    ("ranks", {"normalization": "NFD"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings"), CASES)
@given(text=TEXTS, allowed=st.sampled_from(["all", (), ["<s>"]]))
def test_ids_are_those_of_the_encoder_and_of_the_definition(
    kind: str, settings: dict[str, Any], text: str, allowed: Any
) -> None:
    tok = made(kind, **settings)
    specials = {one: token_id for one, token_id in tok.special_tokens.items() if allowed == "all" or one in allowed}
    found = explain(tok, text, allowed_special=allowed)
    expected = reference.encode(
        text, SMALL.vocab, None if kind == "ranks" else SMALL.merges, special_tokens=specials, pattern=patterns.GPT2,
        **settings,
    )  # fmt: skip
    assert [token_id for one in found.pretokens for token_id in one.ids] == found.ids
    assert found.ids == expected == tok.encode(text, allowed_special=allowed)
    assert "".join(one.data.decode() for one in found.pretokens) == found.spelled
    for one in found.pretokens:
        tokens = [bytes([byte]) for byte in one.data] if one.rule == "merges" else one.tokens
        for step in one.merges:
            at = next(at for at in range(len(tokens)) if len(b"".join(tokens[:at])) == step.start)
            assert tokens[at : at + 2] == [step.left, step.right]
            tokens[at : at + 2] = [step.left + step.right]
        assert tokens == one.tokens == [tok.token_bytes(one_id) for one_id in one.ids]
    json.dumps(found.to_dict())
    assert str(found)


def test_a_pretoken_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="a pre-token of 1,001 bytes; up to 1,000 are explained"):
        explain(SMALL, "z" * 1001)


def test_other_engines() -> None:
    """Rewritten text and steps beyond patterns, which the pipeline does, and a special token of another spelling."""
    from bpetite.steps.normalizers import Replace

    tok = Tokenizer(SMALL.vocab, SMALL.merges, ["<s>"], normalization=Replace("dog", "cat"))
    found = explain(tok, "the dog<s>")
    assert found.ids == tok.encode("the dog<s>")
    assert (found.spelled, found.pretokens[1].tokens) == ("the cat<s>", [b" cat"])


def test_the_command() -> None:
    done = run("tokens", "--why", "the bca<|endoftext|>")
    assert done.code == 0, done.err
    assert "'<|endoftext|>'" in done.out
    assert "Merges of ' bca'" in done.out
    shown = json.loads(run("tokens", "--why", "the", "--json").out)
    assert shown["ids"] == Tokenizer.load("bpetite-32k").encode("the")
    assert run("tokens", "--why", "--ids", "the").code == 2


def test_merges_that_begin_from_characters() -> None:
    tokens = {0: b"<unk>", 1: "▁".encode(), 2: b"a", 3: "é".encode(), 4: "aé".encode()}
    vocab = Vocab(tokens, [(2, 3)], {"<unk>": 0}, pattern=None, alphabet=Alphabet(unknown=0))
    found = explain(Tokenizer.from_vocab(vocab), "aéa")
    assert [(step.left, step.right) for step in found.pretokens[0].merges] == [(b"a", "é".encode())]
    assert [token_id for one in found.pretokens for token_id in one.ids] == found.ids == [4, 2]
