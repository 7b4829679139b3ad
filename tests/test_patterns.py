"""The named patterns: what they are, and that the forms of one pattern cut alike."""
import re
from typing import Any

import pytest
import regex
from hypothesis import given
from splits import texts

from bpetite import PretokenCounts, Tokenizer, count_pretokens, patterns, pretokenize
from bpetite.patterns import STAGES
from bpetite.reference import split
from bpetite.splitting.pattern.regex_parser import compile_regex
from bpetite.splitting.pretokenizer import pretokenizer


def test_two_forms_differ_at_the_white_space_at_the_end() -> None:
    assert pretokenizer(patterns.CL100K).split("x\n ") == ["x", "\n", " "]
    assert pretokenizer(patterns.CL100K_POSSESSIVE).split("x\n ") == ["x", "\n "]


@given(texts())
def test_both_forms_of_a_pattern_cut_alike(text: str) -> None:
    assert pretokenizer(patterns.GPT2).split(text) == pretokenizer(patterns.GPT2_POSSESSIVE).split(text)
    text += "x"
    assert pretokenizer(patterns.CL100K).split(text) == pretokenizer(patterns.CL100K_POSSESSIVE).split(text)


def test_every_name_leads_to_a_pattern_and_all_compile() -> None:
    for pattern in patterns.NAMED.values():
        assert pretokenizer(pattern).scanner_name == "vector"
    for stage in STAGES:
        compile_regex(stage)


@pytest.mark.parametrize("name", {one: name for name, one in patterns.LLAMA_CPP.items() if one}.values())
@given(text=texts())
def test_patterns_of_llama_cpp_cut_as_regex_does(name: str, text: str) -> None:
    pattern = patterns.LLAMA_CPP[name]
    assert pretokenizer(pattern).split(text) == split(text, pattern)


@pytest.mark.parametrize(
    ("name", "text", "pieces"),
    [
        ("qwen35", "कि 12", ["कि", " ", "1", "2"]),
        ("qwen2", "कि 12", ["क", "ि", " ", "1", "2"]),
        ("tekken", "It'S 12", ["It", "'S", " ", "1", "2"]),
        ("bailingmoe", "It'S !\n\n 12", ["It", "'S", " !\n\n", " ", "1", "2"]),
        ("seed-coder", "a!\n\n12", ["a", "!", "\n\n", "1", "2"]),
        ("exaone-moe", "to be or 12", ["to be or", " ", "1", "2"]),
        ("jais-2", "a" + 7 * " " + "b", ["a", 4 * " ", 2 * " ", " b"]),
        ("minicpm5", " 1234", [" ", "123", "4"]),
        ("ufakzeka", "Ali'nin", ["Ali", "'nin"]),
        ("laguna", "a \n\n b", ["a", " ", "\n\n", " b"]),
        ("tiny_aya", "1234567 1234a", ["1", "234", "567", " ", "123", "4", "a"]),
        ("superbpe", "of 1234567", ["of ", "1", "234", "567"]),
        ("bloom", "to be, or", ["to", " be", ",", " or"]),
        ("viking", "to 12", ["to", " ", "1", "2"]),
        ("falcon", "a+`b 1234", ["a", "+`", "b", " ", "123", "4"]),
        ("default", "a+`b 1234", ["a", "+", "`", "b", " ", "123", "4"]),
        ("chameleon", "IMGIMGABZ  .", ["IMGIMGABZ", "  ", "."]),
        ("deepseek-llm", "it's 12 漢字\n", ["it", "'", "s", " ", "12", " ", "漢字", "\n"]),
        ("deepseek-coder", "it's 12 漢字\n", ["it", "'", "s", " ", "1", "2", " ", "漢字", "\n"]),
        ("spark2_5", "!\n\n123", ["!", "\n", "\n", "1", "2", "3"]),
        ("afmoe", "ab1234漢", ["ab", "1", "234", "漢"]),
        ("youtu", "한국！12", ["한국", "！", "1", "2"]),
        ("kimi-k2", "漢字a12", ["漢字", "a", "12"]),
    ],
)
def test_what_patterns_of_llama_cpp_do(name: str, text: str, pieces: list[str]) -> None:
    assert pretokenizer(patterns.LLAMA_CPP[name]).split(text) == pieces


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("cl100k", patterns.CL100K), ("cl100k_base", patterns.CL100K), ("gpt2", patterns.GPT2),
        ("r50k_base", patterns.GPT2), ("o200k", patterns.O200K), ("o200k_harmony", patterns.O200K),
        ("gpt-4o", patterns.O200K), ("llama3", patterns.LLAMA3), ("qwen2", patterns.QWEN2),
        ("qwen2.5", patterns.QWEN2), ("deepseek-v3", patterns.DEEPSEEK_V3), ("none", None),
        ("qwen3.5", patterns.QWEN35), ("qwen35", patterns.QWEN35), ("tekken", patterns.TEKKEN),
        ("glm-4", patterns.LLAMA3), ("superbpe", patterns.SUPERBPE), ("falcon", patterns.FALCON),
    ],
)  # fmt: skip
def test_names_wherever_a_pattern_is_taken(name: str, pattern: patterns.Pattern) -> None:
    assert patterns.resolve(name) == pattern
    tok = Tokenizer.train("ab ab", 256, pattern=name)
    assert tok.pattern == Tokenizer(tok.vocab, tok.merges, pattern=name).pattern == pattern
    assert count_pretokens(["a b"], pattern=name).pattern == PretokenCounts(pattern=name).pattern == pattern
    assert list(pretokenize("it's 12 ", name)) == list(pretokenize("it's 12 ", pattern))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("cl100k_bse", "did you mean 'cl100k_base'"), ("cl10k", "did you mean 'cl100k'"), ("gpt", "mean 'gpt2'"),
        ("llama", "did you mean 'llama4'"), ("o200k_bas", "mean 'o200k_base'"), ("CL100K-base", "mean 'cl100k_base'"),
        ("GPT-4o", "mean 'gpt-4o'"), ("gpt5x", "no pattern has this name; the names are gpt2, gpt2-possessive, "),
    ],
)  # fmt: skip
def test_a_word_that_could_be_a_name_is_refused(word: str, said: str) -> None:
    for call in (
        lambda: patterns.resolve(word),
        lambda: Tokenizer.train("ab ab", 256, pattern=word),
        lambda: Tokenizer({0: b"a"}, [], pattern=word),
        lambda: count_pretokens(["a"], pattern=word),
        lambda: patterns.resolve((word, "x")),
    ):
        with pytest.raises(ValueError, match=rf"pattern '{word}': .*{said}.*\(\?:{word}\)"):
            call()
    assert list(pretokenize(f"a{word}b", f"(?:{word})")) == ["a", word, "b"]


@pytest.mark.parametrize("expression", ["a", "ab", "word", r"\w+", "x.y", " ?x", "", "a b"])
def test_other_expressions_stay_as_they_are(expression: str) -> None:
    assert patterns.resolve(expression) == expression
    assert patterns.resolve(["starcoder", re.compile(expression)]) == (*patterns.STARCODER, f"(?:{expression})")
    assert patterns.resolve(()) == ()
    assert patterns.resolve(regex.compile(patterns.GPT2)) == patterns.GPT2  # and not the name in a group


@pytest.mark.parametrize("module", [re, regex])
@pytest.mark.parametrize("flags", ["", "I", "IS", "M", "X", "IMSX"])
def test_compiled_patterns_cut_as_they_match(module: Any, flags: str) -> None:
    expression = r"a.b | ^c  # comment" if "X" in flags else r"a.b|^c"
    compiled = module.compile(expression, sum(getattr(module, flag) for flag in flags))
    text = "xA\nbA-b\nCc\nc a-b"
    found = [match.group() for match in compiled.finditer(text)]
    assert [piece for piece in pretokenize(text, compiled) if compiled.fullmatch(piece)] == found
    assert found


@pytest.mark.parametrize(
    "compiled", [re.compile("a", re.ASCII), regex.compile("a", regex.V1), regex.compile("a", regex.B)]
)
def test_flags_that_no_group_has_are_refused(compiled: Any) -> None:
    with pytest.raises(ValueError, match="only IGNORECASE, MULTILINE, DOTALL, VERBOSE can be kept"):
        patterns.resolve(compiled)
    with pytest.raises(TypeError, match="not from bytes"):
        patterns.resolve(re.compile(b"a"))


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        (patterns.GPT2, ["I", "'ll", " pay", " £", "12345", ",", " won", "'t", " I", "?", "  "]),
        (patterns.CL100K, ["I", "'ll", " pay", " £", "123", "45", ",", " won", "'t", " I", "?", "  "]),
        (patterns.O200K, ["I'll", " pay", " £", "123", "45", ",", " won't", " I", "?", "  "]),
        (patterns.QWEN2, ["I", "'ll", " pay", " £", *"12345", ",", " won", "'t", " I", "?", "  "]),
        (patterns.DEEPSEEK_V3, ["I", "'ll", " pay", " £", "123", "45", ",", " won", "'t", " I", "?", "  "]),
        (patterns.STARCODER, ["I", "'ll", " pay", " £", *"12345", ",", " won", "'t", " I", "?", "  "]),
    ],
)
def test_what_they_do_to_a_sentence(pattern: patterns.Pattern, pieces: list[str]) -> None:
    text = "I'll pay £12345, won't I?  "
    assert pretokenizer(pattern).split(text) == pieces
