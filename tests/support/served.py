"""A server of a test's own, on this machine."""
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answers(BaseHTTPRequestHandler):
    """Answers GET and HEAD by its method `answer`; nothing is printed."""

    protocol_version = "HTTP/1.1"
    server: Any

    def answer(self) -> None:
        raise NotImplementedError

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.answer()

    do_HEAD = do_GET

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def served(handler: type[Answers]) -> Iterator[Any]:
    """The server: its `address`, and the paths that were `asked`."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.asked, server.address = [], f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
