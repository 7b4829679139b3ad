"""as_transformers: the same calls as a fast tokenizer of transformers, with the same results."""
import copy
import json
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite import FormatError, Tokenizer, accelerate

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import CONFIGURATIONS, HARD, build  # noqa: E402
from tokenizers import decoders, models, normalizers  # noqa: E402
from transformers.tokenization_utils_base import TruncationStrategy  # noqa: E402
from transformers.tokenization_utils_tokenizers import TokenizersBackend  # noqa: E402
from transformers.utils import PaddingStrategy  # noqa: E402
from transformers_calls import (  # noqa: E402
    CHANGES,
    INPUTS,
    NAMES,
    OPTIONS,
    PAIRS,
    TEXTS,
    changed_model,
    outcome,
    plain,
)

#: Code points that are newer than Unicode 16.0, or in other classes there.
ODD = ["ʕaʔ x² ¼a a\u200db", "\U00011b61\U00011b62 x", "\U0003347f", "a\U0001fac8b"]


def views(name: str, **options: Any) -> tuple[Any, Any]:
    theirs = tokenizers.Tokenizer.from_str(build(name).to_str())
    settings = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    if "<s>" in theirs.get_vocab():
        settings = {"pad_token": "<s>", "eos_token": "</s>", "bos_token": "<s>"}
    ours = Tokenizer.from_huggingface(theirs).as_transformers(**settings, **options)
    return ours, transformers.PreTrainedTokenizerFast(tokenizer_object=theirs, **settings, **options)


#: For calls that change nothing but what the next one sets again.
kept = cache(views)


@cache
def accelerated(name: str) -> tuple[Any, Any]:
    _, theirs = views(name)
    return accelerate(theirs), theirs


ONLY_SECOND = {"truncation": "only_second", "max_length": 12, "stride": 2, "return_overflowing_tokens": True}
PAIRED = {"truncation": True, "max_length": 11, "padding": True, "return_token_type_ids": True, "return_length": True}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(INPUTS), OPTIONS)
@example((["a", "b"], [HARD[9] * 3, "c"]), ONLY_SECOND)
@example((TEXTS, PAIRS), PAIRED)
@example((TEXTS,), {"truncation": True, "max_length": 9, "padding": "max_length", "return_tensors": "np"})
@example((["hello", " <mask> world"],), {"is_split_into_words": True, "return_special_tokens_mask": True})
@example(("a b c d e",), {"truncation": True, "max_length": 4, "stride": -1})
def test_calls_and_mistakes(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    """The same result, or the same error."""
    found, expected = (outcome(tok, arguments, options) for tok in accelerated(name))
    assert repr(found) == repr(expected)


# test_huggingface.py compares the ids of all of them.
@pytest.mark.parametrize("name", slow_but(CONFIGURATIONS, *list(CONFIGURATIONS)[::4]))
def test_every_configuration(name: str) -> None:
    ours, theirs = views(name)
    texts = [*HARD, *ODD]
    assert ours(texts)["input_ids"] == theirs(texts)["input_ids"]
    for text in texts:
        ids = theirs.encode(text)
        assert ours.tokenize(text) == theirs.tokenize(text)
        for skip in (False, True):
            for one in (ids, ids[::-1]):
                assert ours.decode(one, skip_special_tokens=skip) == theirs.decode(one, skip_special_tokens=skip)


@pytest.fixture
def no_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """``tokenizers`` is not to encode or decode."""
    from bpetite.adapters.tokenizers_view import TokenizersView

    def reached(*_: Any, **__: Any) -> None:
        raise AssertionError("tokenizers was called")

    monkeypatch.setattr(TokenizersView, "encode_on_twin", reached)
    monkeypatch.setattr(TokenizersBackend, "_encode_plus", reached)


@pytest.mark.usefixtures("no_twin")
@pytest.mark.parametrize("name", ["gpt2", "template", "roberta"])
def test_what_runs_on_bpetite(name: str) -> None:
    view, _ = views(name)
    for tokenizer in (view, copy.deepcopy(view), pickle.loads(pickle.dumps(view))):
        ids = tokenizer("hello world")["input_ids"]
        assert tokenizer.encode("hello world") == ids
        assert "hello world" in tokenizer.decode(ids)
        options = {"truncation": True, "max_length": 9, "padding": "max_length", "return_special_tokens_mask": True}
        tokenizer(TEXTS, **options, return_token_type_ids=True, return_length=True, return_tensors="np")
        tokenizer(TEXTS, TEXTS[::-1], **options)
        tokenizer("a b", "c")
        tokenizer("<s>", split_special_tokens=True)
        split = tokenizer([["a", "b c"], ["foo"]], is_split_into_words=True, padding=True)
        assert {0, 1} <= {*split.word_ids(0)}
        assert tokenizer.tokenize("hello world") == tokenizer("hello world", add_special_tokens=False).tokens()
        found = tokenizer(TEXTS[:-1], return_offsets_mapping=True)
        assert found.char_to_token(0, 7) == found["offset_mapping"][0].index((6 if name == "roberta" else 5, 11))
        assert name != "gpt2" or found.word_ids(2)
        cut = tokenizer(TEXTS, truncation=True, max_length=6, stride=1, return_overflowing_tokens=True)
        assert len(cut["overflow_to_sample_mapping"]) == len(cut["input_ids"]) > len(TEXTS)


literals = ["<s>", "</s>", "<mask>", "<mask", "<|endoftext|>", "<|endo", "foo", "foobar", " ", "  ", "é", "\n", "o<"]
@pytest.mark.parametrize(
    "name",
    ["gpt2", "roberta", "added, both sides", "added, all flags", "added and rewritten", "early and late overlap"],
)
@settings(max_examples=100)
@given(texts=st.lists(st.lists(st.sampled_from(literals), max_size=8).map("".join), min_size=1, max_size=3))
def test_special_tokens_as_text(name: str, texts: list[str]) -> None:
    """`split_special_tokens`, of the call and of the object, and not at all."""
    for of_object, options in (
        ({}, {}), ({}, {"split_special_tokens": True}), ({"split_special_tokens": True}, {}),
        ({"split_special_tokens": True}, {"split_special_tokens": False}),
    ):  # fmt: skip
        ours, theirs = kept(name, **of_object)
        found, expected = (one(texts, return_offsets_mapping=True, **options) for one in (ours, theirs))
        assert plain(found) == plain(expected)
        assert [ours.tokenize(text) for text in texts] == [theirs.tokenize(text) for text in texts]


@pytest.mark.parametrize("side", ["left", "right"])
def test_sides_given_to_the_view(side: str) -> None:
    ours, theirs = views("roberta", padding_side=side, truncation_side=side)
    options = {"truncation": True, "max_length": 6, "stride": 1, "return_overflowing_tokens": True, "padding": True}
    found, expected = (one(TEXTS, return_offsets_mapping=True, **options) for one in (ours, theirs))
    assert plain(found) == plain(expected)
    for row in range(len(expected["input_ids"])):
        assert found.word_ids(row) == expected.word_ids(row)


def mapped(found: Any, texts: list[str]) -> Any:
    """All that an encoding says of tokens, words and characters."""
    tokens, words = range(len(found["input_ids"])), range(max(filter(None, found.word_ids()), default=0) + 2)
    chars = [(text, at) for text, given in enumerate(texts) for at in range(len(given))]
    of_words = {(text, n): found.word_to_tokens(0, n, text) for text in range(len(texts)) for n in words}
    return {
        "tokens": found.tokens(),
        "words": found.word_ids(),
        "sequences": found.sequence_ids(),
        "chars of tokens": [found.token_to_chars(n) for n in tokens],
        "words of tokens": [found.token_to_word(n) for n in tokens if found.sequence_ids()[n] is not None],
        "tokens of words": of_words,
        "chars of words": [found.word_to_chars(0, n, text) for (text, n), span in of_words.items() if span],
        "tokens of chars": [found.char_to_token(0, at, text) for text, at in chars],
        "words of chars": [found.char_to_word(0, at, text) for text, at in chars],
    }


pieces = ["hello", " world", "foo", "12", " ", "  ", "\n", "🙂", "é", "e\u0301", "<s>", " <mask>", "'ll", ""]
some_words = st.lists(st.lists(st.sampled_from(pieces), max_size=6).map("".join), min_size=1, max_size=4)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=50, deadline=None)
@given(some_words, st.none() | some_words, st.booleans(), st.booleans())
@example(["hello", " <mask> world", "", "foo 12345", "é🙂"], ["a", " b"], True, True)
@example(TEXTS, PAIRS, False, True)
def test_offsets_and_words(
    name: str, first: list[str], second: list[str] | None, as_words: bool, special: bool
) -> None:
    ours, theirs = kept(name)
    both = [words for words in (first, second) if words is not None]
    texts = both if as_words else ["".join(words) for words in both]
    options = {"return_offsets_mapping": True, "is_split_into_words": as_words, "add_special_tokens": special}
    expected, found = theirs(*texts, **options), ours(*texts, **options)
    assert plain(found) == plain(expected)
    firsts = [words[0] for words in both] if as_words else texts
    assert mapped(found, firsts) == mapped(expected, firsts)


@pytest.mark.parametrize("name", NAMES)
def test_decoding(name: str) -> None:
    ours, theirs = views(name)
    of_texts = [theirs(text)["input_ids"] for text in TEXTS]
    batches: list[Any] = [
        of_texts, [[200], [], [0, 255, 100]], [[1, 2], (4, 5), np.array([6]), [np.int64(7), 8], 9], ([5],), [[]], [],
        np.array([[1, 2], [3, 4]]), [[5, 10**6], []],
    ]  # fmt: skip
    for batch in batches:
        for options in ({}, {"skip_special_tokens": True}, {"clean_up_tokenization_spaces": True}):
            assert ours.batch_decode(batch, **options) == theirs.batch_decode(batch, **options)
            for one in batch:
                assert ours.decode(one, **options) == theirs.decode(one, **options)
        assert ours.batch_decode(batch, True, False) == theirs.batch_decode(batch, True, False)
    for wrong in ([["a"]], [[1.5]], [[[1]]], [[-1]], [[None]], "a", None):
        found = []
        for one in (ours, theirs):
            with pytest.raises((TypeError, ValueError, OverflowError)) as raised:
                one.batch_decode(wrong)
            found.append(raised.type)
        assert found[0] is found[1], wrong


@pytest.mark.parametrize("name", NAMES)
def test_tokens_and_ids(name: str) -> None:
    ours, theirs = views(name)
    assert ours.get_vocab() == theirs.get_vocab()
    assert len(ours) == len(theirs)
    for text in TEXTS:
        assert ours.tokenize(text) == theirs.tokenize(text)
        assert ours.encode(text) == theirs.encode(text)
        assert ours._encode_without_added_tokens(text) == theirs._encode_without_added_tokens(text)
        ids = ours.encode(text)
        assert ours.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
        assert ours.convert_tokens_to_ids(ours.convert_ids_to_tokens(ids)) == ids
        tokens = theirs.tokenize(text)
        assert ours.convert_tokens_to_string(tokens) == theirs.convert_tokens_to_string(tokens)
    for name in ("pad_token", "pad_token_id", "eos_token_id", "bos_token_id", "all_special_ids", "all_special_tokens"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for pair in (False, True):
        assert ours.num_special_tokens_to_add(pair) == theirs.num_special_tokens_to_add(pair)
    assert ours.convert_tokens_to_ids("no such token") is None
    assert ours.convert_ids_to_tokens(10**9) is None


def test_defaults_and_new_special_tokens() -> None:
    tok = Tokenizer.train(["ab ab"], 258)
    view = tok.as_transformers(pad_token="<|pad|>", model_max_length=4)
    assert (view.eos_token_id, view.pad_token_id, view.bos_token_id) == (258, 259, None)
    rows = view(["ab ab ab ab ab", "ab"], truncation=True, padding=True)["input_ids"]
    assert rows == [[256, 257, 257, 257], [256] + [259] * 3]
    assert len(view("ab ab ab ab ab")["input_ids"]) == 5
    assert "sequence-length-is-longer-than-the-specified-maximum" in view.deprecation_warnings
    with pytest.raises(ValueError, match="padding token"):
        tok.as_transformers()(["ab", "a"], padding=True)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_in_the_backend_counts(change: str) -> None:
    ours, theirs = views("gpt2")
    texts = ["Hello hello  foo world", "the he <|endoftext|> o", *HARD[:12]]
    ids = theirs(texts)["input_ids"]
    for _ in range(2):  # the first calls see what it was at first
        for options in ({}, {"truncation": True, "max_length": 9, "padding": True}):
            assert plain(ours(texts, **options)) == plain(theirs(texts, **options))
        assert ours.batch_decode(ids, skip_special_tokens=True) == theirs.batch_decode(ids, skip_special_tokens=True)
        assert (ours.pad_token_id, len(ours)) == (theirs.pad_token_id, len(theirs))
        assert ours.get_vocab() == theirs.get_vocab()
        CHANGES[change](ours)
        CHANGES[change](theirs)
    assert ours.encode(texts[0]) == theirs.encode(texts[0])
    assert ours.decode(ids[0]) == theirs.decode(ids[0])


@pytest.mark.parametrize("texts", [TEXTS[2], TEXTS])
def test_results_may_be_changed(texts: Any) -> None:
    for options in ({}, {"padding": True}, {"truncation": True, "max_length": 3}):
        found, expected = (one(texts, **options) for one in views("gpt2"))
        for column in found.data.values():
            for row in column if isinstance(texts, list) else [column]:
                row.append(1)
                row[0] = 7
        assert [found.tokens(), found.word_ids()] == [expected.tokens(), expected.word_ids()]
        assert [one.attention_mask for one in found.encodings] == [one.attention_mask for one in expected.encodings]


def refused(backend: Any) -> dict[str, Callable[[], Any]]:
    return {
        "no normalizer after ByteLevel": lambda: setattr(
            backend, "normalizer", normalizers.Sequence([normalizers.ByteLevel(), normalizers.NFC()])
        ),
        "does not have the decoder Fuse": lambda: setattr(backend, "decoder", decoders.Fuse()),
        "leaves out merges at random": lambda: changed_model(backend, dropout=0.5),
        "the model is 'WordPiece'": lambda: setattr(backend, "model", models.WordPiece({"a": 0}, unk_token="a")),
    }


def test_what_cannot_run_on_bpetite_is_refused_and_changes_nothing() -> None:
    ours, _ = views("gpt2")
    before, content = ours(TEXTS), ours.backend_tokenizer.to_str()
    for why, change in refused(ours.backend_tokenizer).items():
        with pytest.raises(ValueError, match=why):
            change()
        assert ours(TEXTS) == before
        assert ours.backend_tokenizer.to_str() == content
    with pytest.raises(AttributeError, match=r"set view\.model"):
        ours.backend_tokenizer.model.dropout = 0.5
    step = ours.backend_tokenizer.pre_tokenizer
    ours.backend_tokenizer.pre_tokenizer = step
    step.add_prefix_space = True  # of the copy alone
    assert ours(TEXTS) == before
    assert not ours.backend_tokenizer.pre_tokenizer.add_prefix_space


def test_columns_of_a_tokenizer_that_changed_since_the_call() -> None:
    view, _ = views("gpt2")
    found, cut = view("hello foo"), view("hello foo", truncation=True, max_length=1)
    tokens, words = found.tokens(), found.word_ids()
    view.add_tokens(["foo"])
    assert (found.tokens(), found.word_ids()) == (tokens, words)
    assert view.tokenize("hello foo") != tokens
    assert found.char_to_token(6) == tokens.index("Ġfoo")
    with pytest.raises(RuntimeError, match="changed after the call"):
        assert cut.encodings[0].overflowing


def test_what_transformers_brings() -> None:
    ours, theirs = views("roberta")
    for view in (ours, theirs):
        assert isinstance(view, transformers.PreTrainedTokenizerFast)
        view.set_truncation_and_padding(
            PaddingStrategy.LONGEST, TruncationStrategy.LONGEST_FIRST, 5, stride=1, pad_to_multiple_of=None,
            padding_side=None,
        )  # fmt: skip
    assert ours.backend_tokenizer.truncation == theirs.backend_tokenizer.truncation
    for name in ("vocab", "add_bos_token", "add_eos_token", "add_prefix_space", "added_tokens_encoder", "is_fast"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.decoder.decode(["Ġa"]) == " a"
    assert ours.decode([5, 10**6]) == theirs.decode([5, 10**6])
    for view in (ours, theirs):
        view.add_bos_token = view.add_eos_token = True
        view.update_post_processor()
    assert ours(TEXTS)["input_ids"] == theirs(TEXTS)["input_ids"]


@pytest.mark.parametrize("name", ["gpt2", "template"])
def test_training_anew(name: str) -> None:
    ours, theirs = views(name)
    made, expected = (view.train_new_from_iterator([TEXTS], 300) for view in (ours, theirs))
    assert type(made) is type(ours)
    assert plain(made(TEXTS, return_offsets_mapping=True)) == plain(expected(TEXTS, return_offsets_mapping=True))
    assert made.eos_token == expected.eos_token


@pytest.mark.parametrize("name", ["gpt2", "roberta"])
def test_a_space_before_the_text(name: str) -> None:
    tok = Tokenizer.from_huggingface(build(name))
    for wanted in (True, False):
        view = tok.as_transformers(add_prefix_space=wanted)
        assert view.add_prefix_space is view.backend_tokenizer.pre_tokenizer.add_prefix_space is wanted
        for text in ("hello", " hello"):
            assert view.encode(text) == view.backend_tokenizer.encode(text).ids
        assert (view.encode("hello") == view.encode(" hello")) is wanted


def test_a_tokenizer_that_tokenizer_json_cannot_hold_is_refused_with_the_reason() -> None:
    tok = Tokenizer({0: b"a", 1: b" ", 2: b"a ", 3: b"a a"}, [(b"a", b" "), (b"a ", b"a")], {"a ": 2})
    with pytest.raises(FormatError, match="cannot hold the special token 'a '"):
        tok.as_transformers(pad_token="a ")


@pytest.mark.parametrize("fast", [False, True])
def test_the_settings_of_an_object_of_transformers_stay(fast: bool) -> None:
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=build("template"), bos_token="<s>", eos_token="</s>", unk_token="<s>", pad_token="</s>",
        chat_template=CHAT, model_max_length=77, padding_side="left",
    )  # fmt: skip
    tok = Tokenizer.from_huggingface(accelerate(theirs) if fast else theirs)
    same(tok.as_transformers(), theirs)
    view = tok.as_transformers(model_max_length=5, padding_side="right", chat_template=None)
    assert (view.model_max_length, view.padding_side, view.chat_template) == (5, "right", None)
    bare = Tokenizer.from_huggingface(theirs.backend_tokenizer)
    assert (tok, tok.fingerprint()) == (bare, bare.fingerprint())


#: What a directory says.
SAID = ("chat_template", "bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token",
        "extra_special_tokens", "model_max_length", "padding_side", "truncation_side", "clean_up_tokenization_spaces",
        "split_special_tokens", "model_input_names", "add_prefix_space", "added_tokens_encoder", "special_tokens_map")


def same(ours: Any, theirs: Any) -> None:
    """The same settings, the same calls."""
    for name in SAID:
        assert getattr(ours, name) == getattr(theirs, name), name
    for token_id, token in theirs.added_tokens_decoder.items():
        found = ours.added_tokens_decoder[token_id]
        for flag in ("content", "lstrip", "rstrip", "single_word", "special"):
            assert getattr(found, flag) == getattr(token, flag), (token_id, flag)
    for options in ({}, {"padding": True, "truncation": True, "max_length": 9}):
        assert plain(ours(TEXTS, **options)) == plain(theirs(TEXTS, **options))
    if isinstance(theirs.chat_template, str):
        messages = [{"role": "user", "content": "hello <s>"}]
        assert plain(ours.apply_chat_template(messages)) == plain(theirs.apply_chat_template(messages))
        texts = [one.apply_chat_template(messages, tokenize=False) for one in (ours, theirs)]
        assert texts[0] == texts[1]


CHAT = "{% for m in messages %}{{ bos_token }}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"


def fast(folder: Path, name: str, **options: Any) -> None:
    transformers.PreTrainedTokenizerFast(tokenizer_object=build(name), **options).save_pretrained(folder)


MASK = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}


def legacy(folder: Path) -> None:
    """As transformers 4 wrote them: two more files, and the class is that of the model."""
    content = json.loads(build("roberta").to_str())
    files: dict[str, dict[str, Any]] = {
        "tokenizer.json": content,
        "config.json": {"model_type": "roberta"},
        "tokenizer_config.json": {"model_max_length": 512, "truncation_side": "left"},
        "special_tokens_map.json": {"eos_token": "</s>", "mask_token": MASK},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))


def of_its_class(folder: Path) -> None:
    build("gpt2").save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1024}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


FOLDERS: dict[str, Callable[[Path], None]] = {
    "chat": lambda folder: fast(
        folder, "template", bos_token="<s>", eos_token="</s>", pad_token="</s>", chat_template=CHAT,
        model_max_length=77, padding_side="left", truncation_side="left",
    ),
    "chat in the settings": lambda folder: [
        fast(folder, "gpt2", eos_token="<|endoftext|>"),
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "TokenizersBackend", "chat_template": CHAT, "eos_token": "<|endoftext|>",
                        "pad_token": {"__type": "AddedToken", **MASK, "content": "<pad>"}})
        ),
    ],
    "several chats": lambda folder: fast(
        folder, "gpt2", pad_token="<|endoftext|>", chat_template={"default": CHAT, "tools": CHAT + "x"}
    ),
    "settings": lambda folder: fast(
        folder, "roberta", mask_token="<mask>", pad_token="<s>", clean_up_tokenization_spaces=True,
        split_special_tokens=True, extra_special_tokens=["<a>", "<b>"], model_input_names=["input_ids"],
    ),
    "flags": lambda folder: fast(folder, "added, both sides", pad_token="<s>"),
    "legacy": legacy,
    "of its class": of_its_class,
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_a_view_keeps_what_its_directory_says(tmp_path: Path, name: str) -> None:
    FOLDERS[name](tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    given = {} if theirs.pad_token else {"pad_token": theirs.eos_token}
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path, **given)
    tok = Tokenizer.from_huggingface(tmp_path)
    for one in (tok, Tokenizer.load(tmp_path), pickle.loads(pickle.dumps(tok))):
        same(one.as_transformers(**given), theirs)
    view = tok.as_transformers(**given)
    view.save_pretrained(tmp_path / "again")
    same(transformers.AutoTokenizer.from_pretrained(tmp_path / "again"), theirs)
    same(Tokenizer.from_huggingface(tmp_path / "again").as_transformers(), theirs)


def test_a_vocabulary_of_ranks_saves_as_the_merge_list_with_the_same_ids(tmp_path: Path) -> None:
    tok = Tokenizer.train(["the cat sat on the mat"] * 2, 290).to_ranks()
    tok.as_transformers().save_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert loaded("the cat<|endoftext|>")["input_ids"] == tok.encode("the cat<|endoftext|>")
    assert Tokenizer.from_huggingface(tmp_path) == tok.to_merges()


def test_collators_take_it() -> None:
    view, theirs = views("roberta")
    rows = [view(text) for text in TEXTS]
    collate = transformers.DataCollatorWithPadding(view, return_tensors="np", pad_to_multiple_of=4)
    expected = transformers.DataCollatorWithPadding(theirs, return_tensors="np", pad_to_multiple_of=4)
    assert plain(collate(rows)) == plain(expected([theirs(text) for text in TEXTS]))
    language = transformers.DataCollatorForLanguageModeling(view, mlm=False, return_tensors="np")
    made = language([view(text) for text in TEXTS])
    assert made["labels"].shape == made["input_ids"].shape


@pytest.mark.parametrize("name", ["roberta", "cl100k"])
def test_a_batch_can_be_sent_to_another_process(name: str) -> None:
    view, _ = views(name)
    of_pairs = view(TEXTS, TEXTS[::-1], padding=True, truncation="only_first", max_length=40)
    for batch in (of_pairs, view([["two", "words"], ["one"]], is_split_into_words=True), view(TEXTS)):
        again = pickle.loads(pickle.dumps(batch))
        assert again.data == batch.data
        for row, (one, other) in enumerate(zip(again.encodings, batch.encodings, strict=True)):
            assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets)
            assert again.sequence_ids(row) == batch.sequence_ids(row)
            assert again.word_ids(row) == batch.word_ids(row)
        assert len(pickle.dumps(batch)) < 20_000  # the tokenizer is not in it


def count_tokens(row: dict[str, Any], view: Any) -> dict[str, Any]:
    return {"n": len(view(row["text"])["input_ids"])}


def test_datasets_map_finds_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    from datasets.fingerprint import Hasher

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    tok = Tokenizer.from_huggingface(build("template"))
    view = tok.as_transformers(pad_token="</s>")
    first = Hasher.hash(view), Hasher.hash(tok)
    view(TEXTS, padding=True)
    tok.encode_batch(TEXTS)
    assert (Hasher.hash(view), Hasher.hash(tok)) == first
    again = Tokenizer.from_huggingface(build("template"))
    assert Hasher.hash(again) == first[1]
    rows = datasets.Dataset.from_dict({"text": TEXTS * 8})
    expected = [len(view(text)["input_ids"]) for text in TEXTS * 8]
    datasets.disable_progress_bars()
    assert rows.map(count_tokens, fn_kwargs={"view": view})["n"] == expected
    mapped: Callable[..., Any] = rows.map
    assert mapped(count_tokens, fn_kwargs={"view": view}, num_proc=2)["n"] == expected
