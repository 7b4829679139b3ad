"""Ids as lists and arrays: shared int objects, pickles, the memory of arrays."""
import ctypes
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpetite import Tokenizer
from tests.support.running import own_memory

#: Every byte, ids on both sides of CPython's own small ints, and one too large for a table of objects.
BYTES = Tokenizer({value: bytes([value]) for value in range(256)} | {256: b"<s>", 257: b"<t>"}, [], ["<s>", "<t>"])
SPARSE = Tokenizer({value: bytes([value]) for value in range(256)} | {1 << 22: b"<s>"}, [], ["<s>"])


@given(st.text("\0a\u00ff<st>", max_size=100))
def test_lists_are_the_arrays(text: str) -> None:
    for tok in (BYTES, SPARSE):
        ids = tok.encode(text)
        assert ids == tok.encode_to_numpy(text).tolist()
        assert {type(token_id) for token_id in ids} <= {int}


WORDS = Tokenizer.train(["the cat sat on the mat, internationally 中文字 " * 9, "a" * 300], 330)
#: Every way that ids take: short and long pre-tokens, cached or not, special tokens, ids that do not fit into an entry.
MIXED = "the cat<|endoftext|> sat 中文字 intern\u00e9tionally " + "a" * 300 + " " + "zq" * 40 + "xyxyxyxyxyxyxyx é"


@pytest.mark.parametrize("dtype", [np.uint16, "uint16", np.int32, np.dtype("uint32")])
@pytest.mark.parametrize(
    "tok", [WORDS, WORDS.with_cache(0), WORDS.to_ranks(), BYTES, Tokenizer(WORDS.vocab, WORDS.merges, pattern=None)]
)
def test_arrays_of_other_dtypes(tok: Tokenizer, dtype: type[np.uint16]) -> None:
    for text in ("", "a", MIXED, MIXED * 2000):
        for again in (dtype, np.uint32, dtype):  # a worker has been used for another width
            ids = tok.encode_to_numpy(text, dtype=again)
            assert ids.dtype == np.dtype(again)
            assert ids.tolist() == tok.encode(text)
        assert tok.encode_to_numpy(text, dtype=dtype, num_threads=2).tolist() == ids.tolist()
        dropped = tok.encode_to_numpy(text[:1000], dtype=dtype, dropout=0.5, seed=3)
        assert dropped.tolist() == tok.encode(text[:1000], dropout=0.5, seed=3)
    for threads in (1, 2):
        texts = [MIXED * n for n in range(60)]
        ids, offsets = tok.encode_batch_to_numpy(texts, dtype=dtype, num_threads=threads)
        wide, places = tok.encode_batch_to_numpy(texts)
        assert ids.dtype == np.dtype(dtype)
        assert (ids.tolist(), offsets.tolist()) == (wide.tolist(), places.tolist())


def test_dtypes_that_cannot_hold_the_ids() -> None:
    for encode in (lambda **options: SPARSE.encode_to_numpy("a", **options),
                   lambda **options: SPARSE.encode_batch_to_numpy(["a"], **options)):  # fmt: skip
        with pytest.raises(ValueError, match=r"uint16 holds ids up to 65535, and the largest .* is 4194304"):
            encode(dtype=np.uint16)
        with pytest.raises(ValueError, match=r"dtype is uint16, int32 or uint32, not"):
            encode(dtype=np.int64)
        with pytest.raises(TypeError):
            encode(dtype="tokens")
    full = Tokenizer({value: bytes([value]) for value in range(256)} | {(1 << 16) - 1: b"<s>"}, [], ["<s>"])
    assert full.encode_to_numpy("a<s>", dtype=np.uint16).tolist() == [97, 65535]


@pytest.mark.parametrize("length", [0, 1, 2, 255, 256, 257, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 100_000])
def test_arrays_own_their_memory(length: int) -> None:
    """Short ones are copies, long ones take over the memory of the encoder."""
    ids = BYTES.encode_to_numpy("a" * length)
    others = [BYTES.encode_to_numpy("b" * length) for _ in range(3)]
    assert (ids.dtype, ids.shape, ids.ndim) == (np.dtype(np.uint32), (length,), 1)
    assert ids.flags.c_contiguous
    assert ids.flags.aligned
    assert ids.flags.writeable
    assert ids.dtype is np.dtype(np.uint32)
    ids += 1
    assert (ids == 98).all()
    assert all((other == 98).all() for other in others)
    del others
    BYTES.encode_to_numpy("c" * length)
    assert (ids == 98).all()


@pytest.mark.parametrize("length", [(1 << 20) - 2, 1 << 20, 3 << 20, (9 << 20) + 5])
def test_long_arrays_share_nothing(length: int) -> None:
    """From a million ids on memory is mapped, grown past the first guess, and shared with nobody."""
    words = "a b c d " * (length // 8 + 1)
    expected = np.frombuffer(words[:length].encode(), np.uint8)
    kept = [BYTES.encode_to_numpy(words[:length]) for _ in range(2)]
    kept[0][:] = 1
    BYTES.encode_to_numpy("x y " * (length // 4))
    assert (kept[1] == expected).all()
    kept.pop(0)
    again = BYTES.encode_to_numpy(words[: length - 1], num_threads=2)
    flat, offsets = BYTES.encode_batch_to_numpy([words[:length], "xy"], num_threads=1)
    assert (again == expected[:-1]).all()
    assert (kept[0] == expected).all()
    assert (flat[:length] == expected).all()
    assert offsets.tolist() == [0, length, length + 2]


@pytest.mark.skipif(sys.platform != "linux", reason="MADV_DONTDUMP")
def test_memory_that_a_user_has_advised_about_is_left_behind() -> None:
    """Advice about a part of a mapping splits it, and it cannot grow."""
    ids = BYTES.encode_to_numpy("x1" * 1_100_000, num_threads=1)
    page = ids.ctypes.data // 4096 * 4096
    assert ctypes.CDLL(None).madvise(ctypes.c_void_p(page + (1 << 16)), 4096, 16) == 0
    del ids
    for length in (4_000_000, 9_000_000):
        assert len(BYTES.encode_to_numpy("x1" * (length // 2), num_threads=1)) == length


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_few_ids_do_not_hold_the_memory_of_many() -> None:
    import resource

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    long, short = "x1" * 1_100_000, "x1" * 50_000
    BYTES.encode(long, num_threads=1)
    before = resident()
    kept = []
    for _ in range(16):
        BYTES.encode(long, num_threads=1)
        kept.append(BYTES.encode_to_numpy(short, num_threads=1))
    assert resident() - before < 3 * sum(ids.nbytes for ids in kept) + (24 << 20)


def test_threads_that_free_long_arrays() -> None:
    words = "a b c d " * (1 << 18)
    expected = np.frombuffer(words.encode(), np.uint8)

    def work(size: int) -> bool:
        return all((BYTES.encode_to_numpy(words[:size]) == expected[:size]).all() for _ in range(4))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1 << 20, 1 << 21, 1 << 17)))


def test_an_array_holds_one_reference_to_its_type() -> None:
    dtype = np.dtype(np.uint32)
    before = sys.getrefcount(dtype)
    kept = [BYTES.encode_to_numpy("ab") for _ in range(100)]
    assert sys.getrefcount(dtype) in (before, before + 100)  # some versions do not count them
    del kept
    assert sys.getrefcount(dtype) == before


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 7, 8, 9, 100, 8191, 8192, 8193, 20000])
@pytest.mark.parametrize("literal", ["\0", "a", "\x7f", "<s>", "<t>"])
def test_each_place_in_a_list_holds_one_reference(length: int, literal: str) -> None:
    held = BYTES.encode(literal * 8 + "a" * 8)  # every object there is of both
    objects = list({id(token_id): token_id for token_id in held}.values())

    def counts() -> list[int]:
        return [sys.getrefcount(value) for value in objects]

    # the small ints of the program itself, which anything may hold, are left out
    watched = [place for place, value in enumerate(objects) if value > 256 or value is not small(value)]
    for shift in range(5):
        before = counts()
        ids = BYTES.encode("a" * shift + literal * length + "b")
        assert ids == [97] * shift + BYTES.encode(literal) * length + [98]
        found = Counter(map(id, ids))
        after = counts()
        if sys.version_info < (3, 12):
            assert all(after[place] - before[place] == found[id(objects[place])] for place in watched)
        del ids
        assert [counts()[place] for place in watched] == [before[place] for place in watched]


def small(value: int) -> int:
    """CPython's own object."""
    return int(str(value))


LEFT_BEHIND = """
import gc, random, resource
import numpy
from pathlib import Path
from bpetite import Tokenizer
from bpetite.core import _threads

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20

_threads.processors = lambda: 8
letters = random.Random(0)
texts = [" ".join("".join(letters.choices("abcdefgh", k=7)) for _ in range(15_000)) for _ in range(40)]
tok = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
before = resident()
for _ in range(2):
    ids, _ = tok.encode_batch_to_numpy(texts, num_threads=8)
del tok, ids
gc.collect()
print(resident() - before)
"""


@own_memory
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_tables_and_results_of_threads_go_back_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 25  # MB
