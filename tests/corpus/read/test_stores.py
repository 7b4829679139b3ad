"""Inputs that are no plain files: pipes, which are read once, sockets, stores like the Hub, and web servers."""
import errno
import io
import json
import os
import socket
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import fsspec
import pytest
from corpus_tools import pipe, run, some_documents, texts_in
from fsspec.registry import _registry
from fsspec.spec import AbstractFileSystem
from served import Answers, served

from bpetite.corpus import find_sources

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")


TEXT = "<|endoftext|>".join(f"document {number}" for number in range(20_000)).encode()
LINES = b"".join(json.dumps({"text": f"a {number}"}).encode() + b"\n" for number in range(2000))


@pipes
@pytest.mark.parametrize(
    ("name", "data", "documents", "options"),
    [
        *(("p", TEXT, 20_000, {"input_kind": "text", "jobs": jobs, "overwrite": jobs == 2}) for jobs in (1, 2)),
        ("p.json", LINES, 2000, {}), ("p.jsonl", LINES, 2000, {}),
        ("p.json", b'[{"text": "a"},\n{"text": "b"}]', 2, {}),
    ],
)  # fmt: skip
def test_a_named_pipe_gives_all_of_its_documents(
    ram_path: Path, name: str, data: bytes, documents: int, options: dict[str, Any]
) -> None:
    for _ in range(3):
        with pipe(ram_path / name, data) as path:
            assert run(path, ram_path / "o", **options)["documents"] == documents
        for file in ram_path.iterdir():
            file.unlink()
    if data is LINES:  # the pipe is not opened again to count lines
        with (
            pipe(ram_path / name, LINES + b"\n{]\n") as path,
            pytest.raises(ValueError, match=rf"{name}:2002: malformed JSON"),
        ):
            run(path, ram_path / "o")


@pipes
def test_what_pipes_have_not(ram_path: Path) -> None:
    """An identity, parts, and what Parquet needs."""
    os.mkfifo(ram_path / "p.parquet")
    source, = find_sources([ram_path / "p.parquet"]).inputs
    assert (source.read_once, source.size, source.version) == (True, 0, "")
    for options, message in (
        ({}, r"p\.parquet: Parquet is read from a plain file"),
        ({"world_size": 2}, "p.parquet can be read only once, and cannot be shared between ranks; name files"),
    ):
        with pytest.raises(ValueError, match=message):
            run(ram_path / "p.parquet", ram_path / "o", **options)
    with pipe(ram_path / "p", b"one") as path:
        run(path, ram_path / "o")
    with pytest.raises(FileExistsError, match="p can be read only once, and nothing says whether it is the same; over"):
        run(path, ram_path / "o")


@pipes
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


class Hub(AbstractFileSystem):
    """Names without a slash in front, and versions as "blob_id", as `huggingface_hub.HfFileSystem` has them."""

    protocol = "hf"
    files: dict[str, bytes] = {}  # noqa: RUF012 - of the test

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        path = self._strip_protocol(path)
        found: dict[str, dict[str, Any]] = {}
        for name, data in self.files.items():
            if name == path:
                return [self._about(name, data)]
            if name.startswith(path + "/"):
                child = path + "/" + name[len(path) + 1 :].partition("/")[0]
                about = self._about(name, data) if child == name else {"name": child, "size": 0, "type": "directory"}
                found[child] = about
        if not found:
            raise FileNotFoundError(path)
        return [*found.values()] if detail else [*found]

    def _about(self, name: str, data: bytes) -> dict[str, Any]:
        return {"name": name, "size": len(data), "type": "file", "blob_id": f"{hash(data):x}", "last_commit": None}

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return io.BytesIO(self.files[self._strip_protocol(path)])


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setitem(_registry, "hf", Hub)
    monkeypatch.setattr(Hub, "files", {})
    store = fsspec.filesystem("hf")
    assert isinstance(store, Hub)
    return store


def test_the_hub(hub: Hub, ram_path: Path) -> None:
    documents = some_documents(50)
    text = "<|endoftext|>".join(documents).encode()
    hub.files.update({
        "datasets/me/corpus/data/a.txt": text, "datasets/me/corpus/README.md": b"#",
        "datasets/me/corpus/.gitattributes": b"*", "datasets/me/corpus@refs%2Fpr%2F1/a.txt": b"other",
    })  # fmt: skip
    found = find_sources(["hf://datasets/me/corpus"])
    assert [one.path for one in found.inputs] == ["hf://datasets/me/corpus/data/a.txt"]
    assert found.left_out == ("hf://datasets/me/corpus/README.md",)
    assert found.inputs == find_sources(["hf://datasets/me/corpus/**/*.txt"]).inputs
    assert found.inputs[0].version is not None
    assert found.inputs[0].version.startswith("blob_id ")
    with pytest.raises(ValueError, match=r"corpus/README\.md: no reader for this suffix"):
        run("hf://datasets/me/corpus", ram_path / "o")
    run("hf://datasets/me/corpus", ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == documents
    hub.files["datasets/me/corpus/data/a.txt"] = text[:-1] + b"!"
    with pytest.raises(FileExistsError, match=r"made with .*blob_id .*, now .*a\.txt"):
        run("hf://datasets/me/corpus", ram_path / "o", on_error="skip")


def test_the_web(ram_path: Path) -> None:
    """A server without ranges."""
    pytest.importorskip("aiohttp")

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *values: object) -> None:
            pass

    (ram_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    (ram_path / "large.txt").write_bytes(b"text " * 2_000_000)
    with served(partial(Files, directory=str(ram_path))) as server:  # type: ignore[arg-type]
        server.handle_error = lambda *_: None  # a client that has enough hangs up
        url = f"{server.address}/a.jsonl?key=1"
        assert find_sources([url]).inputs[0].kind == "jsonl"
        run(url, ram_path / "o")
        assert texts_in(ram_path / "o.npy") == ["a", "b"]
        with pytest.raises(FileNotFoundError, match="no such object"):
            run(f"{server.address}/b.jsonl", ram_path / "p")
        with pytest.raises(ValueError, match=r"large\.txt: the server gives no ranges; download the file"):
            run(f"{server.address}/large.txt", ram_path / "p")
    assert not list(ram_path.glob("p*"))


def test_a_web_server_that_is_busy_or_away_is_asked_again() -> None:
    """And the error is not that there is no such object: exit code 75, not 1."""
    pytest.importorskip("aiohttp")

    class Busy(Answers):
        protocol_version = "HTTP/1.0"  # connections end with an answer

        def answer(self) -> None:
            self.send(503, b"")

    def ask(address: str) -> None:
        with pytest.raises(OSError, match="failed 2 times") as caught:
            find_sources([f"{address}/a.txt"])
        assert caught.value.errno == errno.EIO

    with served(Busy) as server:
        ask(server.address)
    ask(server.address)
