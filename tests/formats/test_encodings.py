"""The published encodings and the models that use them, against the installed tiktoken."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bpetite
from bpetite.formats import encodings
from bpetite.formats.encodings import encoding_name, encoding_name_for_model, find_name

model = pytest.importorskip("tiktoken.model")


def test_the_models_are_tiktokens() -> None:
    assert encodings.MODELS == model.MODEL_TO_ENCODING
    assert encodings.MODEL_PREFIXES == model.MODEL_PREFIX_TO_ENCODING


@given(st.sampled_from([*model.MODEL_TO_ENCODING, *model.MODEL_PREFIX_TO_ENCODING]), st.text("abc-0124o.:", max_size=6))
def test_any_name_leads_where_tiktoken_leads(start: str, end: str) -> None:
    name = start + end
    try:
        theirs = model.encoding_name_for_model(name)
    except KeyError:
        theirs = None
    if theirs is None:
        with pytest.raises(KeyError):
            encoding_name_for_model(name)
    else:
        assert encoding_name_for_model(name) == theirs


def test_names_of_encodings_and_models() -> None:
    for alias, name in (("cl100k", "cl100k_base"), ("o200k_harmony", "o200k_harmony"), ("r50k", "r50k_base")):
        assert encoding_name(alias) == find_name(alias) == name
    assert encoding_name_for_model("gpt-2") == find_name("gpt-2") == "gpt2"
    for model, name in (("gpt-oss-20b", "o200k_harmony"), ("ft:gpt-4o:me::x", "o200k_base")):
        assert (encoding_name_for_model(model), find_name(model)) == (name, None)
    for path in ("gpt-4o-mine.json", "./gpt2", "openai-community/gpt2", r"x\gpt2", "gpt2.tiktoken"):
        assert find_name(path) is None


def test_what_is_unknown_gets_the_nearest() -> None:
    with pytest.raises(ValueError, match="'cl100k_bse'; did you mean 'cl100k_base'"):
        encoding_name("cl100k_bse")
    with pytest.raises(ValueError, match="'CL100K-base'; did you mean 'cl100k_base'"):
        encoding_name("CL100K-base")
    with pytest.raises(ValueError, match="known are gpt2, r50k_base"):
        encoding_name("sentencepiece")
    with pytest.raises(ValueError, match=r"'gpt-4o' is a model: encoding_for_model\('gpt-4o'\)"):
        encoding_name("gpt-4o")
    for near in ("gtp-4o", "GPT4o", "gpt_4o"):
        with pytest.raises(KeyError, match="did you mean 'gpt-4o'"):
            encoding_name_for_model(near)
    with pytest.raises(KeyError, match="name its encoding"):
        encoding_name_for_model("sentencepiece")


@pytest.mark.parametrize("name", ["gpt-4-my-finetune", "o1-mine", "gpt-4o-2024-08-06"])
def test_a_missing_folder_is_no_model(name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such file or folder.*have the encoding (cl100k|o200k)_base"):
        bpetite.Tokenizer.load(name)
    with pytest.raises(ValueError, match=rf"{name}.*encoding_for_model"):
        bpetite.get_encoding(name)
