"""Objects are read by ranges, again after errors, and never as a mixture of two versions."""
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import byte_codec, run, some_documents, texts_in
from faulty_store import every, failing, faulty, fresh

from bpetite.corpus import encode_corpus, find_sources
from bpetite.corpus.read.stores import FIRST_BYTES, READ_AHEAD_BYTES, RemoteFile
from bpetite.corpus.read.streams import Stream


def fill(store: Any) -> list[str]:
    """The documents of three formats, in a store."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
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
    monkeypatch.setattr("bpetite.corpus.read.stores.READ_AHEAD_BYTES", 640)
    monkeypatch.setattr("bpetite.corpus.read.stores.FIRST_BYTES", 64)
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


def transferred(calls: list[tuple[Any, ...]]) -> int:
    return sum(call[3] for call in calls if call[0] == "read")


def test_what_is_transferred() -> None:
    size = 6 * READ_AHEAD_BYTES
    fresh("faulty").pipe("/x", bytes(size))
    with faulty() as calls, RemoteFile("faulty://x", ranges=True) as file:
        file.read(3)
        for place in range(1, 5):
            file.seek(place * READ_AHEAD_BYTES)
            file.read(100)
        assert transferred(calls) == FIRST_BYTES + 400  # what was asked for
    with faulty() as calls, RemoteFile("faulty://x") as file:
        while file.read(1 << 18):
            pass
        assert transferred(calls) == size  # each byte once
        assert sum(call[0] == "read" for call in calls) == 6


def test_errors_that_pass_change_nothing_and_others_are_no_damage(ram_path: Path) -> None:
    documents = fill(fresh("faulty"))
    for count, jobs in ((5, 1), (7, 2), (11, 2)):
        with faulty(every(count)):
            run(["faulty://in"], ram_path / str(count), jobs=jobs, on_error="skip" if count == 7 else "fail")
        assert texts_in(ram_path / f"{count}.npy") == documents
    for bad in ("b.jsonl.gz", "c.parquet"):
        fault = failing("read", ConnectionError("reset"), end=bad)
        with faulty(fault), pytest.raises(OSError, match=f"faulty://in/{bad}"):
            run(["faulty://in"], ram_path / bad[0], on_error="skip")
        run(["faulty://in"], ram_path / bad[0], on_error="skip")
        assert texts_in(ram_path / f"{bad[0]}.npy") == documents


def test_errors_that_stay() -> None:
    store = fresh("faulty")
    store.pipe("/in/a.txt", b"text")
    inputs = find_sources(["faulty://in/a.txt"]).inputs

    for error, kind, message, tries in (
        (ConnectionError("reset"), OSError, "reading failed 5 times, at last with ConnectionError: reset", 5),
        (TimeoutError(), OSError, "reading failed 5 times, at last with TimeoutError", 5),
        (PermissionError("denied"), PermissionError, "the store refuses: PermissionError: denied", 1),
        (FileNotFoundError("gone"), FileNotFoundError, "no such object", 1),
        (ValueError("no ranges"), ValueError, "faulty://in/a.txt: no ranges", 1),
    ):
        with faulty(failing("read", error)) as calls, Stream(inputs[0]) as stream:
            with pytest.raises(kind, match=message) as raised:
                stream.window(0, 4)
            assert isinstance(error, ValueError) or raised.value.filename == "faulty://in/a.txt"
            assert sum(call[0] == "read" for call in calls) == tries
    few = pytest.raises(OSError, match="0 bytes at 0 where 4 were asked for")
    with faulty(cut=lambda part: b""), Stream(inputs[0]) as stream, few:
        stream.window(0, 4)


@pytest.mark.parametrize("change", ["before", "while", "end"])
def test_objects_that_change(ram_path: Path, change: str) -> None:
    store = fresh("faulty")
    data = b"abc<|endoftext|>" * 2000
    store.pipe("/in/a.txt", data)
    sources = find_sources(["faulty://in"])
    changed = False

    def fault(name: str, path: str) -> None:
        nonlocal changed
        if name == "read" and not changed:
            changed = True
            store.pipe("/in/a.txt", data[:-1] + b"x")
            if change == "while":
                raise ConnectionError("reset")

    if change == "before":
        store.pipe("/in/a.txt", data[:-1] + b"x")
    with faulty(fault), pytest.raises(ValueError, match=r"faulty://in/a\.txt: has changed"):
        encode_corpus(sources, ram_path / "o", byte_codec())
    assert not list(ram_path.iterdir())


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


def test_a_rank_reads_its_part_of_an_object(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("stores.FIRST_BYTES", 64), ("text.FIRST_LOOK", 512), ("pieces.PIECE", 1 << 16),
        ("pieces.cut_pieces.__defaults__", (None, 1 << 16)),
    ):  # fmt: skip
        monkeypatch.setattr(f"bpetite.corpus.read.{name}", value)
    documents = some_documents(6000) * 3
    fresh("faulty").pipe("/in/a.txt", "<|endoftext|>".join(documents).encode())
    size, found = find_sources(["faulty://in"]).inputs[0].size, []
    for rank in range(3):
        with faulty(every(11)) as calls:
            run("faulty://in", ram_path / "o", block=1 << 14, jobs=2, rank=rank, world_size=3)
        assert 0.3 * size < transferred(calls) < 0.45 * size
        found += texts_in(ram_path / f"o.rank0000{rank}of00003.npy")
    assert found == documents
