"""MDS and litdata's chunks: folders with an index of all shards."""
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import EOT, byte_codec, ids, outputs, run, some_documents, write_inputs

from bpetite.corpus import Options, make_part, merge_outputs

FORMATS = ["mds", "litdata"]


@pytest.fixture
def source(ram_path: Path) -> Path:
    path = ram_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("ab", "", "x" * 300)))
    return path


def test_mds_to_the_byte(source: Path, ram_path: Path) -> None:
    summary = run(source, ram_path / "o", format="mds")
    assert summary["files"] == ["tokens_000000.mds", "index.json"]
    config = {
        "column_encodings": ["ndarray:uint16"], "column_names": ["tokens"], "column_sizes": [None], "compression": None,
        "format": "mds", "hashes": [], "size_limit": None, "version": 2,
    }  # fmt: skip
    head = json.dumps(config).encode()
    # size of the array, one dimension and its type, length, values
    samples = [
        struct.pack("<IBB3H", 8, 4, 3, *b"ab", EOT),
        struct.pack("<IBBH", 4, 4, 1, EOT),
        struct.pack("<IBH301H", 605, 5, 301, *b"x" * 300, EOT),
    ]
    start = 4 * 5 + len(head)
    table = struct.pack("<5I", 3, start, start + 12, start + 20, start + 629)
    written = (ram_path / "o" / "tokens_000000.mds").read_bytes()
    assert written == table + head + b"".join(samples)
    raw = {"basename": "tokens_000000.mds", "bytes": len(written), "hashes": {}}
    assert json.loads((ram_path / "o" / "index.json").read_bytes()) == {
        "shards": [{**config, "raw_data": raw, "samples": 3, "zip_data": None}], "version": 2,
    }  # fmt: skip


def test_litdata_to_the_byte(source: Path, ram_path: Path) -> None:
    run(source, ram_path / "o", format="litdata")
    tokens = [*ids("ab"), EOT, EOT, *ids("x" * 300), EOT]
    written = (ram_path / "o" / "tokens_000000.bin").read_bytes()
    assert written == struct.pack("<5I305H", 3, 20, 26, 28, 630, *tokens)
    index = json.loads((ram_path / "o" / "index.json").read_bytes())
    assert index["chunks"] == [
        {"chunk_bytes": 630, "chunk_size": 3, "dim": 305, "filename": "tokens_000000.bin"}
    ]  # fmt: skip
    assert (index["config"]["data_format"], index["config"]["item_loader"]) == (["no_header_tensor:20"], "TokensLoader")


@pytest.mark.parametrize("format", FORMATS)
def test_merged_ranks_are_a_single_run(ram_path: Path, format: str) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(120))
    options: dict[str, Any] = {"format": format, "shard_tokens": 500}
    run(inputs, ram_path / "single", **options)
    for rank in range(3):
        task = make_part(inputs, ram_path / "merged", byte_codec(), rank=rank, world_size=3, options=Options(**options))
        task.run()
    assert not (ram_path / "merged" / "index.json").exists()  # nothing to train on yet
    merge_outputs(ram_path / "merged")
    manifest = merge_outputs(ram_path / "merged", delete=True)  # once more: nothing to do
    assert manifest is not None
    assert manifest["rank"] is None
    assert outputs(ram_path / "merged") == outputs(ram_path / "single")


@pytest.mark.parametrize("format", FORMATS)
def test_the_index_of_something_else_is_left_alone(source: Path, ram_path: Path, format: str) -> None:
    (ram_path / "o").mkdir()
    (ram_path / "o" / "index.json").write_text("mine")
    with pytest.raises(FileExistsError, match=r"exists already; overwrite=True.*index.json"):
        run(source, ram_path / "o", format=format)
    assert outputs(ram_path / "o") == {"index.json": b"mine"}
    run(source, ram_path / "o", format=format, overwrite=True)
    assert len(outputs(ram_path / "o")) == 3
    run(source, ram_path / "o", format="mds" if format == "litdata" else "litdata", overwrite=True)
    assert len(outputs(ram_path / "o")) == 3  # nothing of the other layout is left


def test_an_index_that_was_changed_is_another_output(source: Path, ram_path: Path) -> None:
    run(source, ram_path / "o", format="mds")
    assert run(source, ram_path / "o", format="mds")["documents"] == 3
    with (ram_path / "o" / "index.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(FileExistsError, match=r"index\.json has changed"):
        run(source, ram_path / "o", format="mds")


@pytest.mark.parametrize("format", FORMATS)
def test_no_validation_split(source: Path, ram_path: Path, format: str) -> None:
    with pytest.raises(ValueError, match=r"one index\.json a folder"):
        run(source, ram_path / "o", format=format, val_fraction=0.5)


def test_an_output_without_documents(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("")
    for format, key in (("mds", "shards"), ("litdata", "chunks")):
        run(ram_path / "in.txt", ram_path / format, format=format)
        assert json.loads((ram_path / format / "index.json").read_bytes())[key] == []
