"""DecodeStream in place of that of tokenizers; copies of accelerated tokenizers; one tokenizer for many threads."""
import copy
import pickle
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tokenizers import Tokenizer as Theirs
from tokenizers.decoders import DecodeStream as Original
from transformers_calls import changed_part

from bpetite import Tokenizer
from bpetite.adapters import DecodeStream

TEXT = "The quick brown fox, doesn't it? naïve café 你好 🙂👩\u200d👧 עברית \ufffd x\r\n\n"
TOK = Tokenizer.train([TEXT * 3], 330, special_tokens=["<|endoftext|>", "<|im_end|>"])
VIEW = TOK.as_tokenizers()


@pytest.fixture(scope="module")
def backend() -> Theirs:
    return Theirs.from_str(TOK.as_tokenizers().to_str())


@pytest.mark.parametrize("skip", [True, False])
def test_steps_are_those_of_tokenizers(backend: Any, skip: bool) -> None:
    for seed in range(1300):
        draw = random.Random(seed)
        ids = TOK.encode(TEXT + "<|im_end|>") if seed % 3 == 0 else []
        ids += [draw.choice([draw.randrange(333), draw.randrange(256), 330, 400]) for _ in range(draw.randrange(30))]
        before = ids[: draw.randrange(4)] if draw.random() < 0.4 else None
        theirs, streams = Original(before, skip), [DecodeStream(before, skip) for _ in range(2)]
        for token_id in ids:
            given: Any = [token_id, draw.randrange(256)] if draw.random() < 0.1 else token_id
            expected = theirs.step(backend, given)
            for ours, tokenizer in zip(streams, (VIEW, backend), strict=True):
                assert ours.step(tokenizer, given) == expected, (seed, ids)


def test_any_form_of_a_tokenizer(backend: Any) -> None:
    accelerated = TOK.as_transformers()
    for tokenizer in (TOK, VIEW, backend, accelerated, accelerated._tokenizer):
        stream = DecodeStream(skip_special_tokens=True)
        texts = [stream.step(tokenizer, token_id) for token_id in (*"aé".encode(), 330, 98)]
        assert texts == ["a", None, "é", None, "b"]
    ids = TOK.encode("the quick")
    one, two = DecodeStream(ids=ids), DecodeStream(ids=[0xC3])
    assert (one.step(backend, 97), two.step(backend, 0xA9)) == ("a", "é")


def test_a_view_that_changed_or_decodes_on_tokenizers(backend: Any) -> None:
    view, theirs = TOK.as_tokenizers(), Theirs.from_str(backend.to_str())
    stream = DecodeStream()
    assert stream.step(view, 97) == "a"
    for one in (view, theirs):
        one.add_tokens(["new", "né"])
    ids = [97, 0xC3, 0xA9, theirs.token_to_id("new"), theirs.token_to_id("né")]
    ours, original = DecodeStream(), Original()
    assert [ours.step(view, token_id) for token_id in ids] == [original.step(theirs, token_id) for token_id in ids]


@pytest.mark.parametrize("bad", [-1, 2**32, "x", None, 1.5, ["x"], [-1]])
def test_what_is_no_id(backend: Any, bad: Any) -> None:
    for stream, tokenizer in ((Original(), backend), (DecodeStream(), backend), (DecodeStream(), VIEW)):
        with pytest.raises((TypeError, OverflowError)):
            stream.step(tokenizer, bad)


# copies


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))])
def test_copies_keep_added_tokens_and_their_flags(copied: Callable[[Any], Any]) -> None:
    from transformers import AddedToken

    first = TOK.as_transformers()
    first.add_tokens(["plain", AddedToken("<b>", lstrip=True, special=True), "more"])
    second = copied(copied(first))
    for text in ("x <b> plain<|im_end|>", "a more plain b"):
        assert second(text)["input_ids"] == first(text)["input_ids"]
    assert second.added_tokens_decoder == first.added_tokens_decoder


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))])
def test_a_deep_copy_shares_nothing(copied: Callable[[Any], Any]) -> None:
    first = TOK.as_transformers(pad_token="<|endoftext|>")
    second = copied(first)
    assert second(TEXT)["input_ids"] == first(TEXT)["input_ids"]
    with ThreadPoolExecutor(8) as pool:  # its twin is made once, when it is asked for
        (twin,) = {id(twin): twin for twin in pool.map(lambda _: second._tokenizer.twin, range(8))}.values()
    assert twin is not first._tokenizer.twin
    second.add_tokens(["quick"])
    assert first(TEXT)["input_ids"] == TOK.encode(TEXT) != second(TEXT)["input_ids"]
    second(["a", "b c"], padding=True, truncation=True, max_length=1)
    assert first._tokenizer.truncation is None
    changed_part(second._tokenizer, add_prefix_space=True)
    assert not first._tokenizer.pre_tokenizer.add_prefix_space


# threads


def test_sixteen_threads_encode_while_others_stream() -> None:
    """A server's threads share one tokenizer: calls with truncation and padding, and streams of ids."""
    shared = TOK.as_transformers(pad_token="<|endoftext|>")
    expected, ids = TOK.encode(TEXT), TOK.encode(TEXT) * 20
    start = threading.Barrier(16)

    def work(number: int) -> None:
        start.wait()
        for turn in range(40):
            if number % 2:
                stream = DecodeStream(skip_special_tokens=True)
                text = "".join(filter(None, [stream.step(shared._tokenizer, token_id) for token_id in ids]))
                assert text == TEXT * 20
            elif turn % 2:
                rows = shared([TEXT, "a"], padding=True, truncation=True, max_length=5 + number)["input_ids"]
                assert rows[0] == expected[: 5 + number]
            else:
                assert shared(TEXT)["input_ids"] == expected

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))


# names


def test_names_that_other_libraries_look_at() -> None:
    """chonkie, llama-index and others choose by the module's path and the name of the class."""
    view, encoding = TOK.as_transformers(), TOK.as_tiktoken()
    for one in (view, copy.deepcopy(view), copy.copy(view)):
        assert "transformers" in str(type(one))
        assert type(one).__module__.startswith("transformers.")
        assert one.__class__.__name__ == "TokenizersBackend"
    assert "tiktoken" in str(type(encoding))
    assert encoding.__class__.__name__ == "Encoding"
    assert "transformers" not in str(type(encoding))
    assert "bpetite.tokenizer.Tokenizer" in str(type(TOK))
