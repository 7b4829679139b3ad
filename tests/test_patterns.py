"""The named patterns: what they are, and that the forms of one pattern cut alike."""
import pytest
import tiktoken_ext.openai_public as openai_public
from hypothesis import given
from splits import texts

from bpetite import patterns
from bpetite.patterns import KNOWN
from bpetite.splitting.compile_regex import compile_regex
from bpetite.splitting.pretokenizer import pretokenizer


def test_tiktokens_patterns_are_tiktokens() -> None:
    assert openai_public.r50k_pat_str == patterns.GPT2_POSSESSIVE


@pytest.mark.parametrize(
    ("name", "pattern"), [("cl100k_base", patterns.CL100K_POSSESSIVE), ("o200k_base", patterns.O200K)]
)
def test_tiktokens_encodings_use_them(name: str, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    assert getattr(openai_public, name)()["pat_str"] == pattern


@given(texts())
def test_both_forms_of_gpt2s_pattern_cut_alike(text: str) -> None:
    assert pretokenizer(patterns.GPT2).split(text) == pretokenizer(patterns.GPT2_POSSESSIVE).split(text)


@given(texts())
def test_both_forms_of_cl100ks_pattern_cut_alike_before_the_white_space_at_the_end(text: str) -> None:
    text += "x"
    assert pretokenizer(patterns.CL100K).split(text) == pretokenizer(patterns.CL100K_POSSESSIVE).split(text)


def test_where_the_forms_of_cl100ks_pattern_differ() -> None:
    assert pretokenizer(patterns.CL100K).split("x\n ") == ["x", "\n", " "]
    assert pretokenizer(patterns.CL100K_POSSESSIVE).split("x\n ") == ["x", "\n "]


def test_every_name_leads_to_a_pattern_and_all_compile() -> None:
    for pattern in patterns.NAMED.values():
        assert pretokenizer(pattern).scanner_kind == "vector"
    for stage in KNOWN:
        compile_regex(stage)


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
