"""Parquet: every type of text column, bounded memory, damage."""
import csv
import gzip
import sys
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import megabytes_of, outputs, read, run, texts_in

from bpetite.corpus import RecordError
from bpetite.corpus.read.pieces import Position

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


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"doc": ["a"]}, r"no text: no column 'text' \(there are: doc\).*text_key= names another key"),
        ({"text": [1], "x": [1]}, r"column 'text' holds int64, not text \(there are: text, x\)"),
        ({"text": [{"en": "a"}]}, r"column 'text' holds struct<en: string>, not text"),
    ],
)
def test_a_file_without_such_a_column_is_one_problem(ram_path: Path, column: dict[str, Any], message: str) -> None:
    pq.write_table(pa.table(column), ram_path / "a.parquet")
    pq.write_table(pa.table({"text": ["b"]}), ram_path / "b.parquet")
    with pytest.raises(RecordError, match=message):
        run(ram_path, ram_path / "out" / "o")
    made = run(ram_path, ram_path / "out" / "o", on_error="skip", rejected=True)
    assert texts_in(ram_path / "out" / "o.npy") == ["b"]
    assert made["problems"]["no-text"]["count"] == 1
    rejected = gzip.decompress(outputs(ram_path / "out")["o.rejected.jsonl.gz"]).decode().splitlines()
    assert len(rejected) == 1
    assert str(ram_path / "a.parquet") in rejected[0]


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in KiB")
@pytest.mark.parametrize("kind", ["dictionary", "empty"])
def test_memory_is_bounded_by_blocks_of_text(ram_path: Path, kind: str) -> None:
    """120 MB of text in a dictionary of 1 MB, and two million rows without text, each in one row group."""
    pq.write_table(pa.table({"text": ["a"] * 10}), ram_path / "small.parquet")
    column = pa.array([""] * 2_000_000)
    if kind == "dictionary":
        places, texts = pa.array([*range(100)] * 120, pa.int32()), pa.array(["x" * 10_000] * 100)
        column = pa.DictionaryArray.from_arrays(places, texts)
    pq.write_table(pa.table({"text": column}), ram_path / "in.parquet", row_group_size=len(column))
    code = 'count_corpus(sys.argv[1], byte_codec())\nprint(count_corpus(sys.argv[2], byte_codec())["documents"])'
    (documents,), megabytes = megabytes_of(code, ram_path / "small.parquet", ram_path / "in.parquet")
    assert int(documents) == len(column)
    assert megabytes < (200 if kind == "dictionary" else 60)


def test_a_damaged_row_group_is_named(ram_path: Path) -> None:
    """Rows behind it keep their numbers, which dolma's table names."""
    path = ram_path / "in.parquet"
    documents = [f"document {n} " * 20 for n in range(400)]
    pq.write_table(pa.table({"text": documents}), path, row_group_size=100, use_dictionary=False)
    at = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data = path.read_bytes()
    path.write_bytes(data[:at] + b"\xff" * 60 + data[at + 60 :])
    with pytest.raises(RecordError, match=r"in\.parquet: row 101: damaged .*: row group 1, 100 rows are lost: "):
        run(path, ram_path / "o")
    made = run(path, ram_path / "s", on_error="skip")
    assert made["problems"]["damaged-file"]["count"] == 1
    assert texts_in(ram_path / "s.npy") == documents[:100] + documents[200:]
    run(path, ram_path / "d", format="dolma", on_error="skip")
    with gzip.open(ram_path / "d.csv.gz", "rt") as table:
        assert [int(row[4]) for row in csv.reader(table)] == [*range(1, 101), *range(201, 401)]


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
    path = ram_path / "in.parquet"
    pq.write_table(pa.table({"text": ["a", "b"]}), path)
    whole = path.read_bytes()
    changed = {"cut short": whole[:-9], "footer": whole[:-40] + b"\xff" * 30 + whole[-10:]}
    path.write_bytes(changed.get(content, content))
    with pytest.raises(RecordError, match=r"in\.parquet: row 1: damaged .*: not a Parquet file: "):
        run(path, ram_path / "o")
    assert run(path, ram_path / "s", on_error="skip")["problems"]["damaged-file"]["count"] == 1


def test_empty_files_of_other_kinds(ram_path: Path) -> None:
    """Nothing is no text, no lines and no array; of a compressed file, it is damage, as for gzip, zstd and xz."""
    for name in ("a.txt", "b.jsonl", "c.json"):
        (ram_path / name).write_bytes(b"")
    made = run(sorted(ram_path.glob("?.*")), ram_path / "o")
    assert (made["documents"], made["problems"]) == (0, {})
    for name in ("d.txt.gz", "e.jsonl.zst", "f.txt.bz2", "g.txt.xz"):
        (ram_path / name).write_bytes(b"")
        with pytest.raises(RecordError, match=rf"{name}:1: damaged or cut short data: empty"):
            run(ram_path / name, ram_path / "p")
    made = run(sorted(ram_path.glob("[a-g].*")), ram_path / "p", on_error="skip")
    assert (made["documents"], made["problems"]["damaged-file"]["count"]) == (0, 4)
