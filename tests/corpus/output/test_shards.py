"""Cutting into shards: where, however the documents come in."""
import itertools
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest
from corpus_tools import EOT, FORMATS, ids, outputs, plain_sums, read_llmc, run, some_documents, texts_in
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import slow_but

from bpetite.corpus import merge_outputs
from bpetite.corpus.layouts.registry import layout_of
from bpetite.corpus.output.naming import Names
from bpetite.corpus.output.shards import ShardWriter, publish
from bpetite.corpus.run.outputs import find_manifest


def lines(path: Path, documents: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    return path


def test_exact_shards_of_nanogpt(ram_path: Path) -> None:
    source = lines(ram_path / "in.jsonl", ["abcdefgh", "ij"])
    run(source, ram_path / "o", format="nanogpt", shard_tokens=4)
    read = [np.fromfile(path, "<u2").tolist() for path in sorted(ram_path.glob("o_*.bin"))]
    assert read == [ids("abcd"), ids("efgh"), [EOT, *ids("ij"), EOT]]


def test_whole_documents_elsewhere_and_large_ones_alone(ram_path: Path) -> None:
    source = lines(ram_path / "in.jsonl", ["ab", "c", "defghijkl", "", "m", "n"])
    run(source, ram_path / "o", shard_tokens=5)
    read = [texts_in(path) for path in sorted(ram_path.glob("o_??????.npy"))]
    assert read == [["ab", "c"], ["defghijkl"], ["", "m", "n"]]


def test_a_tiny_last_shard_joins_the_one_before(ram_path: Path) -> None:
    # 1,000 a shard: a last one of 99 is too small, one of 100 is not
    for tokens, sizes in ((2_099, [1_000, 1_099]), (2_100, [1_000, 1_000, 100]), (999, [999]), (1_099, [1_099])):
        folder = ram_path / str(tokens)
        folder.mkdir()
        source = lines(ram_path / "in.jsonl", ["x" * (tokens - 1)])
        run(source, folder / "o", format="llmc", shard_tokens=1_000)
        found = [read_llmc(path)[1] for path in sorted(folder.glob("o_*.bin"))]
        assert [len(shard) for shard in found] == sizes
        assert [token for shard in found for token in shard] == [EOT, *ids("x" * (tokens - 1))]


@pytest.mark.parametrize("format", slow_but(FORMATS, "npy", "dolma", "parquet"))
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_shards_do_not_depend_on_how_documents_come_in(
    tmp_path_factory: pytest.TempPathFactory, format: str, data: st.DataObject
) -> None:
    lengths = data.draw(st.lists(st.integers(0, 9), max_size=20))
    limit = data.draw(st.sampled_from([1, 2, 3, 7, 25]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lengths)), max_size=6)))
    layout = layout_of(format)
    tokens = np.arange(sum(lengths), dtype=layout.dtype(300))
    made = []
    for bounds in ([0, len(lengths)], [0, *cuts, len(lengths)]):
        folder = tmp_path_factory.mktemp("shards")
        names = Names(folder, "o", layout, numbered=True)
        writer = ShardWriter(names, "all", tokens.dtype.name, limit)
        at = 0
        for start, stop in itertools.pairwise(bounds):
            size = sum(lengths[start:stop])
            rows = [json.dumps([None, "f", n]).encode() + b"\n" for n in range(start, stop)]
            writer.add(tokens[at : at + size], np.array(lengths[start:stop], np.int64), rows)
            at += size
        writer.finish()
        publish(names, writer.take_finished())
        made.append(outputs(folder))
    assert made[0] == made[1]


def test_val_fraction_splits_by_content(ram_path: Path) -> None:
    documents = [f"document {n} {text}" for n, text in enumerate(some_documents(300))]
    source = lines(ram_path / "in.jsonl", documents)
    shuffled = lines(ram_path / "shuffled.jsonl", documents[::-1])
    made = []
    for name, path, seed in (("a", source, 1), ("b", shuffled, 1), ("c", source, 2)):
        run(path, ram_path / name, val_fraction=0.2, seed=seed)
        parts = []
        for split in ("train", "val"):
            ends = np.load(ram_path / f"{name}_{split}.offsets.npy")
            tokens = np.load(ram_path / f"{name}_{split}.npy")
            parts.append([bytes(tokens[i : j - 1].astype(np.uint8)).decode() for i, j in itertools.pairwise(ends)])
        assert sorted(parts[0] + parts[1]) == sorted(documents)
        assert 30 < len(parts[1]) < 90
        made.append(parts)
    assert set(made[0][1]) == set(made[1][1])
    assert set(made[0][1]) != set(made[2][1])


def test_a_folder_as_output(ram_path: Path) -> None:
    source = lines(ram_path / "in.jsonl", ["a", "b"])
    (ram_path / "data").mkdir()
    run(source, ram_path / "data", format="nanogpt", val_fraction=0.5)
    assert {path.name for path in (ram_path / "data").iterdir()} == {"train.bin", "val.bin", "manifest.json", "runs"}


def test_an_output_named_train_has_val_beside_it(ram_path: Path) -> None:
    """In one run, and of ranks that are merged."""
    source = lines(ram_path / "in.jsonl", [f"ab {number}" for number in range(50)])
    (ram_path / "one").mkdir()
    (ram_path / "two").mkdir()
    run(source, ram_path / "one" / "train.bin", format="nanogpt", val_fraction=0.3)
    for rank in range(2):
        run(source, ram_path / "two" / "train.bin", rank=rank, world_size=2, format="nanogpt", val_fraction=0.3)
    merge_outputs(ram_path / "two" / "train.bin", delete=True)
    files = outputs(ram_path / "one")
    assert set(files) == {"train.bin", "val.bin", "manifest.json"}
    assert outputs(ram_path / "two") == files
    found = find_manifest(ram_path / "one" / "val.bin")
    assert found is not None
    assert [shard[0]["name"] for shard in found[2]] == ["val.bin"]


@pytest.mark.parametrize("shard_tokens", slow_but([None, 1, 100, 999], 1, 999))
@pytest.mark.parametrize("format", FORMATS)
def test_checksums_are_those_of_the_files(ram_path: Path, format: str, shard_tokens: int | None) -> None:
    source = lines(ram_path / "in.jsonl", some_documents(60 if shard_tokens != 1 else 10))
    made = run(source, ram_path / "o", format=format, shard_tokens=shard_tokens)
    files = json.loads(Path(made["manifest"]).read_text())["files"]
    for file in files:
        assert file["checksum"] == plain_sums((ram_path / file["name"]).read_bytes())
    left = {path.name for path in ram_path.glob("o*")} - {file["name"] for file in files}
    assert left == {"o.manifest.json", "o.runs"}


def test_a_file_that_is_cut_to_its_size_is_open_for_writing_when_it_is_synced(
    ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows syncs no other."""
    fcntl = pytest.importorskip("fcntl")
    modes: list[int] = []

    def fsync(handle: int) -> None:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            modes.append(fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE)

    monkeypatch.setattr(os, "fsync", fsync)
    (ram_path / "o.npy.partial").write_bytes(b"abcd")
    names = Names(ram_path, "o", layout_of("npy"), numbered=False)
    publish(names, [{"outputs": [{"temporary": "o.npy.partial", "name": "o.npy", "bytes": 3}], "drop": []}])
    assert outputs(ram_path) == {"o.npy": b"abc"}
    assert modes == [os.O_RDWR]
