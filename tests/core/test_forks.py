"""A fork in the middle of each threaded call of another thread: the child encodes, and ends."""
import subprocess
import sys

from tests.support.running import forks

# NumPy is loaded first: a child of a fork inside a first import waits for the lock of the module, in any Python code.
PROGRAM = """
import os, signal, sys, threading, time
import numpy
from bpetite import Tokenizer, count_pretokens
from bpetite.core import _threads

_threads.processors = lambda: 4
tok = Tokenizer.train(["ab ab abc", "abc ab"], 258)
texts = [f"ab ab abc def {number} " * 8000 for number in range(8)]
calls = [
    lambda: tok.encode("".join(texts), num_threads=2),
    lambda: tok.encode_batch(texts, num_threads=2),
    lambda: tok.encode_batch_to_numpy(texts, num_threads=2),
    lambda: tok.count_batch(texts, num_threads=2),
    lambda: count_pretokens(texts, num_threads=2),
]
for number, call in enumerate(calls):
    ended = threading.Event()
    def work():
        while not ended.is_set():
            call()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    for wait in range(6):
        time.sleep(0.003 * wait)
        child = os.fork()
        if not child:
            signal.alarm(60)
            call()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, number
    ended.set()
    thread.join()
print("done")
"""


@forks
def test_a_fork_inside_a_call() -> None:
    command = [sys.executable, "-W", "ignore", "-X", "dev", "-c", PROGRAM]  # with PYTHONMALLOC=debug
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]
