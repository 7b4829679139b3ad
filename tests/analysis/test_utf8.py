"""Parts of UTF-8 characters, against all characters of Unicode."""
from bpetite.analysis.utf8 import characters_with, head_of, open_end, some_characters_with, split_part

ALL = [chr(code).encode() for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]


def test_characters_with_a_part() -> None:
    for part in (b"\xa0", b"\x88\xa0", b"\x9f\x98\x80"):
        assert sorted(characters_with(part, before=True)) == sorted(one for one in ALL if one.endswith(part))
    for part in (b"\xc3", b"\xe4", b"\xe4\xbd", b"\xed", b"\xf0\x9f", b"\xf4"):
        assert sorted(characters_with(part, after=True)) == sorted(one for one in ALL if one.startswith(part))
    for part in (b"\xa0", b"\x88\xa0"):
        assert set(characters_with(part, before=True, after=True)) == {one for one in ALL if part in one[1:]}


def test_some_of_many() -> None:
    some = some_characters_with(b"\xf0", 100, after=True)
    assert len(some) == 100
    assert some == some_characters_with(b"\xf0", 100, after=True)
    assert set(some) <= {one for one in ALL if one[0] == 0xF0}
    assert len(some_characters_with(b"\xc3", 100, after=True)) == 64


def test_open_ends() -> None:
    assert [open_end(one) for one in (b"a", b"a\xc3", b"\xe4\xbd", b"\xf0\x9f\x98")] == [
        b"", b"\xc3", b"\xe4\xbd", b"\xf0\x9f\x98"
    ]  # fmt: skip
    for wrong in (b"\xff", b"\xc1", b"\xc3a", b"\xed\xa0", b"\xe0\x80", b"\xf0\x8f", b"\xf4\x90", b"\x80"):
        assert open_end(wrong) is None


def test_splitting_parts() -> None:
    assert split_part(b"\xa0 caf\xc3") == (b"\xa0", " caf", b"\xc3")
    assert split_part(b"\xa0\x80") == (b"\xa0\x80", "", b"")
    assert split_part(b"\x80" * 4) is None
    assert split_part(b"a\xffb") is None
    assert head_of(b"\xa0\x80a") == b"\xa0\x80"
