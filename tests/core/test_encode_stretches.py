"""Long texts, which are encoded run by run: the same ids wherever a run ends."""
import random

import pytest
from tiers import slow_but

from bpetite import Tokenizer

RUN = 1 << 16  # RUN of _encode.pyx
SPECIAL = "<|endoftext|>"


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], {SPECIAL: 1000, SPECIAL + SPECIAL: 1001})


def expected(text: str) -> list[int]:
    ids: list[int] = []
    for n, part in enumerate(text.split(SPECIAL + SPECIAL)):
        ids += [1001] * (n > 0)
        for m, ordinary in enumerate(part.split(SPECIAL)):
            ids += [1000] * (m > 0)
            ids += ordinary.encode()
    return ids


def check(text: str, tok: Tokenizer) -> None:
    data, ids = text.encode(), expected(text)
    assert tok.encode(data) == tok.encode(text) == tok.encode_to_numpy(data).tolist() == ids
    assert tok.count(data) == len(ids)


@pytest.mark.parametrize("length", [RUN, RUN + RUN // 2, 2 * RUN])
@pytest.mark.parametrize("unit", ["word ", "é ", "中文 ", "🙂 "])
def test_any_length(tok: Tokenizer, length: int, unit: str) -> None:
    size = len(unit.encode())
    for more in range(-2, 3):
        check("x" * (length % size + more + size) + unit * (length // size - 1), tok)


@pytest.mark.parametrize("at", slow_but([RUN, 2 * RUN], 2 * RUN))
def test_special_tokens_where_a_run_ends(tok: Tokenizer, at: int) -> None:
    for before in range(2 * len(SPECIAL) + 2):
        start = "a word " * (at // 7 + 1)
        check(start[: at - before] + SPECIAL * (1 + before % 3) + " and more" * (RUN // 4), tok)
        check(start[: at - before] + SPECIAL[:-1] + " and more" * (RUN // 4), tok)


@pytest.mark.parametrize("letters", [RUN - 1, RUN + 1, 3 * RUN, 9 * RUN])
def test_a_pre_token_that_is_longer_than_a_run(tok: Tokenizer, letters: int) -> None:
    check("a " + "b" * letters + " c" * RUN + " " * letters + "d" * RUN, tok)
    check("é" * letters + SPECIAL + "中" * letters, tok)


def test_any_text(tok: Tokenizer) -> None:
    rng = random.Random(0)
    pieces = ["word", " ", "\n", "'ll", "é", "中文", "🙂", "123", "...", SPECIAL, SPECIAL[:5], "   "]
    for _ in range(20):
        check("".join(rng.choices(pieces, k=rng.randint(RUN // 4, RUN))), tok)


def test_an_error_behind_the_first_run() -> None:
    some = Tokenizer({byte: bytes([byte]) for byte in b" ab"}, [])
    for at in (RUN - 1, RUN, 3 * RUN):
        text = "ab " * (at // 3) + "b" * (at % 3) + "?" + " a" * RUN
        with pytest.raises(ValueError, match=rf"byte 0x3f, at offset {at} "):
            some.encode(text.encode())
