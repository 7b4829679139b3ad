"""as_transformers: the same calls as a fast tokenizer of transformers, with the same results."""
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bpetite import Tokenizer

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import build  # noqa: E402
from transformers_calls import CALLS, NAMES, TEXTS, plain  # noqa: E402


def views(name: str, **options: Any) -> tuple[Any, Any]:
    theirs = tokenizers.Tokenizer.from_str(build(name).to_str())
    settings = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    if "<s>" in theirs.get_vocab():
        settings = {"pad_token": "<s>", "eos_token": "</s>", "bos_token": "<s>"}
    ours = Tokenizer.from_huggingface(theirs).as_transformers(**settings, **options)
    return ours, transformers.PreTrainedTokenizerFast(tokenizer_object=theirs, **settings, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", CALLS)
def test_the_same_as_a_fast_tokenizer(name: str, call: str) -> None:
    ours, theirs = views(name)
    arguments, options = CALLS[call]
    assert plain(ours(*arguments, **options)) == plain(theirs(*arguments, **options))


@pytest.mark.parametrize("side", ["left", "right"])
def test_sides_given_to_the_view(side: str) -> None:
    ours, theirs = views("template", padding_side=side, truncation_side=side)
    for options in ({"padding": True}, {"truncation": True, "max_length": 6, "padding": True}):
        assert plain(ours(TEXTS, **options)) == plain(theirs(TEXTS, **options))
    options = {"truncation": True, "max_length": 6, "stride": 1, "return_overflowing_tokens": True}
    assert plain(ours(TEXTS, **options)) == plain(theirs(TEXTS, **options))


@pytest.mark.parametrize("name", ["gpt2", "template", "cl100k"])
def test_offsets_and_what_depends_on_them(name: str) -> None:
    ours, theirs = views(name)
    # by default, its spans leave out a space at the start of a token; ours tile the text
    theirs.backend_tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=False)
    for text in TEXTS[:5]:
        expected = theirs(text, return_offsets_mapping=True, add_special_tokens=False)
        found = ours(text, return_offsets_mapping=True, add_special_tokens=False)
        assert found["offset_mapping"] == expected["offset_mapping"]
        assert found.tokens() == expected.tokens()
        assert found.sequence_ids() == expected.sequence_ids()
        for token in range(len(expected["input_ids"])):
            assert tuple(found.token_to_chars(token)) == tuple(expected.token_to_chars(token))
        for char in range(len(text)):
            assert found.char_to_token(char) == expected.char_to_token(char)


def test_words_and_sequences() -> None:
    ours, theirs = views("bert ends")
    options = {"is_split_into_words": True, "padding": "max_length", "max_length": 16}
    found, expected = ours([["hello", "world"], ["a"]], **options), theirs([["hello", "world"], ["a"]], **options)
    assert [found.word_ids(row) for row in (0, 1)] == [expected.word_ids(row) for row in (0, 1)]
    found, expected = ours("a b", "c"), theirs("a b", "c")
    assert found.sequence_ids() == expected.sequence_ids()
    assert found.n_sequences == expected.n_sequences == 2
    with pytest.raises(NotImplementedError, match="is_split_into_words"):
        found.word_ids()


@pytest.mark.parametrize("name", NAMES)
def test_decoding(name: str) -> None:
    ours, theirs = views(name)
    rows = [theirs(text)["input_ids"] for text in TEXTS] + [[200], [], [0, 255, 100]]
    for skip in (False, True):
        for row in rows:
            assert ours.decode(row, skip_special_tokens=skip) == theirs.decode(row, skip_special_tokens=skip)
        assert ours.batch_decode(rows, skip_special_tokens=skip) == theirs.batch_decode(rows, skip_special_tokens=skip)
    assert ours.decode(np.array(rows[0])) == theirs.decode(rows[0])
    assert ours.decode(5) == theirs.decode(5)


@pytest.mark.parametrize("name", NAMES)
def test_tokens_and_ids(name: str) -> None:
    ours, theirs = views(name)
    assert ours.get_vocab() == theirs.get_vocab()
    assert (len(ours), ours.vocab_size) == (len(theirs), len(theirs))
    assert ours.is_fast
    for text in TEXTS:
        assert ours.tokenize(text) == theirs.tokenize(text)
        assert ours.encode(text) == theirs.encode(text)
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


def test_adding_tokens() -> None:
    ours, theirs = views("gpt2")
    before = ours.tokenizer
    for view in (ours, theirs):
        assert view.add_special_tokens({"pad_token": "<|pad|>", "additional_special_tokens": ["<a>", "<b>"]}) == 3
        assert view.add_tokens(["foo"]) == 1
    assert ours("x<a>foo <|pad|>")["input_ids"] == theirs("x<a>foo <|pad|>")["input_ids"]
    assert (ours.pad_token_id, len(ours)) == (theirs.pad_token_id, len(theirs))
    assert before.special_tokens == {"<|endoftext|>": 420}
    text = ours("<a>foo<b>")["input_ids"]
    assert ours.decode(text, skip_special_tokens=True) == theirs.decode(text, skip_special_tokens=True) == "foo"


def test_defaults_and_new_special_tokens() -> None:
    tok = Tokenizer.train(["ab ab"], 258)
    view = tok.as_transformers(pad_token="<|pad|>", model_max_length=4)
    assert (view.eos_token_id, view.pad_token_id, view.bos_token_id) == (258, 259, None)
    rows = view(["ab ab ab ab ab", "ab"], truncation=True, padding=True)["input_ids"]
    assert rows == [[256, 257, 257, 257], [256] + [259] * 3]
    with pytest.raises(ValueError, match="padding token"):
        tok.as_transformers()(["ab", "a"], padding=True)


def test_mistakes_are_named() -> None:
    view, _ = views("template")
    with pytest.raises(ValueError, match="not int"):
        view(7)
    with pytest.raises(ValueError, match="2 texts, but 1"):
        view(["a", "b"], ["c"])
    with pytest.raises(TypeError, match="a batch of text_pair"):
        view(["a", "b"], "c")
    with pytest.raises(ValueError, match="only_second"):
        view("a b c d e", truncation="only_second", max_length=3)
    with pytest.raises(ValueError, match="the other text alone has"):
        view("a b c d", "e f g h i j k", truncation="only_first", max_length=6)
    with pytest.raises(ValueError, match="no room"):
        view("a b c d", truncation=True, max_length=1)
    with pytest.raises(ValueError, match="stride 4 must be less"):
        view("a b c d", truncation=True, max_length=4, stride=4, return_overflowing_tokens=True)
    with pytest.raises(ValueError, match="only_first"):
        view("a b c d" * 9, "e f g h i" * 9, truncation=True, max_length=9, return_overflowing_tokens=True)


def test_it_pickles_and_calling_it_changes_nothing() -> None:
    view, _ = views("template")
    before = pickle.dumps(view)
    view(TEXTS, padding=True, truncation=True, max_length=5, return_offsets_mapping=True)
    assert pickle.dumps(view) == before
    again = pickle.loads(before)
    assert plain(again(TEXTS, padding=True)) == plain(view(TEXTS, padding=True))


def test_what_is_saved_loads_without_bpetite(tmp_path: Path) -> None:
    view, _ = views("roberta", model_max_length=128)
    view.save_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (loaded.model_max_length, loaded.pad_token, loaded.bos_token) == (128, "<s>", "<s>")
    for text in TEXTS:
        assert loaded(text)["input_ids"] == view(text)["input_ids"]
    assert Tokenizer.from_huggingface(loaded).encode(TEXTS[2]) == view.tokenizer.encode(TEXTS[2])
    assert Tokenizer.from_huggingface(tmp_path) == view.tokenizer


def test_a_vocabulary_of_ranks_saves_as_the_merge_list_with_the_same_ids(tmp_path: Path) -> None:
    tok = Tokenizer.train(["the cat sat on the mat"] * 2, 290).to_ranks()
    tok.as_transformers().save_pretrained(tmp_path)
    loaded = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert loaded("the cat<|endoftext|>")["input_ids"] == tok.encode("the cat<|endoftext|>")


def test_collators_take_it() -> None:
    view, theirs = views("roberta")
    rows = [view(text) for text in TEXTS]
    collate = transformers.DataCollatorWithPadding(view, return_tensors="np", pad_to_multiple_of=4)
    expected = transformers.DataCollatorWithPadding(theirs, return_tensors="np", pad_to_multiple_of=4)
    assert plain(collate(rows)) == plain(expected([theirs(text) for text in TEXTS]))
    language = transformers.DataCollatorForLanguageModeling(view, mlm=False, return_tensors="np")
    made = language([view(text) for text in TEXTS])
    assert made["labels"].shape == made["input_ids"].shape


def test_chat_templates() -> None:
    pytest.importorskip("jinja2")
    chat = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}"
    ours, theirs = views("template", chat_template=chat)
    messages = [{"role": "user", "content": "hello <s>"}, {"role": "assistant", "content": "world"}]
    assert ours.apply_chat_template(messages, tokenize=False) == theirs.apply_chat_template(messages, tokenize=False)
    assert plain(ours.apply_chat_template(messages)) == plain(theirs.apply_chat_template(messages))


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_can_be_sent_to_another_process(name: str) -> None:
    view, _ = views(name)
    batch = view(TEXTS, TEXTS[::-1], padding=True, truncation="only_first", max_length=40)
    again = pickle.loads(pickle.dumps(batch))
    assert again.data == batch.data
    for row, (one, other) in enumerate(zip(again.encodings, batch.encodings, strict=True)):
        assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets)
        assert again.sequence_ids(row) == batch.sequence_ids(row)
    assert len(pickle.dumps(batch)) < 20_000  # the tokenizer is not in it


def test_words_of_a_batch_sent_to_another_process() -> None:
    view, _ = views("roberta")
    batch = view([["two", "words"], ["one"]], is_split_into_words=True)
    again = pickle.loads(pickle.dumps(batch))
    assert [again.word_ids(row) for row in (0, 1)] == [batch.word_ids(row) for row in (0, 1)]


def test_tensors_and_data_loader_workers() -> None:
    torch = pytest.importorskip("torch")
    view, theirs = views("roberta")
    found, expected = (one(TEXTS, padding=True, return_tensors="pt") for one in (view, theirs))
    assert torch.equal(found["input_ids"], expected["input_ids"])
    loader = torch.utils.data.DataLoader(
        TEXTS * 4, batch_size=4, num_workers=2, collate_fn=lambda texts: view(texts, padding=True, return_tensors="pt")
    )
    ids = [row for batch in loader for row in view.batch_decode(batch["input_ids"], skip_special_tokens=True)]
    assert ids == view.batch_decode(view(TEXTS * 4)["input_ids"], skip_special_tokens=True)


def count_tokens(row: dict[str, Any], view: Any) -> dict[str, Any]:
    return {"n": len(view(row["text"])["input_ids"])}


def test_datasets_map_finds_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    from datasets.fingerprint import Hasher

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    view, _ = views("template")
    tok = view.tokenizer
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
