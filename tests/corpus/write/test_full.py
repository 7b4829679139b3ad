"""Output on a file system that is really full, or really read-only: a clear error, nothing lost, and the way on.

These mount a small file system in memory, which takes root on Linux; elsewhere they skip, and
test_model.py draws disks that are full at any write.
"""
import gc
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import bpe
from corpus_tools import outputs, run, some_documents


class SmallDisk:
    """A file system in memory of a few megabytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def change(self, options: str, *more: str) -> None:
        try:
            done = subprocess.run(
                ["mount", *(more or ("-o", "remount")), "-o", options, "none", str(self.path)], capture_output=True,
                text=True,
            )  # fmt: skip
        except OSError as error:
            pytest.skip(f"cannot mount a file system here: {error}")
        if done.returncode:
            pytest.skip(f"cannot mount a file system here: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    disk = SmallDisk(tmp_path / "disk")
    disk.path.mkdir()
    disk.change("size=2m", "-t", "tmpfs")
    try:
        yield disk
    finally:
        gc.collect()  # the traceback of an error may still hold files
        subprocess.run(["umount", "--lazy", str(disk.path)], check=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 600,000 tokens of the byte tokenizer: 1.2 MB of uint16, 2.4 MB of uint32."""
    path = tmp_path_factory.mktemp("in") / "in.jsonl"
    documents = some_documents(9_000, longest=100)
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(documents)))
    return path


def test_the_command_on_a_full_disk(disk: SmallDisk, source: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(source.read_bytes() * 8)
    command = ("encode", tmp_path / "in.txt", "-f", "nanogpt", "--whole-files", "-j", 2, "-t", "bpetite-32k", "-o")
    done = bpe(*command, disk.path / "o")
    error, = (line for line in done.err.splitlines() if line.startswith("Error"))
    assert (done.code, "Traceback" in done.err) == (5, False)
    assert str(disk.path / "o") in error
    assert "No space left on device; nothing was kept; the same command begins anew once there is room" in error
    disk.change("size=40m")
    assert bpe(*command, disk.path / "o").code == bpe(*command, tmp_path / "o").code == 0
    assert (disk.path / "o.bin").read_bytes() == (tmp_path / "o.bin").read_bytes()


def test_a_read_only_disk(disk: SmallDisk, source: Path, tmp_path: Path) -> None:
    disk.change("ro")
    for output in (disk.path / "o", disk.path / "new" / "o"):
        with pytest.raises(OSError, match=r"Read-only file system.*disk"):
            run(source, output)
    assert os.listdir(disk.path) == []

    # it becomes read-only in the middle of a run: what there is stays, and is gone on with
    disk.change("rw,size=600k")
    with pytest.raises(OSError, match=r"No space left .*goes on from its last checkpoint once there is room"):
        run(source, disk.path / "o", block=50_000, shard_tokens=60_000, checkpoint_seconds=0.0)
    before = outputs(disk.path / "o.partial")
    disk.change("ro")
    with pytest.raises(OSError, match="Read-only file system"):
        run(source, disk.path / "o", shard_tokens=60_000)
    assert outputs(disk.path / "o.partial") == before
    disk.change("rw,size=8m")
    run(source, disk.path / "o", shard_tokens=60_000)
    run(source, tmp_path / "whole" / "o", shard_tokens=60_000)
    assert outputs(disk.path) == outputs(tmp_path / "whole")
