"""Counts on disk: equal to those in memory for any memory, threads and cuts; what is left out; full disks."""
from __future__ import annotations

import errno
import os
import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpetite import (
    CountFile,
    FormatError,
    PretokenCounts,
    Tokenizer,
    count_pretokens,
    patterns,
)
from bpetite.training import merge_count_files
from bpetite.training.counting import spilling
from bpetite.training.counting import texts as counting
from bpetite.training.counting._count_records import RecordMerger
from bpetite.training.counting._count_table import CountTable
from bpetite.training.counting.spilling import memory_bytes
from bpetite.training.counting.table_file import Records, SharedFile, write_table

DIGITS = r"[0-9]{1,3}|[^0-9]+"

#: Strings that agree in their first bytes, in zeros at their ends, in all but their lengths.
strings = st.one_of(
    st.binary(min_size=1, max_size=20),
    st.builds(lambda start, end: start + end, st.sampled_from([b"aaaaaaaa", b"\0" * 7, b"aaaaaaaaaaaaaaaa"]),
              st.binary(max_size=3)),
    st.binary(min_size=1, max_size=3).map(lambda end: end + b"\0" * 6),
)  # fmt: skip


@contextmanager
def tiny(fan_in: int = 3, part: int = 40) -> Iterator[None]:
    """Tables are full after each job, and few runs are merged at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilling, "LEAST_MEMORY", 1)
        patch.setattr(counting, "LEAST_MEMORY", 1)
        patch.setattr(spilling, "FAN_IN", fan_in)
        patch.setattr(counting, "PART", part)
        yield


def file_of(counts: Mapping[bytes, int]) -> Records:
    """Records in a file, negative counts too."""
    table = CountTable()
    for pretoken, count in counts.items():
        table.add(pretoken, count)
    file = BytesIO()
    write_table(file, b"", table.blocks(30), lambda: (table.totals()[0], 0))
    return Records(SharedFile(file, "a file"), 0, 0)


@settings(deadline=None, max_examples=40)
@given(
    documents=st.lists(st.text("ab 'sde1é😀\n", max_size=120), max_size=12),
    memory=st.integers(1, 3000),
    threads=st.integers(1, 3),
    fan_in=st.integers(2, 4),
    part=st.integers(5, 200),
    options=st.sampled_from([{}, {"pattern": DIGITS, "special_tokens": ["ab"]}, {"pattern": r"(?<=a)b|\s+"}]),
)
@example(  # ranges that are taken back may be in another run, which then holds negative counts
    ["1234567" * 900 + " word " + "12" * 700], 1, 3, 3, 50, {"pattern": DIGITS}
)
@example(["e\u0301 ab12", "ab"] * 20, 50, 2, 3, 40, {"normalization": "NFC"})
@example(["e\u0301 ab12", "ab"] * 20, 50, 2, 3, 40, {"pattern": patterns.DEEPSEEK_V3})
@example(["e\u0301 ab12", "ab"] * 20, 50, 2, 3, 40, {"pattern": None})
def test_equal_to_counts_in_memory(
    documents: list[str], memory: int, threads: int, fan_in: int, part: int, options: dict[str, Any]
) -> None:
    expected = count_pretokens(documents, num_threads=1, **options)
    with tiny(fan_in, part):
        counts = count_pretokens(documents, num_threads=threads, memory=memory, **options)
    assert list(counts) == list(expected.items())
    assert (len(counts), counts.total, counts.size) == (len(expected), expected.total, expected.size)
    assert counts.documents == len(documents)
    assert (counts.pattern, counts.special_tokens) == (expected.pattern, expected.special_tokens)
    assert counts.training_memory == expected.training_memory
    assert counts.summary() == expected.summary()


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.dictionaries(strings, st.integers(-3, 3), max_size=12), min_size=1, max_size=5),
    st.integers(1, 4),
    st.integers(1, 80),
)
def test_records_are_added_up(files: list[dict[bytes, int]], least: int, buffer_bytes: int) -> None:
    sums: Counter[bytes] = Counter()
    for counts in files:
        for pretoken, count in counts.items():
            sums[pretoken] += count
    readers = [file_of(counts).read(buffer_bytes, signed=True) for counts in files]
    both = RecordMerger(readers, 1, buffer_bytes, signed=True)
    written = Records(SharedFile(BytesIO(), "sums"), 0, 0)
    write_table(written.file.file, b"", both, lambda: (both.totals()[0], 7))
    assert list(written.read(buffer_bytes, signed=True)) == sorted((k, n) for k, n in sums.items() if n)

    readers = [file_of(counts).read(buffer_bytes, signed=True) for counts in files]
    merger = RecordMerger(readers, least, buffer_bytes)
    if min(sums.values(), default=0) < 0:
        with pytest.raises(FormatError, match="negative together"):
            list(merger)
        return
    list(merger)
    kept = {pretoken: count for pretoken, count in sums.items() if count >= least}
    assert merger.totals() == (len(kept), sum(map(len, kept)), sum(kept.values()))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 400))
def test_a_table_in_order(seed: int, number: int) -> None:
    draw = random.Random(seed)
    starts = [b"", b"a", b"aaaaaaaa", b"aaaaaaab", b"\0\0", b"aaaaaaaaaaaaaaaaaaaa"]
    names = {draw.choice(starts) + draw.randbytes(draw.randrange(1, 4)) for _ in range(number)}
    counts = {name: draw.randrange(1, 2**62) for name in names}
    table = PretokenCounts(counts)._table
    assert list(table.sorted()) == sorted(counts.items())
    assert list(file_of(counts).read()) == sorted(counts.items())


def test_rare_pretokens_are_left_out(tmp_path: Path) -> None:
    texts = ["the cat the dog the cow", "a bird a cat cup"]
    with tiny():
        counts = count_pretokens(texts, memory=50, min_count=2)  # of all texts, not of a run
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


def test_learning_from_counts_on_disk(tmp_path: Path) -> None:
    texts = ["the cat's hat, the cat sat on the mat"] * 5 + ["that hat"]
    with tiny():
        counts = count_pretokens(texts, memory=100, spill_to=tmp_path)
    learned = Tokenizer.train_from_counts(counts, 262)
    assert learned == Tokenizer.train(texts, 262)
    for tok in (learned, learned.to_ranks()):
        assert tok.extend(counts, 5) == tok.extend(count_pretokens(texts), 5)


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
    with pytest.raises(FormatError, match="short: ends at byte"):
        len(CountFile(tmp_path / "short"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_disk_that_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    class Full(BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(number, os.strerror(number))

    made = []

    def temporary(*, dir: str) -> Full:
        made.append(Full())
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", temporary)
    with tiny(), pytest.raises(OSError, match=os.strerror(number)) as caught:
        count_pretokens(["a b c"] * 200, memory=10, spill_to=tmp_path, num_threads=2)
    assert caught.value.errno == number
    if number == errno.ENOSPC:
        assert caught.value.filename == str(tmp_path)
        assert "spill_to another folder" in str(caught.value)
    assert all(file.closed for file in made)


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
