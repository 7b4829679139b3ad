"""Ranks joined: what one run writes, to the byte, manifest and all."""
import json
import random
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import FORMATS, byte_codec, outputs, run, some_documents, write_inputs
from tiers import slow_but

from bpetite.corpus import Options, make_part, merge_outputs
from bpetite.corpus.output.manifest import read_manifest, write_manifest
from bpetite.errors import FormatError


def ranks(inputs: list[Path], sink: Path, world: int, **options: Any) -> None:
    for rank in random.Random(1).sample(range(world), world):
        make_part(
            inputs, sink, byte_codec(), rank=rank, world_size=world, options=Options(**options)
        ).run(jobs=1 + rank % 2)  # fmt: skip


@pytest.mark.parametrize("format", slow_but(FORMATS, "npy", "parquet"))
@pytest.mark.parametrize("world", [2, 5])
def test_merged_ranks_are_a_single_run(ram_path: Path, format: str, world: int) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(240))
    plain = ram_path / "in" / "z.jsonl"
    rows = [json.dumps({"text": text, "id": n}) for n, text in enumerate(some_documents(60, 9))]
    rows[7:7] = ["{}", "x"]
    rows[40:40] = ["{}", '{"text": "\\ud800"}']
    plain.write_text("\n".join(rows))
    options = {"format": format, "shard_tokens": 1000, "on_error": "skip"}
    if format == "npy":
        options |= {"val_fraction": 0.3, "seed": 5}
    for name in ("single", "merged"):
        (ram_path / name).mkdir()
    run([*inputs, plain], ram_path / "single" / "o", **options)
    ranks([*inputs, plain], ram_path / "ranks", world, **options)
    parts = sorted(ram_path.glob("ranks.rank*.manifest.json"))
    assert len(parts) == world
    merge_outputs(ram_path / "merged" / "o", reversed(parts))
    assert all(part.exists() for part in parts)
    assert outputs(ram_path / "merged") == outputs(ram_path / "single")
    ranks([*inputs, plain], ram_path / "merged" / "o", world, **options)
    merge_outputs(ram_path / "merged" / "o", overwrite=True)
    merged = outputs(ram_path / "merged")
    assert {name: merged[name] for name in merged if ".rank" not in name} == outputs(ram_path / "single")
    merge_outputs(ram_path / "merged" / "o", delete=True)
    assert outputs(ram_path / "merged") == outputs(ram_path / "single")


def test_more_ranks_than_documents(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("a<|endoftext|>b<|endoftext|>")
    ranks([ram_path / "in.txt"], ram_path / "o", 9, format="llmc")
    merge_outputs(ram_path / "o")
    (ram_path / "single").mkdir()
    run(ram_path / "in.txt", ram_path / "single" / "o", format="llmc")
    for name, data in outputs(ram_path / "single").items():
        assert (ram_path / name).read_bytes() == data


def test_a_merge_that_was_killed_is_begun_again(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpetite.corpus.run.assembly as module

    inputs = write_inputs(ram_path / "in", some_documents(90))
    ranks(inputs, ram_path / "o", 2, shard_tokens=300)

    def killed(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            merge_outputs(ram_path / "o")
    merge_outputs(ram_path / "o")
    (ram_path / "single").mkdir()
    run(inputs, ram_path / "single" / "o", shard_tokens=300)
    for name, data in outputs(ram_path / "single").items():
        assert (ram_path / name).read_bytes() == data
    assert not (ram_path / "o.journal").exists()
    before = outputs(ram_path)
    merge_outputs(ram_path / "o")
    assert outputs(ram_path) == before
    (ram_path / "o_000000.npy").write_bytes(b"")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        merge_outputs(ram_path / "o")


def test_refusals(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    with pytest.raises(FileNotFoundError, match="no outputs of ranks"):
        merge_outputs(ram_path / "o")
    ranks(inputs, ram_path / "o", 3)
    parts = sorted(ram_path.glob("o.rank*.manifest.json"))
    with pytest.raises(FormatError, match=r"ranks \[1\] of 3 are missing"):
        merge_outputs(ram_path / "m", [parts[0], parts[2]])
    with pytest.raises(FormatError, match="more than once"):
        merge_outputs(ram_path / "m", [*parts, parts[1]])
    ranks(inputs, ram_path / "other", 3, eot="none")
    with pytest.raises(FormatError, match="from another run"):
        merge_outputs(ram_path / "m", [*parts[:2], ram_path / "other.rank00002of00003"])
    run(inputs, ram_path / "single")
    with pytest.raises(FormatError, match="not the output of one rank"):
        merge_outputs(ram_path / "m", [ram_path / "single"])
    with pytest.raises(FileNotFoundError, match="no manifest of a finished rank"):
        merge_outputs(ram_path / "m", [ram_path / "nothing"])
    with (ram_path / "o.rank00001of00003.tokens").open("ab") as file:
        file.write(b"xx")
    with pytest.raises(FormatError, match="bytes, but its manifest says"):
        merge_outputs(ram_path / "m", parts)
    assert not (ram_path / "m.manifest.json").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_a_flipped_bit_in_a_rank_is_found(ram_path: Path, format: str) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    ranks(inputs, ram_path / "o", 2, format=format)
    chosen = random.Random(3)
    files = [path for path in sorted(ram_path.glob("o.rank*")) if not path.name.endswith((".json", ".runs"))]
    for path in files:
        whole = path.read_bytes()
        for at in {0, len(whole) - 1, *(chosen.randrange(len(whole)) for _ in range(8))}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chosen.randrange(8)]) + whole[at + 1 :])
            with pytest.raises(FormatError, match=path.name.split(".")[1]):
                merge_outputs(ram_path / "m", sorted(ram_path.glob("o.rank*.manifest.json")))
            assert not (ram_path / "m.manifest.json").exists()
        path.write_bytes(whole)
    merge_outputs(ram_path / "m", sorted(ram_path.glob("o.rank*.manifest.json")))


def test_a_flipped_bit_in_a_manifest_is_found(ram_path: Path) -> None:
    ranks(write_inputs(ram_path / "in", some_documents(9)), ram_path / "o", 2)
    path = ram_path / "o.rank00000of00002.manifest.json"
    whole = path.read_bytes()
    chosen = random.Random(4)
    for at in chosen.sample(range(len(whole) - 1), 300):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chosen.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(FormatError, match=path.name):
            merge_outputs(ram_path / "o")
    path.write_bytes(whole)
    merge_outputs(ram_path / "o")


def test_a_manifest_names_no_file_elsewhere(ram_path: Path) -> None:
    ranks(write_inputs(ram_path / "in", some_documents(9)), ram_path / "o", 2)
    (ram_path / "victim").write_text("mine")
    path = ram_path / "o.rank00000of00002.manifest.json"
    manifest = read_manifest(path)
    for name in ("../victim", "a/b", "..", "", "x\0"):
        manifest["files"][0]["name"] = name
        write_manifest(path, manifest)
        with pytest.raises(FormatError, match="is not the name of a file beside it"):
            merge_outputs(ram_path / "o", delete=True)


def test_several_processes_make_the_shards(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(90))
    ranks(inputs, ram_path / "o", 3, shard_tokens=300)
    assert merge_outputs(ram_path / "o", rank=1, world_size=2) is None
    assert (ram_path / "o_000001.npy").exists()
    assert not (ram_path / "o_000000.npy").exists()
    manifest = merge_outputs(ram_path / "o", rank=0, world_size=2, delete=True)
    assert manifest is not None
    (ram_path / "single").mkdir()
    run(inputs, ram_path / "single" / "o", shard_tokens=300)
    assert outputs(ram_path) == outputs(ram_path / "single")
    assert len(manifest["files"]) > 4


@pytest.mark.parametrize("format", ["megatron", "npy"])
def test_ranks_are_found_from_any_name_of_the_output(ram_path: Path, format: str) -> None:
    ranks(write_inputs(ram_path / "in", some_documents(9)), ram_path / "x", 2, format=format)
    name = {"megatron": "x_text_document.bin", "npy": "x.npy"}[format]
    manifest = merge_outputs(ram_path / name)
    assert manifest is not None
    assert manifest["files"][0]["name"] == name


def test_ranks_of_different_worlds_are_not_mixed(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    ranks(inputs, ram_path / "two", 2)
    ranks(inputs, ram_path / "three", 3)
    parts = [ram_path / "two.rank00000of00002", ram_path / "three.rank00001of00003"]
    with pytest.raises(FormatError, match=r"one of 3 ranks, but .* is one of 2"):
        merge_outputs(ram_path / "m", parts)
    assert not list(ram_path.glob("m*"))


def test_what_is_in_the_way_stays(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    ranks(inputs, ram_path / "o", 2)
    for name, error in (("o.journal", FormatError), ("o.npy.partial", FileExistsError)):
        for _ in range(2):
            (ram_path / name).write_text("mine\n")
            with pytest.raises(error, match=name):
                merge_outputs(ram_path / "o")
            assert (ram_path / name).read_text() == "mine\n"
            assert not (ram_path / "o.npy").exists()
        (ram_path / name).unlink()
    merge_outputs(ram_path / "o")


def test_ranks_are_deleted(ram_path: Path) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    for folder in ("out", "else"):
        (ram_path / folder).mkdir()
    ranks(inputs, ram_path / "out" / "o", 2)
    with pytest.raises(FormatError, match="are missing"):
        merge_outputs(ram_path / "else" / "o", [ram_path / "out" / "o.rank00000of00002"], delete=True)
    assert len(list((ram_path / "out").glob("o.rank*.manifest.json"))) == 2
    merge_outputs(ram_path / "else" / "o", sorted((ram_path / "out").glob("o.rank*.manifest.json")), delete=True)
    assert list((ram_path / "out").iterdir()) == []
    assert len(outputs(ram_path / "else")) == 3
    manifest = merge_outputs(ram_path / "else" / "o", delete=True)  # of one that was killed when all was done
    assert manifest is not None
    assert manifest["rank"] is None
    with pytest.raises(FileNotFoundError):
        merge_outputs(ram_path / "else" / "o")


def test_overwriting_leaves_nothing_of_a_larger_output(ram_path: Path) -> None:
    """Who reads o_*.bin reads every file that has such a name."""
    inputs = write_inputs(ram_path / "in", some_documents(90))
    for count, tokens in ((3, 200), (1, 1000)):
        ranks(inputs[:count], ram_path / str(tokens), 2, format="nanogpt", shard_tokens=tokens)
        parts = sorted(ram_path.glob(f"{tokens}.rank*.manifest.json"))
        merge_outputs(ram_path / "o", parts, overwrite=True, delete=True)
    (ram_path / "single").mkdir()
    run(inputs[:1], ram_path / "single" / "o", format="nanogpt", shard_tokens=1000)
    assert outputs(ram_path) == outputs(ram_path / "single")


@pytest.mark.parametrize("output", ["o", "folder/"])
def test_another_number_of_ranks_later(ram_path: Path, output: str) -> None:
    inputs = write_inputs(ram_path / "in", some_documents(30))
    out = f"{ram_path}/{output}"
    if output.endswith("/"):
        (ram_path / output).mkdir()
    made = []
    for world in (3, 2):
        ranks(inputs, Path(out), world)
        made.append(merge_outputs(out, overwrite=True))
        assert merge_outputs(out, delete=world == 3) == made[-1]
    assert made[0] == made[1]
    ranks(inputs, Path(out), 3)
    with pytest.raises(FormatError, match="name those of one run"):
        merge_outputs(out, overwrite=True)


def test_a_name_with_rank_in_it(ram_path: Path) -> None:
    ranks(write_inputs(ram_path / "in", some_documents(9)), ram_path / "my.ranked", 2)
    manifest = merge_outputs(ram_path / "my.ranked")
    assert (ram_path / "my.ranked.npy").exists()
    assert merge_outputs(ram_path / "my.ranked") == manifest


def test_a_merge_that_was_killed_when_it_was_done(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpetite.corpus.run.assembly as module

    ranks(write_inputs(ram_path / "in", some_documents(9)), ram_path / "o", 2)
    real = module.write_manifest

    def killed(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            merge_outputs(ram_path / "o")
    assert (ram_path / "o.shard").exists()
    merge_outputs(ram_path / "o")
    assert not list(ram_path.glob("o.journal*"))
    assert not list(ram_path.glob("*.shard"))
    (ram_path / "o.journal").write_text("mine")
    merge_outputs(ram_path / "o")
    assert (ram_path / "o.journal").read_text() == "mine"


def test_ranks_are_not_deleted_where_the_output_is_damaged(ram_path: Path) -> None:
    ranks(write_inputs(ram_path / "in", some_documents(9)), ram_path / "o", 2)
    merge_outputs(ram_path / "o")
    whole = (ram_path / "o.npy").read_bytes()
    before = {path: path.read_bytes() for path in ram_path.glob("o.rank*")}
    (ram_path / "o.npy").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(FormatError, match=r"o\.npy: bytes .* differ"):
        merge_outputs(ram_path / "o", delete=True)
    assert {path: path.read_bytes() for path in ram_path.glob("o.rank*")} == before
    (ram_path / "o.npy").write_bytes(whole)
    merge_outputs(ram_path / "o", delete=True)
    assert not list(ram_path.glob("o.rank*"))
