"""Every public method where the n-th allocation fails, for every n: MemoryError or the right result, nothing else."""
import subprocess
import sys

import pytest

pytest.importorskip("_testcapi", reason="this Python comes without its own test modules")

PROGRAM = """
import sys
from _testcapi import remove_mem_hooks, set_nomemory
from bpetite import Tokenizer, serving

tok = Tokenizer.train("ab ab abc é中😀 " * 20, 300, special_tokens=["<|endoftext|>", "<s>"])
text = "ab é ab<s>c zzz 中 " * 3
ids, array = tok.encode(text), tok.encode_to_numpy(text)
calls = [
    lambda: tok.encode(text),
    lambda: tok.with_cache(0).encode(text),
    lambda: tok.encode(text, dropout=0.1, seed=1),
    lambda: tok.encode_ordinary(text),
    lambda: tok.encode_to_numpy(text).tolist(),
    lambda: tok.encode_batch([text] * 3, add_special_tokens=True),
    lambda: tok.encode_batch([text * 50] * 8, num_threads=2),
    lambda: [found.tolist() for found in tok.encode_batch_to_numpy([text] * 3)],
    lambda: tok.encode_with_offsets(text),
    lambda: list(tok.encode_iterable(["ab <", "s> a", "b"])),
    lambda: tok.encode_padded([text, "a"], pad_token="<s>").input_ids.tolist(),
    lambda: tok.count(text),
    lambda: list(tok.count_batch([text] * 2)),
    lambda: tok.truncate(text, 5),
    lambda: list(tok.chunks(text, 5)),
    lambda: tok.decode(ids),
    lambda: tok.decode(array),
    lambda: tok.decode_batch([ids, ids]),
    lambda: list(tok.decode_iterable(ids)),
    lambda: (tok.vocab, tok.merges, tok.special_tokens, tok.token_bytes(256), tok.token_id("ab"), tok.fingerprint()),
    lambda: serving.heal(tok, text),
    lambda: serving.is_canonical(tok, ids),
    lambda: serving.encode_segments(tok, [(text, True), (text, False)]),
    lambda: Tokenizer.train("ab ab abc" * 5, 260).merges,
    lambda: Tokenizer(tok.vocab, tok.merges, tok.special_tokens).encode("ab"),
    lambda: tok.extend("zzz zzz zz", 2).merges,
]
for number, call in enumerate(calls):
    expected = call()
    successes = failing = 0
    while successes < 3:  # the first ones may be calls that can do without
        set_nomemory(failing, failing + 1)
        try:
            found = call()
        except (MemoryError, SystemError):  # NumPy and CPython lose some of these exceptions
            found = None
        finally:
            remove_mem_hooks()
        assert found in (None, expected), (number, failing)
        successes = successes + 1 if found is not None else 0
        failing += 1
    assert call() == expected, number
print("done", len(calls))
"""


def test_a_failing_allocation_is_a_memory_error() -> None:
    """In a process of its own, which a wrong reference count would end."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done 26\n"), done.stderr[-2000:]
