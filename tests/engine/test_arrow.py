"""Ids as Arrow arrays: the lists of `encode_batch`, in both widths of offsets."""
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite import MissingExtraError, Tokenizer

TOK = Tokenizer.train("the cat sat on the mat, naïve 中文", 270, special_tokens=["<|endoftext|>"])
texts = st.lists(st.one_of(st.text("the cat中ï", max_size=9), st.just("<|endoftext|>"), st.just(b"at")), max_size=8)


@pytest.mark.parametrize("large", [False, True])
@settings(max_examples=30)
@given(texts=texts)
def test_the_lists_of_a_batch(texts: list[str | bytes], large: bool) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    made = TOK.encode_batch_to_arrow(texts, large=large)
    assert isinstance(made, pyarrow.LargeListArray if large else pyarrow.ListArray)
    assert made.type == (pyarrow.large_list if large else pyarrow.list_)(pyarrow.uint32())
    made.validate(full=True)
    assert made.to_pylist() == TOK.encode_batch(texts)


def test_options_are_those_of_a_batch() -> None:
    pytest.importorskip("pyarrow")
    texts = ["the cat<|endoftext|>", "sat"]
    for options in ({"allowed_special": ()}, {"num_threads": 2}):
        assert TOK.encode_batch_to_arrow(iter(texts), **options).to_pylist() == TOK.encode_batch(texts, **options)
    with pytest.raises(ValueError, match="disallowed special token"):
        TOK.encode_batch_to_arrow(texts, allowed_special=(), disallowed_special="all")
    with pytest.raises(TypeError, match="num_thread"):
        TOK.encode_batch_to_arrow(texts, num_thread=2)


@pytest.mark.parametrize("large", [False, True])
def test_without_pyarrow_no_text_is_consumed(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    def texts() -> Iterator[str]:
        pytest.fail("a text was consumed")
        yield ""

    with pytest.raises(MissingExtraError, match=r"encode_batch_to_arrow needs pyarrow: pip install 'bpetite\[arrow\]'"):
        TOK.encode_batch_to_arrow(texts(), large=large)
