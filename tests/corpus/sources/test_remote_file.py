"""Objects are read by ranges, again after errors, and never as a mixture of two versions."""
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import byte_codec, outputs, run, some_documents, texts_in, texts_of_part
from faulty_store import every, faulty, fresh

from bpetite.corpus import Options, encode_corpus, find_sources, make_part
from bpetite.corpus.sources.stores import FIRST, READ_AHEAD, RemoteFile
from bpetite.corpus.sources.streams import Stream


def transferred(calls: list[tuple[Any, ...]]) -> int:
    return sum(call[3] for call in calls if call[0] == "read")


def fill(store: Any) -> list[str]:
    """The documents of three formats, in a store."""
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    documents = some_documents(90)
    store.pipe("/in/a.txt", "<|endoftext|>".join(documents[:30]).encode())
    rows = [json.dumps({"text": text}).encode() + b"\n" for text in documents[30:60]]
    store.pipe("/in/b.jsonl.gz", gzip.compress(b"".join(rows[:10])) + gzip.compress(b"".join(rows[10:])))
    table = io.BytesIO()
    pq.write_table(pa.table({"text": documents[60:], "more": documents[60:]}), table, row_group_size=10)
    store.pipe("/in/c.parquet", table.getvalue())
    return documents


@pytest.mark.parametrize("ranges", [False, True])
def test_reads_as_a_file_does(monkeypatch: pytest.MonkeyPatch, ranges: bool) -> None:
    monkeypatch.setattr("bpetite.corpus.sources.stores.READ_AHEAD", 640)
    monkeypatch.setattr("bpetite.corpus.sources.stores.FIRST", 64)
    chosen = random.Random(5)
    data = chosen.randbytes(5000)
    fresh("faulty").pipe("/x", data)
    with faulty(every(40)), RemoteFile("faulty://x", ranges=ranges) as file:
        plain = io.BytesIO(data)
        for _ in range(600):
            if chosen.random() < 0.1:
                whence = chosen.choice([0, 1, 2])
                offset = chosen.randrange(5000) if whence == 0 else -chosen.randrange(50)
                if plain.tell() + offset >= 0:
                    assert file.seek(offset, whence) == plain.seek(offset, whence)
            size = chosen.choice([0, 1, 10, 100, 1000])
            assert file.read(size) == plain.read(size)
            assert file.tell() == plain.tell()
        file.seek(17)
        assert file.read() == data[17:]
        assert file.read() == b""
        buffer = bytearray(30)
        file.seek(4990)
        assert file.readinto(buffer) == 10
        assert buffer[:10] == data[4990:]


def test_what_is_transferred() -> None:
    size = 6 * READ_AHEAD
    fresh("faulty").pipe("/x", bytes(size))
    with faulty() as calls, RemoteFile("faulty://x", ranges=True) as file:
        file.read(3)
        for place in range(1, 5):
            file.seek(place * READ_AHEAD)
            file.read(100)
        assert transferred(calls) == FIRST + 400  # what was asked for
    with faulty() as calls, RemoteFile("faulty://x") as file:
        while file.read(1 << 18):
            pass
        assert transferred(calls) == size  # each byte once
        assert sum(call[0] == "read" for call in calls) == 6


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_that_pass_change_nothing(ram_path: Path, jobs: int) -> None:
    documents = fill(fresh("faulty"))
    run(["faulty://in"], ram_path / "plain")
    assert texts_in(ram_path / "plain.npy") == documents
    for count in (5, 7, 11):
        out = ram_path / str(count)
        with faulty(every(count)):
            run(["faulty://in"], out / "plain", jobs=jobs, on_error="skip" if count == 7 else "fail")
        assert (out / "plain.npy").read_bytes() == (ram_path / "plain.npy").read_bytes()


def test_errors_that_stay() -> None:
    store = fresh("faulty")
    store.pipe("/in/a.txt", b"text")
    pieces = find_sources(["faulty://in/a.txt"]).pieces

    def broken(error: Exception) -> Any:
        def fault(name: str, path: str) -> None:
            if name == "read":
                raise error

        return fault

    for error, kind, message, tries in (
        (ConnectionError("reset"), OSError, "reading failed 5 times, at last with ConnectionError: reset", 5),
        (TimeoutError(), OSError, "reading failed 5 times, at last with TimeoutError", 5),
        (PermissionError("denied"), PermissionError, "the store refuses: PermissionError: denied", 1),
        (FileNotFoundError("gone"), FileNotFoundError, "no such object", 1),
        (ValueError("no ranges"), ValueError, "faulty://in/a.txt: no ranges", 1),
    ):
        with faulty(broken(error)) as calls, Stream(pieces[0]) as stream:
            with pytest.raises(kind, match=message) as raised:
                stream.read(4)
            assert isinstance(error, ValueError) or raised.value.filename == "faulty://in/a.txt"
            assert sum(call[0] == "read" for call in calls) == tries
    with (
        faulty(cut=lambda part: b""),
        Stream(pieces[0]) as stream,
        pytest.raises(OSError, match="0 bytes at 0 where 4 were asked for"),
    ):
        stream.read(4)


def test_a_store_that_fails_is_no_damage(ram_path: Path) -> None:
    fill(fresh("faulty"))

    def fault(name: str, path: str) -> None:
        if name == "read" and path.endswith(bad):
            raise ConnectionError("reset")

    for bad in ("b.jsonl.gz", "c.parquet"):
        with faulty(fault), pytest.raises(OSError, match=f"faulty://in/{bad}"):
            run(["faulty://in"], ram_path / bad[0], on_error="skip")
        run(["faulty://in"], ram_path / bad[0], on_error="skip")
        assert len(texts_in(ram_path / f"{bad[0]}.npy")) == 90


@pytest.mark.parametrize("change", ["before", "while", "end"])
def test_objects_that_change(ram_path: Path, change: str) -> None:
    store = fresh("faulty")
    data = b"abc<|endoftext|>" * 2000
    store.pipe("/in/a.txt", data)
    pieces = find_sources(["faulty://in"])
    changed = False

    def fault(name: str, path: str) -> None:
        nonlocal changed
        if name == "read" and not changed:
            changed = True
            store.pipe("/in/a.txt", data[:-1] + b"x")
            if change == "while":
                raise ConnectionError("reset")  # it is opened again, and is another one

    if change == "before":
        store.pipe("/in/a.txt", data[:-1] + b"x")
    with faulty(fault), pytest.raises(ValueError, match=r"faulty://in/a\.txt: has changed"):
        encode_corpus(pieces, ram_path / "o", byte_codec())
    assert not list(ram_path.iterdir())


def test_damage_is_found_before_documents_are_taken(ram_path: Path) -> None:
    store = fresh()
    whole = gzip.compress(b'{"text": "kept"}\n' * 3)
    damaged = bytearray(gzip.compress(b'{"text": "lost"}\n' * 1000))
    damaged[-6] ^= 1
    store.pipe("/in/a.jsonl.gz", whole + bytes(damaged) + whole)
    summary = run(["memory://in"], ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == ["kept"] * 3
    assert summary["problems"]["damaged-file"]["count"] == 1


def test_ranks_read_parts_of_an_object(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpetite.corpus.sources.stores.READ_AHEAD", 1 << 16)
    store = fresh("faulty")
    documents = some_documents(6000) * 3
    store.pipe("/in/a.txt", "<|endoftext|>".join(documents).encode())
    size = find_sources(["faulty://in"]).pieces[0].size
    found = []
    for rank in range(3):
        task = make_part(["faulty://in"], ram_path / "o", byte_codec(), rank=rank, world_size=3, options=Options())
        with faulty() as calls:
            task.run(jobs=2)
        assert transferred(calls) < 0.6 * size
        found += texts_of_part(ram_path / f"o.rank0000{rank}of00003")
    assert found == documents


def test_workers_read_ranges(ram_path: Path) -> None:
    from dataclasses import replace

    store = fresh("faulty")
    documents = some_documents(4000)
    store.pipe("/in/a.txt", "<|endoftext|>".join(documents).encode())
    made = []
    for jobs in (1, 3):
        task = make_part(["faulty://in"], ram_path / str(jobs) / "o", byte_codec(), options=Options())
        with faulty(every(11)):
            replace(task, block=9000).run(jobs=jobs)
        made.append(outputs(ram_path / str(jobs)))
    assert made[0] == made[1]
    assert texts_in(ram_path / "1/o.npy") == documents


def test_a_column_of_parquet_is_read_without_the_others(ram_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    table = io.BytesIO()
    noise = np.random.default_rng(1).integers(0, 2**60, 200_000)
    pq.write_table(pa.table({"text": ["ab"] * 200_000, "noise": noise}), table, row_group_size=50_000)
    fresh("faulty").pipe("/in/a.parquet", table.getvalue())
    with faulty() as calls:
        assert run(["faulty://in"], ram_path / "o")["documents"] == 200_000
    assert transferred(calls) < len(table.getvalue()) / 5
