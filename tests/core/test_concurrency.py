"""One tokenizer in many threads and processes; copies of it."""
import gc
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from bpetite import Tokenizer, patterns, reference, serving
from bpetite.core import _threads

CORPUS = "the cat sat on the mat; don't 2024, naïve 中文字 🙂 \n\n  x" * 3
TOKENS, MERGES = reference.train([CORPUS], 320, pattern=patterns.GPT2)


def tokenizer() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, ["<|endoftext|>"])


TOK = tokenizer()
LONG = CORPUS * 4000
IDS = TOK.encode(LONG)
CALLS: dict[str, Callable[[], object]] = {
    "encode": lambda: TOK.encode(LONG),
    "count": lambda: TOK.count(LONG),
    "count to a limit": lambda: TOK.count(LONG, limit=len(IDS) - 1),
    "count_batch": lambda: TOK.count_batch([LONG], num_threads=1),
    "truncate": lambda: TOK.truncate(LONG, len(IDS) // 2),
    "truncate from the left": lambda: TOK.truncate(LONG, len(IDS) // 2, truncation_side="left"),
    "chunks": lambda: next(TOK.chunks(LONG, len(IDS) - 1)),
    "encode_segments": lambda: serving.encode_segments(TOK, [(LONG, True)]),
    "heal": lambda: serving.heal(TOK, LONG),
    "encode_bytes": lambda: serving.encode_bytes(TOK, LONG.encode(), errors="bytes"),
    "decode": lambda: TOK.decode(IDS),
    "feed": lambda: TOK.decode_stream().feed(IDS),
    "is_canonical": lambda: serving.is_canonical(TOK, IDS),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run_during_long_calls(name: str) -> None:
    """No thread is made to give the lock up here, so another one runs only while a call has released it."""
    turns, over = [0], threading.Event()

    def other() -> None:
        while not over.is_set():
            turns[0] += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=other)
    try:
        thread.start()
        sys.setswitchinterval(1000)
        for _ in range(50):
            before = turns[0]
            CALLS[name]()
            if turns[0] > before:
                return
        pytest.fail("the lock was held")
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="each thread keeps a worker of its own")
def test_idle_workers_are_no_more_than_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "processors", lambda: 2)
    tok, text, barrier = tokenizer(), LONG * 20, threading.Barrier(8)

    def work(_: int) -> int:
        barrier.wait()
        return len(tok.encode(text))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(8)))) == 1
    encoder = next(each for each in gc.get_referents(tok) if type(each).__name__ == "Encoder")
    pools = [each for each in gc.get_referents(encoder) if isinstance(each, list)]
    assert list(map(len, pools)) == [1]  # and one in the slot


@pytest.mark.parametrize("cache_bytes", [0, 4096, 64 << 20])
def test_first_use_in_many_threads_at_once(cache_bytes: int) -> None:
    texts = [CORPUS[at:] * (at % 3 + 1) + f" <|endoftext|>{at}" for at in range(60)]
    expected = [TOK.encode(text) for text in texts]
    for _ in range(5):
        tok = tokenizer().with_cache(cache_bytes)
        barrier = threading.Barrier(6)

        def work(shift: int, tok: Tokenizer = tok, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            for at in [*range(shift, len(texts)), *range(shift)]:
                text, ids = texts[at], expected[at]
                assert tok.encode(text) == tok.encode_to_numpy(text.encode()).tolist() == ids
                assert tok.encode_batch([text, text], num_threads=2) == [ids, ids]
                assert tok.decode(ids) == text

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(0, 60, 10)))


def test_it_is_freed() -> None:
    tok = tokenizer()
    tok.encode(CORPUS)
    tok.encode_batch([CORPUS] * 100, num_threads=2)
    gone = weakref.ref(tok)
    del tok
    gc.collect()
    assert gone() is None
