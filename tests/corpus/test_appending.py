"""Bytes are appended in order, checked, and waited for; errors reach whoever hands over the next ones."""
import errno
import hashlib
import io
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.writing import appending
from bpetite.corpus.writing.appending import Appender
from bpetite.corpus.writing.checksums import Crc32


@settings(max_examples=60, deadline=None)
@given(
    pieces=st.lists(st.integers(0, 300_000), max_size=6),
    begun=st.integers(0, 3),
    limit=st.none() | st.integers(1, 900_000),
    held=st.sampled_from([1, 200_000, appending.HELD]),
    pauses=st.booleans(),
)
def test_the_file_and_its_checksum(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], begun: int, limit: int | None, held: int, pauses: bool
) -> None:
    path = tmp_path_factory.mktemp("appending") / "f"
    rows = [bytes([65 + number]) * size for number, size in enumerate(pieces)]
    path.write_bytes(b"".join(rows[:begun]))  # by an earlier process
    with pytest.MonkeyPatch.context() as patched, path.open("r+b", buffering=0) as file:
        patched.setattr(appending, "HELD", held)
        size = file.seek(0, 2)
        appender = Appender(file, path, size, checksum=hashlib.sha256(), limit=limit)
        for row in rows[begun:]:
            appender.append(row)
            size += len(row)
            assert appender.size == size
            if pauses:
                appender.drain()
                assert path.stat().st_size == size
        digest = appender.digest()
        appender.close()
    assert path.read_bytes() == b"".join(rows)
    assert digest == hashlib.sha256(b"".join(rows)[:limit]).hexdigest()


def test_arrays_are_written_as_they_lie_in_memory(ram_path: Path) -> None:
    with (ram_path / "f").open("w+b", buffering=0) as file:
        appender = Appender(file, ram_path / "f", checksum=Crc32())
        appender.append(np.arange(5, dtype="<u2"))
        appender.append(np.empty(0, "<u2"))
        appender.append(np.arange(10, dtype="<u4")[3:5])
        assert appender.size == 18
        checksum = appender.digest()
        appender.close()
    data = b"\0\0\1\0\2\0\3\0\4\0" + b"\3\0\0\0\4\0\0\0"
    assert (ram_path / "f").read_bytes() == data
    crc = Crc32()
    crc.update(data)
    assert checksum == crc.hexdigest()


class Slow(io.RawIOBase):
    """A file whose writes wait to be let through, and may fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.let = threading.Semaphore(0)
        self.error = error
        self.written: list[bytes] = []

    def write(self, data: Any, /) -> int:
        self.let.acquire()
        if self.error is not None:
            raise self.error
        self.written.append(bytes(data))
        return len(data)


def test_so_much_waits_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "HELD", 10)
    file = Slow()
    appender = Appender(file, Path("f"), durable=False)  # type: ignore[arg-type]
    appender.append(b"12345")
    appender.append(b"67890")
    handed = threading.Event()

    def hand_over() -> None:
        appender.append(b"more")
        handed.set()

    thread = threading.Thread(target=hand_over)
    thread.start()
    assert not handed.wait(0.2)
    file.let.release()
    assert handed.wait(20)
    thread.join()
    file.let.release(2)
    appender.drain()
    appender.close()
    assert file.written == [b"12345", b"67890", b"more"]


def test_an_error_is_raised_by_whatever_comes_next_and_names_the_file() -> None:
    file = Slow(OSError(errno.ENOSPC, "No space left on device"))
    appender = Appender(file, Path("some/file"), checksum=Crc32(), durable=False)  # type: ignore[arg-type]
    appender.append(b"a")
    file.let.release()
    for call in (appender.drain, appender.digest, lambda: appender.append(b"b"), appender.drain):
        with pytest.raises(OSError, match="the same command goes on") as raised:
            call()
        assert raised.value.filename == "some/file"
    appender.close()


def test_an_error_wakes_who_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "HELD", 1)
    file = Slow(OSError(errno.EIO, "Input/output error"))
    appender = Appender(file, Path("f"), durable=False)  # type: ignore[arg-type]
    appender.append(b"a")
    threading.Timer(0.1, file.let.release).start()
    with pytest.raises(OSError, match="Input/output error"):
        appender.append(b"b")
    appender.close()
    assert file.written == []


def test_what_is_there_but_cannot_be_read_is_an_error(ram_path: Path) -> None:
    with (ram_path / "f").open("w+b", buffering=0) as file:
        appender = Appender(file, ram_path / "missing", 3, checksum=hashlib.sha256())
        with pytest.raises(FileNotFoundError):
            appender.drain() or appender.append(b"a") or appender.drain()  # type: ignore[func-returns-value]
        appender.close()


def test_closing_leaves_what_was_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Slow()
    appender = Appender(file, Path("f"), durable=False)  # type: ignore[arg-type]
    appender.append(b"begun")
    appender.append(b"not begun")
    threading.Timer(0.1, file.let.release).start()
    appender.close()
    assert file.written in ([b"begun"], [])
    appender.close()
