"""Every token file, to the byte, and by the readers of the targets."""
import csv
import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from corpus_tools import EOT, byte_codec, ids, read_megatron, run

DOCUMENTS = ["ab", "", "céd", "e\0\nf"]


@pytest.fixture
def source(ram_path: Path) -> Path:
    path = ram_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"n{n}", "text": text}) + "\n" for n, text in enumerate(DOCUMENTS)))
    return path


def test_megatron_to_the_byte(source: Path, ram_path: Path) -> None:
    run(source, ram_path / "o", format="megatron")
    # the empty document repeats an index and has no sequence
    assert (ram_path / "o_text_document.idx").read_bytes() == (
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, 3, 5) + struct.pack("<3i", 2, 4, 4)
        + struct.pack("<3q", 0, 4, 12) + struct.pack("<5q", 0, 1, 1, 2, 3)
    )  # fmt: skip
    assert (ram_path / "o_text_document.bin").read_bytes() == np.array(
        [token for text in DOCUMENTS for token in ids(text)], "<u2"
    ).tobytes()
    for size, dtype in ((65_499, np.uint16), (65_500, np.int32), (200_000, np.int32)):  # by its own rule
        run(source, ram_path / str(size), format="megatron", codec=byte_codec(size), eot="append")
        # as in its preprocess_data.py, an empty document has no end-of-text token
        assert read_megatron(ram_path / str(size)) == (dtype, [[*ids(text), EOT] if text else [] for text in DOCUMENTS])


def test_details_that_readers_want(source: Path, ram_path: Path) -> None:
    """Tokens and ends of documents are read back by test_model.py, from the descriptions alone."""
    run(source, ram_path / "o.npy")
    assert np.load(ram_path / "o.offsets.npy").dtype == np.int64
    run(source, ram_path / "train.bin", format="nanogpt", codec=byte_codec(65_536))
    assert (ram_path / "train.bin").read_bytes() == np.load(ram_path / "o.npy").astype("<u2").tobytes()
    run(source, ram_path / "d.ds", format="datatrove")
    assert (ram_path / "d.ds.metadata").read_bytes() == b"bytes|2\n14\n14.0 T"


@pytest.mark.parametrize("found", ["a\nb", "a\rb", "\n"])
def test_dolma_refuses_ids_that_break_its_lines(ram_path: Path, found: str) -> None:
    (ram_path / "in.jsonl").write_text(json.dumps({"id": found, "key": 'a,"b', "text": "x"}))
    with pytest.raises(ValueError, match=r"in\.jsonl: the id 'a?\\[nr]b?' has a line break"):
        run(ram_path / "in.jsonl", ram_path / "o", format="dolma")
    run(ram_path / "in.jsonl", ram_path / "o", format="dolma", id_key="key")
    with gzip.open(ram_path / "o.csv.gz", "rt", newline="") as text:
        assert [row[2] for row in csv.reader(text)] == ['a,"b']
    run(ram_path / "in.jsonl", ram_path / "p", format="parquet")
    (ram_path / f"{found}.txt").write_text("x")
    with pytest.raises(ValueError, match=r"the path .* has a line break.*rename it"):
        run(ram_path / f"{found}.txt", ram_path / "new" / "q", format="dolma")
    assert not (ram_path / "new").exists()


def test_parquet(source: Path, ram_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    run(source, ram_path / "o.parquet", format="parquet")
    table = pq.read_table(ram_path / "o.parquet")
    assert str(table.schema.field("input_ids").type).startswith("list<")
    assert str(table.schema.field("input_ids").type.value_type) == "uint32"
    assert table.to_pydict() == {"id": ["n0", "n1", "n2", "n3"], "input_ids": [ids(text) for text in DOCUMENTS]}


@pytest.mark.parametrize(
    ("format", "vocab_size", "dtype", "message"),
    [
        ("nanogpt", 65_537, "auto", "do not fit uint16.*nanoGPT reads uint16 only"),
        ("nanogpt", 300, "uint32", "has no uint32"),
        ("npy", 65_537, "uint16", "do not fit uint16.*dtype='uint32'"),
        ("megatron", 300, "uint32", "only uint16 and int32"),
        ("megatron", 2**31 + 1, "auto", "do not fit int32"),
        ("parquet", 300, "uint16", "only uint32"), ("bin", 300, "auto", "'bin' is not one of npy, nanogpt"),
    ],
)
def test_ids_that_do_not_fit_are_refused(
    source: Path, ram_path: Path, format: str, vocab_size: int, dtype: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(source, ram_path / "new" / "o", format=format, dtype=dtype, codec=byte_codec(vocab_size))
    assert not (ram_path / "new").exists()
