"""Commands where the machine is in the way: kills, other file systems, a user with few rights, other processes."""
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import bpe, process, start
from paths import PYTHONPATH
from served import Answers, served

TEXT = "the cat sat on the mat, the cat ate the hat<|endoftext|>"

posix = pytest.mark.skipif(os.name == "nt", reason="signals, users and file systems of POSIX")


# Before the command begins, and without threads


def test_an_interrupt_while_modules_are_imported_is_one_line() -> None:
    code = """if True:
        import runpy, sys
        class Interrupt:
            def find_spec(self, name, *_):
                if name == "click":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupt())
        runpy.run_module("bpetite", run_name="__main__")
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PYTHONPATH}
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("command", [("encode", "-o", "out"), ("count",)])
def test_a_system_without_threads_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    from bpetite.core import _threads

    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    (tmp_path / "in.txt").write_text(TEXT * 99)
    monkeypatch.setattr(_threads, "start_new_thread", refuse)
    name, *more = command
    done = bpe(name, "in.txt", *more, "-t", "bpetite-32k", "--jobs", "16", cwd=tmp_path)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1].startswith("Error: the system allows this user no more threads: end some, raise")


# Killed midway


@posix
def test_train_that_was_killed_leaves_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(" ".join(f"w{number:x}" for number in range(100_000)))
    command = ("train", tmp_path / "in.txt", "-n", 600, "-o")
    assert process(*command, tmp_path / "whole.json").code == 0
    there, whole = tmp_path / "t.json", (tmp_path / "whole.json").read_bytes()
    for after in (0.05, 0.3, 0.6):
        with start(*command, there) as begun:
            time.sleep(after)
            begun.kill()
            begun.communicate()
        assert not there.exists() or there.read_bytes() == whole
        there.unlink(missing_ok=True)
    assert process(*command, there).code == 0
    assert there.read_bytes() == whole
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["t.json", "whole.json"]


def test_an_output_that_was_moved(tmp_path: Path) -> None:
    """Names in a manifest are those of its own folder; of inputs, they are the paths that were given."""
    odd = ["a b.txt", "ü猫.txt", "new\nline.txt", "-.txt", *([os.fsdecode(b"\xff.txt")] if os.name != "nt" else [])]
    (tmp_path / "in").mkdir()
    for name in odd:
        (tmp_path / "in" / name).write_text(TEXT)
    assert bpe("encode", "in", "-t", "bpetite-32k", "-f", "nanogpt", "-o", "out/tokens", cwd=tmp_path).code == 0
    content = json.loads((tmp_path / "out" / "tokens.manifest.json").read_text(encoding="utf-8"))
    assert {file["path"] for file in content["inputs"]["files"]} == {os.path.join("in", name) for name in odd}
    assert {file["name"] for file in content["files"]} == {"tokens.bin"}
    (tmp_path / "out").rename(tmp_path / "moved")
    for place in (tmp_path / "moved" / "tokens", "moved/tokens.manifest.json"):
        assert bpe("inspect", place, "--verify", cwd=tmp_path).code == 0
        assert bpe("decode", place, cwd=tmp_path).out == TEXT * len(odd)


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
        import difflib, fcntl, os, sys  # click imports difflib late; who is not root may not read root's Python
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
    refused = {
        f"encode secret.txt {named} -o open/a": "secret.txt", f"encode private {named} -o open/a": "private",
        f"count in.txt secret.txt {named}": "secret.txt", "count in.txt -t secret.json -q": "secret.json",
        f"encode in.txt {named} -o closed/a": "closed", f"encode in.txt {named} -o closed/new/a": "closed",
        "train in.txt -n 270 -q -o closed/t.json": "closed", "decode private/tokens": "private/tokens",
    }
    for error, file in zip(tried(*refused), refused.values(), strict=True):
        assert error.startswith("Error: "), error
        assert file in error, error
        assert "Permission denied" in error, error
    assert not [*(ram_path / "open").iterdir(), *(ram_path / "closed").iterdir()]
    # a finished run that is read-only is read
    assert bpe("encode", "in.txt", *named.split(), "-o", "done/a", cwd=ram_path).code == 0
    for path in (*(ram_path / "done").iterdir(), ram_path / "done"):
        path.chmod(0o555)
    assert tried(f"encode in.txt {named} -o open/a", f"encode in.txt {named} -o done/a") == []
    assert (ram_path / "open" / "a.npy").exists()


# Other processes


class Slow(Answers):
    """Gives the same bytes for any path, slowly."""

    data = b""

    def answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()
        for at in range(0, len(self.data), 1 << 18):
            self.wfile.write(self.data[at : at + (1 << 18)])
            time.sleep(0.02)


@pytest.mark.parametrize("ends", [(), pytest.param((0.4,), marks=pytest.mark.slow)])
def test_two_processes_fill_a_cache_by_name(
    tmp_path: Path, shared: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, ends: tuple[float]
) -> None:
    """Both have the same ids, also where a third one is killed before, and the file is whole."""
    data = shared("openai/cl100k_base.tiktoken").read_bytes()
    monkeypatch.setattr(Slow, "data", data)
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("BPETITE_CACHE_DIR", str(tmp_path / "cache"))
    command = ("tokens", "-t", "cl100k_base", "--ids", "-q", "hello world")
    with served(Slow) as server:
        monkeypatch.setenv("BPETITE_ENCODINGS_URL", server.address)
        for after in ends:
            with start(*command) as begun:
                time.sleep(after)
                begun.kill()
                begun.communicate()
        both = [start(*command, text=True) for _ in range(2)]
        found = [(*one.communicate(timeout=120), one.returncode) for one in both]
    assert found == [("15339 1917\n", "", 0)] * 2
    cached, = (path for path in (tmp_path / "cache").iterdir() if path.name == "cl100k_base.tiktoken")
    assert cached.read_bytes() == data
