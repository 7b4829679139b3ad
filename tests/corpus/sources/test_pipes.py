"""Inputs that can be read only once, known by their kind: opened once, never tried first, and with no identity."""
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from corpus_tools import run, texts_in

from bpetite.corpus import find_sources

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")


@contextmanager
def pipe(path: Path, data: bytes) -> Iterator[Path]:
    """A named pipe that gives some bytes to the first who opens it."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        yield path
    finally:
        writer.join(10)
    assert not writer.is_alive()


TEXT = "<|endoftext|>".join(f"document {number}" for number in range(20_000)).encode()
LINES = b"".join(json.dumps({"text": f"a {number}"}).encode() + b"\n" for number in range(2000))


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_named_pipe_gives_all_of_its_documents(ram_path: Path, overwrite: bool, jobs: int) -> None:
    for _ in range(3):
        with pipe(ram_path / "p", TEXT) as path:
            made = run(path, ram_path / "o", input_kind="text", overwrite=overwrite, jobs=jobs)
        assert made["documents"] == 20_000
        path.unlink()
        for file in ram_path.iterdir():
            file.unlink()


@pytest.mark.parametrize("name", ["p.json", "p.jsonl"])
def test_lines_of_a_named_pipe(ram_path: Path, name: str) -> None:
    with pipe(ram_path / name, LINES) as path:
        assert run(path, ram_path / "o")["documents"] == 2000


def test_an_array_of_a_named_pipe(ram_path: Path) -> None:
    with pipe(ram_path / "p.json", b'[{"text": "a"},\n{"text": "b"}]') as path:
        run(path, ram_path / "o")
    assert texts_in(ram_path / "o.npy") == ["a", "b"]


@pytest.mark.parametrize("name", ["p.json", "p.jsonl"])
def test_a_problem_in_a_named_pipe_has_its_line(ram_path: Path, name: str) -> None:
    """The pipe is not opened again to count lines."""
    with (
        pipe(ram_path / name, LINES + b"\n{]\n") as path,
        pytest.raises(ValueError, match=rf"{name}:2002: malformed JSON"),
    ):
        run(path, ram_path / "o")


def test_parquet_needs_a_file(ram_path: Path) -> None:
    os.mkfifo(ram_path / "p.parquet")
    with pytest.raises(ValueError, match=r"p.parquet: Parquet is read from a plain file"):
        run(ram_path / "p.parquet", ram_path / "o")


def test_a_pipe_has_no_identity(ram_path: Path) -> None:
    os.mkfifo(ram_path / "p")
    piece, = find_sources([ram_path / "p"]).pieces
    assert (piece.once, piece.size, piece.version) == (True, 0, "")
    with pytest.raises(ValueError, match=r"p can be read only once, and cannot be shared between ranks; name files"):
        run(ram_path / "p", ram_path / "o", world_size=2)


def test_a_finished_output_of_a_pipe_is_refused(ram_path: Path) -> None:
    with pipe(ram_path / "p", b"one") as path:
        run(path, ram_path / "o")
    with pytest.raises(FileExistsError, match="p can be read only once, and nothing says whether it is the same; over"):
        run(path, ram_path / "o")


def test_descriptors_of_the_shell(ram_path: Path) -> None:
    """As <(...) of a shell gives them: a pipe, by a name that ends with the process."""
    reading, writing = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(writing, LINES), os.close(writing)))
    writer.start()
    try:
        made = run(f"/dev/fd/{reading}", ram_path / "o", input_kind="jsonl", overwrite=True)
        assert made["documents"] == 2000
    finally:
        writer.join()
        os.close(reading)


@pytest.mark.skipif(sys.platform != "linux", reason="names of sockets")
def test_a_socket_is_refused_by_its_kind(ram_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ValueError, match="not a file that can be read from start to end"):
        run(f"/dev/fd/{theirs.fileno()}", ram_path / "o", input_kind="text")
