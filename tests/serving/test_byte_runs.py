"""Data that need not be text: runs of bytes that are not UTF-8 are pre-tokens of their own."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, reference
from bpetite.patterns import CL100K

MERGES = Tokenizer.train("the cat's naïve été 的的的 the then" * 3, 330, special_tokens=["<s>", "the"])
PAIRS = {**{i: t for i, t in MERGES.vocab.items() if t not in (b"<s>", b"the")}, 500: b"\xff\xfe", 501: b"\xfe\xff"}
TOKENIZERS = [
    MERGES,
    Tokenizer(PAIRS, [(b"\xff", b"\xfe"), (b"\xfe", b"\xff")], {"<s>": 600}, pattern=CL100K),
    Tokenizer({**PAIRS, 502: b"\xff\xfe\xff"}, None, {"<s>": 600}),
    Tokenizer(PAIRS, [(b"\xff", b"\xfe")], {"<s>": 600}, pattern=None),
    Tokenizer(PAIRS, [(b"\xff", b"\xfe")], {"<s>": 600}, pattern=r"\w+"),
]


def runs(data: bytes) -> list[tuple[bytes, bool]]:
    """(part, is it text): the plain meaning, error by error."""
    parts: list[tuple[bytes, bool]] = []
    while data:
        try:
            data.decode()
            start = end = len(data)
        except UnicodeDecodeError as error:
            start, end = error.start, error.end
        for part, is_text in ((data[:start], True), (data[start:end], False)):
            if part and parts and parts[-1][1] == is_text:
                parts[-1] = (parts[-1][0] + part, is_text)
            elif part:
                parts.append((part, is_text))
        data = data[end:]
    return parts


def plain(tok: Tokenizer, data: bytes) -> list[int]:
    ids: list[int] = []
    for part, is_text in runs(data):
        if is_text:
            ids += tok.encode(part)
        elif tok.kind == "ranks" and part in tok.vocab.values():
            ids.append(tok.token_id(part))
        else:
            id_of = {token: token_id for token_id, token in tok.vocab.items()}
            ranks = id_of if tok.kind == "ranks" else {pair: rank for rank, pair in enumerate(tok.merges)}
            ids += map(tok.token_id, reference.merge_pretoken(part, ranks))  # type: ignore[arg-type]
    return ids


pieces = st.one_of(
    st.binary(max_size=4),
    st.sampled_from([b"the", b" cat", b"<s>", b"\xff\xfe", b"\xff\xfe\xff", b"\xe4\xbd", "的".encode()]),
    st.sampled_from([b"\xed\xa0\x80", b"  "]),
)


@pytest.mark.parametrize("number", range(len(TOKENIZERS)))
@given(st.lists(pieces, max_size=10).map(b"".join))
def test_against_the_plain_meaning(number: int, data: bytes) -> None:
    tok = TOKENIZERS[number]
    ids = tok.encode_bytes(data, invalid="bytes")
    assert ids == plain(tok, data)
    assert tok.decode_bytes(ids) == data
    try:
        expected = tok.encode(data)
    except UnicodeDecodeError as error:
        with pytest.raises(UnicodeDecodeError, match=str(error.start)):
            tok.encode_bytes(data)
    else:
        assert ids == tok.encode_bytes(data) == expected


def test_special_tokens() -> None:
    data = b"<s>\xff<s>"
    assert MERGES.encode_bytes(data, invalid="bytes").count(MERGES.special_tokens["<s>"]) == 2
    assert MERGES.special_tokens["<s>"] not in MERGES.encode_bytes(data, invalid="bytes", allowed_special=())
    with pytest.raises(ValueError, match=r"data\[3:7\]: the text holds the disallowed special token '<s>' at offset 1"):
        MERGES.encode_bytes(b"\xff\xff\xffa<s>", invalid="bytes", disallowed_special="all", allowed_special=())


def test_errors() -> None:
    with pytest.raises(TypeError, match="data is bytes, not 'a'; encode takes a str"):
        MERGES.encode_bytes("a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='invalid is "error" or "bytes", not \'replace\''):
        MERGES.encode_bytes(b"a", invalid="replace")  # type: ignore[arg-type]
    known = Tokenizer({97: b"a"}, [], pattern=None)
    with pytest.raises(ValueError, match=r"data\[1:2\]: byte 0xff, at offset 0"):
        known.encode_bytes(b"a\xffa", invalid="bytes")
