"""The scanner's contract: blocks, lanes, room for few ends, texts in pieces, and never a byte outside the buffer."""
import ctypes
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from splits import CHARACTERS, COMPILED, STRETCHES, in_lanes, texts
from tiers import slow_but

from bpetite import patterns
from bpetite.reference import split
from bpetite.splitting.compile.compile_pattern import compile_pattern
from bpetite.splitting.scan._scan import Scanner

LANES = (64, 4, 1)  # at most
NAMED = ["gpt2", "cl100k", "o200k", "deepseek-v3"]


def scanner(pattern: patterns.Pattern, lanes: int = 64) -> Scanner:
    found = in_lanes(pattern, lanes).scanner
    assert found is not None
    return found


def expected_ends(text: str, pattern: patterns.Pattern) -> list[int]:
    ends, at = [], 0
    for piece in split(text, pattern):
        at += len(piece.encode())
        ends.append(at)
    return ends


def same_ends(text: str, pattern: patterns.Pattern) -> None:
    """Scanners with all numbers of lanes find the ends that the definition does."""
    expected, data = expected_ends(text, pattern), text.encode()
    for lanes in LANES:
        assert list(scanner(pattern, lanes).ends(data)) == expected, lanes


def long_text(seed: int, size: int, ascii_only: bool = False) -> str:
    """Text of several spans, from the characters and stretches that need care, with words in between."""
    choose = random.Random(seed)
    pieces = [*CHARACTERS, *STRETCHES, *["the", " cat", " sat", "\n", ", "] * 8]
    text = "".join(choose.choices(pieces, k=size))
    return text.encode("ascii", "ignore").decode() if ascii_only else text


@pytest.mark.parametrize("name", COMPILED)
def test_long_texts(name: str) -> None:
    for seed in range(4):
        same_ends(long_text(seed, 1500, ascii_only=seed % 2 == 0), COMPILED[name])


#: Sizes around what is done in another way: blocks, the shortest text in lanes, spans, many lanes.
SIZES = [
    *range(1, 6), *range(60, 69), *range(88, 108), *range(125, 131), *range(186, 200), *range(396, 404),
    *range(440, 456), *range(510, 515), *range(766, 771), *range(1020, 1028), *range(1112, 1124), *range(1534, 1538),
    *range(2044, 2052), 3071, 3072, *range(4092, 4100), *range(5100, 5124),
]  # fmt: skip
FILLS = ("a ", " ", "x\n ", "'ll", "7", "é", "的 ", "😀", "a\n    ")
ENDS = ("", "a", "'l", " ", "\n", "\n ", " \n" * 30, "  \t" * 20, "\0\0", "'" * 40, "12")


@pytest.mark.parametrize("name", slow_but(NAMED, "gpt2"))
def test_every_size_around_what_is_done_in_another_way(name: str) -> None:
    mixed = [long_text(seed, 12_000, ascii_only=seed % 2 == 0).encode() for seed in range(4)]
    for size in SIZES:
        texts = [data[:size].decode(errors="ignore") for data in mixed]
        texts += [(fill * size)[:size] for fill in FILLS if size < 1030]
        start = long_text(size, size, ascii_only=True)
        texts += [start[: size - len(end)] + end for end in ENDS if size > 390]
        for text in texts:
            same_ends(text, COMPILED[name])


@pytest.mark.parametrize("name", NAMED)
def test_long_words_that_may_have_begun_in_several_ways(name: str) -> None:
    """Where the last codes before a lane leave several states, it starts in a likely one: right, wrong, and both."""
    for first in ("", "a", "A", "1", " ", "aB", "中a", "\u0301"):
        for last in ("A", "a", "aA", "'s", "1", " x"):
            word = first + "中文字の가" * 47 + last
            same_ends(word * 9 + " " + "文" * 5_000 + last + word, COMPILED[name])


@pytest.mark.parametrize("name", NAMED)
def test_characters_by_their_first_byte(name: str) -> None:
    """All that begin with a byte may have one code; one among them may not."""
    text = "".join(chr(number) for number in [*range(0x80, 0xD800), *range(0xE000, 0x10400), *range(0x1F300, 0x1F700)])
    mixed = "".join(one + "中가aA1 "[at % 6] for at, one in enumerate(text[::3]))
    for each in (text, mixed):
        same_ends(each, COMPILED[name])


@pytest.mark.parametrize("name", NAMED)
def test_lanes_that_begin_where_nothing_is_known(name: str) -> None:
    """Runs that the machine does not forget anything in, so that lanes are run again, some or all of them."""
    choose = random.Random(name)
    for fill in ("7", "'", "'l", "l", " ", "\n", "a", "٣", "的", "é"):
        for size in (700, 1500, 3000, 5000, 9000):
            text = "".join(fill * choose.randrange(1, 300) + choose.choice((" ", "x", "\n", "12")) for _ in range(90))
            same_ends(fill * choose.randrange(50) + text[: size // len(fill.encode())], COMPILED[name])


@pytest.mark.parametrize("pattern", [r"(?:a(?!\S))a", r"(?:[^a]{2,}+\s+$)"])
@pytest.mark.parametrize("size", [1, 30, 150, 700, 5000])
def test_a_pattern_that_cuts_at_no_character_it_reads(pattern: str, size: int) -> None:
    for text in ("a" * size, "é" * size, ("a b " * size)[:size]):
        same_ends(text, pattern)


@pytest.mark.parametrize("name", ["a mark with cuts before it", "marks far apart"])
@pytest.mark.parametrize("border", slow_but([64, 448, 512, 1024, 2048, 3072, 4096, 8192], 64, 512, 4096))
def test_cuts_at_a_mark_before_a_span(name: str, border: int) -> None:
    for tail in ("xx\nxx", "xxx", "x\n1x", "\n\nx\n", "xé\nxé"):
        for short in range(4):
            same_ends("x" * (border - short) + tail, COMPILED[name])


@pytest.mark.parametrize("capacity", [1, 2, 3, 63, 64, 65, 200])
def test_room_for_few_ends_at_a_span_s_border(capacity: int) -> None:
    pattern = "abcd|cz+|."
    for at in (509, 510, 1021, 2045, 4093, 4094):
        data = b"y" * at + b"abc" + b"z" * 6000
        expected = expected_ends(data.decode(), pattern)
        for lanes in LANES:
            assert list(scanner(pattern, lanes).ends(data, capacity=capacity)) == expected, (at, lanes)


@pytest.mark.parametrize("name", NAMED)
def test_every_size_of_a_short_text(name: str) -> None:
    left = 0
    for seed in range(8):
        text = long_text(seed, 64, ascii_only=seed % 2 == 0)
        for size in range(1, 64):
            data = text.encode()[:size].decode(errors="ignore").encode()
            found = list(scanner(COMPILED[name]).ends_of_short(data)) if data else []
            left += not found
            assert not found or found == expected_ends(data.decode(), COMPILED[name])
    assert left < 3 if name == "gpt2" else left < 300  # the others have marks, which a scan sets
    for size in (0, 64):
        with pytest.raises(ValueError, match=f"a short text has 1 to 63 bytes, not {size}"):
            scanner(COMPILED[name]).ends_of_short(b"a" * size)


def test_how_many_lanes() -> None:
    tables = compile_pattern((patterns.GPT2,))
    assert [Scanner(tables, lanes=lanes).lanes for lanes in (1, 4)] == [1, 4]
    assert Scanner(tables).lanes in (4, 64)
    assert Scanner(tables._replace(vector=None)).lanes == 4


def test_too_many_steps_of_two_codes_are_not_kept() -> None:
    pattern = "|".join(f"{letter}+" for letter in string.ascii_letters)
    cut = scanner(pattern, 4)
    assert cut.lanes == 1
    text = "".join(random.Random(0).choices(["a", "bb", "Zz", "ü", "ccc", " "], k=2000))
    for size in (95, 96, 511, 2000):
        assert list(cut.ends(text[:size].encode())) == expected_ends(text[:size], pattern)
        assert list(scanner(pattern).ends(text[:size].encode())) == expected_ends(text[:size], pattern)


@given(texts(), st.integers(1, 9))
def test_room_for_few_ends(text: str, capacity: int) -> None:
    data = (text * 8).encode()
    for name in ("gpt2", "cl100k", "two back"):
        cut = scanner(COMPILED[name])
        assert cut.ends(data, capacity=capacity) == cut.ends(data)
        assert list(cut.ends(b"", capacity=capacity)) == []
    for wrong in (0, -1, 513):
        with pytest.raises(ValueError, match=f"capacity must be 1 to 512, not {wrong}"):
            scanner(patterns.GPT2).ends(b"a b", capacity=wrong)


@given(texts(24))
def test_a_scan_begun_at_an_end_goes_on_alike(text: str) -> None:
    """Texts may be read in parts that meet at an end."""
    data = text.encode()
    for name, pattern in COMPILED.items():
        ends = list(scanner(pattern).ends(data))
        for number, end in enumerate(ends):
            assert [end + further for further in scanner(pattern).ends(data[end:])] == ends[number + 1 :], name


@pytest.mark.parametrize("size", [*range(1, 20), 63, 64, 65, 511, 512, 513, 575, 1024, 4095, 4096, 4097])
def test_the_buffer_may_end_where_the_text_ends(size: int) -> None:
    """Under AddressSanitizer (tests/README.md) a byte read behind the text ends this test."""
    for text in ("a" * size, " " * size, ("é" * size)[: size // 2], ("的" * size)[: size // 3]):
        data = text.encode()
        buffer = (ctypes.c_ubyte * len(data)).from_buffer_copy(data) if data else b""
        for name in ("gpt2", "cl100k", "deepseek-v3"):
            expected = expected_ends(text, COMPILED[name])
            for lanes in LANES:
                cut = scanner(COMPILED[name], lanes)
                assert list(cut.ends(memoryview(buffer).cast("B"))) == expected
                if 0 < len(data) < 64:
                    assert list(cut.ends_of_short(memoryview(buffer).cast("B"))) in ([], expected)


@given(st.binary(max_size=200))
def test_what_is_not_utf8_is_read_without_harm(data: bytes) -> None:
    """The ends mean nothing then, but they stay inside the text, and so does what is read (under AddressSanitizer)."""
    for text in (data, data * 8, b"a \xe7", b"\xf4\xbf\xbf\xbf", b"\xff" * 70, b"\xc3"):
        buffer = (ctypes.c_ubyte * len(text)).from_buffer_copy(text)
        for lanes in LANES:
            ends = list(scanner(patterns.CL100K, lanes).ends(memoryview(buffer).cast("B")))
            assert ends == sorted(set(ends))
            assert not text or (ends[0] > 0 and ends[-1] == len(text))
