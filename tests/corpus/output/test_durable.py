"""A journal has only the records that are complete."""
import multiprocessing
import os
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.output.durable import Journal
from bpetite.errors import FormatError

HEAD = b"bpetite journal\n"


def test_records_come_back(ram_path: Path) -> None:
    journal = Journal(ram_path / "j")
    assert journal.records == []
    journal.append({"a": 1})
    journal.append({"b": "ü\n"})
    journal.close()
    journal = Journal(ram_path / "j")
    assert journal.records == [{"a": 1}, {"b": "ü\n"}]
    journal.append({"c": None})
    journal.close()
    journal = Journal(ram_path / "j")
    assert len(journal.records) == 3
    journal.restart()
    journal.append({"d": 4})
    journal.close()
    journal = Journal(ram_path / "j")
    assert journal.records == [{"d": 4}]
    journal.close(remove=True)
    assert not (ram_path / "j").exists()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_costs_only_the_records_after_it(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    records = [{"n": n, "text": "x" * n} for n in range(5)]
    journal = Journal(path)
    ends = []
    for record in records:
        journal.append(record)
        ends.append(path.stat().st_size)
    journal.close()
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        damaged = whole[:at]
    else:
        damaged = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    path.write_bytes(damaged)
    if at < len(HEAD) and len(damaged) > at:  # nothing says any more that it is a journal
        with pytest.raises(FormatError, match="not a journal"):
            Journal(path)
        assert path.read_bytes() == damaged
        return
    journal = Journal(path)
    assert journal.records == records[: sum(end <= at for end in ends)]
    journal.append({"new": 1})
    journal.close()
    journal = Journal(path)
    assert journal.records[-1] == {"new": 1}
    journal.close()


def test_one_at_a_time(ram_path: Path) -> None:
    journal = Journal(ram_path / "j")
    with pytest.raises(BlockingIOError, match="another run is writing this output"):
        Journal(ram_path / "j")
    journal.close()
    Journal(ram_path / "j").close()


def _hold(path: Path, ready: object) -> None:
    journal = Journal(path)
    journal.append({"held": 1})
    ready.set()  # type: ignore[attr-defined]
    ready.wait(60)  # type: ignore[attr-defined]
    multiprocessing.Event().wait(60)


def test_a_killed_process_leaves_no_lock(ram_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_hold, args=(ram_path / "j", ready))
    process.start()
    assert ready.wait(60)
    with pytest.raises(BlockingIOError):
        Journal(ram_path / "j")
    process.kill()
    process.join()
    journal = Journal(ram_path / "j")
    assert journal.records == [{"held": 1}]
    journal.close()


@pytest.mark.parametrize(
    "content",
    [
        b"my diary\n", b"\n", b"20241122", b"ab", b"deadbeef {}\n", b"0" * 40, b"\x80" * 9, b"{}\n" * 9,
        b"00000000 {\n", b"deadbeef {", b"\0", bytes(9), bytes(5000), HEAD[:-1] + b" of mine\n",
    ],
)  # fmt: skip
def test_what_is_no_journal_stays(ram_path: Path, content: bytes) -> None:
    path = ram_path / "j"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"j: not a journal"):
        Journal(path)
    Journal.discard(path)
    assert path.read_bytes() == content
    assert os.listdir(ram_path) == ["j"]


@pytest.mark.parametrize("written", [0, 5, len(HEAD)])
def test_a_process_killed_as_it_made_a_journal(ram_path: Path, written: int) -> None:
    (ram_path / "j").write_bytes(HEAD[:written])
    journal = Journal(ram_path / "j")
    assert journal.existed
    assert journal.records == []
    journal.append({"a": 1})
    journal.close()
    journal = Journal(ram_path / "j")
    assert journal.records == [{"a": 1}]
    journal.close(remove=True)
    assert os.listdir(ram_path) == []


def test_one_of_many_makes_it(ram_path: Path) -> None:
    """However the first steps of processes interleave, at most one has the journal, and nothing else is left."""

    def open_one(_: int) -> Journal | None:
        try:
            return Journal(ram_path / "j")
        except BlockingIOError:
            return None

    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            made = [journal for journal in pool.map(open_one, range(8)) if journal]
            assert len(made) <= 1
            for journal in made:
                assert os.listdir(ram_path) == ["j"]
                journal.close(remove=True)
            (ram_path / "j").unlink(missing_ok=True)


@pytest.mark.parametrize("target", ["file", "nothing", "folder", "fifo"])
def test_links_and_devices_are_not_followed(ram_path: Path, target: str) -> None:
    (ram_path / "file").write_bytes(b"")
    (ram_path / "folder").mkdir()
    if target == "fifo":
        os.mkfifo(ram_path / "j")
    else:
        (ram_path / "j").symlink_to(ram_path / target)
    with pytest.raises(FileExistsError, match="a link, a folder or a device"):
        Journal(ram_path / "j")
    Journal.discard(ram_path / "j")
    assert os.path.lexists(ram_path / "j")
    assert not (ram_path / "nothing").exists()


def test_a_record_that_is_no_object_ends_the_journal(ram_path: Path) -> None:
    journal = Journal(ram_path / "j")
    journal.append({"a": 1})
    journal.close()
    for body in (b"[1]", b"1", b"{", b"[" * 100_000):
        with (ram_path / "j").open("ab") as file:
            file.write(b"%08x %b\n" % (zlib.crc32(body), body))
        journal = Journal(ram_path / "j")
        assert journal.records == [{"a": 1}]
        journal.close()


@pytest.mark.skipif(sys.platform != "linux", reason="finds open files by /proc")
def test_a_system_that_deletes_no_open_file(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Windows, which also has no locks of this kind."""
    monkeypatch.setattr("bpetite.corpus.output.durable.fcntl", None)
    path = ram_path / "j"
    journal = Journal(path)
    journal.append({"a": 1})
    deleted: list[Path] = []

    def unlink(path: Path, missing_ok: bool = False) -> None:
        links = [link for link in Path("/proc/self/fd").iterdir() if os.path.lexists(link)]
        assert str(path) not in map(os.readlink, links)
        os.unlink(path)
        deleted.append(path)

    monkeypatch.setattr(Path, "unlink", unlink)
    journal.close(remove=True)
    assert deleted == [path]
