"""Output on a file system that is really full, or really read-only: a clear error, nothing lost, and the way on.

These mount a small file system in memory, which takes root on Linux; elsewhere they skip, and
test_task.py has the same with a limit on the size of files.
"""
from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from corpus_tools import CRASHED, byte_codec, outputs, run, some_documents
from tiers import slow_but

from bpetite.corpus import Options, make_part


class SmallDisk:
    """A file system in memory of a few megabytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mount("-t", "tmpfs", "-o", "size=2m", "none", str(path))

    def _mount(self, *arguments: str) -> None:
        try:
            done = subprocess.run(["mount", *arguments], capture_output=True, text=True)
        except OSError as error:
            pytest.skip(f"cannot mount a file system here: {error}")
        if done.returncode:
            pytest.skip(f"cannot mount a file system here: {done.stderr.strip()}")

    def change(self, options: str) -> None:
        self._mount("-o", f"remount,{options}", str(self.path))

    def remove(self) -> None:
        gc.collect()  # the traceback of an error may still hold files
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    (tmp_path / "disk").mkdir()
    disk = SmallDisk(tmp_path / "disk")
    try:
        yield disk
    finally:
        disk.remove()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 600,000 tokens of the byte tokenizer: 1.2 MB of uint16, 2.4 MB of uint32."""
    path = tmp_path_factory.mktemp("in") / "in.jsonl"
    documents = some_documents(9_000, longest=100)
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(documents)))
    return path


def left_whole(folder: Path, whole: dict[str, bytes]) -> int:
    """The number of final files, all of which must be as they should be."""
    files = {path.name: path.read_bytes() for path in folder.glob("o*") if "partial" not in path.name}
    final = [name for name in files if not name.endswith((".journal", ".manifest.json"))]
    assert all(files[name] == whole[name] for name in final)
    return len(final)


@pytest.mark.parametrize("format", slow_but(CRASHED, "parquet"))
def test_a_full_disk(disk: SmallDisk, source: Path, tmp_path: Path, format: str) -> None:
    (tmp_path / "whole").mkdir()
    run(source, tmp_path / "whole" / "o", format=format, shard_tokens=60_000)
    whole = outputs(tmp_path / "whole")
    # Parquet is made of a file of tokens that is larger than itself
    peak = sum(map(len, whole.values())) + (2_400_000 if format == "parquet" else 0)
    errors: list[OSError] = []
    found = set()
    # with more and more room the write that fails is one of tokens, lengths, an index, the journal, the manifest
    for room in (0, 4096, 50_000, *range(100_000, peak + 100_000, peak // 8)):
        for path in disk.path.iterdir():
            path.unlink()
        disk.change("size=8m")
        ballast = (8 << 20) - (room + 4095) // 4096 * 4096
        (disk.path / "ballast").write_bytes(bytes(ballast))
        jobs = 1 + len(errors) % 2
        options = Options(format=format, shard_tokens=60_000)
        task = make_part([source], disk.path / "o", byte_codec(), options=options, checkpoint_seconds=0.0)
        task = replace(task, block=50_000)
        try:
            task.run(jobs=jobs)
        except OSError as error:
            errors.append(error)
            found.add(left_whole(disk.path, whole))
        (disk.path / "ballast").unlink()
        task.run(jobs=jobs)
        assert outputs(disk.path) == whole
    assert len(errors) > 5
    assert {error.errno for error in errors} == {errno.ENOSPC}
    assert all(error.filename and "once there is room" in str(error.strerror) for error in errors)
    assert len(found) > 2  # some ended with shards finished, some without


@pytest.mark.parametrize("format", slow_but(["npy", "nanogpt"], "nanogpt"))
def test_the_command_on_a_full_disk(disk: SmallDisk, source: Path, tmp_path: Path, format: str) -> None:
    text = tmp_path / "in.txt"
    text.write_bytes(source.read_bytes() * 8)
    command = [sys.executable, "-m", "bpetite", "encode", str(text), "-f", format, "--whole-files", "-j", "2"]
    command += ["-t", "bpetite-32k"]
    first = subprocess.run([*command, "-o", str(disk.path / "o")], capture_output=True, text=True)
    assert first.returncode == 5
    error = [line for line in first.stderr.splitlines() if line.startswith("Error")]
    assert len(error) == 1
    assert str(disk.path / "o") in error[0]
    assert "No space left on device; finished shards are whole, and the same command goes on" in error[0]
    assert "Traceback" not in first.stderr
    disk.change("size=40m")
    second = subprocess.run([*command, "-o", str(disk.path / "o")], capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    subprocess.run([*command, "-o", str(tmp_path / "o")], check=True, capture_output=True)
    tokens = "o.npy" if format == "npy" else "o.bin"
    assert (disk.path / tokens).read_bytes() == (tmp_path / tokens).read_bytes()


def test_a_read_only_disk(disk: SmallDisk, source: Path, tmp_path: Path) -> None:
    disk.change("ro")
    with pytest.raises(OSError, match=r"Read-only file system.*disk") as failed:
        run(source, disk.path / "o")
    assert failed.value.errno == errno.EROFS
    with pytest.raises(OSError, match=r"Read-only file system.*disk"):
        run(source, disk.path / "new" / "o")
    assert os.listdir(disk.path) == []

    # it becomes read-only in the middle of a run: what there is stays, and is gone on with
    disk.change("rw,size=600k")
    with pytest.raises(OSError, match="No space left"):
        run(source, disk.path / "o", shard_tokens=60_000, checkpoint_seconds=0.0)
    before = outputs(disk.path)
    disk.change("ro")
    with pytest.raises(OSError, match="Read-only file system"):
        run(source, disk.path / "o", shard_tokens=60_000)
    assert outputs(disk.path) == before
    disk.change("rw,size=8m")
    run(source, disk.path / "o", shard_tokens=60_000)
    (tmp_path / "whole").mkdir()
    run(source, tmp_path / "whole" / "o", shard_tokens=60_000)
    assert outputs(disk.path) == outputs(tmp_path / "whole")
