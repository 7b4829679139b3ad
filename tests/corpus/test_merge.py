"""Outputs of ranks made one, and documents in a random order: what is refused, and what every order has."""
import json
import os
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import documents_in, outputs, read_megatron, run, some_documents, texts_in, write_inputs

from bpetite.corpus import merge_outputs
from bpetite.errors import FormatError


@pytest.fixture
def inputs(ram_path: Path) -> list[Path]:
    return write_inputs(ram_path / "in", some_documents(90))


def ranks(inputs: list[Path], output: Path, world: int = 2, **options: Any) -> list[Path]:
    for rank in range(world):
        run(inputs, output, rank=rank, world_size=world, **options)
    return sorted(output.parent.glob(f"{output.name}.rank*of{world:05d}.manifest.json"))


def test_ranks_that_are_no_run(ram_path: Path, inputs: list[Path]) -> None:
    first, second = ranks(inputs, ram_path / "o")
    other = ranks(inputs, ram_path / "p", eot="none")[1]
    three = ranks(inputs, ram_path / "o", 3)[2]
    for parts, error, message in (
        ([first], FormatError, r"ranks \[1\] of 2 are missing"),
        ([first, second, second], FormatError, "a rank is given more than once"),
        ([first, other], FormatError, "from another run than"),
        ([first, three], FormatError, "one of 3 ranks, but .* is one of 2; name those of one run"),
        ([ram_path / "nothing"], FileNotFoundError, "no manifest of a finished rank"),
        ([], FileNotFoundError, "no outputs of ranks"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            merge_outputs(ram_path / ("o" if parts else "q"), parts)
    assert merge_outputs(ram_path / "o", [first, second])["documents"] == 90


def test_a_file_that_has_changed(ram_path: Path, inputs: list[Path]) -> None:
    ranks(inputs, ram_path / "o")
    path = ram_path / "o.rank00001of00002.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(FormatError, match=r"o\.rank00001of00002\.npy: its bytes have changed since it was written"):
        merge_outputs(ram_path / "o")
    assert not [*ram_path.glob("o.npy")]
    assert not (ram_path / "o.partial").exists()


def test_what_is_in_the_way_and_what_is_deleted(ram_path: Path, inputs: list[Path]) -> None:
    run(inputs, ram_path / "whole" / "o")
    ranks(inputs, ram_path / "out" / "o")
    (ram_path / "out" / "o.npy").write_text("mine")
    with pytest.raises(FileExistsError, match="exists already; overwrite=True replaces it"):
        merge_outputs(ram_path / "out" / "o", delete=True)
    assert (ram_path / "out" / "o.npy").read_text() == "mine"
    merged = merge_outputs(ram_path / "out" / "o", overwrite=True)
    assert merge_outputs(ram_path / "out" / "o") == merged  # done already
    merge_outputs(ram_path / "out" / "o", delete=True)
    assert outputs(ram_path / "out") == outputs(ram_path / "whole")
    assert merge_outputs(ram_path / "out" / "o") == merged  # of one process, there is nothing to merge


def test_shards_of_ranks_are_listed(ram_path: Path, inputs: list[Path]) -> None:
    parts = ranks(inputs, ram_path / "o", shard_tokens=300)
    with pytest.raises(ValueError, match="name an output in their folder"):
        merge_outputs(ram_path / "elsewhere" / "o", parts)
    shard = next(ram_path.glob("o.rank00001*.npy"))
    shard.rename(ram_path / "away")
    with pytest.raises(FormatError, match="missing, or not of"):
        merge_outputs(ram_path / "o", delete=True)
    (ram_path / "away").rename(shard)
    manifest = merge_outputs(ram_path / "o", delete=True)
    kept = {file["name"] for file in manifest["files"]}
    assert {path.name for path in ram_path.glob("o.*")} == kept | {"o.manifest.json"}


def test_a_list_that_a_killed_process_has_moved_is_its_own(
    ram_path: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks(inputs, ram_path / "o", shard_tokens=300, rejected=True, on_error="skip")
    replace = os.replace

    def killed(source: Path, place: Path) -> None:
        if Path(place).name == "o.manifest.json":
            raise KeyboardInterrupt
        replace(source, place)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        merge_outputs(ram_path / "o")
    monkeypatch.undo()
    assert (ram_path / "o.rejected.jsonl.gz").exists()
    assert merge_outputs(ram_path / "o")["documents"] == 90
    assert not (ram_path / "o.partial").exists()


@pytest.mark.parametrize("format", ["npy", "megatron"])
def test_documents_in_a_random_order(ram_path: Path, inputs: list[Path], format: str) -> None:
    ranks(inputs, ram_path / "a" / "o", format=format)
    for name, parts, seed in (
        ("one", sorted(ram_path.glob("a/*.manifest.json")), 1), ("same", [ram_path / "one" / "o"], 1),
        ("two", [ram_path / "one" / "o"], 2),
    ):  # fmt: skip
        merge_outputs(ram_path / name / "o", parts, shuffle=seed)
    run(inputs, ram_path / "whole" / "o", format=format)
    whole, one, two = (
        read_megatron(ram_path / name / "o")[1] if format == "megatron" else documents_in(ram_path / name / "o.npy")
        for name in ("whole", "one", "two")
    )
    order = np.argsort(np.random.PCG64(1).random_raw(90), kind="stable")
    assert one == [whole[place] for place in order]
    assert sorted(two) == sorted(whole)
    assert two != one
    assert json.loads((ram_path / "one" / "o.manifest.json").read_text())["options"]["merge_shuffle"] == 1


def test_a_random_order_keeps_the_size_of_shards_and_the_splits(ram_path: Path, inputs: list[Path]) -> None:
    run(inputs, ram_path / "o", shard_tokens=400, val_fraction=0.3)
    merge_outputs(ram_path / "s" / "o", [ram_path / "o"], shuffle=5)
    for split in ("train", "val"):
        before, after = (
            [texts_in(path) for path in sorted(folder.glob(f"o_{split}_??????.npy"))]
            for folder in (ram_path, ram_path / "s")
        )
        assert sorted(chain(*before)) == sorted(chain(*after))
        assert before != after
        assert all(sum(len(text.encode()) + 1 for text in shard) <= 400 for shard in after)


def test_layouts_without_ends_of_documents_have_no_order(ram_path: Path, inputs: list[Path]) -> None:
    for format in ("nanogpt", "llmc", "parquet"):
        run(inputs, ram_path / format, format=format)
        with pytest.raises(ValueError, match="keeps no ends of documents that could be shuffled; npy, megatron, datat"):
            merge_outputs(ram_path / "s" / format, [ram_path / format], shuffle=1)
