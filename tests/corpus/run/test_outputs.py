"""An output beside, or in the place of, its inputs: its own files are no inputs, and inputs are not replaced."""
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus_tools import byte_codec, outputs, run, texts_in

from bpetite import FormatError
from bpetite.corpus import Options, Part, count_corpus, make_part, merge_outputs
from bpetite.corpus.api import check_inputs
from bpetite.corpus.output import manifest as manifest_module


@pytest.mark.parametrize("sink", ["in", "in/", "in/o"])
@pytest.mark.parametrize("format", ["npy", "parquet"])
def test_a_run_into_the_folder_that_it_reads(ram_path: Path, sink: str, format: str) -> None:
    folder = ram_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "one"}\n')
    (folder / "z.jsonl").write_text('{"text": "two"}\n')
    out = f"{ram_path}/{sink}"
    first = run(folder, out, format=format)
    before = outputs(folder)
    log: list[str] = []
    assert {**run(folder, out, format=format, log=log.append), "seconds": 0} == {**first, "seconds": 0}
    assert "files of this output" in log[0]
    assert run(folder, out, format=format, overwrite=True)["documents"] == 2
    assert outputs(folder) == before


@pytest.mark.parametrize("format", ["parquet", "mds"])
def test_a_killed_run_into_the_folder_that_it_reads(ram_path: Path, format: str) -> None:
    """Shards that are finished, which no manifest lists yet, are no inputs either; nor is what no reader knows."""
    folder = ram_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("<|endoftext|>".join(map(str, range(200))))

    def task(sink: Path) -> Part:
        options = Options(format=format, shard_tokens=200)  # type: ignore[arg-type]
        return replace(make_part(folder, sink, byte_codec(), options=options), block=100, checkpoint_seconds=0)

    def stop(raw: int, tokens: int, documents: int) -> None:
        if documents > 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        task(folder).run(progress=stop)
    assert any(folder.glob(f"tokens_000000.{format}"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_module, "write_small", _killed())
        with pytest.raises(KeyboardInterrupt):
            task(folder).run()
    again = task(folder)
    assert again.unread == 0
    again.run()
    (ram_path / "out").mkdir()
    (folder / "a.txt").rename(ram_path / "a.txt")
    assert {path.name for path in folder.iterdir()} >= {"manifest.json", f"tokens_000000.{format}"}
    run(ram_path / "a.txt", ram_path / "out", format=format, shard_tokens=200)
    mine, other = outputs(folder), outputs(ram_path / "out")
    assert [mine[name] for name in other if name.startswith("tokens")] == [
        other[name] for name in other if name.startswith("tokens")
    ]


def _killed() -> Any:
    """What writes the file of all shards, and is killed before the manifest."""
    write = manifest_module.write_small

    def once(path: Any, data: bytes, staging: Any) -> Any:
        if path.name == "manifest.json":
            raise KeyboardInterrupt
        return write(path, data, staging)

    return once


def test_the_files_of_ranks(ram_path: Path) -> None:
    folder = ram_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    for rank in range(2):
        task = make_part(
            folder, folder / "o", byte_codec(), rank=rank, world_size=2, options=Options(format="parquet")
        )
        assert [Path(piece.path).name for piece in task.pieces] in (["a.jsonl"], [])
        task.run()
    assert len(list(folder.glob("o.rank*.tokens"))) == 2


@pytest.mark.parametrize("output", ["in/o", "in"])
def test_the_files_of_ranks_that_have_been_merged(ram_path: Path, output: str) -> None:
    folder = ram_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    (folder / "x.rank00000of00002.jsonl").write_text('{"text": "three"}\n')  # of no output that is here

    def encode(rank: int) -> dict[str, object]:
        options = Options(format="parquet")
        task = make_part(folder, ram_path / output, byte_codec(), rank=rank, world_size=2, options=options)
        return {**task.run(), "seconds": 0}

    first = [encode(rank) for rank in range(2)]
    manifest = merge_outputs(ram_path / output)
    assert manifest["documents"] == 3
    assert [encode(rank) for rank in range(2)] == first
    assert merge_outputs(ram_path / output) == manifest


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["train.parquet", "val.parquet"])
def test_an_input_with_the_name_of_an_output(ram_path: Path, name: str, overwrite: bool) -> None:
    (ram_path / "a.jsonl").write_text('{"text": "one"}\n')
    (ram_path / name).write_text('{"text": "mine"}\n')
    with pytest.raises(FileExistsError, match=f"an input has the name .*{name}"):
        run(ram_path, ram_path, format="parquet", val_fraction=0.1, overwrite=overwrite)
    assert (ram_path / name).read_text() == '{"text": "mine"}\n'
    assert len(list(ram_path.iterdir())) == 2


def test_nothing_but_own_files(ram_path: Path) -> None:
    (ram_path / "a.jsonl").write_text('{"text": "one"}\n')
    run(ram_path / "a.jsonl", ram_path / "o", format="parquet")
    with pytest.raises(ValueError, match="all inputs are files of the output itself"):
        run(ram_path / "o.parquet", ram_path / "o", format="parquet", overwrite=True)
    assert (ram_path / "o.parquet").exists()
    # counting writes nothing, so it may read them
    assert json.loads((ram_path / "o.manifest.json").read_text())["documents"] == 1


def test_counting_has_no_output(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ram_path)
    (ram_path / "count.manifest.json").write_text('{"text": "one"}\n')
    assert count_corpus("count.manifest.json", byte_codec())["documents"] == 1


@pytest.mark.parametrize("content", ['{"no": 1}\n', '{"text": "\\ud800"}\n', None])
def test_overwriting_deletes_nothing_before_it_can_start(ram_path: Path, content: str | None) -> None:
    (ram_path / "a.jsonl").write_text('{"text": "one"}\n')
    run(ram_path / "a.jsonl", ram_path / "o")
    before = outputs(ram_path)
    if content is None:
        task = make_part(ram_path / "a.jsonl", ram_path / "o", byte_codec(), options=Options(), overwrite=True)
        (ram_path / "a.jsonl").unlink()
        del before["a.jsonl"]
        with pytest.raises(FileNotFoundError):
            task.run()
    else:
        (ram_path / "a.jsonl").write_text(content)
        before["a.jsonl"] = content.encode()
        with pytest.raises(ValueError, match=r"a\.jsonl:1"):
            run(ram_path / "a.jsonl", ram_path / "o", overwrite=True)
    assert outputs(ram_path) == before
    assert texts_in(ram_path / "o.npy") == ["one"]


def test_an_output_without_a_name(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ram_path)
    (ram_path / "a.txt").write_text("one")
    with pytest.raises(ValueError, match="the output has no name"):
        run("a.txt", "")
    assert [path.name for path in ram_path.iterdir()] == ["a.txt"]


def test_llmc_has_shards_of_its_script_and_checks_its_limit_first(ram_path: Path) -> None:
    (ram_path / "a.txt").write_text("one")
    made = run(ram_path / "a.txt", ram_path / "o", format="llmc")
    assert json.loads(Path(made["manifest"]).read_text())["options"]["shard_tokens"] == 10**8
    most = 2**31 - 2**20
    with pytest.raises(ValueError, match=f"shard_tokens {most + 1} is too many .*llmc.* at most {most}"):
        run(ram_path / "a.txt", ram_path / "x", format="llmc", shard_tokens=most + 1)
    assert run(ram_path / "a.txt", ram_path / "y", format="llmc", shard_tokens=most)["files"] == ["y_000000.bin"]
    assert not list(ram_path.glob("x*"))
    assert np.fromfile(ram_path / "y_000000.bin", "<i4", 3).tolist() == [20240520, 1, 4]


def test_inputs_that_changed_unseen_are_found(ram_path: Path) -> None:
    """With the same size and time; and a mark at the start of any line is counted, whoever reads it."""
    path = ram_path / "in.jsonl"
    path.write_bytes('\ufeff{"text": "one"}\n\ufeff{"text": "two"}\n{"text": "three"}\n\ufeff\n'.encode())
    assert run(path, ram_path / "o")["byte_order_marks"] == 2
    for rank in (0, 1):
        run(path, ram_path / "two" / "o", rank=rank, world_size=2)
    merge_outputs(ram_path / "two" / "o", delete=True)
    one = {name: data for name, data in outputs(ram_path).items() if name.startswith("o.")}
    assert outputs(ram_path / "two") == one
    manifest = json.loads((ram_path / "o.manifest.json").read_bytes())
    check_inputs(manifest, jobs=2)
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"three", b"eerht"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(FormatError, match=r"in\.jsonl: has been changed since it was read: bytes 0 to 56 of its text"):
        check_inputs(manifest)
    path.unlink()
    with pytest.raises(FormatError, match=r"in\.jsonl: cannot be read again"):
        check_inputs(manifest)
