"""Data that need not be text: runs of bytes that are not UTF-8 are pre-tokens of their own."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer, reference, serving
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
    ids = serving.encode_bytes(tok, data, errors="bytes")
    assert ids == plain(tok, data)
    assert tok.decode_bytes(ids) == data
    try:
        expected = tok.encode(data)
    except UnicodeDecodeError as error:
        with pytest.raises(UnicodeDecodeError, match=str(error.start)):
            serving.encode_bytes(tok, data)
    else:
        assert ids == serving.encode_bytes(tok, data) == expected


def test_special_tokens() -> None:
    data = b"<s>\xff<s>"
    assert serving.encode_bytes(MERGES, data, errors="bytes").count(MERGES.special_tokens["<s>"]) == 2
    assert MERGES.special_tokens["<s>"] not in serving.encode_bytes(MERGES, data, errors="bytes", allowed_special=())
    with pytest.raises(ValueError, match=r"data\[3:7\]: the text holds the disallowed special token '<s>' at offset 1"):
        serving.encode_bytes(MERGES, b"\xff\xff\xffa<s>", errors="bytes", disallowed_special="all", allowed_special=())


def test_errors() -> None:
    with pytest.raises(TypeError, match="data is bytes, not 'a'; encode takes a str"):
        serving.encode_bytes(MERGES, "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='errors is "strict" or "bytes", not \'replace\''):
        serving.encode_bytes(MERGES, b"a", errors="replace")  # type: ignore[arg-type]
    known = Tokenizer({97: b"a"}, [], pattern=None)
    with pytest.raises(ValueError, match=r"data\[1:2\]: byte 0xff, at offset 0"):
        serving.encode_bytes(known, b"a\xffa", errors="bytes")
