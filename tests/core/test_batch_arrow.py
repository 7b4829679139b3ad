"""Arrow arrays of text, of any kind and from any library, give what lists of the same texts give; and ids in arrays."""
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bpetite import MissingExtraError, Tokenizer

TOK = Tokenizer.train("ab ab abc é 中", 262)
SLOW = Tokenizer.from_vocab(TOK.to_vocab()).train("ab ab", 257, pattern=r"(?<=a)b|\w")
TEXTS = ["", "ab ab", "é中🙂" * 50, "<|endoftext|>ab", "", "x" * 300, "ab\0c"]
TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()]


def arrow(texts: list[str], kind: Any) -> Any:
    return pa.array([text.encode() for text in texts] if "binary" in str(kind) else texts, kind)


def forms(texts: list[str]) -> list[Any]:
    made = [arrow(texts, kind) for kind in TYPES]
    made += [array.slice(1, len(texts) - 2) for array in made]
    made += [pa.chunked_array([array, array.slice(2), array[:0]]) for array in made]
    made += [pa.chunked_array([], pa.string()), pa.array(texts).dictionary_encode()]
    return made


@pytest.mark.parametrize("tok", [TOK, SLOW], ids=["compiled", "regex"])
@pytest.mark.parametrize("texts", forms(TEXTS), ids=lambda texts: str(texts.type))
def test_every_form_equals_its_list(tok: Tokenizer, texts: Any) -> None:
    expected = tok.encode_batch(texts.to_pylist())
    for threads in (1, 3):
        assert tok.encode_batch(texts, num_threads=threads) == expected
    ids, offsets = tok.encode_batch_to_numpy(texts)
    assert [ids[start:end].tolist() for start, end in pairwise(offsets)] == expected
    assert tok.encode_batch_to_arrow(texts).to_pylist() == expected
    padded = tok.encode_padded(texts.to_pylist(), pad_token=0)
    assert np.array_equal(tok.encode_padded(texts, pad_token=0).input_ids, padded.input_ids)


def test_no_python_object_is_made_of_a_text() -> None:
    texts = pa.chunked_array([pa.array(["ab " * 1000] * 500)] * 4)

    class Refuses:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return texts.__arrow_c_stream__(requested_schema)

        def __iter__(self) -> Any:
            raise AssertionError("its items were asked for")

    assert TOK.encode_batch_to_numpy(Refuses())[1].tolist() == TOK.encode_batch_to_numpy(texts.to_pylist())[1].tolist()


def test_errors_name_the_text() -> None:
    chunked = pa.chunked_array([["ab", "b"], ["a", None]])
    with pytest.raises(TypeError, match=r"text 3 of the batch: .* not null; texts.drop_null"):
        TOK.encode_batch(chunked)
    with pytest.raises(UnicodeDecodeError, match=r"position 1: .*\(text 2 of the batch\)"):
        TOK.encode_batch(pa.chunked_array([[b"a", b"b"], [b"a\xff"]]))
    with pytest.raises(ValueError, match=r"text 1 of the batch: .*disallowed special token"):
        TOK.encode_batch(pa.array(["a", "<|endoftext|>"]), disallowed_special="all", allowed_special=())
    with pytest.raises(ValueError, match="text 1 of the batch: byte 0x62, at offset 1 "):
        Tokenizer({0: b"a"}, []).encode_batch(pa.array(["a", "ab"]))
    with pytest.raises(TypeError, match="an Arrow array of int64, not of text"):
        TOK.encode_batch(pa.array([1, 2]))
    for table in (pa.table({"text": ["a"], "id": [1]}), pa.record_batch({"text": ["a"], "id": [1]})):
        with pytest.raises(TypeError, match=r"with the columns text, id: give one of them, texts.column\(name\)"):
            TOK.encode_batch(table)


@pytest.mark.parametrize("offsets", [[0, 9, 2], [-1, 1, 2], [0, 1, 9], [2, 1, 0]])
def test_damaged_offsets(offsets: list[int]) -> None:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"ab")]
    with pytest.raises(ValueError, match=r"damaged|[Oo]ffset|offsets|slice|exceed"):
        TOK.encode_batch(pa.Array.from_buffers(pa.string(), 2, buffers))


def test_without_pyarrow_the_items_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Iterable:
        __arrow_c_stream__ = None

        def __iter__(self) -> Any:
            return iter(["ab", "é"])

    class Missing:
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "pyarrow":
                raise ImportError(name)

    monkeypatch.delitem(sys.modules, "pyarrow")
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    assert TOK.encode_batch(Iterable()) == TOK.encode_batch(["ab", "é"])


# Ids as Arrow arrays


@pytest.mark.parametrize("large", [False, True])
def test_the_lists_of_a_batch(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ({}, {"allowed_special": ()}, {"num_threads": 2}):
        made = TOK.encode_batch_to_arrow(iter([*TEXTS, b"at"]), large=large, **options)
        assert isinstance(made, pa.LargeListArray if large else pa.ListArray)
        assert made.type == (pa.large_list if large else pa.list_)(pa.uint32())
        made.validate(full=True)
        assert made.to_pylist() == TOK.encode_batch([*TEXTS, b"at"], **options)
    with pytest.raises(TypeError, match="num_thread"):
        TOK.encode_batch_to_arrow(TEXTS, num_thread=2)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    texts = iter(TEXTS)
    with pytest.raises(MissingExtraError, match=r"encode_batch_to_arrow needs pyarrow: pip install .*\[arrow\]'"):
        TOK.encode_batch_to_arrow(texts, large=large)
    assert next(texts) == TEXTS[0]  # none was consumed
