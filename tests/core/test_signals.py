"""A signal whose handler raises, as Ctrl-C does, ends every long call half-way, and leaves nothing behind."""
import gc
import random
import signal
import threading
import time
from collections.abc import Callable
from functools import cache
from queue import Queue
from typing import Any

import numpy as np
import pytest
from tiers import slow_but

from bpetite import Tokenizer, reference
from tests.support.alarms import Alarm, SecondRing, alarm
from tests.support.running import running_threads

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")

SIZE = 16_000_000  # more than a second of work for one pre-token, and for different words
LETTERS = random.Random(0).randbytes(SIZE).translate(bytes(97 + byte % 26 for byte in range(256))).decode()
WORDS = random.Random(1).randbytes(SIZE).translate(bytes(97 + byte % 26 if byte < 220 else 32 for byte in range(256)))
MIXED = WORDS.decode().replace("e", "é")
TEXTS = [WORDS[at : at + 10_000] for at in range(0, SIZE, 10_000)]
SHORT = "the cat é " + LETTERS[:300] + "<|endoftext|>" + MIXED[:300]

CALLS: dict[str, Callable[[Tokenizer], Any]] = {
    "one pre-token": lambda tok: tok.encode(LETTERS),
    "words": lambda tok: tok.encode_ordinary(WORDS),
    "not ASCII": lambda tok: tok.encode_to_numpy(MIXED),
    "offsets": lambda tok: tok.encode_with_offsets(MIXED),
    "threads": lambda tok: tok.encode(MIXED, num_threads=3),
    "threads, one pre-token": lambda tok: tok.encode(LETTERS, num_threads=3),
    "lists": lambda tok: tok.encode_batch(TEXTS, num_threads=1),
    "lists, threads": lambda tok: tok.encode_batch(TEXTS, num_threads=3),
    "arrays, threads": lambda tok: tok.encode_batch_to_numpy([LETTERS[: SIZE // 4]] * 4, num_threads=3),
    "arrow": lambda tok: tok.encode_batch_to_arrow([LETTERS, LETTERS]),
    "padded": lambda tok: tok.encode_padded([LETTERS, LETTERS]),
    "a stream": lambda tok: list(tok.encode_iterable([LETTERS])),
    "a pre-token": lambda tok: tok._encode_pretoken(LETTERS.encode()),
    "merging alone": lambda tok: tok.to_vocab().merge_table.apply(np.frombuffer(LETTERS.encode(), "u1").astype("u4")),
}

MANY = 32_000_000  # ids: more than a tenth of a second, as lists,
MORE = 80_000_000  # and as arrays; signals are looked at every 40 milliseconds
DECODES: dict[str, tuple[Callable[[], Any], Callable[[Tokenizer, Any], Any]]] = {
    "array": (lambda: np.resize(np.arange(300, 2900, dtype="u4"), MORE), Tokenizer.decode_bytes),
    "text": (lambda: np.resize(np.arange(300, 2900, dtype="u4"), MORE), Tokenizer.decode),
    "list": (lambda: list(range(300, 2900)) * (MANY // 2600), Tokenizer.decode_bytes),
    "batch": (lambda: [list(range(300, 2900)) * 10] * (MANY // 26_000), Tokenizer.decode_batch),
}


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    chooser = random.Random(2)
    words = ("".join(chooser.choices("etaoinshrdlu", k=chooser.randint(1, 8))) for _ in range(20_000))
    return Tokenizer.train(" ".join(words), 3000)


@cache
def by_definition(tok: Tokenizer) -> list[int]:
    vocab = tok.to_vocab()
    merges = [(vocab.tokens[left], vocab.tokens[right]) for left, right in vocab.merges or ()]
    plain = {token_id: token for token_id, token in vocab.tokens.items() if token != b"<|endoftext|>"}
    return reference.encode(SHORT, plain, merges, special_tokens=tok.special_tokens, pattern=str(tok.pattern))


def check(tok: Tokenizer) -> None:
    """The tokenizer gives what the definition says, with all its threads and the memory they kept."""
    expected = by_definition(tok)
    assert tok.encode(SHORT) == expected
    assert tok.encode_batch([SHORT] * 600, num_threads=3) == [expected] * 600
    assert tok.encode(SHORT * 1000, num_threads=3) == expected * 1000


@pytest.mark.parametrize(
    "name",
    slow_but(CALLS, "one pre-token", "words", "not ASCII", "threads", "lists, threads", "padded", "a stream"),
)
def test_a_signal_ends_a_call(tok: Tokenizer, name: str) -> None:
    if name == "arrow":
        pytest.importorskip("pyarrow")
    threads = running_threads()
    with alarm(SecondRing(), every=0.02), pytest.raises(Alarm):
        CALLS[name](tok)
    assert running_threads() == threads
    gc.collect()
    check(tok)


@pytest.mark.parametrize("name", DECODES)
def test_a_signal_ends_decoding(tok: Tokenizer, name: str) -> None:
    make, decode = DECODES[name]
    ids = make()
    with alarm(SecondRing(), every=0.02), pytest.raises(Alarm):
        decode(tok, ids)
    check(tok)


def test_a_handler_that_empties_the_list_of_ids(tok: Tokenizer) -> None:
    ids = list(range(300, 2900)) * (MANY // 2600)
    with alarm(lambda *_: ids.clear(), every=0.02), pytest.raises(RuntimeError, match=r"ids got shorter while"):
        tok.decode(ids)


def test_a_handler_that_encodes_with_the_same_tokenizer(tok: Tokenizer) -> None:
    text = LETTERS[: SIZE // 3]
    expected, whole = tok.encode(SHORT), tok.encode_to_numpy(text)
    found: list[list[int]] = []
    with alarm(lambda *_: found.append(tok.encode(SHORT))):
        assert np.array_equal(tok.encode_to_numpy(text), whole)
    assert len(found) >= 2
    assert all(each == expected for each in found)


def test_a_call_in_another_thread_goes_on(tok: Tokenizer) -> None:
    """Only the main thread runs handlers."""
    text = LETTERS[: SIZE // 4]
    expected = tok.count(text)
    found: Queue[int] = Queue()
    threading.Thread(target=lambda: found.put(tok.count(text))).start()
    with alarm(SecondRing()), pytest.raises(Alarm):
        time.sleep(60)
    assert found.get() == expected


def test_the_error_of_a_handler_is_not_taken_for_one_of_a_text(tok: Tokenizer) -> None:
    for threads in (1, 3):
        with alarm(SecondRing(ValueError("the handler"))), pytest.raises(ValueError, match=r"^the handler$"):
            tok.encode_batch([LETTERS[: SIZE // 2]] * 6, num_threads=threads)
    check(tok)
