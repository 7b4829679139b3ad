"""tiktoken's file of ranks."""
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.errors import FormatError
from bpetite.formats import tiktoken
from bpetite.vocab import Vocab

SMALL = b"YQ== 0\nYg== 1\nYWI= 2\n/+8= 7\n"


def loads(data: bytes, **options: object) -> Vocab:
    return tiktoken.from_bytes(data, "small.tiktoken", **({"pattern": None} | options))


def test_a_line_is_a_token_and_its_rank() -> None:
    vocab = loads(SMALL, special_tokens=["<s>"])
    assert vocab.tokens == {0: b"a", 1: b"b", 2: b"ab", 7: b"\xff\xef", 8: b"<s>"}
    assert vocab.kind == "ranks"
    assert vocab.special_tokens == {"<s>": 8}
    assert tiktoken.dump(vocab) == SMALL


def test_what_tiktoken_reads_too() -> None:
    assert loads(SMALL.replace(b"\n", b"\r\n")) == loads(SMALL.replace(b"\n", b"\n\n")) == loads(SMALL)
    assert loads(b"Yg== 1\nYQ== 0\n") == loads(b"YQ== 0\nYg== 1\n")


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_published_files_come_back_to_the_byte(shared: Callable[[str], Path], name: str) -> None:
    path = shared(f"openai/{name}.tiktoken")
    assert tiktoken.dump(tiktoken.load(path, pattern=None)) == path.read_bytes()


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(min_size=1), min_size=1))
def test_any_ranks_come_back(tokens: dict[int, bytes]) -> None:
    tokens = {rank: token for token, rank in {token: rank for rank, token in tokens.items()}.items()}
    vocab = Vocab(tokens, None, {}, pattern=None)
    assert loads(tiktoken.dump(vocab)) == vocab


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (SMALL[:-1], "does not end in a newline"),
        (SMALL[:-4], "does not end in a newline"),
        (b"\n\n", "no line with a token"),
        (SMALL + b"YWJj\n", "line 5 b'YWJj' is not a base64 token, a space and a rank"),
        (SMALL + b"YWJj 8 9\n", "line 5 .* is not a base64 token"),
        (SMALL + b"YWJj\t8\n", "line 5 .* is not a base64 token"),
        (b"YQ==\n0 Yg==\n1\n", "line 1 .* is not a base64 token"),
        (SMALL + b"YWJ 8\n", "line 5 .*: b'YWJ' is not base64"),
        (SMALL + b"YWJ*j 8\n", r"line 5 .*: b'YWJ\*j' is not base64"),
        (SMALL + b"YR== 8\n", "line 5 .*: b'YR==' is not base64"),
        (SMALL + b"Yz== x8\n", "line 5 .* is not base64"),
        (SMALL + b"Yw== x8\n", "line 5 .*: b'x8' is not a rank"),
        (SMALL + b"Yw== -1\n", "line 5 .*: b'-1' is not a rank"),
        (SMALL + b"Yw== 1_0\n", "line 5 .*: b'1_0' is not a rank"),
        (SMALL + b"Yw== 4294967296\n", "line 5 .*: the rank is outside"),
        (SMALL + b"Yw== " + b"9" * 6000 + b"\n", "line 5 .*: the rank is outside"),
        (SMALL + b"Yw== 2\n", "line 5 .*: line 3 has the rank 2 already"),
        (SMALL + b"YWI= 8\n", "line 5 .*: line 3 has the token b'ab' already"),
        (b"<html>\n", "line 1"),
        (b"\xff\xfe\x00 1\n", "line 1"),
    ],
)
def test_damage_is_named_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        loads(data)
    assert str(caught.value).startswith("small.tiktoken: ")


def test_special_tokens_that_do_not_fit() -> None:
    with pytest.raises(FormatError, match="'<s>' cannot have the id 2"):
        loads(SMALL, special_tokens={"<s>": 2})


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        (Vocab({0: b"a"}, (), {}), "merge list"),
        (Vocab({0: b"a"}, None, {}, normalization="NFC"), "normalization 'NFC'"),
    ],
)
def test_what_the_file_cannot_hold_is_named(vocab: Vocab, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        tiktoken.dump(vocab)
