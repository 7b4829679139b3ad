"""Groups of code points: exactly what `regex` says of every one of them."""
import pytest
import regex

from bpetite.splitting.pattern.char_classes import LIMIT, Groups, characters, ranges_of
from bpetite.splitting.pattern.regex_parser import CharSet, parse

SURROGATES = range(0xD800, 0xE000)


@pytest.fixture(scope="module")
def everything() -> str:
    return "".join(chr(code) for code in range(LIMIT) if code not in SURROGATES)


@pytest.mark.parametrize(
    "source",
    [r"\p{L}", r"\p{N}", r"\s", r"\w", r"\d", r"\p{Lu}", r"\p{M}", r"\p{Cn}", r"\p{C}", r"\p{Han}", r"\p{Co}", ".",
     "(?i:s)", "(?i:k)", r"(?i:\p{Lu})", r"\p{InBasicLatin}", r"\p{Any}"],
)  # fmt: skip
def test_every_code_point(source: str, everything: str) -> None:
    expected = {ord(char) for char in regex.findall(source, everything)}
    found = {code for start, stop in ranges_of(source) for code in range(start, stop)}
    assert found - set(SURROGATES) == expected


@pytest.mark.slow
def test_a_set_is_the_union_of_its_groups(everything: str) -> None:
    sources = [r"[^\s\p{L}\p{N}]", r"[\p{L}\p{M}']", r"[^\r\n]", r"\S", "[a-f\u00e9\U0001f600]", r"[\S\n]"]
    sets = [parse(source) for source in sources]
    assert all(isinstance(one, CharSet) for one in sets)
    groups = Groups(sets)  # type: ignore[arg-type]
    for source, one in zip(sources, sets):
        members = groups.members(one)  # type: ignore[arg-type]
        expected = regex.sub(source, "", everything)
        assert [char for char in everything if groups.group_of(ord(char)) not in members] == list(expected)


@pytest.mark.parametrize(
    "source",
    [r"[^\s\p{L}\p{N}]", r"\p{Lu}", "[a-f\u00e9\U0001f600]", r"[\x00-\x3f]", r"[\x00-\x40]", r"[\U0010ffff]", "."],
)
def test_the_two_stage_map_is_the_plain_one(source: str) -> None:
    """Cut into pages one by one."""
    groups = Groups([parse(source)])  # type: ignore[list-item]
    codes = [3 + group for group in range(groups.count)]
    ends = [*groups.starts[1:], LIMIT]
    flat = b"".join(bytes([codes[group]]) * (end - at) for at, end, group in zip(groups.starts, ends, groups.groups))
    numbers: dict[bytes, int] = {}
    plain = [numbers.setdefault(flat[at : at + 64], len(numbers)) for at in range(0, LIMIT, 64)]
    stage, pages = groups.two_stage(codes)
    assert (list(stage), pages) == (plain, b"".join(numbers))


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 0xD800), (0xE000, 0x40000), (0x4FFFE, 0x50000), (0x100000, 0x100001), (0x41, 0x42), (7, 7)]
)
def test_characters(start: int, stop: int) -> None:
    assert characters(start, stop) == "".join(map(chr, range(start, stop)))


def test_groups_are_numbered_by_their_first_code_points() -> None:
    groups = Groups([parse("[bd]"), parse("a"), parse("[a-z]")])  # type: ignore[list-item]
    assert [groups.group_of(ord(char)) for char in "\0abcdz"] == [0, 1, 2, 3, 2, 3]
