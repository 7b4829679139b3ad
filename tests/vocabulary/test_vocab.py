"""Vocab: what it refuses, its order, fingerprint and equality."""
import hashlib
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from bpetite import Tokenizer, Vocab, patterns
from bpetite.steps.charsmap import Precompiled
from bpetite.steps.normalizers import Prepend, Replace
from bpetite.steps.splits import Metaspace, PrefixSpace, Printable, Split
from bpetite.steps.template import Template, TemplatePart
from bpetite.vocabulary.alphabet import Alphabet

AB = {0: b"a", 1: b"b", 2: b"ab"}


def vocab(**changes: Any) -> Vocab:
    fields: dict[str, Any] = {"tokens": dict(AB), "merges": ((0, 1),), "special_tokens": {}}
    return Vocab(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": {0: b"a", 5: b"a"}, "merges": ()}, "ids 0 and 5 have the same bytes b'a'"),
        ({"tokens": {-1: b"a"}, "merges": ()}, "id -1 is outside"),
        ({"tokens": {2**32: b"a"}, "merges": ()}, "id 4294967296 is outside"),
        ({"unreachable": {7}}, "unreachable: no token has the id 7"),
        ({"unreachable": {0}}, "merge 0 .*token 0 b'a' is unreachable"),
        ({"unreachable": {2}}, "merge 0 .*gives b'ab', which is no token"),
        ({"tokens": {**AB, 3: b""}, "merges": ((0, 1), (3, 0))}, "merge 1 .*token 3 b'' is unreachable"),
        ({"special_tokens": {"<s>": 2}}, "id 2 holds b'ab'"),
        ({"special_tokens": {"<s>": 2, "<t>": 2}}, "'<s>': id 2 holds b'ab'"),
        ({"special_tokens": {"": 2}}, "must not be empty"),
        ({"special_tokens": {"\ud800": 2}}, "lone surrogate"),
        ({"normalization": "nfc"}, "'nfc' is not one of NFC"),
        ({"errors": "nonsense"}, "'nonsense'"),
        ({"merges": None, "ignore_merges": True}, "ignore_merges"),
    ],
)
def test_contradictions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vocab(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": {0: "a"}, "merges": ()},
        {"merges": (5,)},
        {"pattern": 5},
        {"pattern": ("a", 5)},
        {"ignore_merges": 1},
        {"errors": None},
        {"special_tokens": {5: 2}},
        {"unreachable": 5},
        {"unreachable": "2"},
        {"unreachable": {"2"}},
        {"unreachable": {True}},
    ],
)
def test_wrong_types(changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        vocab(**changes)


def test_values_do_not_change() -> None:
    one = vocab()
    with pytest.raises(AttributeError, match="errors"):
        one.errors = "replace"  # type: ignore[misc]
    with pytest.raises(TypeError, match="error"):
        Vocab(AB, [], {}, error="replace")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="error"):
        Vocab.build(AB, [], error="replace")
    other = replace(one, name="a", beside={"config.json": "{}"}, train_config={"method": "a"})
    assert (other == one, hash(other) == hash(one), replace(one, errors="replace") == one) == (True, True, False)


def test_other_tokens_become_unreachable() -> None:
    tokens = {**AB, 3: b"x", 4: b"y"}
    other = replace(vocab(tokens=tokens, unreachable=frozenset({3})), unreachable=frozenset({4}))
    assert (other.token_table.find_id(b"x"), other.token_table.find_id(b"y")) == (3, None)
    assert other.find(b"y") == 4
    with pytest.raises(ValueError, match="gives b'ab', which is no token"):
        replace(other, unreachable=frozenset({2}))


def test_build_places_special_tokens() -> None:
    built = Vocab.build(AB, [(b"a", b"b")], ["<s>", "ab", "<t>"])
    assert built.special_tokens == {"<s>": 3, "ab": 2, "<t>": 4}
    assert built.tokens[4] == b"<t>"
    assert Vocab.build(AB, None, {"<s>": 9}).tokens[9] == b"<s>"
    assert Vocab.build(AB, [], None).special_tokens == {}


@pytest.mark.parametrize(
    ("specials", "message"),
    [
        ({"<s>": 1}, "belongs to b'b'"),
        ({"<s>": 1, "<t>": 1}, "belongs to b'b'"),
        ({"ab": 7}, "token 2 has these bytes"),
        ({"<s>": -4}, "-4"),
        ([""], "empty"),
        ("<s>", "list of str"),
    ],
)
def test_build_refuses_special_tokens(specials: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        Vocab.build(AB, [], specials)


@pytest.mark.parametrize("merges", [[(b"a", b"x")], [b"ab"], [(b"a",)], [(b"a", 5)], [5]])
def test_build_names_the_merge(merges: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="merge 0"):
        Vocab.build(AB, merges)


def test_identity_follows_content() -> None:
    one = vocab()
    other = Vocab({2: b"ab", 1: b"b", 0: b"a"}, ((0, 1),), {})
    assert one == other
    assert hash(one) == hash(other)
    assert one.fingerprint() == other.fingerprint()
    changed = [
        vocab(pattern=None), vocab(normalization="NFC"), vocab(merges=None), vocab(merges=()), vocab(errors="replace"),
        vocab(ignore_merges=True), vocab(tokens={**AB, 3: b"c"}), vocab(special_tokens={"ab": 2}),
        vocab(tokens={**AB, 3: b"c"}, unreachable={3}), vocab(special_tokens={"ab": 2, "<ab>": 2}),
    ]  # fmt: skip
    assert len({one.fingerprint(), *(it.fingerprint() for it in changed)}) == 1 + len(changed)
    assert all(it != one for it in changed)
    assert (one.kind, one.pattern, vocab(merges=None).kind) == ("merges", patterns.GPT2, "ranks")


def test_fingerprint_is_the_same_in_every_process() -> None:
    code = "from bpetite import Vocab; print(Vocab({0: b'a', 1: b'b', 2: b'ab'}, ((0, 1),), {}).fingerprint())"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        assert done.stdout.strip() == vocab().fingerprint()


@pytest.mark.parametrize(
    ("changes", "fingerprint"),
    [
        ({}, "9fc6164fc27c6c699c5daee43cf879811c4958f14c001dd31c8d1ff7f202bb16"),
        (
            {"merges": None, "special_tokens": {"ab": 2}},
            "7cebcb7736a8da527b7640eb71a062560c365a97d4ba825ec5be74d61ee7c4e0",
        ),
        (
            {"pattern": (PrefixSpace(), Split("a", "removed"), Printable(), "b")},
            "a37e0f97e046241ee16f01134182d2296c6a41ebe9351b445123712534dcd45a",
        ),
        (
            {
                "pattern": Metaspace(),
                "normalization": (Prepend("a"), Replace("b", "c"), "NFC"),
                "alphabet": Alphabet(space="▁"),
            },
            "f03dcf76274e8f11eadc3820d9c8cdb6455a59b8ce2842eb7afd5d4ea86d8772",
        ),
        (
            {"normalization": Precompiled("BAAAAAAAAAA=", kept="a")},
            "97b6e9336222229d6dbaec05098c2523e40e58e928a4b3423a28f916da895913",
        ),
        (
            {"template": Template((TemplatePart((1,)), TemplatePart(text="A")), ())},
            "dadb89167d64ecaa5b04add2524b1525e528d6a2abac01b2328d22963d6b6096",
        ),
    ],
)
def test_fingerprint_is_the_same_in_every_release(changes: dict[str, Any], fingerprint: str) -> None:
    assert vocab(**changes).fingerprint() == fingerprint


def test_an_empty_token_is_unreachable_and_decodes_to_nothing() -> None:
    it = vocab(tokens={**AB, 7: b"", 9: b""})
    assert it.unreachable == {7, 9}
    assert it == vocab(tokens={**AB, 7: b"", 9: b""}, unreachable=[9]) == pickle.loads(pickle.dumps(it))
    assert it.id_of[b""] in (7, 9)
    tok = Tokenizer.from_vocab(it)
    assert tok.encode("ab") == [2]
    assert tok.decode([7, 2, 9, 0, 7]) == "aba"
    assert tok.token_bytes(7) == b""


@pytest.mark.parametrize("merges", [((0, 1),), None])
def test_of_two_ids_with_the_same_bytes_the_reachable_one_is_found(merges: tuple[tuple[int, int], ...] | None) -> None:
    tokens = {0: b"a", 1: b"b", 2: b"b", 3: b"ab", 4: b"ab", 5: b"abb", 6: b"b"}
    for hidden in ({2, 4, 6}, {1, 3, 2}):
        left, right, joined = 0, ({1, 2, 6} - hidden).pop(), ({3, 4} - hidden).pop()
        it = vocab(tokens=tokens, unreachable={5, *hidden}, merges=merges and ((left, right),), pattern=None)
        assert (it.id_of[b"b"], it.id_of[b"ab"], it.id_of[b"abb"]) == (right, joined, 5)
        tok = Tokenizer.from_vocab(it)
        assert tok.encode("ab") == tok.encode_ordinary("ab") == [joined]
        assert tok.encode("abb") == [joined, right]
        assert tok.encode_batch(["b", "abb"]) == [[right], [joined, right]]
        assert [tok.token_id("b"), tok.token_id("ab"), tok.token_id("abb")] == [right, joined, 5]
        assert tok.decode(list(tokens)) == "".join(token.decode() for token in tokens.values())
        assert tok.decode_batch([[4, 5], [6]]) == ["ababb", "b"]


def test_a_byte_that_only_an_unreachable_token_has_is_refused() -> None:
    tok = Tokenizer.from_vocab(vocab(tokens={**AB, 3: b"c"}, unreachable={3}))
    with pytest.raises(ValueError, match="c"):
        tok.encode("abc")
    assert tok.decode([2, 3]) == "abc"


def test_a_special_token_is_reachable() -> None:
    it = vocab(tokens={**AB, 3: b"ab", 4: b"ab"}, unreachable={3, 4}, special_tokens={"ab": 4})
    assert it.unreachable == {3}
    tok = Tokenizer.from_vocab(it)
    assert (tok.encode("ab"), tok.encode_ordinary("ab"), tok.decode([3, 4])) == ([4], [2], "abab")
    built = Vocab.build({**AB, 3: b"<s>"}, [], ["<s>"], unreachable=frozenset({3}))
    assert (built.special_tokens, built.unreachable) == ({"<s>": 3}, frozenset())


def test_literals_with_one_id_are_aliases() -> None:
    tokens = {**AB, 5: b"<a>"}
    it = vocab(tokens=tokens, special_tokens={"<b>": 5, "<a>": 5, "<c>": 5})
    assert it.aliases == {"<b>": 5, "<c>": 5}
    assert it == pickle.loads(pickle.dumps(it))
    assert it.fingerprint() == vocab(tokens=tokens, special_tokens={"<c>": 5, "<b>": 5, "<a>": 5}).fingerprint()
    tok = Tokenizer.from_vocab(it)
    assert tok.encode("<a>ab<b><c>") == [5, 2, 5, 5]
    assert tok.decode([5, 2]) == "<a>ab"
    assert tok.token_id("<b>") == tok.token_id("<a>") == 5
    assert tok.special_tokens == {"<a>": 5, "<b>": 5, "<c>": 5}
    assert list(tok.encode_iterable(["<", "a>ab<b", "><c>"])) == [5, 2, 5, 5]
    assert tok.encode_ordinary("ab") == tok.encode("ab", allowed_special={"<b>"}) == [2]


def test_the_first_of_several_literals_is_decoded_unless_the_vocabulary_has_one() -> None:
    assert Vocab.build(AB, [], {"<s>": 5, "<t>": 5}).tokens[5] == b"<s>"
    assert Vocab.build({**AB, 5: b"<t>"}, [], {"<s>": 5, "<t>": 5}).aliases == {"<s>": 5}
    tok = Tokenizer({**AB, 5: b"<t>"}, [(b"a", b"b")], {"<s>": 5, "<t>": 5})
    assert Tokenizer(tok.vocab, tok.merges, tok.special_tokens) == tok


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"merges": ((0, 7),)}, "merge 0"),
        ({"tokens": {0: b"a", 1: b"a"}}, "same bytes"),
        ({"special_tokens": {"<s>": 1}}, "<s>"),
    ],
)
def test_a_crafted_pickle_is_refused(changed: dict[str, Any], message: str) -> None:
    call, (kind, _, content) = vocab().__reduce__()
    state = pickle.loads(content)
    crafted = pickle.dumps({**state, **changed})
    with pytest.raises(ValueError, match=message):
        call(kind, hashlib.sha256(crafted).digest(), crafted)
