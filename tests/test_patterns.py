"""The named patterns: what they are, and that the forms of one pattern cut alike."""
import pytest
import tiktoken_ext.openai_public as openai_public
from hypothesis import given
from splits import texts

from bpetite import patterns
from bpetite.pretokenize import pretokenizer


def test_tiktokens_patterns_are_tiktokens() -> None:
    assert openai_public.r50k_pat_str == patterns.GPT2_POSSESSIVE


@pytest.mark.parametrize(
    ("name", "pattern"), [("cl100k_base", patterns.CL100K_POSSESSIVE), ("o200k_base", patterns.O200K)]
)
def test_tiktokens_encodings_use_them(name: str, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    assert getattr(openai_public, name)()["pat_str"] == pattern


@given(texts())
def test_both_forms_of_a_pattern_cut_alike(text: str) -> None:
    for one, other in ((patterns.GPT2, patterns.GPT2_POSSESSIVE), (patterns.CL100K, patterns.CL100K_POSSESSIVE)):
        assert pretokenizer(one).split(text) == pretokenizer(other).split(text)


def test_every_name_leads_to_a_pattern_and_all_compile() -> None:
    for pattern in patterns.NAMED.values():
        assert pretokenizer(pattern).kind == "vector"


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
