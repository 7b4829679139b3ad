"""Counts on disk: equal to those in memory for any memory, threads and cuts; what is left out; files open."""
from __future__ import annotations

import errno
import io
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpetite import CountFile, FormatError, PretokenCounts, count_pretokens, patterns
from bpetite.training import merge_count_files
from bpetite.training.counting import count_pretokens as counting
from bpetite.training.counting import jobs, spilling
from bpetite.training.counting.spilling import memory_bytes

DIGITS = r"[0-9]{1,3}|[^0-9]+"

@contextmanager
def tiny(part: int = 40) -> Iterator[None]:
    """Tables are full after each job, and partitions are read in many ranges."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilling, "LEAST_MEMORY", 1)
        patch.setattr(counting, "LEAST_MEMORY", 1)
        patch.setattr(jobs, "JOB_SIZE", part)
        yield


@settings(deadline=None, max_examples=40)
@given(
    documents=st.lists(st.text("ab 'sde1é😀\n", max_size=120), max_size=12),
    memory=st.integers(1, 3000),
    threads=st.integers(1, 3),
    part=st.integers(5, 200),
    options=st.sampled_from([{}, {"pattern": DIGITS, "special_tokens": ["ab"]}, {"pattern": r"(?<=a)b|\s+"}]),
)
@example(["1234567" * 900 + " word " + "12" * 700], 1, 3, 50, {"pattern": DIGITS})
@example(["e\u0301 ab12", "ab"] * 20, 50, 2, 40, {"normalization": "NFC"})
@example(["e\u0301 ab12", "ab"] * 20, 50, 2, 40, {"pattern": patterns.DEEPSEEK_V3})
@example(["e\u0301 ab12", "ab"] * 20, 50, 2, 40, {"pattern": None})
def test_equal_to_counts_in_memory(
    documents: list[str], memory: int, threads: int, part: int, options: dict[str, Any]
) -> None:
    expected = count_pretokens(documents, num_threads=1, **options)
    with tiny(part):
        counts = count_pretokens(documents, num_threads=threads, memory=memory, **options)
    assert sorted(counts) == list(expected.items())
    assert (len(counts), counts.total, counts.size) == (len(expected), expected.total, expected.size)
    assert counts.documents == len(documents)
    assert (counts.pattern, counts.special_tokens) == (expected.pattern, expected.special_tokens)
    assert counts.training_memory == expected.training_memory


def test_rare_pretokens_are_left_out(tmp_path: Path) -> None:
    texts = ["the cat the dog the cow", "a bird a cat cup"]
    with tiny():
        counts = count_pretokens(texts, memory=50, min_count=2)  # of all texts, not of a table
    assert dict(counts) == {b" cat": 2, b" the": 2}
    assert (len(counts), counts.total, counts.size, counts.documents) == (2, 4, 8, 2)
    for number, text in enumerate(texts):
        count_pretokens(text).save(tmp_path / str(number))
    merge_count_files([tmp_path / "0", tmp_path / "1"], tmp_path / "sum", min_count=2)
    assert dict(CountFile(tmp_path / "sum")) == dict(counts)
    assert dict(count_pretokens(texts, memory="1MB", min_count=2**80)) == {}
    with pytest.raises(ValueError, match="min_count must be at least 1, not 0"):
        count_pretokens(texts, memory="1MB", min_count=0)
    with pytest.raises(ValueError, match="min_count must be at least 1, not 0"):
        merge_count_files([tmp_path / "0"], tmp_path / "none", min_count=0)


def test_saved_counts_are_those_of_memory(tmp_path: Path) -> None:
    texts = ["the cat's hat", "é 12"]
    count_pretokens(texts, special_tokens=["<s>"]).save(tmp_path / "memory")
    with count_pretokens(texts, special_tokens=["<s>"], memory="1MB") as counts:
        counts.save(tmp_path / "disk")
        with pytest.raises(FileExistsError):
            counts.save(tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == (tmp_path / "memory").read_bytes()
    again = CountFile(tmp_path / "disk")
    assert dict(again) == dict(PretokenCounts.load(tmp_path / "disk")) == dict(count_pretokens(texts))
    assert repr(again) == "CountFile(6 different pre-tokens, 6 in all, 2 documents)"
    assert list(zip(again, again)) == [(pair, pair) for pair in again]  # two readers of one file
    with pytest.raises(TypeError, match="save it"):
        pickle.dumps(again)
    (tmp_path / "short").write_bytes((tmp_path / "disk").read_bytes()[:-1])
    with pytest.raises(FormatError, match="short: damaged"):
        CountFile(tmp_path / "short")


@pytest.mark.parametrize("memory", ["1MB", "4MB"])
def test_files_have_the_same_bytes_for_any_threads_and_memory(memory: str, tmp_path: Path) -> None:
    texts = [f"{number * 7919:x}" * 3 + " the cat" for number in range(60_000)]
    count_pretokens(texts, pattern=None).save(tmp_path / "memory")
    for threads in (1, 2):
        with count_pretokens(texts, pattern=None, memory=memory, num_threads=threads) as counts:
            counts.save(tmp_path / "disk", overwrite=True)
        assert (tmp_path / "disk").read_bytes() == (tmp_path / "memory").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="has no list of open files")
def test_few_files_are_open(tmp_path: Path) -> None:
    most = before = len([*Path("/proc/self/fd").iterdir()])

    def documents() -> Iterator[str]:
        nonlocal most
        for number in range(400):
            yield " ".join(f"{number * 1000 + at:x}" for at in range(1000))
            most = max(most, len([*Path("/proc/self/fd").iterdir()]))

    with count_pretokens(documents(), pattern=r"\w+| ", memory="1MB", spill_to=tmp_path) as counts:
        assert len(counts) == 400_001
        assert before < most <= before + 64
        assert len([*Path("/proc/self/fd").iterdir()]) == before + 1
        assert not any(tmp_path.iterdir())
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda *_, **__: Full())
    with tiny(), pytest.raises(OSError, match="does not hold; give more memory, or spill_to another folder") as caught:
        count_pretokens(["ab ab cd"], memory=1, spill_to=tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="spill_to goes with memory"):
        count_pretokens(["a"], spill_to=tmp_path)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="min_count goes with memory"):
        count_pretokens(["a"], min_count=2)  # type: ignore[call-overload]
    with pytest.raises(NotADirectoryError, match="spill_to is no folder"):
        count_pretokens(["a"], memory="1MB", spill_to=tmp_path / "none")
    with pytest.raises(ValueError, match="memory must be at least 1048576 bytes, not 1000"):
        count_pretokens(["a"], memory=1000)
    for wrong in ("many", "-1G", "1X", ""):
        with pytest.raises(ValueError, match="memory is a number of bytes, or such as '512MB'"):
            count_pretokens(["a"], memory=wrong)
    with pytest.raises(TypeError, match="memory is an int"):
        count_pretokens(["a"], memory=1.5)  # type: ignore[call-overload]
    for no_bound in ("999999999T", 2**80):
        assert dict(count_pretokens(["a"], memory=no_bound)) == {b"a": 1}
    assert [memory_bytes(text) for text in ("1MB", "2 GiB", "1.5g", "3t", "4194304")] == [
        1 << 20, 2 << 30, 3 << 29, 3 << 40, 4 << 20,
    ]  # fmt: skip
