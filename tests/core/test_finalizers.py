"""Finalizers that give up the interpreter lock, in the middle of every call that several threads work at.

Up to Python 3.11 the cyclic collector runs in allocations, so a finalizer runs there, and other threads meanwhile. Each
object here dies in a cycle, makes the next one, leaves objects behind so that the collector runs again, and sleeps.
"""
import gc
import subprocess
import sys

import pytest
from tiers import slow_but

from bpetite import Tokenizer

START = """
import gc, random, sys, threading, time
from bpetite import Tokenizer
from bpetite.core import _threads

_threads.processors = lambda: 8
letters = random.Random(0)
TEXTS = ["".join(letters.choices("abcdefgh", k=100_000)) for _ in range(8)]
WORDS = " ".join("".join(letters.choices("abcdefgh", k=6)) for _ in range(100_000))
LONG = " ".join(TEXTS[:6])
BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
PLAIN = BYTES.with_cache(0)


class Litter:
    on, kept = True, []

    def __init__(self):
        self.me = [self]

    def __del__(self, sleep=time.sleep):
        if Litter is not None and Litter.on:
            Litter()
            Litter.kept.append([[], [], [], []])
            sleep(0.0001)


def pooled():
    # Workers are taken and given back by several threads at the same time.
    tok, found = BYTES.with_cache(1 << 24), {}
    found[0] = tok.encode_to_numpy(WORDS[:200_000]).tobytes()
    def call(n):
        found[n] = tok.encode_to_numpy(WORDS[n * 5000 :], num_threads=2).tobytes()
    threads = [threading.Thread(target=call, args=(n,)) for n in range(1, 4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return sorted(found.items())


CALLS = {
    "encode": lambda: PLAIN.encode_to_numpy(LONG, num_threads=2).tobytes(),
    "encode_batch": lambda: PLAIN.encode_batch(TEXTS, num_threads=2),
    "encode_batch_to_numpy": lambda: [made.tobytes() for made in PLAIN.encode_batch_to_numpy(TEXTS, num_threads=2)],
    "encode_padded": lambda: PLAIN.encode_padded(TEXTS, pad_token=0, num_threads=2).input_ids.tobytes(),
    "train": lambda: Tokenizer.train(WORDS[:100_000].split(), 300, num_threads=2).merges,
    "workers": pooled,
}


def litter():
    sys.setswitchinterval(1e-6)
    gc.set_threshold(1, 1, 1)
    [Litter() for _ in range(2)]
"""

CALL = """
call = CALLS[sys.argv[1]]
expected = call()
litter()
assert all(call() == expected for _ in range({"encode": 1, "train": 3}.get(sys.argv[1], 10)))
Litter.on = False
print("done")
"""

EXIT = """
import atexit
call = CALLS[sys.argv[1]]
expected = call()
litter()
threading.Thread(target=call, daemon=True).start()
atexit.register(lambda: print("done" if call() == expected else "wrong", flush=True))
class AtTheEnd:
    def __del__(self, call=call):
        call()
ends = AtTheEnd()
"""


def run(script: str, name: str) -> None:
    done = subprocess.run([sys.executable, "-c", START + script, name], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


NAMES = ["encode", "encode_batch", "encode_batch_to_numpy", "encode_padded", "train", "workers"]


QUICK = (
    "call encode", "call encode_batch", "call encode_batch_to_numpy", "call train", "exit encode_batch", "exit train",
)  # fmt: skip
CASES = [f"{script} {name}" for script in ("call", "exit") for name in NAMES]


@pytest.mark.parametrize("case", slow_but(CASES, *QUICK))
def test_a_finalizer_lets_another_thread_run(case: str) -> None:
    script, name = case.split()
    run(CALL if script == "call" else EXIT, name)


def test_no_memory_waits_for_the_collector() -> None:
    """What a call of several threads has made is freed when the call ends, also where it fails."""
    tok = Tokenizer.train(["ab ab"], 257)
    texts = ["ab cd " * 100_000] * 4
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            tok.encode_batch_to_numpy(texts, num_threads=2)
            tok.encode_to_numpy(texts[0] * 2, num_threads=2)
            with pytest.raises(UnicodeDecodeError):
                tok.encode_batch_to_numpy([*(text.encode() for text in texts), b"\xff"], num_threads=2)
        assert [each for each in gc.get_objects() if type(each).__name__ == "Gather"] == []
    finally:
        gc.enable()
