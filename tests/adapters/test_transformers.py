"""as_transformers: the same calls as a fast tokenizer of transformers, with the same results."""
import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from huggingface_zoo import HARD, build  # noqa: E402

TEXTS = ["hello world", "", "The quick brown fox, doesn't it? We'll see 1234567", "naïve café 中文 🙂", "a"]
TEXTS += ["<mask> foo </s>"]
PAIRS = ["another text", "b", "", "longer than the first one, 12345 67", "x y z", "end"]
NAMES = ["gpt2", "roberta", "bert ends", "template", "cl100k", "added words", "neox", "llama 3, trimmed"]


def views(name: str, **options: Any) -> tuple[Any, Any]:
    theirs = tokenizers.Tokenizer.from_str(build(name).to_str())
    settings = {"pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    if "<s>" in theirs.get_vocab():
        settings = {"pad_token": "<s>", "eos_token": "</s>", "bos_token": "<s>"}
    ours = Tokenizer.from_huggingface(theirs).as_transformers(**settings, **options)
    return ours, transformers.PreTrainedTokenizerFast(tokenizer_object=theirs, **settings, **options)


def plain(found: Any) -> Any:
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in found.items()}


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "one text": (("hello world",), {}),
    "one text, no special tokens": (("hello world",), {"add_special_tokens": False}),
    "batch": ((TEXTS,), {}),
    "tuple": ((tuple(TEXTS),), {}),
    "pairs": ((TEXTS, PAIRS), {"return_token_type_ids": True}),
    "a pair": (("hello", "world"), {"return_token_type_ids": True}),
    "pairs in tuples": (([("a b", "c"), ("d", "e f g")],), {}),
    "padding": ((TEXTS,), {"padding": True}),
    "padding left": ((TEXTS,), {"padding": True, "padding_side": "left", "return_special_tokens_mask": True}),
    "padding to a length": ((TEXTS,), {"padding": "max_length", "max_length": 40, "return_token_type_ids": True}),
    "padding to a multiple": ((TEXTS,), {"padding": True, "pad_to_multiple_of": 8}),
    "truncation": ((TEXTS,), {"truncation": True, "max_length": 7}),
    "truncation and padding": ((TEXTS,), {"truncation": True, "max_length": 9, "padding": "max_length"}),
    "pairs, longest first": ((TEXTS, PAIRS), {"truncation": True, "max_length": 11}),
    "pairs, odd room": ((TEXTS, PAIRS), {"truncation": "longest_first", "max_length": 12, "padding": True}),
    "pairs, only second": (
        (["a", "b"], [HARD[9] * 3, "c"]),
        {"truncation": "only_second", "max_length": 12, "stride": 2, "return_overflowing_tokens": True}
        | {"padding": True},
    ),
    "overflow": (
        (TEXTS,),
        {"truncation": True, "max_length": 9, "stride": 3, "return_overflowing_tokens": True, "return_length": True},
    ),
    "overflow of one": (
        ("a b c d e f g h i j k",),
        {"truncation": True, "max_length": 6, "return_overflowing_tokens": True},
    ),
    "arrays": ((TEXTS,), {"padding": True, "return_tensors": "np"}),
    "array of one": (("hello world",), {"return_tensors": "np"}),
    "masks": ((TEXTS,), {"return_special_tokens_mask": True, "return_attention_mask": False}),
    "words": ((["hello", "world", "12345"],), {"is_split_into_words": True}),
    "batches of words": (([["a", "b c"], [], ["foo"]],), {"is_split_into_words": True, "padding": True}),
    "special tokens as text": (("<s>a</s><|endoftext|>",), {"split_special_tokens": True}),
    "targets": (("a",), {"text_target": "b c"}),
}


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


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_offsets_and_words(name: str, special: bool) -> None:
    ours, theirs = views(name)
    options = {"return_offsets_mapping": True, "return_token_type_ids": True, "add_special_tokens": special}
    for text, pair in zip(TEXTS, PAIRS, strict=True):
        for texts in ([text], [text, pair or "b c"]):
            expected, found = theirs(*texts, **options), ours(*texts, **options)
            assert plain(found) == plain(expected)
            assert mapped(found, texts) == mapped(expected, texts)


def test_words_given() -> None:
    for name in NAMES:
        ours, theirs = views(name)
        words, pair = ["hello", " <mask> world", "", "foo 12345", "é🙂"], ["a", " b"]
        for texts in ([words], [words, pair]):
            options = {"is_split_into_words": True, "return_offsets_mapping": True}
            expected, found = theirs(*texts, **options), ours(*texts, **options)
            assert plain(found) == plain(expected)
            firsts = [text[0] for text in texts]
            assert mapped(found, firsts) == mapped(expected, firsts)
            options |= {"padding": "max_length", "max_length": 40}
            assert ours(*texts, **options).word_ids() == theirs(*texts, **options).word_ids()


pieces = ["hello", " world", "foo", "12", " ", "  ", "\n", "🙂", "é", "e\u0301", "<s>", "<mask>", "'ll"]
some_texts = st.lists(st.sampled_from(pieces), min_size=1, max_size=6).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.lists(some_texts, min_size=1, max_size=3), some_texts, st.booleans(), st.booleans())
def test_offsets_and_words_of_any_text(name: str, words: list[str], pair: str, as_words: bool, special: bool) -> None:
    ours, theirs = views(name)
    texts = (words, [pair]) if as_words else ("".join(words), pair)
    options = {"return_offsets_mapping": True, "is_split_into_words": as_words, "add_special_tokens": special}
    expected, found = theirs(*texts, **options), ours(*texts, **options)
    assert plain(found) == plain(expected)
    firsts = [words[0], pair] if as_words else list(texts)
    assert mapped(found, firsts) == mapped(expected, firsts)


@pytest.mark.parametrize("side", ["left", "right"])
def test_offsets_of_rows_cut_from_a_text(side: str) -> None:
    ours, theirs = views("roberta", truncation_side=side)
    options = {"truncation": True, "max_length": 6, "stride": 1, "return_overflowing_tokens": True}
    for text in TEXTS:
        expected = theirs(text, return_offsets_mapping=True, **options)
        found = ours(text, return_offsets_mapping=True, **options)
        assert plain(found) == plain(expected)
        for row in range(len(expected["input_ids"])):
            assert found.word_ids(row) == expected.word_ids(row)


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


def test_whole_words_are_masked() -> None:
    made = []
    for view in views("roberta"):
        view.add_special_tokens({"mask_token": "<mask>"})
        collate = transformers.DataCollatorForLanguageModeling(
            view, whole_word_mask=True, mask_replace_prob=1, random_replace_prob=0, seed=7, return_tensors="np"
        )
        options = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "padding": True}
        batch = view([text * 3 for text in (HARD[8], TEXTS[2], TEXTS[3])], **options)
        rows = [{key: batch[key][row] for key in batch} for row in range(3)]
        made.append(plain(collate(rows)))
        masked = np.array(made[-1]["input_ids"]) == view.mask_token_id
        for row, spans, special in zip(masked, batch["offset_mapping"], batch["special_tokens_mask"], strict=True):
            within = [n for n, (one, other) in enumerate(pairwise(spans)) if one[1] == other[0]]  # of one word
            assert all(row[n] == row[n + 1] for n in within if not special[n] and not special[n + 1])
        assert 0 < masked.sum() < masked.size // 2
    assert made[0] == made[1]


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
