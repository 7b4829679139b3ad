"""A growing file: bytes are appended in order, hashed, and waited for; errors reach whoever appends next."""
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.write import growing
from bpetite.corpus.write.growing import GrowingFile, hash_file
from tests.support.running import running_threads


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.binary(max_size=300), max_size=6), begun=st.integers(0, 3), header=st.sampled_from([0, 16]),
    more=st.binary(max_size=9), held=st.sampled_from([1, 200, growing.QUEUED_BYTES]), pauses=st.booleans(),
)  # fmt: skip
def test_the_file_and_its_hash(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], begun: int, header: int, more: bytes, held: int,
    pauses: bool,
) -> None:  # fmt: skip
    """Also where an earlier process wrote the first rows, and then more that its state does not have."""
    path, data = tmp_path_factory.mktemp("growing") / "f", b"".join(rows)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing, "QUEUED_BYTES", held)
        first = GrowingFile(path, header)
        for row in rows[:begun]:
            first.append(row)
        first.drain(sync=True)
        state = first.state()
        first.append(more)
        first.drain()
        first.close()
        file = GrowingFile(path, header, state)
        for row in rows[begun:]:
            file.append(row)
            if pauses:
                file.drain()
                assert path.stat().st_size == file.size
        file.drain()
        assert path.read_bytes() == bytes(header) + data
        assert file.state() == [header + len(data), xxhash.xxh3_128_hexdigest(data)]
        file.close()
    assert hash_file(path, start=header).hexdigest() == xxhash.xxh3_128_hexdigest(data)


class Slow:
    """The place of a file, whose writes wait to be let through, and may fail."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.let = threading.Semaphore(0)
        self.error = error
        self.written: list[bytes] = []

    def write(self, data: Any) -> int:
        self.let.acquire()
        if self.error is not None:
            raise self.error
        self.written.append(bytes(data))
        return len(data)

    def close(self) -> None:
        pass


@pytest.fixture
def slow(ram_path: Path) -> Callable[..., tuple[GrowingFile, Slow]]:
    def make(error: BaseException | None = None) -> tuple[GrowingFile, Slow]:
        file, writes = GrowingFile(ram_path / "f"), Slow(error)
        file.file.close()
        file.file = writes  # type: ignore[assignment]
        return file, writes

    return make


def test_so_much_waits_and_no_more(monkeypatch: pytest.MonkeyPatch, slow: Callable[..., Any]) -> None:
    """And closing leaves what was not begun."""
    monkeypatch.setattr(growing, "QUEUED_BYTES", 10)
    file, writes = slow()
    file.append(b"12345")
    file.append(b"67890")
    handed = threading.Event()
    thread = threading.Thread(target=lambda: (file.append(b"more"), handed.set()))
    thread.start()
    assert not handed.wait(0.2)
    writes.let.release()
    assert handed.wait(20)
    thread.join()
    writes.let.release(2)
    file.drain()
    assert writes.written == [b"12345", b"67890", b"more"]
    file.append(b"begun")
    file.append(b"not")
    threading.Timer(0.1, writes.let.release).start()
    file.close()
    assert writes.written[3:] in ([b"begun"], [])


@pytest.mark.parametrize("waits", [False, True])
def test_an_error_is_raised_by_whatever_comes_next_and_names_the_file(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch, slow: Callable[..., Any], waits: bool
) -> None:
    """It wakes who waits for room, too."""
    monkeypatch.setattr(growing, "QUEUED_BYTES", 1 if waits else 10)
    file, writes = slow(OSError(errno.ENOSPC, "No space left on device"))
    file.append(b"a")
    threading.Timer(0.1, writes.let.release).start()
    for call in (lambda: file.append(b"b"), file.drain)[not waits :]:
        with pytest.raises(OSError, match="No space left") as raised:
            call()
        assert raised.value.filename == str(ram_path / "f")
    with pytest.raises(OSError, match="No space left"):
        file.append(b"c")
    file.close()
    assert writes.written == []


def test_an_interrupt_leaves_no_thread(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while bytes are waited for: `close` waits for the thread, and returns."""
    plain, before = growing.Future.wait, running_threads()

    def interrupted(self: Any) -> None:
        monkeypatch.setattr(growing.Future, "wait", plain)
        raise KeyboardInterrupt

    file = GrowingFile(ram_path / "f")
    file.append(b"abcdefgh")
    monkeypatch.setattr(growing.Future, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file.drain()
    file.close()
    assert running_threads() == before


@pytest.mark.parametrize("target", ["file", "nothing", "folder", "fifo"])
def test_links_and_devices_are_not_followed(ram_path: Path, target: str) -> None:
    (ram_path / "file").write_bytes(b"mine")
    (ram_path / "folder").mkdir()
    if target == "fifo":
        os.mkfifo(ram_path / "f")
    else:
        (ram_path / "f").symlink_to(ram_path / target)
    with pytest.raises(FileExistsError, match="a link, a folder or a device"):
        GrowingFile(ram_path / "f")
    assert (ram_path / "file").read_bytes() == b"mine"
    assert not (ram_path / "nothing").exists()
