"""What made an output: the content of its inputs, and the processes that worked on it."""
import gzip
import json
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import run as bpetite
from corpus_tools import byte_codec, outputs, run, some_documents
from faulty_store import fresh

from bpetite import FormatError
from bpetite.corpus import Options, make_part, merge_outputs
from bpetite.corpus.api import check_inputs
from bpetite.corpus.reading import sums

FORMS = ["txt", "jsonl", "json", "txt.gz", "jsonl.gz", "parquet"]


def write(path: Path, documents: list[str]) -> None:
    """A file of a size that follows from the size of the documents."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": documents}), path, compression="none", use_dictionary=False)
        return
    records = [json.dumps({"text": document}) for document in documents]
    name = path.name.removesuffix(".gz")
    text = {".txt": "<|endoftext|>".join(documents), ".json": f"[{','.join(records)}]"}
    data = text.get(Path(name).suffix, "\n".join(records)).encode()
    path.write_bytes(gzip.compress(data, 0, mtime=0) if name != path.name else data)


def manifest_of(path: Path) -> Any:
    return json.loads(path.read_bytes())


@pytest.mark.parametrize("form", FORMS)
def test_an_input_that_changed_under_the_same_size_and_time_is_named(ram_path: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    paths = [ram_path / f"{name}.{form}" for name in "abc"]
    for number, path in enumerate(paths):
        write(path, [f"{number} a document", "another", ""])
    run(paths, ram_path / "o")
    manifest = manifest_of(ram_path / "o.manifest.json")
    check_inputs(manifest, jobs=2)
    before = paths[1].stat()
    write(paths[1], ["1 a documemt", "another", ""])
    os.utime(paths[1], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert paths[1].stat().st_size == before.st_size
    with pytest.raises(FormatError, match=rf"b\.{form}: has been changed since it was read: bytes 0 to \d+ of its"):
        check_inputs(manifest, jobs=2)
    found = bpetite("inspect", ram_path / "o", "--verify", "--inputs", cwd=ram_path)
    assert (found.returncode, f"b.{form}: has been changed" in found.stderr) == (3, True)


def test_an_object_that_changed_is_named(ram_path: Path) -> None:
    fresh("memory")
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe({"/in/a.txt": b"one", "/in/b.txt": b"two"})
    run("memory://in", ram_path / "o")
    manifest = manifest_of(ram_path / "o.manifest.json")
    check_inputs(manifest)
    created = store.store["/in/b.txt"].created
    store.pipe("/in/b.txt", b"owt")
    store.store["/in/b.txt"].created = created
    with pytest.raises(FormatError, match=r"memory://in/b\.txt: has been changed since it was read: bytes 0 to 2 of"):
        check_inputs(manifest)


def test_the_range_that_changed_is_named(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checksums are those of zlib, whoever reads which part, and however often it was killed."""
    monkeypatch.setattr(sums, "SUM_RANGE", 1000)
    path = ram_path / "in.txt"
    write(path, [f"{number} {text}" for number, text in enumerate(some_documents(200))])
    data = path.read_bytes()
    parts = {str(at): data[at : at + 1000] for at in range(0, len(data), 1000)}
    ranges = {at: [len(part), zlib.crc32(part)] for at, part in parts.items()}
    for rank in range(3):
        run(path, ram_path / "ranks" / "o", rank=rank, world_size=3, jobs=2)
    merge_outputs(ram_path / "ranks" / "o", delete=True)
    part = make_part(path, ram_path / "killed" / "o", byte_codec(), options=Options())
    while True:
        left = iter(range(3))
        try:
            replace(part, block=150, checkpoint_seconds=0).run(jobs=2, progress=lambda *_, left=left: next(left))
        except StopIteration:
            continue
        break
    manifest = manifest_of(ram_path / "ranks" / "o.manifest.json")
    assert manifest["inputs"]["files"][0]["read"] == ranges
    assert outputs(ram_path / "ranks") == outputs(ram_path / "killed")
    path.write_bytes(data[:2500] + b"\1" + data[2501:])
    with pytest.raises(FormatError, match="bytes 2000 to 2999 of its text differ"):
        check_inputs(manifest)


def test_what_is_not_kept_has_no_checksum(ram_path: Path) -> None:
    path = ram_path / "in.jsonl"
    path.write_text('{"text": "one"}\n{"text": "' + "long" * 100 + '"}\n')
    for jobs in (1, 2):
        run(path, ram_path / f"{jobs}" / "o", on_error="skip", max_document_bytes=100, jobs=jobs)
        manifest = manifest_of(ram_path / f"{jobs}" / "o.manifest.json")
        assert manifest["inputs"]["files"][0]["read"] is None
        with pytest.raises(FormatError, match=r"in\.jsonl: the manifest has no checksum of it"):
            check_inputs(manifest)


def test_every_process_that_worked_is_recorded(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ram_path / "in.txt"
    write(path, some_documents(100))
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    part = replace(make_part(path, ram_path / "o", byte_codec(), options=Options()), block=200, checkpoint_seconds=0)
    left = iter(range(5))
    with pytest.raises(StopIteration):
        part.run(progress=lambda *_: next(left))
    part.run()
    lines = [json.loads(line) for line in (ram_path / "o.runs").read_text().splitlines()]
    assert [run["job"] for run in lines] == [{"SLURM_JOB_ID": "4711"}] * 2
    assert [run.get("error") for run in lines] == ["StopIteration", None]
    assert all(run["begin"] <= run["end"] and run["host"] and run["pid"] for run in lines)
    assert all("python" in run["command"] for run in lines)


def test_runs_of_ranks_are_joined_and_shown(ram_path: Path) -> None:
    (ram_path / "in.txt").write_text("one<|endoftext|>two")
    for rank in (0, 1):
        bpetite("encode", "in.txt", "-t", "bpetite-32k", "-o", "o", "--rank", rank, "--world-size", 2, cwd=ram_path)
    bpetite("merge", "-o", "o", "--delete", cwd=ram_path)
    assert {path.name for path in ram_path.glob("o*")} == {"o.npy", "o.offsets.npy", "o.manifest.json", "o.runs"}
    shown = [line for line in bpetite("inspect", "o", cwd=ram_path).stdout.splitlines() if line.startswith("run ")]
    assert len(shown) == 3
    assert all(" to 20" in line and "process" in line for line in shown)
    runs = json.loads(bpetite("inspect", "o", "--json", cwd=ram_path).stdout)["runs"]
    assert len(runs) == 3
    (ram_path / "o.runs").write_text("damaged")
    assert "o.runs: not a record of runs" in bpetite("inspect", "o", cwd=ram_path).stderr
