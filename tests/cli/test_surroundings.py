"""Commands where the machine is in the way: kills, other file systems, a user with few rights, other processes."""
import contextlib
import hashlib
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from paths import PYTHONPATH
from tiers import slow_but

TEXT = "the cat sat on the mat, the cat ate the hat<|endoftext|>"

posix = pytest.mark.skipif(os.name == "nt", reason="signals, users and file systems of POSIX")


def start(*arguments: object, **how: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "bpetite", *map(str, arguments)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **how,
    )  # fmt: skip


def run(*arguments: object, **how: object) -> tuple[int, str, str]:
    with start(*arguments, **how) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def killed(*arguments: object, after: float) -> None:
    with start(*arguments, start_new_session=True) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# Killed midway


@posix
@pytest.mark.parametrize("bounds", [(), pytest.param(("--memory", "32M"), marks=pytest.mark.slow)])
def test_train_that_was_killed_leaves_no_tokenizer(tmp_path: Path, bounds: tuple[str, ...]) -> None:
    words = " ".join(f"w{number:x}" for number in range(100_000))
    (tmp_path / "in.txt").write_text(words)
    (tmp_path / "spill").mkdir()
    spill = ("--spill", tmp_path / "spill") if bounds else ()
    command = ("train", tmp_path / "in.txt", "-n", 600, *bounds, *spill, "-o")
    assert run(*command, tmp_path / "whole.json")[0] == 0
    for after in (0.05, 0.3, 0.6):
        killed(*command, tmp_path / "t.json", after=after)
        there = tmp_path / "t.json"
        assert not there.exists() or there.read_bytes() == (tmp_path / "whole.json").read_bytes()
        there.unlink(missing_ok=True)
    assert run(*command, tmp_path / "t.json")[0] == 0
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["t.json", "whole.json"]


# Another file system


@posix
@pytest.mark.slow
def test_outputs_on_another_file_system(tmp_path: Path, ram_path: Path) -> None:
    if tmp_path.stat().st_dev == ram_path.stat().st_dev:
        pytest.skip("one file system for both")
    (tmp_path / "in.txt").write_text(TEXT * 50)
    (tmp_path / "link").symlink_to(ram_path)
    for folder in (ram_path / "a", tmp_path / "link" / "b"):
        for arguments in (
            ("train", tmp_path / "in.txt", "-n", 270, "-o", folder / "t.json"),
            ("convert", folder / "t.json", folder / "t.tiktoken"),
            ("encode", tmp_path / "in.txt", "-t", folder / "t.json", "-o", folder / "tokens"),
            ("inspect", folder / "tokens", "--verify"),
            ("view", tmp_path / "in.txt", "-t", folder / "t.json", "-o", folder / "page.html"),
        ):
            code, _, err = run(*arguments, cwd=tmp_path)
            assert code == 0, err
        assert run("decode", folder / "tokens")[1] == TEXT * 50
    first, second = ({path.name: path.read_bytes() for path in (ram_path / name).glob("to*.???")} for name in "ab")
    assert first == second
    assert not [path for path in tmp_path.iterdir() if path.name not in ("in.txt", "link")]


# An ordinary user


@posix
@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can be somebody else")
def test_what_an_ordinary_user_may_not(ram_path: Path) -> None:
    """Each error names the file, and what is there stays."""
    ram_path.chmod(0o755)
    (ram_path / "in.txt").write_text(TEXT)
    for name in ("secret.txt", "secret.json"):
        shutil.copy(ram_path / "in.txt", ram_path / name)
        (ram_path / name).chmod(0o600)
    (ram_path / "open").mkdir()
    (ram_path / "open").chmod(0o777)
    for name in ("closed", "private"):
        (ram_path / name).mkdir()
    (ram_path / "private").chmod(0o700)

    code = """if True:
        import os, sys
        sys.path[:0] = sys.argv.pop(1).split(os.pathsep)
        from bpetite.cli import main
        import bpetite.cli.encode, bpetite.cli.count, bpetite.cli.train, bpetite.cli.decode
        from bpetite import Tokenizer
        Tokenizer.load("bpetite-32k")
        for line in sys.stdin:
            if child := os.fork():
                os.waitpid(child, 0)
                continue
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            main(line.split())
    """

    def tried(*lines: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, PYTHONPATH], input="\n".join(lines), capture_output=True, text=True,
            cwd=ram_path,
        )  # fmt: skip
        return done.stderr.splitlines()

    named = "-t bpetite-32k -q"
    errors = tried(
        f"encode secret.txt {named} -o open/a",
        f"encode private {named} -o open/a",
        f"count in.txt secret.txt {named}",
        "count in.txt -t secret.json -q",
        f"encode in.txt {named} -o closed/a",
        f"encode in.txt {named} -o closed/new/a",
        "train in.txt -n 270 -q -o closed/t.json",
        "decode private/tokens",
    )
    files = (
        "secret.txt", "private", "secret.txt", "secret.json", "closed", "closed", "closed", "private/tokens",
    )  # fmt: skip
    assert len(errors) == len(files), errors
    for error, file in zip(errors, files, strict=True):
        assert error.startswith("Error: "), error
        assert file in error, error
        assert "Permission denied" in error, error
    assert not list((ram_path / "open").iterdir())
    assert not list((ram_path / "closed").iterdir())
    assert tried(f"encode in.txt {named} -o open/a") == []
    assert (ram_path / "open" / "a.npy").exists()


# Other processes


@contextlib.contextmanager
def serving(data: bytes) -> Iterator[str]:
    """The URL of a server that gives these bytes for any path, slowly."""

    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            for at in range(0, len(data), 1 << 18):
                self.wfile.write(data[at : at + (1 << 18)])
                time.sleep(0.02)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("ends", [(), pytest.param((0.4,), marks=pytest.mark.slow)])
def test_two_processes_fill_a_cache_by_name(tmp_path: Path, shared: Callable[[str], Path], ends: tuple[float]) -> None:
    """Both have the same ids, also where a third one is killed before, and the file is whole."""
    data = shared("openai/cl100k_base.tiktoken").read_bytes()
    nothing = {name: str(tmp_path / "none") for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")}
    with serving(data) as url:
        environment = {
            **os.environ, **nothing, "BPETITE_CACHE_DIR": str(tmp_path / "cache"), "BPETITE_ENCODINGS_URL": url,
        }  # fmt: skip
        command = ("tokens", "-t", "cl100k_base", "--ids", "-q", "hello world")
        for after in ends:
            with start(*command, env=environment) as process:
                time.sleep(after)
                process.kill()
                process.communicate()
        both = [start(*command, env=environment) for _ in range(2)]
        found = [(*one.communicate(timeout=120), one.returncode) for one in both]
    assert found == [("15339 1917\n", "", 0)] * 2
    cached, = (path for path in (tmp_path / "cache").iterdir() if path.name == "cl100k_base.tiktoken")
    assert hashlib.sha256(cached.read_bytes()).digest() == hashlib.sha256(data).digest()


# Paths in manifests


@pytest.mark.slow
def test_an_output_that_was_moved(tmp_path: Path) -> None:
    """Names in a manifest are those of its own folder; of inputs, they are the paths that were given."""
    odd = ["a b.txt", "ü猫.txt", "new\nline.txt", "-.txt", *([os.fsdecode(b"\xff.txt")] if os.name != "nt" else [])]
    (tmp_path / "in").mkdir()
    for name in odd:
        (tmp_path / "in" / name).write_text(TEXT)
    code, _, err = run("encode", "in", "-t", "bpetite-32k", "-f", "nanogpt", "-o", "out/tokens", cwd=tmp_path)
    assert code == 0, err
    manifest = tmp_path / "out" / "tokens.manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    assert {file["path"] for file in content["inputs"]["files"]} == {os.path.join("in", name) for name in odd}
    assert {file["name"] for file in content["files"]} == {"tokens.bin"}
    (tmp_path / "out").rename(tmp_path / "moved")
    for place in (tmp_path / "moved" / "tokens", "moved/tokens.manifest.json"):
        assert run("inspect", place, "--verify", cwd=tmp_path)[0] == 0
        assert run("decode", place, cwd=tmp_path)[1] == TEXT * len(odd)


@pytest.mark.parametrize("name", slow_but(["../in.txt", "/etc/passwd", "a/../in.txt", "..", ""], "../in.txt"))
def test_a_manifest_names_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.txt").write_text(TEXT)
    assert run("encode", "in.txt", "-t", "bpetite-32k", "-f", "nanogpt", "-o", "out/t", cwd=tmp_path)[0] == 0
    path = tmp_path / "out" / "t.manifest.json"
    content = json.loads(path.read_text())
    content["files"][0]["name"] = name
    path.write_text(json.dumps(content))
    for command in (("inspect", "out/t", "--verify"), ("decode", "out/t")):
        code, out, err = run(*command, cwd=tmp_path)
        assert (code, out) == (3, "")
        assert "t.manifest.json" in err
    again = ("encode", "in.txt", "-t", "bpetite-32k", "-f", "nanogpt", "-o", "out/t", "--overwrite")
    run(*again, cwd=tmp_path)
    assert (tmp_path / "in.txt").read_text() == TEXT
