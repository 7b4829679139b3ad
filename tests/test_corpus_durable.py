"""The journal believes only what is complete; files appear whole."""
import hashlib
import multiprocessing
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.durable import Following, Journal, crc32_of, sha256_of, write_file


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
def test_damage_costs_only_what_comes_behind_it(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
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


def test_write_file_and_checksum(ram_path: Path) -> None:
    write_file(ram_path / "f", b"abc")
    assert sha256_of(ram_path / "f") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    write_file(ram_path / "f", b"abcdef")
    assert sha256_of(ram_path / "f", 3) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert [path.name for path in ram_path.iterdir()] == ["f"]


@settings(max_examples=30, deadline=None)
@given(pieces=st.lists(st.integers(0, 300_000), max_size=6), begun=st.integers(0, 3), behind=st.integers(0, 100))
def test_a_checksum_that_follows_is_that_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], begun: int, behind: int
) -> None:
    path = tmp_path_factory.mktemp("following") / "f"
    rows = [bytes([65 + number]) * size for number, size in enumerate(pieces)]
    path.write_bytes(b"".join(rows[:begun]))  # by an earlier process
    following = Following(path)
    size = path.stat().st_size
    following.reach(size)
    with path.open("ab") as file:
        for row in rows[begun:]:
            file.write(row)
            file.flush()
            size += len(row)
            following.reach(size)
        file.write(bytes(behind))  # what is not reached does not count
    assert following.digest() == sha256_of(path, size) == hashlib.sha256(b"".join(rows)).hexdigest()


def test_a_checksum_that_is_not_wanted_ends(ram_path: Path) -> None:
    (ram_path / "f").write_bytes(b"abc")
    following = Following(ram_path / "f")
    following.reach(2)
    following.close()
    following.close()
    assert following.digest() == hashlib.sha256(b"ab").hexdigest()


def test_crc32(ram_path: Path) -> None:
    (ram_path / "f").write_bytes(b"123456789")
    assert crc32_of(ram_path / "f") == "cbf43926"
    assert crc32_of(ram_path / "f", 3) == f"{zlib.crc32(b'123'):08x}"
