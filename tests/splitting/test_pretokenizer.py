"""Cutting text: every scanner exactly as `regex` does, and which one a pattern gets."""
import random
import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import accumulate, chain, product
from pathlib import Path

import pytest
import regex
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from splits import COMPILED, EDGES, in_lanes, texts
from tiers import slow_but

import bpetite
from bpetite import patterns
from bpetite.reference import split
from bpetite.splitting.pattern.regex_parser import parse
from bpetite.splitting.pretokenizer import Pretokenizer, compiled, pretokenizer


def in_every_way(pattern: patterns.Pattern) -> list[Pretokenizer]:
    """In many lanes, in one, and by `regex`."""
    return [pretokenizer(pattern), in_lanes(pattern, 1), Pretokenizer(pattern, "regex")]


@pytest.mark.parametrize("name", COMPILED)
@given(text=st.lists(texts() | st.sampled_from(EDGES), max_size=6).map("".join))
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
def test_as_regex_does(name: str, text: str) -> None:
    pieces = split(text, COMPILED[name])
    for cut in in_every_way(COMPILED[name]):
        assert cut.split(text) == pieces, cut


#: What may stand before and behind a character.
CONTEXTS = ["a{}a", "1{}1", ".{}.", " {} ", "'{}'", "A{}a", " {}a", "a{} ",
            "\n{}x", "\n {}", "  {}  ", "'{}l", "7{}", "{}\n"]  # fmt: skip


def in_contexts(characters: Iterable[str], contexts: Iterable[str], pattern: patterns.Pattern) -> None:
    """Compare the compiled scanners with `regex` on each of the characters in each of the contexts."""
    characters = list(characters)
    vector, one_lane = pretokenizer(pattern), in_lanes(pattern, 1)
    for context in contexts:
        for start in range(0, len(characters), 50_000):
            text = "x \n".join(context.format(char) for char in characters[start : start + 50_000])
            assert vector.split(text) == split(text, pattern), context
            assert vector.ends(text.encode()) == one_lane.ends(text.encode()), context


@pytest.mark.parametrize(
    "name", slow_but(sorted(set(patterns.NAMED) - {"llama3"}), "gpt2", "o200k")  # llama3 is cl100k
)
def test_code_points_of_every_kind_in_every_context(name: str) -> None:
    """Where the general category changes, on both sides. That code points between are alike, for each class that the
    named patterns mention, is tested for all of them in test_char_classes.py."""
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    changes = [
        char
        for before, char, after in zip(every, every[1:], every[2:])
        if len({*map(unicodedata.category, (before, char, after))}) > 1
    ]
    in_contexts([*every[:0x250], *changes[::7]], CONTEXTS, patterns.NAMED[name])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(set(patterns.NAMED) - {"llama3"}))
def test_every_code_point_in_every_context(name: str) -> None:
    planes = [range(0xD800), range(0xE000, 0x40000), range(0x40000, 0xE0000, 997), range(0xE0000, 0xF0000),
              range(0xF0000, 0x110000, 997)]  # the others hold no characters, or only private ones  # fmt: skip
    in_contexts(map(chr, chain.from_iterable(planes)), CONTEXTS, patterns.NAMED[name])


@pytest.mark.parametrize("name", slow_but(["english", "code", "multilingual", "german.txt"], "multilingual"))
def test_texts_in_every_way(name: str, shared: Callable[[str], Path]) -> None:
    path = shared(f"cs336/{name}" if "." in name else f"text/{name}.txt")
    text = path.read_bytes()[:100_000].decode("utf-8", "ignore")
    for pattern in COMPILED.values():
        pieces = split(text, pattern)
        for lanes in (64, 1):
            assert in_lanes(pattern, lanes).split(text) == pieces


# Random patterns of the subset.

SETS = (
    *("a", "b", "s", "é", " ", r"\n", "1", "'", "中", r"\.", ".", r"\p{L}", r"\p{N}", r"\p{Lu}", r"\p{M}", r"\s"),
    *(r"\S", r"\d", r"\w", "[a-c]", "[^a]", r"[^\s\p{L}]", r"[^\r\n\p{L}\p{N}]", r"[\r\n]", r"[\p{L}\p{M}]", r"\P{L}"),
)
one_character = st.sampled_from(SETS)
ignoring_case = st.lists(st.text("absKé'", min_size=1, max_size=2), min_size=1, max_size=3).map(
    lambda words: "(?i:" + "|".join(words) + ")"
)
repeat = st.sampled_from(["", "", "", "?", "*", "+", "+", "{2}", "{1,3}", "{2,}"])
repeated_character = st.tuples(one_character, repeat, st.sampled_from(["", "", "+"])).map(
    lambda parts: parts[0] + parts[1] + (parts[2] if parts[1] else "")
)
look_ahead = st.sampled_from(["", "", "", "", r"(?!\S)", "(?!a)", r"(?=\p{L})", r"\s+$", r"\s++$", r"\Z"])


def sequences(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.tuples(st.lists(part, min_size=1, max_size=3).map("".join), look_ahead).map("".join)
    return st.lists(sequence, min_size=1, max_size=4).map("|".join)


groups = st.tuples(sequences(repeated_character), st.sampled_from(["", "", "?", "+", "{2}"])).map(
    lambda parts: f"(?:{parts[0]}){parts[1]}"
)
random_patterns = sequences(st.one_of(repeated_character, repeated_character, groups, ignoring_case))


@given(random_patterns, st.one_of(st.none(), random_patterns), st.integers(0).map(random.Random))
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_random_patterns(first: str, second: str | None, choose: random.Random) -> None:
    pattern = first if second is None else (first, second)
    assume(pretokenizer(pattern).scanner_name == "vector")
    # `regex` takes exponential time for repeats inside repeats: only short texts for those.
    lengths = [1, 2, 4, 8, 16] if ")+" in str(pattern) or "){" in str(pattern) else [1, 2, 4, 8, 16, 40, 700]
    for _ in range(20):
        alphabet = choose.choices("aabcsS   \n\r1'2Kké.A-中\u0301ſ\u212a\u00a0 \t^_É😀", k=choose.choice([2, 3, 5, 40]))
        text = "".join(choose.choices(alphabet, k=choose.choice(lengths)))
        pieces = split(text, pattern)
        for cut in in_every_way(pattern):
            assert cut.split(text) == pieces, (cut, text)


# Random strings, of which few are patterns and fewer compile. What `regex` and the parser read in two ways shows here.

#: Syntax, whole and in parts, and ordinary characters; both cases, the characters that only ignoring case relates.
TOKENS = (
    *r"()[]{}?*+|^$\.-#&~:=!<>,_;'/",
    *"aabBckKsSpPLNMdwxuUZ012 \n\u017f\u212a\u0345é中",
    "DIGIT ONE}", " -~", "{ 1}",
    r"\p", r"\P", r"\p{", r"\P{", r"\p{^", "L}", "N}", "Lu}", "gc=L}", "Script:Latin}", "Is_L}", "}", r"\pL",
    r"\PN", r"\p{L}", r"\P{N}", r"\p{Lu}", r"\p{^M}", r"\s", r"\S", r"\d", r"\w", r"\W", r"\n", r"\r", r"\t",
    r"\\", r"\.", r"\x", r"\x4", r"\x61", r"\x{", r"\u", r"\u00", r"\u0041", r"\U0000", r"\U00000061", r"\0",
    r"\12", r"\101", r"\N{", r"\N", r"\b", r"\B", r"\A", r"\Z", r"\G", r"\R", r"\X", r"\h", r"\K", r"\L<",
    r"\g<", r"\1", "[^", "[:", ":]", "[:alpha:]", "[:^digit:]", "[[", "]]", "&&", "--", "||", "~~", "-[", "]-",
    "a-c", "+--", "(?:", "(?:", "(?i:", "(?i)", "(?-i:", "(?V1)", "(?V0)", "(?x)", "(?s:", "(?#", "(?!", "(?=",
    "(?<!", "(?<=", "(?>", "(?P<a>", "(?|", "(?(1)", "(*", "{1}", "{2}", "{,2}", "{1,}", "{0}", "{2,1}", "{,}",
    "{a", "{e<=1}", "}+", "++", "*+", "?+", "+?", r"\s+$", r"\s++$", "$|", r"(?!\S)", r"\s+(?!\S)", "|", "|",
    "|", ")", ")", "]", "]", "+", "+", r"\-", r"\[", "[]",
)  # fmt: skip
ALTERNATIVES = [one for some in COMPILED.values() for stage in patterns.as_tuple(some) for one in stage.split("|")]
CHARACTERS = "aAbBcCkKsSpPxXzZ019 \n\r\t-_^[]{}()|\\:.'&~,é中\u017f\u212a\u0345\u0138\u0130\u00a0"


def syntax(choose: random.Random) -> str:
    """Tokens in any order."""
    return "".join(choose.choices(TOKENS, k=choose.choice((1, 2, 3, 4, 5, 6, 8, 11))))


def edited(choose: random.Random) -> str:
    """Some alternatives of patterns in use, with random edits."""
    parts = list("|".join(choose.sample(ALTERNATIVES, choose.choice((1, 1, 2, 3)))))
    for _ in range(choose.choice((1, 1, 2, 3, 4))):
        at, stop = choose.randrange(len(parts) + 1), choose.choice((0, 1, 1, 2))
        parts[at : at + stop] = choose.choice(
            ([], [choose.choice(TOKENS)], parts[at : at + stop][::-1], parts[at : at + stop] * 2)
        )
    return "".join(parts)


def compared(pattern: str, choose: random.Random) -> bool:
    """Whether the pattern compiles to a scanner; then it must have cut random texts as `regex` does."""
    try:
        parse(pattern)  # most are outside the subset; this takes less time to say so
        cut = pretokenizer(pattern)
    except ValueError:
        return False
    if cut.scanner is None:
        return False
    alphabet = [char for char in pattern if char.isprintable()] + choose.choices(CHARACTERS, k=8)
    alphabet += [char.swapcase() for char in alphabet if len(char.swapcase()) == 1]
    for length in (3, 8, 8, 30):
        text = "".join(choose.choices(alphabet, k=length))
        # `regex` takes a class such as [^\P{N}\p{N}], which no character is in, for one that has every character
        names = re.findall(r"\\p{(\w+)}", pattern)
        wrong_there = "[^" in pattern and any(rf"\P{{{name}}}" in pattern for name in names)
        assert cut.split(text) == split(text, pattern) or wrong_there, (pattern, text)
    return True

@pytest.mark.parametrize(("make", "count", "least"), [
    (syntax, 5_000, 300), (edited, 500, 120), pytest.param(edited, 6_000, 1_500, marks=pytest.mark.slow),
    pytest.param(syntax, 300_000, 9_000, marks=pytest.mark.exhaustive),
])  # fmt: skip
def test_random_syntax(make: Callable[[random.Random], str], count: int, least: int) -> None:
    """Of `count` random patterns at least `least` different ones compile to a scanner and are compared."""
    choose = random.Random(1)
    tried: set[str] = set()
    scanned = 0
    for _ in range(count):
        pattern = make(choose)
        if pattern not in tried:
            tried.add(pattern)
            scanned += compared(pattern, choose)
    assert scanned >= least


#: Priorities, look-ahead, possessive repeats: the first that matches counts, not the longest.
PRIORITIES = [
    "a|ab", "ab|a", "a?ab", "(?:a|b)+c?", "a{2,3}b?", "a+(?!b)", "a+(?=b)|b", r"\s+(?!\S)|\s+", r"\s++$|\s", "a++b?",
    "a?+ab", "a{1,2}+a|b", "(?:a|aab)(?:bb)?", r"a+\Z|ab", "(a|b{2}){2}", "(?i:ab)|B",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PRIORITIES)
def test_priorities(pattern: str) -> None:
    for size in range(7):
        for letters in product("abB \n", repeat=min(size, 5)):
            text = "".join(letters) + "aab"[: size - 5 if size > 5 else 0]
            assert pretokenizer(pattern).split(text) == split(text, pattern), text


# Which scanner a pattern gets


def test_what_does_not_compile_is_left_to_regex_and_says_why() -> None:
    cut = pretokenizer(r"\w+(?<!x)|.")
    assert (cut.scanner_name, cut.scanner) == ("regex", None)
    assert re.search(r"'\(\?<'.*offset 3", str(compiled((cut.pattern,))))
    assert cut.split("abx y") == ["ab", "x", " ", "y"]
    without = pretokenizer(r'"[^"]*"|\w+|.')  # a transducer
    assert (without.scanner_name, without.split('say "good morning"')) == ("regex", ["say", " ", '"good morning"'])
    assert regex.DEFAULT_VERSION == regex.VERSION0  # as which the subset is read
    assert pretokenizer(patterns.GPT2) is pretokenizer(patterns.GPT2)


@pytest.mark.parametrize("pattern", [patterns.GPT2, None, r"\bx|[^x]+", ()])
def test_pieces_and_ends(pattern: patterns.Pattern) -> None:
    cut = pretokenizer(pattern)
    pieces = ["né", " 的", " x"] if pattern == patterns.GPT2 else ["né 的 ", "x"] if pattern else ["né 的 x"]
    assert list(bpetite.pretokenize("né 的 x", pattern)) == cut.split("né 的 x") == pieces
    assert list(cut.ends("né 的 x".encode())) == list(accumulate(len(piece.encode()) for piece in pieces))
    assert (cut.scanner_name == "none") == (not pattern)
    assert cut.split("") == list(cut.ends(b"")) == []
    with pytest.raises(UnicodeDecodeError) as error:
        cut.ends(b"abc\xff")
    assert error.value.start == 3
    with pytest.raises(UnicodeEncodeError):
        list(bpetite.pretokenize("a\ud800", pattern))
    for wrong in (1, b"a", ("a", None)):
        with pytest.raises(TypeError, match="a split pattern is a str, a tuple of str or None"):
            pretokenizer(wrong)  # type: ignore[arg-type]


def test_text_between_matches_is_a_pre_token() -> None:
    for cut in in_every_way("[a-z]+"):
        assert cut.split("12 ab3cd!") == ["12 ", "ab", "3", "cd", "!"]
    assert pretokenizer("x*").split("axxb") == ["a", "xx", "b"]


def test_a_later_split_sees_a_piece_as_a_text() -> None:
    for cut in in_every_way((r"\d", r"\s+(?!\S)|\s|\w+")):
        assert cut.split("a  1  b") == ["a", "  ", "1", " ", " ", "b"]


@pytest.mark.parametrize("pattern", ["(a", "[a", r"\p{Nope}", ("a", "*")])
def test_what_is_no_regular_expression(pattern: patterns.Pattern) -> None:
    with pytest.raises(ValueError, match=r"not a regular expression: .* at position"):
        pretokenizer(pattern)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?:" * 3_000 + "a" + ")" * 3_000, "groups too deep inside each other"),
        ("(?V0)(?V1)a", "mutually incompatible"),
        ("a{" + "9" * 5_000 + "}", "digits"),
        (r"\N{KEYCAP DIGIT ONE}", "character"),
        (("a", "b\ud800"), "lone surrogate at position 1"),
        ("x" * 5_000 + "(", r"x'\.\.\. \(5,001 characters\): not a regular expression: .* at position 5001"),
    ],
)
def test_whatever_regex_refuses_it_with_is_a_value_error(pattern: patterns.Pattern, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        pretokenizer(pattern)
    assert type(refused.value) is ValueError
    with pytest.raises(ValueError, match=reason):
        bpetite.Vocab({0: b"a"}, (), {}, pattern=pattern)
