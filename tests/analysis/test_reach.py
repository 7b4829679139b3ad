"""Tokens that text can produce: against every short text of small alphabets, and in published vocabularies."""
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer, Vocab, patterns
from bpetite.analysis import reach as reach_of
from bpetite.analysis.reach import AROUND
from bpetite.reference import merge_pretoken
from bpetite.steps.normalizers import Mapped

NEVER_IN_UTF8 = {0xC0, 0xC1, *range(0xF5, 0x100)}

#: Characters of one, two, three and four bytes that share lead and continuation bytes.
ALPHABET = ["a", "b", " ", "\u00e9", "\u00e8", "\u00a9", "\u4f60", "\u4f69", "\U0001f642"]
BYTES = sorted({byte for character in ALPHABET for byte in character.encode()})


def short_texts(alphabet: list[str], longest: int) -> list[str]:
    return ["".join(text) for size in range(1, longest + 1) for text in product(alphabet, repeat=size)]


SHORT = short_texts(ALPHABET, 4)  # 7380 of them


def vocab_of(kind: str, pairs: list[tuple[int, int]], order: list[int], **more: object) -> Vocab:
    """A vocabulary of tokens joined from pairs of earlier ones; ``order`` shuffles the merge list."""
    tokens = {byte: bytes([byte]) for byte in range(256)}
    merges: list[tuple[int, int]] = []
    made = list(BYTES)
    for left, right in pairs:
        left, right = made[left % len(made)], made[right % len(made)]
        joined = tokens[left] + tokens[right]
        if joined in tokens.values() or len(joined) > 6:
            continue
        made.append(len(tokens))
        tokens[len(tokens)] = joined
        merges.append((left, right))
    if kind == "ranks":
        return Vocab(tokens, None, {}, **more)  # type: ignore[arg-type]
    shuffled = tuple(merges[at] for at in sorted(range(len(merges)), key=lambda at: order[at % len(order)]))
    return Vocab(tokens, shuffled, {}, ignore_merges=kind == "ignore_merges", **more)  # type: ignore[arg-type]


def check_against(tokenizer: Tokenizer, texts: list[str]) -> None:
    found = reach_of(tokenizer)
    ids, _ = tokenizer.encode_batch_to_numpy(texts, allowed_special=())
    produced = set(ids.tolist())
    unreachable = {one.id: one for one in found.unreachable}
    proven = {token_id for token_id, one in unreachable.items() if one.reason != "pattern"}
    wrong = [unreachable[one] for one in produced & proven]
    assert not wrong
    # Each token of whole characters that is called reachable comes out of some text.
    for token_id, token in tokenizer.vocab.items():
        if token_id not in unreachable and is_utf8(token) and token_id not in produced:
            texts = (before + token.decode() + after for before, after in product(AROUND, repeat=2))
            assert any(token_id in tokenizer.encode_ordinary(text) for text in texts)


PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40)
ORDERS = st.lists(st.integers(0, 1000), min_size=1, max_size=40)


@pytest.mark.parametrize("kind", ["merges", "ranks", "ignore_merges"])
@pytest.mark.parametrize("settings_", [
    *({"pattern": pattern} for pattern in (None, patterns.GPT2, r"a+(?=b)|\w|\s", r"\w\s|.", (r"\p{L}", r"\s"))),
    *({"pattern": None, "normalization": form} for form in ("NFC", "NFD", "NFKC", "NFKD")),
])  # fmt: skip
@settings(max_examples=3, deadline=None)
@given(pairs=PAIRS, order=ORDERS)
@example(pairs=[(1, 1)], order=[0])  # "aa", and a pattern that names the character after it
def test_no_short_text_proves_it_wrong(
    settings_: dict[str, Any], kind: str, pairs: list[tuple[int, int]], order: list[int]
) -> None:
    texts = short_texts([*ALPHABET, "e", "\u0301"], 3) if "normalization" in settings_ else SHORT
    check_against(Tokenizer.from_vocab(vocab_of(kind, pairs, order, **settings_)), texts)


@pytest.mark.slow
def test_what_utf8_can_hold() -> None:
    """Bytes that no text holds, against all ways to surround them with bytes."""
    leads, following = [0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4], [0x80, 0x90, 0xA0, 0xBF]
    behind = [bytes(one) for size in range(4) for one in product(following, repeat=size)]
    front = [b""] + [bytes([lead]) + one for lead in leads for one in behind if len(one) < 3]
    kinds = [0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5]
    tokens = [bytes(one) for size in (1, 2) for one in product(kinds, repeat=size)]
    tokens += [bytes([0xE0, 0x9F, 0x80]), bytes([0xED, 0xA0, 0x80]), bytes([0xF4, 0x90, 0x80]), b"\x80\x80\x80\x80"]
    found = reach_of(Tokenizer(plain(*(token for token in tokens if len(token) > 1)), None, pattern=None))
    impossible = {one.token for one in found.unreachable if one.reason == "utf-8"}
    for token in tokens:
        possible = any(is_utf8(before + token + after) for before in front for after in behind)
        assert possible == (token not in impossible), token


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# Cases by name


def plain(*tokens: bytes) -> dict[int, bytes]:
    return {byte: bytes([byte]) for byte in range(256)} | dict(enumerate(tokens, 256))


REST = [bytes([0xC3, byte]) for byte in range(0x80, 0xC0)]
ACCENTS = [(b"e", b"\xcc"), (b"e\xcc", b"\x81")]
ACCENTED = plain(b"e\xcc", b"e\xcc\x81")
NO_UTF8 = [b"\xff\xff", b"\xed\xa0", b"\xe0\x80", b"a\xc3b", b"\x80" * 4]
LOOKAHEAD = Tokenizer(plain(b"aa", b"aab"), [(b"a", b"a"), (b"aa", b"b")], pattern=r"a+(?=b)|\w|\s")


@pytest.mark.parametrize(("tok", "expected"), [
    (Tokenizer(plain(*NO_UTF8, b"\x80" * 3), None, pattern=None),
     dict.fromkeys(NO_UTF8, "utf-8") | {b"\x80" * 3: "merges"}),
    (Tokenizer(plain(b"ab", b"abc"), [(b"a", b"b")], pattern=None), {b"abc": "merges"}),
    # an earlier merge prevents a later one
    (Tokenizer(plain(b"bc", b"ab", b"abc"), [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")], pattern=None),
     {b"abc": "merges"}),
    # a part of a character counts as reachable, even where C3 joins with every byte that can follow it
    (Tokenizer(plain(*REST), [(b"\xc3", one[1:]) for one in REST], pattern=None), {}),
    (Tokenizer(plain(b" \xc3"), [], pattern=None), {b" \xc3": "merges"}),
    (Tokenizer(plain(b"12"), [(b"1", b"2")], pattern=r"\d"), {b"12": "pattern"}),
    (Tokenizer(plain(b"12"), [(b"1", b"2")], pattern=r"\d\d"), {}),
    (Tokenizer.from_vocab(Vocab(plain(b"12"), (), {}, pattern=r"\d", ignore_merges=True)), {b"12": "pattern"}),
    # a token that needs something before it
    (Tokenizer(plain(b"\n/"), [(b"\n", b"/")], pattern=r"[!.]+[\n/]*|\s|/"), {}),
    (LOOKAHEAD, {b"aa": "pattern", b"aab": "pattern"}),  # "aab" gives "aa": no text that is tried ends in b
    (Tokenizer(ACCENTED, ACCENTS, pattern=None), {}),
    (Tokenizer(ACCENTED, ACCENTS, pattern=None, normalization="NFC"), {b"e\xcc\x81": "normalization"}),
    (Tokenizer({300: b"a", 301: b"b", 302: b"ab", 303: b"ac"}, [(b"a", b"b")], pattern=None), {b"ac": "merges"}),
    (Tokenizer({}, []), {}),
])  # fmt: skip
def test_tokens_out_of_reach_and_why(tok: Tokenizer, expected: dict[bytes, str]) -> None:
    assert {one.token: one.reason for one in reach_of(tok).unreachable if one.id > 255} == expected


def test_what_reach_says_of_a_token() -> None:
    found = reach_of(Tokenizer(plain(), [])).unreachable
    assert {one.token[0] for one in found} == NEVER_IN_UTF8
    (lost,) = (one for one in reach_of(Tokenizer(plain(b"ab", b"abc"), [(b"a", b"b")])).unreachable if one.id > 255)
    assert lost.instead == (b"ab", b"c")


@settings(max_examples=40, deadline=None)
@given(pairs=PAIRS, kind=st.sampled_from(["merges", "ranks"]), order=ORDERS)
def test_merges_are_those_of_the_definition(pairs: list[tuple[int, int]], kind: str, order: list[int]) -> None:
    tok = Tokenizer.from_vocab(vocab_of(kind, pairs, order, pattern=None))
    if tok.kind == "ranks":
        ranks: dict[Any, int] = {token: token_id for token_id, token in tok.vocab.items()}
    else:
        ranks = {pair: rank for rank, pair in enumerate(tok.merges)}
    unmade = {one.id for one in reach_of(tok).unreachable if one.reason == "merges"}
    for token_id, token in tok.vocab.items():
        if is_utf8(token) and tok.kind == "merges":
            assert (token_id in unmade) == (merge_pretoken(token, ranks) != [token])
        assert token_id not in unmade or merge_pretoken(token, ranks) != [token]


def test_special_tokens_that_text_can_form() -> None:
    tok = Tokenizer(plain(b"ab"), [(b"a", b"b")], ["<s>", "ab"], pattern=None)
    assert reach_of(tok).forgeable == {}  # no merge gives a special token
    assert reach_of(Tokenizer(plain(), [], ["a"])).forgeable == {97: "a"}
    assert "<s>" not in [one.token for one in reach_of(tok).unreachable]
    assert reach_of(Tokenizer(plain(), [], ["<s>"])).forgeable == {}
    lacking = {token_id: token for token_id, token in plain().items() if token != b"c"}
    assert reach_of(Tokenizer(lacking, [], ["c"])).forgeable == {}


# Published vocabularies


@pytest.mark.slow
def test_o200k_has_only_the_bytes(shared: Callable[[str], Path]) -> None:
    tok = Tokenizer.from_tiktoken(shared("openai/o200k_base.tiktoken"), pattern=patterns.O200K)
    found = reach_of(tok)
    assert {one.token for one in found.unreachable} == {bytes([byte]) for byte in NEVER_IN_UTF8}


def test_a_mark_that_only_lowercase_makes_is_reachable() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: "\u0307".encode()}
    for steps, lost in (((Mapped("StripAccents"), Mapped("Lowercase")), False), ((Mapped("StripAccents"),), True)):
        tok = Tokenizer(tokens, [(b"\xcc", b"\x87")], normalization=steps)
        assert (256 in {one.id for one in reach_of(tok).unreachable}) == lost != (256 in tok.encode("İ"))
