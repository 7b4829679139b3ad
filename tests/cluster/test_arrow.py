"""EncodeBatch: Arrow in, Arrow out."""
from __future__ import annotations

import pickle
from typing import Any

import pytest
from cluster_tools import text_of
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import Tokenizer
from bpetite.cluster import EncodeBatch

pa = pytest.importorskip("pyarrow")

TOKENIZER = Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)
TEXTS = ["hello", None, "", "Zürich 東京", "a<|endoftext|>b", "x" * 1000]
IDS = [None if text is None else TOKENIZER.encode_ordinary(text) for text in TEXTS]


def lists(batch: Any) -> Any:
    return batch.column("input_ids").to_pylist()


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(),
        pa.dictionary(pa.int32(), pa.string()),
    ],
    ids=str,
)
def test_every_type_of_text(kind: Any) -> None:
    texts = pa.array(TEXTS)
    texts = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)
    encode = EncodeBatch(TOKENIZER)
    for batch in (pa.table({"text": texts, "n": range(6)}), pa.record_batch({"text": texts, "n": range(6)})):
        made = encode(batch)
        assert type(made) is type(batch)
        assert lists(made) == IDS
        assert made.column("text").to_pylist() == batch.column("text").to_pylist()
        assert lists(encode(batch.slice(1, 4))) == IDS[1:5]
        assert lists(encode(batch.slice(0, 0))) == []


def test_many_chunks_and_none() -> None:
    column = pa.chunked_array([pa.array(TEXTS[:2]), pa.array([], pa.string()), pa.array(TEXTS[2:])])
    assert lists(EncodeBatch(TOKENIZER)(pa.table({"text": column}))) == IDS
    none = pa.table({"text": pa.chunked_array([], pa.string())})
    assert EncodeBatch(TOKENIZER)(none).schema.field("input_ids").type == pa.list_(pa.uint32())


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))), st.sampled_from(["none", "append"]))
@settings(deadline=None)
def test_the_ids_are_those_of_encode(texts: list[str | None], eot: str) -> None:
    made = EncodeBatch(TOKENIZER, eot=eot)(pa.table({"text": pa.array(texts, pa.string())}))
    end = [TOKENIZER.eot_token] if eot == "append" else []
    assert lists(made) == [None if text is None else TOKENIZER.encode_ordinary(text) + end for text in texts]
    made.validate(full=True)


@pytest.mark.parametrize("dtype", ["uint16", "int32", "int64"])
def test_types_of_ids(dtype: str) -> None:
    encode = EncodeBatch(TOKENIZER, dtype=dtype, column="t", output="ids", keep=[], eot="prepend")
    made = encode(pa.table({"t": ["hello", "x"]}))
    element = pa.from_numpy_dtype(dtype)
    assert made.schema == pa.schema([("ids", pa.list_(element))])
    assert made.column("ids").to_pylist() == [[300, *TOKENIZER.encode("hello")], [300, *TOKENIZER.encode("x")]]


def test_special_tokens_are_text_unless_told_otherwise() -> None:
    batch = pa.table({"text": ["a<|endoftext|>"]})
    assert lists(EncodeBatch(TOKENIZER)(batch)) == [TOKENIZER.encode_ordinary("a<|endoftext|>")]
    assert lists(EncodeBatch(TOKENIZER, special="allow")(batch)) == [TOKENIZER.encode("a<|endoftext|>")]
    with pytest.raises(ValueError, match="row 0"):
        EncodeBatch(TOKENIZER, special="error")(batch)


def test_an_odd_row_in_the_middle() -> None:
    column = pa.chunked_array([pa.array([b"a", None], pa.binary()), pa.array([b"b", b"\xff\xfe", b"c"], pa.binary())])
    batch = pa.table({"text": column})
    with pytest.raises(ValueError, match="row 3 of the batch, column 'text'"):
        EncodeBatch(TOKENIZER)(batch)
    expected = [TOKENIZER.encode(text) for text in "abc"]
    null = EncodeBatch(TOKENIZER, on_error="null", eot="append")(batch)
    null.validate(full=True)
    assert lists(null) == [[*expected[0], 300], None, [*expected[1], 300], None, [*expected[2], 300]]
    replaced = lists(EncodeBatch(TOKENIZER, on_error="replace")(batch))
    assert replaced == [expected[0], None, expected[1], TOKENIZER.encode("\ufffd\ufffd"), expected[2]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "nothing"}, "no column 'nothing'"),
        ({"keep": ["nothing"]}, "no column 'nothing'"),
        ({"output": "n"}, "exists already"),
        ({"eot": "x"}, "eot 'x'"),
        ({"on_error": "skip"}, "on_error 'skip'"),
        ({"dtype": "uint8"}, "dtype 'uint8'"),
        ({"special": "x"}, "special 'x'"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EncodeBatch(TOKENIZER, **options)(pa.table({"text": ["a"], "n": [1]}))


def test_ids_that_do_not_fit_and_tokenizers_without_an_end() -> None:
    with pytest.raises(ValueError, match="do not fit dtype 'uint16'"):
        EncodeBatch(Tokenizer({0: b"a", 65536: b"b"}, []), dtype="uint16")
    with pytest.raises(ValueError, match="no end-of-text token"):
        EncodeBatch(Tokenizer({0: b"a"}, []), eot="append")
    with pytest.raises(ValueError, match="int64, not text"):
        EncodeBatch(TOKENIZER, column="n")(pa.table({"n": [1]}))
    with pytest.raises(TypeError, match="not list"):
        EncodeBatch(TOKENIZER)(["a"])


def test_pickling_is_stable_and_shares_the_tokenizer() -> None:
    encode = EncodeBatch(TOKENIZER, eot="append")
    encode(pa.table({"text": ["a"]}))
    copies = [pickle.loads(pickle.dumps(encode)) for _ in range(3)]
    assert {pickle.dumps(copy) for copy in copies} == {pickle.dumps(encode)}
    assert copies[0].tokenizer == TOKENIZER
    assert lists(copies[0](pa.table({"text": TEXTS}))) == lists(encode(pa.table({"text": TEXTS})))
