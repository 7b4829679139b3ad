"""accelerate: the same object, in place, and undone. test_transformers.py holds its calls to those of transformers."""
import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer, accelerate, decelerate

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import HARD, build  # noqa: E402
from tokenizers import models  # noqa: E402
from transformers.tokenization_utils_tokenizers import TokenizersBackend  # noqa: E402
from transformers_calls import TEXTS, plain  # noqa: E402


def original(name: str, **options: Any) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=build(name), pad_token="<|endoftext|>", **options)


def test_it_is_the_same_object_with_the_same_results_and_undone(tmp_path: Path) -> None:
    ours = original("roberta", chat_template="{{ messages }}")
    theirs, kind, state = copy.deepcopy(ours), type(ours), set(vars(ours))
    assert accelerate(ours) is accelerate(ours) is ours
    assert isinstance(ours, kind)
    assert type(ours).__name__ == kind.__name__
    found, expected = (tok([*HARD, *TEXTS]) for tok in (ours, theirs))
    assert plain(found) == plain(expected)
    assert ours.batch_decode(found["input_ids"]) == theirs.batch_decode(found["input_ids"])
    for name, tok in (("ours", ours), ("theirs", theirs)):
        tok.save_pretrained(tmp_path / name)
    assert (tmp_path / "ours" / "tokenizer.json").read_bytes() == (tmp_path / "theirs" / "tokenizer.json").read_bytes()
    assert decelerate(ours) is decelerate(ours) is ours
    assert (type(ours), set(vars(ours))) == (kind, state)
    assert not vars(ours._tokenizer)
    assert decelerate(7) == 7


def wordpiece() -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    )


def with_dropout() -> Any:
    tokenizer = original("gpt2")
    tokenizer.backend_tokenizer.model.dropout = 0.5
    return tokenizer


def otherwise() -> Any:
    class Otherwise(TokenizersBackend):  # type: ignore[misc]
        def _encode_plus(self, *arguments: Any, **options: Any) -> Any:
            return super()._encode_plus(*arguments, **options)

    return Otherwise(tokenizer_object=build("gpt2"))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (wordpiece, "the model is 'WordPiece', not byte-level BPE"),
        (with_dropout, "dropout"),
        (otherwise, "Otherwise encodes in a way of its own"),
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
    for other in (7, Tokenizer.train("ab", 256), build("gpt2")):
        with pytest.raises(TypeError, match="a fast tokenizer of transformers, not"):
            accelerate(other)


def test_what_a_class_does_in_its_own_way_stays() -> None:
    class Loud(TokenizersBackend):  # type: ignore[misc]
        def _decode(self, *arguments: Any, **options: Any) -> str:
            return str(super()._decode(*arguments, **options)).upper()

    tokenizer = accelerate(Loud(tokenizer_object=build("gpt2")))
    assert tokenizer.decode(tokenizer("hello")["input_ids"]) == "HELLO"
