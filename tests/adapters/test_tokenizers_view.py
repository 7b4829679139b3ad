"""as_tokenizers: the methods and encodings of ``tokenizers.Tokenizer``, compared with those of its twin."""
import copy
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from huggingface_zoo import CONFIGURATIONS, HARD, build
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but
from transformers_calls import NAMES, PAIRS, TEXTS

from bpetite import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

COLUMNS = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids",
           "sequence_ids", "n_sequences")  # fmt: skip


@cache
def both(name: str) -> tuple[Any, Any]:
    view = Tokenizer.from_huggingface(build(name)).as_tokenizers()
    return view, tokenizers.Tokenizer.from_str(view.to_str())


def columns(encoding: Any) -> dict[str, Any]:
    made = {name: getattr(encoding, name) for name in COLUMNS}
    return made | {"overflowing": [columns(one) for one in encoding.overflowing], "length": len(encoding)}


def places(encoding: Any) -> dict[str, Any]:
    """What an encoding says of tokens, words and characters, also of those that there are not."""
    tokens = [*range(len(encoding)), len(encoding) + 1]
    words = range(max(filter(None, encoding.word_ids), default=0) + 2)
    asked: dict[str, Any] = {}
    for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
        asked[name] = [getattr(encoding, name)(token) for token in tokens]
    for name, numbers in (("word_to_tokens", words), ("word_to_chars", words), ("char_to_token", range(30)),
                          ("char_to_word", range(30))):  # fmt: skip
        asked[name] = [getattr(encoding, name)(at, text) for text in range(encoding.n_sequences) for at in numbers]
    return asked


pieces = ["hello", " world", "foo", "12", " ", "  ", "\n", "🙂", "é", "e\u0301", "<s>", " <mask>", "'ll", ""]
some_text = st.lists(st.sampled_from(pieces), max_size=8).map("".join)
inputs = st.one_of(
    st.tuples(st.just(False), st.lists(some_text, min_size=1, max_size=3)),
    st.tuples(st.just(False), st.lists(st.tuples(some_text, some_text), min_size=1, max_size=3)),
    st.tuples(st.just(True), st.lists(st.lists(some_text, max_size=4), min_size=1, max_size=3)),
)
truncations = st.none() | st.fixed_dictionaries({
    "max_length": st.integers(9, 12), "stride": st.integers(0, 1), "direction": st.sampled_from(["left", "right"]),
})  # fmt: skip
paddings = st.none() | st.fixed_dictionaries({
    "direction": st.sampled_from(["left", "right"]), "pad_to_multiple_of": st.sampled_from([None, 7]),
    "length": st.sampled_from([None, 12]), "pad_id": st.just(3), "pad_token": st.sampled_from(["$", "[PAD]"]),
    "pad_type_id": st.integers(0, 2),
})  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(inputs, truncations, paddings, st.booleans(), st.booleans())
def test_encodings(name: str, given: Any, truncation: Any, padding: Any, special: bool, split: bool) -> None:
    as_words, rows = given
    made = []
    for tokenizer in both(name):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if truncation is not None:
            tokenizer.enable_truncation(**truncation)
        if padding is not None:
            tokenizer.enable_padding(**padding)
        tokenizer.encode_special_tokens = split
        made.append(tokenizer.encode_batch(rows, is_pretokenized=as_words, add_special_tokens=special))
    ours, theirs = made
    assert [*map(columns, ours)] == [*map(columns, theirs)]
    assert [*map(places, ours)] == [*map(places, theirs)]
    again = pickle.loads(pickle.dumps(ours))
    assert [*map(columns, again)] == [*map(columns, theirs)]


@pytest.mark.parametrize("name", slow_but(CONFIGURATIONS, *list(CONFIGURATIONS)[::4]))
def test_every_configuration(name: str) -> None:
    ours, theirs = both(name)
    for tokenizer in (ours, theirs):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = False
    for text in HARD:
        found, expected = ours.encode(text), theirs.encode(text)
        assert columns(found) == columns(expected), text
        assert places(found) == places(expected), text
        for skip in (False, True):
            assert ours.decode(expected.ids, skip_special_tokens=skip) == theirs.decode(expected.ids, skip)
    assert ours.decode_batch([[5, 10**6], []]) == theirs.decode_batch([[5, 10**6], []])


def test_tokens_and_facts() -> None:
    ours, theirs = both("template")
    for ask in (
        lambda tok: tok.get_vocab(), lambda tok: tok.get_vocab(with_added_tokens=False),
        lambda tok: tok.get_vocab_size(), lambda tok: tok.get_added_tokens_decoder().keys(),
        lambda tok: tok.num_special_tokens_to_add(True), lambda tok: tok.token_to_id("<s>"),
        lambda tok: [tok.id_to_token(one) for one in (0, 300, 420, 10**6)], lambda tok: tok.token_to_id("no such"),
        lambda tok: str(tok.pre_tokenizer), lambda tok: tok.normalizer, lambda tok: str(tok.post_processor),
        lambda tok: tok.decoder.decode(["Ġa"]), lambda tok: tok.model.ignore_merges,
        lambda tok: type(tok.model).__name__, lambda tok: tok.encode_batch_fast(["a", "b"])[1].ids,
        lambda tok: tok.encode("a", "b").type_ids,
    ):  # fmt: skip
        assert ask(ours) == ask(theirs)


@pytest.mark.parametrize("wrong", [7, [7], None, ("a", 7), "\ud800", [["a"]]])
def test_mistakes_are_those_of_tokenizers(wrong: Any) -> None:
    raised = []
    for tokenizer in both("gpt2"):
        with pytest.raises((TypeError, ValueError)) as error:
            tokenizer.encode_batch([wrong])
        raised.append((error.type, str(error.value)))
    assert raised[0] == raised[1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda view: pickle.loads(pickle.dumps(view))])
def test_copies_have_tokens_and_settings(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    view = Tokenizer.from_huggingface(build("roberta")).as_tokenizers()
    view.add_tokens(["hello"])
    view.enable_truncation(6)
    view.enable_padding(length=6)
    again = copied(view)
    assert [*map(columns, again.encode_batch(TEXTS))] == [*map(columns, view.encode_batch(TEXTS))]
    assert (again.truncation, again.padding) == (view.truncation, view.padding)
    again.add_tokens(["wor?"])
    assert view.token_to_id("wor?") is None
    again.save(str(tmp_path / "tokenizer.json"))
    saved = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [one.ids for one in saved.encode_batch(TEXTS)] == [one.ids for one in again.encode_batch(TEXTS)]


def test_lists_that_it_gives_may_be_changed() -> None:
    (encoding,) = both("gpt2")[0].encode_batch(["hello world"])
    expected = columns(encoding)
    for name in ("ids", "type_ids", "attention_mask", "tokens", "offsets", "word_ids"):
        getattr(encoding, name).clear()
    assert columns(encoding) == expected


def test_transformers_takes_a_view() -> None:
    transformers = pytest.importorskip("transformers")
    view, theirs = both("roberta")
    ours, expected = (
        transformers.PreTrainedTokenizerFast(tokenizer_object=one, pad_token="<s>", eos_token="</s>")
        for one in (view, theirs)
    )
    options = {"padding": True, "truncation": True, "max_length": 9, "return_offsets_mapping": True}
    assert ours(TEXTS, PAIRS, **options).data == expected(TEXTS, PAIRS, **options).data
    assert ours.tokenize(TEXTS[2]) == expected.tokenize(TEXTS[2])


def test_threads_share_a_view() -> None:
    view = Tokenizer.from_huggingface(build("llama 3, trimmed")).as_tokenizers()
    expected = [columns(one) for one in view.encode_batch(TEXTS)]
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for _ in range(30):
            if number == 0:
                view.add_tokens([f"never {number}"])
            assert [columns(one) for one in view.encode_batch(TEXTS)] == expected

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
