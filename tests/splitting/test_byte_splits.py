"""Splits that see bytes in printable form, against the same splits in Python."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite.bytelevel import ALPHABET, encode_token
from bpetite.splitting.pretokenizer import compiled, pretokenizer
from bpetite.splitting.scan._byte_splits import ByteSplits

PATTERNS = [
    (r"\p{N}+", "[0-9][0-9][0-9]"),  # Falcon's
    (r"\p{N}",),
    ("(?:Ġ)+",),
    ("Ġ[^Ġ]*", "Ã"),
    (r"a{4}|b",),  # a cut is known three bytes later
    (r"\w",),
]
data = st.lists(st.sampled_from([b"a", b"aaaa", b"b", b" ", b"1", b"123", "²".encode(), "ò½".encode(), b"\xb2", b"\xc3",
                                 b"\xff"])).map(b"".join) | st.binary(max_size=40)  # fmt: skip


def byte_splits(stages: tuple[str, ...]) -> ByteSplits:
    return ByteSplits(compiled(stages), ALPHABET)


def expected(stages: tuple[str, ...], pretoken: bytes) -> list[int]:
    ends, at = [], 0
    for piece in pretokenizer(stages, scanner_kind="regex").split(encode_token(pretoken)):
        at += len(piece)
        ends.append(at)
    return ends


@pytest.mark.parametrize("stages", PATTERNS, ids=repr)
@given(pretoken=data)
def test_the_parts_are_those_of_the_printable_form(stages: tuple[str, ...], pretoken: bytes) -> None:
    assert byte_splits(stages).ends(pretoken) == expected(stages, pretoken)


@pytest.mark.parametrize("stages", PATTERNS, ids=repr)
@pytest.mark.parametrize("size", [1, 3, 4, 5, 7, 8, 9, 1000])
def test_more_parts_than_are_given_out_at_a_time(stages: tuple[str, ...], size: int) -> None:
    for unit in (b"1", b"a", b" ", b"b1", b"\xb2\xc3"):
        pretoken = unit * size
        assert byte_splits(stages).ends(pretoken) == expected(stages, pretoken)


def test_a_pattern_with_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="needs marks"):
        byte_splits((r"\s*[\r\n]+|\s+|\S+",))
