"""Stores that are like the Hub and like a web server: other descriptions of objects, other ways to say no."""
import errno
import io
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest
from corpus_tools import run, some_documents, texts_in
from fsspec.registry import _registry
from fsspec.spec import AbstractFileSystem

from bpetite.corpus import find_sources


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
    assert [piece.path for piece in found.pieces] == ["hf://datasets/me/corpus/data/a.txt"]
    assert found.left_out == ("hf://datasets/me/corpus/README.md",)
    assert found.pieces == find_sources(["hf://datasets/me/corpus/**/*.txt"]).pieces
    assert found.pieces[0].version is not None
    assert found.pieces[0].version.startswith("blob_id ")
    with pytest.raises(ValueError, match=r"corpus/README\.md: no reader for this suffix"):
        run("hf://datasets/me/corpus", ram_path / "o")
    run("hf://datasets/me/corpus", ram_path / "o", on_error="skip")
    assert texts_in(ram_path / "o.npy") == documents
    hub.files["datasets/me/corpus/data/a.txt"] = text[:-1] + b"!"
    with pytest.raises(FileExistsError, match="which has been changed or touched since"):
        run("hf://datasets/me/corpus", ram_path / "o", on_error="skip")


@pytest.fixture
def web(ram_path: Path) -> Iterator[str]:
    """A web server without ranges."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *arguments: object) -> None:
            pass  # a client that has enough hangs up

    server = Server(("127.0.0.1", 0), partial(Quiet, directory=str(ram_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_web(web: str, ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    (ram_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    assert find_sources([f"{web}/a.jsonl?key=1"]).pieces[0].kind == "jsonl"
    run(f"{web}/a.jsonl?key=1", ram_path / "o")
    assert texts_in(ram_path / "o.npy") == ["a", "b"]
    with pytest.raises(FileNotFoundError, match="no such object"):
        run(f"{web}/b.jsonl", ram_path / "p")
    (ram_path / "large.txt").write_bytes(b"text " * 2_000_000)
    with pytest.raises(ValueError, match=r"large\.txt: .*where the server gives no ranges, download the file"):
        run(f"{web}/large.txt", ram_path / "p")
    assert not list(ram_path.glob("p*"))


def test_a_web_server_that_is_busy_or_away_is_asked_again() -> None:
    """And the error is not that there is no such object: exit code 75, not 1."""
    pytest.importorskip("aiohttp")

    class Busy(SimpleHTTPRequestHandler):
        def send_head(self) -> None:
            self.send_error(503)

        def log_message(self, format: str, *values: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for end in (server.shutdown, server.server_close):
        with pytest.raises(OSError, match="failed 2 times") as caught:
            find_sources([f"http://127.0.0.1:{server.server_port}/a.txt"])
        assert caught.value.errno == errno.EIO
        end()
        server.server_close()
