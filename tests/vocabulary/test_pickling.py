"""Pickles: a key and content, the same object where the process has it, checked where it does not."""
import gc
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from bpetite import Tokenizer, Vocab, patterns
from bpetite.formats import published_ranks
from bpetite.steps.normalizers import Prepend
from bpetite.vocabulary import pickling
from tests.support.running import forks

TOK = Tokenizer.train("the cat sat on the mat", 270, special_tokens=["<|endoftext|>", "<é>"])


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has no object yet."""
    monkeypatch.setattr(pickling, "_last", ())
    monkeypatch.setattr(pickling, "_live", type(pickling._live)())
    monkeypatch.setattr(pickling, "_held", lambda *_: None)


VOCABS = [
    TOK.to_vocab(),
    TOK.to_ranks().to_vocab(),
    TOK.to_vocab().replace(name="a", beside={"config.json": "{}"}, kept={"dropout": 0.5}),
    TOK.to_vocab().replace(normalization=Prepend("x"), token_flags={"<é>": ("lstrip",)}, pattern=patterns.LLAMA3),
    Vocab({2**32 - 1: b"a", 7: b"", 3: b"a"}, None, {}, unreachable=frozenset({3}), pattern=None, errors="replace"),
    Vocab({}, (), {}, pattern=None),
]


@pytest.mark.parametrize("vocab", VOCABS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.usefixtures("forgotten")
def test_every_field_comes_back(vocab: Vocab, protocol: int) -> None:
    data = pickle.dumps(vocab, protocol)
    pickling._live.clear()
    again = pickle.loads(data)
    assert again is not vocab
    assert again.settings() == vocab.settings()
    assert again.fingerprint() == vocab.fingerprint()
    assert pickle.dumps(again, protocol) == data


@pytest.mark.usefixtures("forgotten")
def test_the_object_that_a_process_has_is_given() -> None:
    tok = Tokenizer.train("ab ab", 257)
    data = pickle.dumps(tok)
    assert pickle.loads(data) is tok
    assert pickle.loads(pickle.dumps(tok.to_vocab())) is tok.to_vocab()
    del tok
    gc.collect()
    first = pickle.loads(data)
    assert pickle.loads(data) is first
    number = id(first)
    del first
    assert id(pickle.loads(data)) == number  # a pool lets go of it between two pieces of work


@pytest.mark.usefixtures("forgotten")
def test_few_objects_are_kept() -> None:
    for number in range(3 * pickling.KEPT):
        pickle.loads(pickle.dumps(Tokenizer.train("ab" * number, 257)))
    gc.collect()
    assert len(pickling._last) == pickling.KEPT
    assert len(pickling._live) <= pickling.KEPT + 1


@pytest.mark.parametrize(
    "changes", [{"name": "a"}, {"beside": {"a": "b"}}, {"train_config": {"a": 1}}, {"errors": "ignore"}]
)
@pytest.mark.usefixtures("forgotten")
def test_what_the_fingerprint_leaves_out_is_kept_apart(changes: dict[str, Any]) -> None:
    vocab = TOK.to_vocab()
    other = vocab.replace(**changes)
    assert pickle.loads(pickle.dumps(vocab)) is vocab
    assert pickle.loads(pickle.dumps(other)) is other
    assert pickle.loads(pickle.dumps(vocab)) is vocab


class Own(Tokenizer):
    """A class of somebody else."""


@pytest.mark.usefixtures("forgotten")
def test_classes_are_kept_apart() -> None:
    own = Own.from_vocab(TOK.to_vocab())
    data, plain = pickle.dumps(own), pickle.dumps(TOK)
    pickling._live.clear()
    assert type(pickle.loads(data)) is Own
    assert type(pickle.loads(plain)) is Tokenizer


@pytest.mark.usefixtures("forgotten")
def test_content_of_another_key_is_refused() -> None:
    """Who could put content under a foreign key would change what others unpickle later."""
    function, (kind, of, key, make, content) = TOK.__reduce__()
    _, (*_, foreign) = Tokenizer.train("x", 256).__reduce__()
    pickling._live.clear()
    for wrong in (foreign, content[:-1], b""):
        with pytest.raises(ValueError, match="another SHA-256"):
            function(kind, of, key, make, wrong)
    assert not pickling._live
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
    plain = Tokenizer.train("a b", 256).to_vocab().replace(name=f"plain, beside {kind.__name__}")
    others = [Tokenizer.from_vocab(plain), Tokenizer.__new__(Tokenizer)]
    tok = kind.from_vocab(TOK.to_vocab().replace(name=f"forked as {kind.__name__}"))
    with get_context("fork").Pool(1) as pool:
        for one in (tok, tok.to_vocab(), others[0]):
            assert pool.apply(_number, (one,))[1] == id(one)
        made_since = Tokenizer.train("b c", 256)
        assert pool.apply(Tokenizer.fingerprint, (made_since,)) == made_since.fingerprint()


@pytest.mark.usefixtures("forgotten")
def test_a_published_encoding_is_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path))
    vocab = published_ranks.load("gpt2")
    data = pickle.dumps(Tokenizer.from_vocab(vocab))
    assert len(data) < 400
    pickling._live.clear()
    again = pickle.loads(data)
    assert (again.to_vocab(), again.to_vocab().name) == (vocab, "gpt2")
    assert again.to_vocab() is not vocab
    assert pickle.loads(data) is again
    assert len(pickle.dumps(vocab.replace(name=None))) > 10_000  # another vocabulary is its content
    function, (_, of, key, make, name) = Tokenizer.from_vocab(vocab).__reduce__()
    with pytest.raises(ValueError, match="use the same one on both sides"):
        function(of, of, key[::-1], make, name)
    pickling._live.clear()
    monkeypatch.setattr(pickling, "_last", ())
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setenv("BPETITE_ENCODINGS_URL", "http://127.0.0.1:9")
    with pytest.raises(ConnectionError, match=r"put r50k_base\.tiktoken"):
        pickle.loads(data)
