"""Pickles: a key and content, the same object where the process has it, checked where it does not."""
import gc
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from multiprocessing import get_context
from typing import Any

import pytest

from bpetite import Tokenizer, Vocab, patterns
from bpetite.steps.normalizers import Prepend
from bpetite.vocabulary import pickling
from tests.support.running import forks

TOK = Tokenizer.train("the cat sat on the mat", 270, special_tokens=["<|endoftext|>", "<é>"])


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has no object yet."""
    monkeypatch.setattr(pickling, "_last", ())
    pickling.LIVE.clear()


VOCABS = [
    TOK.to_vocab(),
    TOK.to_ranks().to_vocab(),
    replace(TOK.to_vocab(), name="a", beside={"config.json": "{}"}, kept={"dropout": 0.5}),
    replace(TOK.to_vocab(), normalization=Prepend("x"), token_flags={"<é>": ("lstrip",)}, pattern=patterns.LLAMA3),
    Vocab({2**32 - 1: b"a", 7: b"", 3: b"a"}, None, {}, unreachable=frozenset({3}), pattern=None, errors="replace"),
    Vocab({}, (), {}, pattern=None),
]


@pytest.mark.parametrize("vocab", VOCABS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.usefixtures("forgotten")
def test_every_field_comes_back(vocab: Vocab, protocol: int) -> None:
    data = pickle.dumps(vocab, protocol)
    again = pickle.loads(data)
    assert again is not vocab
    for field in fields(Vocab):
        assert getattr(again, field.name) == getattr(vocab, field.name)
    assert again.fingerprint() == vocab.fingerprint()
    assert pickle.dumps(again, protocol) == data


@pytest.mark.usefixtures("forgotten")
def test_the_object_that_a_process_has_is_given() -> None:
    tok = Tokenizer.train("ab ab", 257)
    data = pickle.dumps(tok)
    assert pickle.loads(data) is tok
    del tok
    pickling.LIVE.clear()
    first = pickle.loads(data)
    assert pickle.loads(data) is first
    number = id(first)
    del first
    assert id(pickle.loads(data)) == number  # a pool lets go of it between two pieces of work


@pytest.mark.usefixtures("forgotten")
def test_few_objects_are_kept() -> None:
    for number in range(3 * pickling.KEPT):
        pickle.loads(pickle.dumps(Tokenizer.train(2 * chr(97 + number), 257)))
    gc.collect()
    assert len(pickling._last) == pickling.KEPT
    assert {id(one) for _, one in pickling._last} == {*pickling.LIVE}


@pytest.mark.parametrize(
    "changes", [{"name": "a"}, {"beside": {"a": "b"}}, {"train_config": {"a": 1}}, {"errors": "ignore"}]
)
@pytest.mark.usefixtures("forgotten")
def test_what_the_fingerprint_leaves_out_is_kept_apart(changes: dict[str, Any]) -> None:
    tok = Tokenizer.from_vocab(TOK.to_vocab())
    other = Tokenizer.from_vocab(replace(TOK.to_vocab(), **changes))
    assert pickle.loads(pickle.dumps(tok)) is tok
    assert pickle.loads(pickle.dumps(other)) is other
    assert pickle.loads(pickle.dumps(tok)) is tok


class Own(Tokenizer):
    """A class of somebody else."""


@pytest.mark.usefixtures("forgotten")
def test_classes_are_kept_apart() -> None:
    own = Own.from_vocab(TOK.to_vocab())
    data, plain = pickle.dumps(own), pickle.dumps(TOK)
    assert pickle.loads(data) is own
    assert type(pickle.loads(plain)) is Tokenizer
    own.pad = "<é>"  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(own))
    assert (type(again), again.pad, again == own, again is own) == (Own, "<é>", True, False)
    assert type(pickle.loads(data)) is Own
    assert not hasattr(pickle.loads(data), "pad")


@pytest.mark.usefixtures("forgotten")
def test_content_of_another_key_is_refused() -> None:
    """Who could put content under a foreign key would change what others unpickle later."""
    function, (kind, of, key, content, shared), _ = TOK.__reduce__()
    foreign = Tokenizer.train("x", 256).to_vocab().pickled[1]
    for wrong in (foreign, content[:-1], b""):
        with pytest.raises(ValueError, match="another SHA-256"):
            function(kind, of, key, wrong, shared)
    assert not pickling._last


def _number(tok: Tokenizer) -> tuple[int, int]:
    return os.getpid(), id(tok)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_worker_has_one_object_for_all_its_work(method: str) -> None:
    with ProcessPoolExecutor(1, get_context(method)) as pool:
        found = [pool.submit(_number, TOK).result() for _ in range(5)]
        assert pool.submit(TOK.encode_ordinary, "the cat").result() == TOK.encode_ordinary("the cat")
    assert len(set(found)) == 1


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("kind", [Tokenizer, Own])
def test_a_worker_has_what_it_was_forked_with(kind: type[Tokenizer]) -> None:
    """Its first pickle is made after the fork; objects of another class or content stay apart. Their names are of this
    test alone, because a worker is given any equal object that lives, also one of another test."""
    plain = replace(Tokenizer.train("a b", 256).to_vocab(), name=f"plain, beside {kind.__name__}")
    others = [Tokenizer.from_vocab(plain), Tokenizer.__new__(Tokenizer)]
    tok = kind.from_vocab(replace(TOK.to_vocab(), name=f"forked as {kind.__name__}"))
    with get_context("fork").Pool(1) as pool:
        for one in (tok, others[0]):
            assert pool.apply(_number, (one,))[1] == id(one)
        made_since = Tokenizer.train("b c", 256)
        assert pool.apply(Tokenizer.fingerprint, (made_since,)) == made_since.fingerprint()
