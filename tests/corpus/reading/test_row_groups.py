"""Parquet: every type of text column, damage."""
import csv
import gzip
from pathlib import Path

import pytest
from corpus_tools import read, run, texts_in

from bpetite.corpus import RecordError
from bpetite.corpus.reading.blocks import Position

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

DOCUMENTS = ["one", "", "zwei\nü", "三", "x" * 300, "<|endoftext", "\0", "last"]


def test_columns(ram_path: Path) -> None:
    path = ram_path / "in.parquet"
    types = [
        pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string()), pa.string_view(),
        pa.binary_view(), pa.json_(pa.string()),
    ]  # fmt: skip
    for kind in types:
        column = pa.array([text.encode() if kind == pa.binary() else text for text in DOCUMENTS]).cast(kind)
        pq.write_table(pa.table({"x": range(len(DOCUMENTS)), "text": column}), path, row_group_size=3)
        assert read(path) == DOCUMENTS
        assert read(path, position=Position(0, 4)) == DOCUMENTS[4:]
        assert read(path, block=1) == DOCUMENTS
    pq.write_table(pa.table({"doc": DOCUMENTS}), path)
    assert read(path, text_key="doc") == DOCUMENTS
    with pytest.raises(ValueError, match=r"no column 'text' \(there are: doc\)"):
        read(path)
    pq.write_table(pa.table({"text": [1, 2]}), path)
    with pytest.raises(ValueError, match="column 'text' holds int64, not text"):
        read(path)


def damaged(path: Path) -> list[str]:
    """Write a file of four row groups, the second one damaged; returns its documents."""
    documents = [f"document {n} " * 20 for n in range(400)]
    pq.write_table(pa.table({"text": documents}), path, row_group_size=100, use_dictionary=False)
    at = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data = path.read_bytes()
    path.write_bytes(data[:at] + b"\xff" * 60 + data[at + 60 :])
    return documents


def test_a_damaged_row_group_is_named(ram_path: Path) -> None:
    path = ram_path / "in.parquet"
    documents = damaged(path)
    with pytest.raises(RecordError, match=r"in\.parquet: row 101: damaged .*: row group 1, 100 rows are lost: "):
        run(path, ram_path / "o")
    made = run(path, ram_path / "s", on_error="skip")
    assert made["problems"]["damaged-file"]["count"] == 1
    assert texts_in(ram_path / "s.npy") == documents[:100] + documents[200:]


def test_rows_that_are_lost_keep_their_numbers(ram_path: Path) -> None:
    """dolma's table names the row of each document."""
    path = ram_path / "in.parquet"
    damaged(path)
    run(path, ram_path / "o", format="dolma", on_error="skip")
    with gzip.open(ram_path / "o.csv.gz", "rt") as table:
        rows = [int(row[4]) for row in csv.reader(table)]
    assert rows == [*range(1, 101), *range(201, 401)]


def test_a_checksum_of_a_page_that_is_wrong_is_damage(ram_path: Path) -> None:
    path = ram_path / "in.parquet"
    documents = [f"document {n}" for n in range(300)]
    options = {"row_group_size": 100, "use_dictionary": False, "compression": "none", "write_page_checksum": True}
    pq.write_table(pa.table({"text": documents}), path, **options)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"document 150", b"document 15X"))
    run(path, ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == documents[:100] + documents[200:]


@pytest.mark.parametrize("content", [b"", b"PAR1 not really", "cut short", "footer"])
def test_files_that_are_none(ram_path: Path, content: object) -> None:
    path, other = ram_path / "in.parquet", ram_path / "z.txt"
    pq.write_table(pa.table({"text": ["a", "b"]}), path)
    whole = path.read_bytes()
    changed = {"cut short": whole[:-9], "footer": whole[:-40] + b"\xff" * 30 + whole[-10:]}
    path.write_bytes(changed.get(content, content))
    other.write_text("next")
    with pytest.raises(RecordError, match=r"in\.parquet: row 1: damaged .*: not a Parquet file: "):
        run([path, other], ram_path / "o")
    made = run([path, other], ram_path / "s", on_error="skip")
    assert texts_in(ram_path / "s.npy") == ["next"]
    assert made["problems"]["damaged-file"]["count"] == 1


def test_empty_files_of_other_kinds_hold_nothing(ram_path: Path) -> None:
    for name in ("a.txt", "b.jsonl", "c.json", "d.txt.gz", "e.jsonl.zst", "f.txt.bz2", "g.txt.xz"):
        (ram_path / name).write_bytes(b"")
    for policy in ("fail", "skip"):
        made = run(sorted(ram_path.glob("?.*")), ram_path / policy, on_error=policy)
        assert (made["documents"], made["problems"]) == (0, {})
