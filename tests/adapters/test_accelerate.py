"""accelerate: the same object, the same results, on bpetite; and the original's where that is needed."""
import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but

import bpetite
from bpetite import Tokenizer, accelerate, decelerate

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import CONFIGURATIONS, HARD, build  # noqa: E402
from tokenizers import models  # noqa: E402
from transformers.tokenization_utils_tokenizers import TokenizersBackend  # noqa: E402
from transformers_calls import CALLS, CHANGES, MISTAKES, NAMES, TEXTS, outcome, plain  # noqa: E402

#: Beside what is common to both: code points that are newer than Unicode 16.0, or in other classes.
ODD = ["ʕaʔ x² ¼a a\u200db", "\U00011b61\U00011b62 x", "\U0003347f", "a\U0001fac8b"]


def original(name: str, **options: Any) -> Any:
    backend = build(name)
    settings: dict[str, Any] = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    if "<s>" in backend.get_vocab():
        settings = {"pad_token": "<s>", "eos_token": "</s>", "bos_token": "<s>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **settings, **options)


def both(name: str, **options: Any) -> tuple[Any, Any]:
    tokenizer = original(name, **options)
    return accelerate(copy.deepcopy(tokenizer)), tokenizer


#: For calls that change nothing but what the next one sets again.
kept = cache(both)
splitting = cache(partial(both, split_special_tokens=True))


@pytest.fixture
def no_original(monkeypatch: pytest.MonkeyPatch) -> None:
    """The methods that are taken over are not to be reached."""

    def reached(*_: Any, **__: Any) -> None:
        raise AssertionError("the original was called")

    for name in ("_encode_plus", "_decode"):
        monkeypatch.setattr(TokenizersBackend, name, reached)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_calls(name: str, call: str) -> None:
    ours, theirs = kept(name)
    arguments, options = CALLS[call]
    found, expected = ours(*arguments, **options), theirs(*arguments, **options)
    assert plain(found) == plain(expected)
    assert list(found) == list(expected)
    assert found.n_sequences == expected.n_sequences
    assert len(found.encodings) == len(expected.encodings)
    for one, other in zip(found.encodings, expected.encodings, strict=True):
        for name in ("ids", "tokens", "word_ids", "offsets"):
            assert getattr(one, name) == getattr(other, name), name


literals = ["<s>", "</s>", "<mask>", "<mask", "<|endoftext|>", "<|endo", "foo", "foobar", " ", "  ", "é", "\n", "o<"]


@pytest.mark.parametrize(
    "name",
    ["gpt2", "roberta", "added, both sides", "added, all flags", "added and rewritten", "early and late overlap"],
)
@settings(max_examples=100)
@given(texts=st.lists(st.lists(st.sampled_from(literals), max_size=8).map("".join), min_size=1, max_size=3))
def test_special_tokens_as_text(name: str, texts: list[str]) -> None:
    """`split_special_tokens`, of the call and of the object, and not at all."""
    for (ours, theirs), options in (
        (kept(name), {}), (kept(name), {"split_special_tokens": True}), (splitting(name), {}),
        (splitting(name), {"split_special_tokens": False}),
    ):  # fmt: skip
        found, expected = (one(texts, return_offsets_mapping=True, **options) for one in (ours, theirs))
        assert plain(found) == plain(expected)
        assert [ours.tokenize(text) for text in texts] == [theirs.tokenize(text) for text in texts]


# test_huggingface.py compares the ids of all of them.
@pytest.mark.parametrize("name", slow_but(CONFIGURATIONS, *list(CONFIGURATIONS)[::4]))
def test_every_configuration(name: str) -> None:
    ours, theirs = both(name)
    texts = [*HARD, *ODD]
    assert ours(texts)["input_ids"] == theirs(texts)["input_ids"]
    for text in texts:
        ids = theirs.encode(text)
        assert ours.encode(text) == ids
        assert ours.tokenize(text) == theirs.tokenize(text)
        for skip in (False, True):
            for one in (ids, ids[::-1]):
                assert ours.decode(one, skip_special_tokens=skip) == theirs.decode(one, skip_special_tokens=skip)


def test_batches_of_any_kind_are_decoded_alike() -> None:
    ours, theirs = both("gpt2")
    rows: list[Any] = [[1, 2, 3], (4, 5), np.array([6]), [np.int64(7), 8], [], 9]
    for batch in (rows, rows[1:], tuple(rows[:2]), [[]], [], np.array([[1, 2], [3, 4]])):
        for options in ({}, {"skip_special_tokens": True}, {"clean_up_tokenization_spaces": True}):
            assert ours.batch_decode(batch, **options) == theirs.batch_decode(batch, **options)
        assert ours.batch_decode(batch, True, False) == theirs.batch_decode(batch, True, False)
    for wrong in ([["a"]], [[1.5]], [[[1]]], [[-1]], None):
        found = []
        for one in (ours, theirs):
            with pytest.raises((TypeError, ValueError, OverflowError)) as raised:
                one.batch_decode(wrong)
            found.append(raised.type)
        assert found[0] is found[1], wrong


@pytest.mark.usefixtures("no_original")
@pytest.mark.parametrize("name", ["gpt2", "template", "roberta"])
def test_what_runs_on_bpetite(name: str) -> None:
    tokenizer = accelerate(original(name))
    ids = tokenizer("hello world")["input_ids"]
    assert tokenizer.encode("hello world") == ids
    assert "hello world" in tokenizer.decode(ids)
    tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    tokenizer.batch_decode([ids, []])
    tokenizer.batch_decode(np.array([ids, ids]))
    options = {"truncation": True, "max_length": 9, "padding": "max_length", "return_special_tokens_mask": True}
    tokenizer(TEXTS, **options, return_token_type_ids=True, return_length=True, return_tensors="np")
    tokenizer(TEXTS, TEXTS[::-1], **options)
    tokenizer("a b", "c")
    tokenizer("<s>", split_special_tokens=True)


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_afterwards_counts(change: str) -> None:
    ours, theirs = both("gpt2")
    texts = ["Hello hello  foo world", "the he <|endoftext|> o", *HARD[:12]]
    ids = theirs(texts)["input_ids"]
    for _ in range(2):  # the first calls see what it was at first
        assert plain(ours(texts, truncation=True, max_length=9, padding=True)) == plain(
            theirs(texts, truncation=True, max_length=9, padding=True)
        )
        assert ours.batch_decode(ids, skip_special_tokens=True) == theirs.batch_decode(ids, skip_special_tokens=True)
        assert (ours.pad_token_id, len(ours)) == (theirs.pad_token_id, len(theirs))
        assert ours.get_vocab() == theirs.get_vocab()
        CHANGES[change](ours)
        CHANGES[change](theirs)
    assert ours.encode(texts[0]) == theirs.encode(texts[0])
    assert ours.decode(ids[0]) == theirs.decode(ids[0])


def test_what_is_changed_through_a_reference_from_before_counts() -> None:
    ours, theirs = both("gpt2")
    held = [(tok.backend_tokenizer, tok.backend_tokenizer.pre_tokenizer) for tok in (ours, theirs)]
    for _ in range(2):
        assert ours("foo bar he")["input_ids"] == theirs("foo bar he")["input_ids"]
        assert ours.decode([300, 421]) == theirs.decode([300, 421])
    for backend, pre_tokenizer in held:
        backend.add_tokens(["foo"])
        pre_tokenizer.add_prefix_space = True
    assert ours.decode([300, 421]) == theirs.decode([300, 421])
    assert ours("foo bar he")["input_ids"] == theirs("foo bar he")["input_ids"]
    for backend, _ in held:
        backend.add_special_tokens(["he"])
    assert ours("foo bar he")["input_ids"] == theirs("foo bar he")["input_ids"]


def test_what_is_changed_in_a_copy_counts() -> None:
    for copied in (copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))):
        for ours, theirs in (both("gpt2"), both("llama 3, trimmed")):
            pair = []
            for tok in (ours, theirs):
                tok._tokenizer.add_tokens(["foo"])
                again = copied(tok)
                again._tokenizer.add_special_tokens(["he"])
                pair.append([one("foo bar he")["input_ids"] for one in (again, tok)])
            assert pair[0] == pair[1]


def test_encodings_of_a_tokenizer_that_changed_since_the_call_are_refused() -> None:
    tokenizer = accelerate(original("gpt2"))
    found = tokenizer("hello foo")
    tokenizer.add_tokens(["foo"])
    with pytest.raises(RuntimeError, match="changed after the call"):
        found.tokens()


def test_it_is_the_same_object_and_undone() -> None:
    tokenizer = original("gpt2")
    kind, state = type(tokenizer), set(vars(tokenizer))
    assert accelerate(tokenizer) is accelerate(tokenizer) is tokenizer
    assert isinstance(tokenizer, kind)
    assert type(tokenizer).__name__ == kind.__name__
    assert decelerate(tokenizer) is decelerate(tokenizer) is tokenizer
    assert (type(tokenizer), set(vars(tokenizer))) == (kind, state)
    assert not vars(tokenizer._tokenizer)
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


@pytest.mark.parametrize("name", ["gpt2", "roberta", "nfc", "added, normalized"])
def test_mistakes_and_odd_arguments(name: str) -> None:
    ours, theirs = both(name)
    for arguments, options in MISTAKES:
        assert outcome(ours, arguments, options) == outcome(theirs, arguments, options), (arguments, options)


def test_decoding_of_odd_ids() -> None:
    ours, theirs = both("roberta")
    batches = ([[5], [6, 7]], [[]], ([5],), np.array([[5, 6], [7, 8]]), [np.array([5, 6])], [[5, 10**6], []])
    for ids in ([10**6], [5, 10**6, 7], [], 5, np.int64(5), np.array([5, 6]), [np.int64(5)], (5, 6), *batches):
        assert ours.decode(ids) == theirs.decode(ids), ids
    for ids in ([-1], ["a"], [None], "a"):
        with pytest.raises((TypeError, OverflowError)) as error:
            theirs.decode(ids)
        with pytest.raises(error.type):
            ours.decode(ids)


def test_words_and_characters_of_tokens() -> None:
    ours, theirs = both("roberta")
    found, expected = ours("two  words", "ab"), theirs("two  words", "ab")
    assert found.word_ids() == expected.word_ids()
    assert found.sequence_ids() == expected.sequence_ids()
    for char in range(10):
        assert found.char_to_token(char) == expected.char_to_token(char)
        assert found.char_to_word(char) == expected.char_to_word(char)
    assert found.word_to_tokens(1) == expected.word_to_tokens(1)
    assert found.token_to_chars(2) == expected.token_to_chars(2)
    again = pickle.loads(pickle.dumps(found))
    assert (again.data, again.word_ids(), again[0].offsets) == (expected.data, expected.word_ids(), expected[0].offsets)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))])
@pytest.mark.usefixtures("no_original")
def test_copies(copied: Callable[[Any], Any]) -> None:
    tokenizer = accelerate(original("template"))
    again = copied(tokenizer)
    assert type(again) is type(tokenizer)
    assert plain(again(TEXTS, padding=True)) == plain(tokenizer(TEXTS, padding=True))
    decelerate(again)
    assert type(again) is TokenizersBackend


def test_a_pickle_makes_its_backend_when_that_is_asked_for() -> None:
    tokenizer = accelerate(original("template"))
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(tokenizer))))
    assert plain(again(TEXTS)) == plain(tokenizer(TEXTS))
    assert "_tokenizer" not in vars(again)
    with ThreadPoolExecutor(8) as pool:
        assert len({id(backend) for backend in pool.map(lambda _: again._tokenizer, range(8))}) == 1
    mirror = vars(again)["_mirror"]
    assert again._tokenizer.to_str() == tokenizer._tokenizer.to_str()
    assert plain(again(TEXTS)) == plain(tokenizer(TEXTS))
    assert vars(again)["_mirror"] is mirror
    for tok in (again, tokenizer):
        tok._tokenizer.add_tokens(["foo"])
    assert again("a foo")["input_ids"] == tokenizer("a foo")["input_ids"]


def test_what_is_saved_is_what_the_original_saves(tmp_path: Path) -> None:
    ours, theirs = both("roberta", model_max_length=77, chat_template="{{ messages }}")
    ours(TEXTS)
    ours.save_pretrained(tmp_path / "ours")
    theirs.save_pretrained(tmp_path / "theirs")
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "ours").iterdir())
    for name in names:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def test_training_anew_and_chat_templates() -> None:
    chat = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|endoftext|>{% endfor %}"
    ours, theirs = both("gpt2", chat_template=chat)
    messages = [{"role": "user", "content": "hello <s>"}]
    assert plain(ours.apply_chat_template(messages)) == plain(theirs.apply_chat_template(messages))
    made, expected = (tok.train_new_from_iterator([HARD], 300) for tok in (ours, theirs))
    assert made(TEXTS)["input_ids"] == expected(TEXTS)["input_ids"]


def count_tokens(row: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    return {"n": len(tokenizer(row["text"])["input_ids"])}


def test_workers_and_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    from datasets.fingerprint import Hasher

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    datasets.disable_progress_bars()
    tokenizer = accelerate(original("template"))
    first = Hasher.hash(tokenizer)
    expected = [len(tokenizer(text)["input_ids"]) for text in TEXTS * 8]
    assert Hasher.hash(tokenizer) == first
    rows = datasets.Dataset.from_dict({"text": TEXTS * 8})
    assert rows.map(count_tokens, fn_kwargs={"tokenizer": tokenizer}, num_proc=2)["n"] == expected


def test_the_names_are_public() -> None:
    assert {"accelerate", "decelerate"} <= set(bpetite.__all__)
