"""Bytes are appended in order, checked, and waited for; errors reach whoever hands over the next ones."""
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import plain_sums
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.output import appending, checksums
from bpetite.corpus.output.appending import Appender
from bpetite.corpus.output.checksums import list_sums
from tests.support.running import running_threads


@settings(max_examples=80, deadline=None)
@given(
    pieces=st.lists(st.integers(0, 3000), max_size=6),
    begun=st.integers(0, 3),
    limit=st.none() | st.integers(1, 9000),
    held=st.sampled_from([1, 2000, appending.HELD]),
    threads=st.integers(1, 4),
    size_of_range=st.sampled_from([7, 1000, 1 << 20]),
    pauses=st.booleans(),
)
def test_the_file_and_its_checksums(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], begun: int, limit: int | None, held: int,
    threads: int, size_of_range: int, pauses: bool,
) -> None:  # fmt: skip
    path = tmp_path_factory.mktemp("appending") / "f"
    rows = [bytes([65 + number]) * size for number, size in enumerate(pieces)]
    path.write_bytes(b"".join(rows[:begun]))  # by an earlier process
    with pytest.MonkeyPatch.context() as patched, path.open("r+b", buffering=0) as file:
        patched.setattr(appending, "HELD", held)
        patched.setattr(appending, "RANGE", size_of_range)
        patched.setattr(checksums, "RANGE", size_of_range)
        size = file.seek(0, 2)
        appender = Appender(file, path, size, threads)
        assert appender.root() == plain_sums(b"".join(rows[:begun]), size_of_range)["root"]
        for row in rows[begun:]:
            appender.append(row)
            size += len(row)
            assert appender.size == size
            if pauses:
                assert appender.root() == plain_sums(path.read_bytes(), size_of_range)["root"]
                assert path.stat().st_size == size
        appender.drain()
        data = b"".join(rows)
        assert path.read_bytes() == data
        assert list_sums(appender.sums()) == plain_sums(data, size_of_range)
        upto = limit if limit is not None and limit < len(data) else len(data)
        assert list_sums(appender.sums(upto)) == plain_sums(data[:upto], size_of_range)
        os.pwrite(file.fileno(), b"head"[: len(data)], 0)
        assert list_sums(appender.sums(upto, head=True)) == plain_sums(path.read_bytes()[:upto], size_of_range)
        appender.close()


def test_arrays_are_written_as_they_lie_in_memory(ram_path: Path) -> None:
    with (ram_path / "f").open("w+b", buffering=0) as file:
        appender = Appender(file, ram_path / "f")
        appender.append(np.arange(5, dtype="<u2"))
        appender.append(np.empty(0, "<u2"))
        appender.append(np.arange(10, dtype="<u4")[3:5])
        assert appender.size == 18
        sums = appender.sums()
        appender.close()
    data = b"\0\0\1\0\2\0\3\0\4\0" + b"\3\0\0\0\4\0\0\0"
    assert (ram_path / "f").read_bytes() == data
    assert list_sums(sums) == plain_sums(data)


class Slow:
    """Writes that wait to be let through, and may fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.let = threading.Semaphore(0)
        self.error = error
        self.written: list[bytes] = []
        self.writing = self.most = 0

    def write(self, file: Any, data: Any, offset: int) -> None:
        self.writing += 1
        self.most = max(self.most, self.writing)
        self.let.acquire()
        self.writing -= 1
        if self.error is not None:
            raise self.error
        self.written.append(bytes(data))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Slow]:
    def make(error: BaseException | None = None) -> Slow:
        writes = Slow(error)
        monkeypatch.setattr(appending, "write_at", writes.write)
        monkeypatch.setattr(appending, "begin_writeback", lambda *range: None)
        return writes

    return make


def appender_of(path: Path = Path("f"), **options: Any) -> Appender:
    return Appender(None, path, **options)  # type: ignore[arg-type]


def test_so_much_waits_and_no_more(monkeypatch: pytest.MonkeyPatch, slow: Callable[..., Slow]) -> None:
    monkeypatch.setattr(appending, "HELD", 10)
    writes = slow()
    appender = appender_of()
    appender.append(b"12345")
    appender.append(b"67890")
    handed = threading.Event()

    def hand_over() -> None:
        appender.append(b"more")
        handed.set()

    thread = threading.Thread(target=hand_over)
    thread.start()
    assert not handed.wait(0.2)
    writes.let.release()
    assert handed.wait(20)
    thread.join()
    writes.let.release(2)
    appender.drain()
    appender.close()
    assert writes.written == [b"12345", b"67890", b"more"]


def test_ranges_are_written_at_the_same_time(monkeypatch: pytest.MonkeyPatch, slow: Callable[..., Slow]) -> None:
    monkeypatch.setattr(appending, "RANGE", 4)
    writes = slow()
    appender = appender_of()
    for row in (b"aa", b"ab", b"bbbb", b"cc", b"ccdd", b"dd"):
        appender.append(row)
    waiting = threading.Event()
    while writes.writing < 4:
        waiting.wait(0.01)
    writes.let.release(7)
    appender.drain()
    appender.close()
    assert writes.most == 4
    assert sorted(writes.written) == [b"aa", b"ab", b"bbbb", b"cc", b"cc", b"dd", b"dd"]


def test_an_error_is_raised_by_whatever_comes_next_and_names_the_file(slow: Callable[..., Slow]) -> None:
    writes = slow(OSError(errno.ENOSPC, "No space left on device"))
    appender = appender_of(Path("some/file"))
    appender.append(b"a")
    writes.let.release()
    for call in (appender.drain, appender.sums, appender.root, lambda: appender.append(b"b"), appender.drain):
        with pytest.raises(OSError, match="the same command goes on") as raised:
            call()
        assert raised.value.filename == "some/file"
    appender.close()


def test_an_error_wakes_who_waits_for_room(monkeypatch: pytest.MonkeyPatch, slow: Callable[..., Slow]) -> None:
    monkeypatch.setattr(appending, "HELD", 1)
    writes = slow(OSError(errno.EIO, "Input/output error"))
    appender = appender_of()
    appender.append(b"a")
    threading.Timer(0.1, writes.let.release).start()
    with pytest.raises(OSError, match="Input/output error"):
        appender.append(b"b")
    appender.close()
    assert writes.written == []


def test_what_is_there_but_cannot_be_read_is_an_error(ram_path: Path) -> None:
    with (ram_path / "f").open("w+b", buffering=0) as file, pytest.raises(FileNotFoundError):
        Appender(file, ram_path / "missing", 3)


def test_closing_leaves_what_was_not_begun(slow: Callable[..., Slow]) -> None:
    writes = slow()
    appender = appender_of()
    appender.append(b"begun")
    appender.append(b"not begun")
    threading.Timer(0.1, writes.let.release).start()
    appender.close()
    assert writes.written in ([b"begun"], [])


def test_a_thread_that_cannot_be_started(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(call: Callable[[], object]) -> Any:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(appending.Future, "started", start)
    with (ram_path / "f").open("w+b", buffering=0) as file:
        appender = Appender(file, ram_path / "f")
        for _ in range(2):
            with pytest.raises(RuntimeError, match="can't start"):
                appender.append(b"a")
        assert appender.size == 0
        monkeypatch.undo()
        appender.append(b"b")  # there is room again
        assert list_sums(appender.sums()) == plain_sums(b"b")
        appender.close()
    assert (ram_path / "f").read_bytes() == b"b"


@pytest.mark.parametrize("where", ["wait", "started"])
def test_an_interrupt_leaves_no_thread(ram_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Ctrl-C while bytes are waited for, and right after a thread was started: `close` waits for all, and returns."""
    monkeypatch.setattr(appending, "RANGE", 4)
    plain, before = getattr(appending.Future, where), running_threads()

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(appending.Future, where, plain)
        if where == "started":
            plain(*arguments)
        raise KeyboardInterrupt

    with (ram_path / "f").open("w+b", buffering=0) as file:
        appender = Appender(file, ram_path / "f")
        appender.append(b"abcdefgh")
        monkeypatch.setattr(appending.Future, where, interrupted if where == "wait" else staticmethod(interrupted))
        with pytest.raises(KeyboardInterrupt):
            appender.append(b"i") if where == "started" else appender.drain()
        appender.close()
        appender.close()
    ended = threading.Event()
    while running_threads() > before:
        ended.wait(0.01)
