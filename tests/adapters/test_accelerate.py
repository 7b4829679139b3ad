"""accelerate: a new object that does what the one given does. test_transformers.py compares its calls."""
import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer, accelerate

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import HARD, build  # noqa: E402
from tokenizers import AddedToken, models, normalizers, processors  # noqa: E402
from transformers.tokenization_utils_tokenizers import TokenizersBackend  # noqa: E402
from transformers_calls import TEXTS, changed_model, outcome, plain  # noqa: E402

from bpetite.adapters.tokenizers_view import TokenizersView  # noqa: E402


def original(name: str, **options: Any) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=build(name), pad_token="<|endoftext|>", **options)


def test_it_is_a_new_object_with_the_same_results(tmp_path: Path) -> None:
    theirs = original("roberta", chat_template="{{ messages }}")
    backend, state, content = theirs._tokenizer, copy.deepcopy(vars(theirs)), theirs._tokenizer.to_str()
    ours = accelerate(theirs)
    assert ours is not theirs
    assert accelerate(ours) is ours
    assert isinstance(ours, type(theirs))
    assert type(ours).__name__ == type(theirs).__name__
    found, expected = (tok([*HARD, *TEXTS]) for tok in (ours, theirs))
    assert plain(found) == plain(expected)
    assert ours.batch_decode(found["input_ids"]) == theirs.batch_decode(found["input_ids"])
    for tok in (ours, theirs):  # the settings of the last call are saved
        tok(TEXTS, padding=True, truncation=True, max_length=9)
        tok.save_pretrained(tmp_path / ("ours" if tok is ours else "theirs"))
    assert (tmp_path / "ours" / "tokenizer.json").read_bytes() == (tmp_path / "theirs" / "tokenizer.json").read_bytes()
    assert json.loads((tmp_path / "ours" / "tokenizer.json").read_text())["truncation"]["max_length"] == 9
    ours.add_tokens(["new"])
    ours.init_kwargs["x"] = ours.deprecation_warnings["x"] = 1
    theirs._tokenizer.no_truncation()
    theirs._tokenizer.no_padding()
    assert theirs._tokenizer is backend
    assert theirs._tokenizer.to_str() == content
    assert vars(theirs).keys() == state.keys()
    assert "x" not in theirs.init_kwargs


def test_a_tokenizer_of_tokenizers_becomes_a_view_with_its_settings() -> None:
    theirs = tokenizers.Tokenizer.from_str(build("roberta").to_str())
    theirs.enable_truncation(7, stride=1)
    theirs.enable_padding(length=9, pad_id=1)
    content = theirs.to_str()
    ours = accelerate(theirs)
    assert isinstance(ours, TokenizersView)
    assert accelerate(ours) is ours
    assert ours.to_str() == theirs.to_str() == content
    for found, expected in zip(ours.encode_batch([*HARD]), theirs.encode_batch([*HARD]), strict=True):
        assert (found.ids, found.tokens, found.attention_mask) == (
            expected.ids, expected.tokens, expected.attention_mask
        )  # fmt: skip
    ours.no_truncation()
    ours.add_tokens(["new"])
    assert theirs.to_str() == content
    with pytest.raises(ValueError, match="the model is 'WordPiece', not byte-level BPE"):
        accelerate(wordpiece()._tokenizer)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))])
def test_copies_are_accelerated(copied: Callable[[Any], Any]) -> None:
    tokenizer = accelerate(original("gpt2"))
    again = copied(tokenizer)
    assert type(again) is type(tokenizer)
    assert plain(again(TEXTS, padding=True)) == plain(tokenizer(TEXTS, padding=True))
    assert again._tokenizer.padding == tokenizer._tokenizer.padding


def typed() -> Any:
    """Its template gives the first text type 1."""
    backend = tokenizers.Tokenizer.from_str(build("gpt2").to_str())
    backend.post_processor = processors.TemplateProcessing(
        single="<x>:0 $A:1", pair="$A:1 <x>:0 $B:0", special_tokens=[("<x>", 420)]
    )
    return backend


def twice_processed() -> Any:
    backend = typed()
    backend.post_processor = processors.Sequence([backend.post_processor, processors.ByteLevel(trim_offsets=True)])
    return backend


def rewritten() -> Any:
    backend = tokenizers.Tokenizer.from_str(build("gpt2").to_str())
    backend.normalizer = normalizers.Replace("o", "0")
    backend.add_special_tokens([AddedToken("foo", normalized=True, special=True)])
    return backend


CUT = {"truncation": True, "max_length": 4, "return_token_type_ids": True}
#: What differed from the tokenizer given, or is made by code of its own: a backend, and what is asked.
SPECIAL: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "a stride that is too long, without special tokens": (
        lambda: build("roberta"),
        lambda tok: outcome(tok, ("hello foo bar",), CUT | {"max_length": 5, "stride": 4, "add_special_tokens": False}),
    ),
    "types of overflow": (
        typed, lambda tok: plain(tok("hello foo bar x", **CUT, stride=1, return_overflowing_tokens=True))
    ),
    "types": (typed, lambda tok: [plain(tok("hello foo bar x", *pair, **CUT)) for pair in ([], ["b c"])]),
    "a normalized special token": (
        rewritten, lambda tok: [tok.decode(tok.encode("a foo b"), skip_special_tokens=skip) for skip in (True, False)]
    ),
    "a second processor": (
        twice_processed, lambda tok: [tok("a foo", "b").sequence_ids(), tok("a foo", "b").word_ids(), tok("a").tokens()]
    ),
    "the name of a token in the template": (typed, lambda tok: [tok("hello foo").tokens(), tok.tokenize("a")]),
    "the name of padding": (typed, lambda tok: tok(["hello foo", "a"], padding=True).tokens(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_special_is_as_before(name: str) -> None:
    make, ask = SPECIAL[name]
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=make(), pad_token="<|endoftext|>")
    assert ask(accelerate(theirs)) == ask(theirs)


def test_a_panic_of_tokenizers_is_an_error() -> None:
    ours = accelerate(original("roberta"))
    for options in ({"max_length": 3, "stride": 1}, {"max_length": 3, "stride": 1, "return_overflowing_tokens": True}):
        with pytest.raises(ValueError, match="tokenizers failed: `stride` must be strictly less"):
            ours("hello world foo", truncation=True, **options)
    assert ours("hello")["input_ids"] == original("roberta")("hello")["input_ids"]


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        ("sys.modules['transformers'] = None", "MissingExtraError", "accelerate needs transformers: pip install"),
        ("sys.modules['tokenizers'] = None", "MissingExtraError", "accelerate needs tokenizers: pip install"),
        (
            "sys.modules['transformers'] = types.ModuleType('transformers')",
            "ImportError", "cannot import name 'BatchEncoding' from 'transformers'",
        ),
    ],
)  # fmt: skip
def test_only_what_is_missing_is_called_missing(code: str, kind: str, why: str) -> None:
    script = f"""
import sys, types
import bpetite
{code}
try:
    bpetite.accelerate(7)
except ImportError as error:
    print(type(error).__name__, error)
"""
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert made.stdout.startswith(f"{kind} {why}")


def wordpiece() -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    )


def with_dropout() -> Any:
    tokenizer = original("gpt2")
    changed_model(tokenizer.backend_tokenizer, dropout=0.5)
    return tokenizer


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (wordpiece, "the model is 'WordPiece', not byte-level BPE"),
        (with_dropout, "dropout"),
    ],
)
def test_refused_with_the_reason(make: Callable[[], Any], why: str) -> None:
    tokenizer = make()
    kind = type(tokenizer)
    with pytest.raises(ValueError, match=why):
        accelerate(tokenizer)
    assert type(tokenizer) is kind
    assert tokenizer("a")["input_ids"]


def test_other_ids_are_found_before_it_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    from bpetite.formats import huggingface

    read = huggingface.from_object
    tokenizer = original("gpt2")
    monkeypatch.setattr(huggingface, "from_object", lambda source: read(build("cl100k")))
    with pytest.raises(ValueError, match="bpetite gives other ids for"):
        accelerate(tokenizer)
    assert type(tokenizer) is TokenizersBackend


def test_what_is_no_fast_tokenizer() -> None:
    for other in (7, Tokenizer.train("ab", 256), models.BPE(), Tokenizer.train("ab", 256).as_tiktoken()):
        with pytest.raises(TypeError, match=r"of transformers or a tokenizers\.Tokenizer, not"):
            accelerate(other)


def test_what_a_class_does_in_its_own_way_stays() -> None:
    class Loud(TokenizersBackend):  # type: ignore[misc]
        def _decode(self, *arguments: Any, **options: Any) -> str:
            return str(super()._decode(*arguments, **options)).upper()

        def _encode_plus(self, text: Any, *arguments: Any, **options: Any) -> Any:
            return super()._encode_plus(text.replace("$", "hello"), *arguments, **options)

        def tokenize(self, *arguments: Any, **options: Any) -> list[str]:
            return [str(token).upper() for token in super().tokenize(*arguments, **options)]

        def batch_decode(self, *arguments: Any, **options: Any) -> list[str]:
            return ["own"]

    tokenizer = accelerate(Loud(tokenizer_object=build("gpt2")))
    assert tokenizer.decode(tokenizer("$")["input_ids"]) == "HELLO"
    assert "".join(tokenizer.tokenize("hello")) == "HELLO"
    assert tokenizer.batch_decode([[5]]) == ["own"]
