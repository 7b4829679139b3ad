"""What commands print: in a terminal and elsewhere, in any encoding, through a closed pipe, one thing and several."""
import json
import os
from pathlib import Path

import pytest
from commands import bpe, process, start
from terminals import in_terminal


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a cat"}\n{"text": 5}\n' * 20)
    return path


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_in_a_terminal(records: Path, tmp_path: Path) -> None:
    said = in_terminal("encode", records, "-t", "bpetite-32k", "-o", tmp_path / "a", "--on-error", "skip")
    assert "%|" in said
    # a message is on a line of its own: the bar before it is erased, not written through
    lines = [line.rsplit("\r", 1)[-1] for line in said.replace("\r\n", "\n").split("\n")]
    assert any(line.startswith(f"{records}:2: no text") for line in lines)
    assert '"documents"' not in said
    asked = in_terminal("encode", records, "-t", "bpetite-32k", "-o", tmp_path / "b", "--on-error", "skip", "--json")
    assert json.loads(asked.splitlines()[-1])["documents"] == 20
    assert in_terminal("encode", records, "-o", tmp_path / "c", "--on-error", "skip", "-q", "-t", "bpetite-32k") == ""


def test_one_thing_and_several(records: Path, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a")
    for arguments, said in (
        (("count", tmp_path / "one.txt"), "1 document, 1 token, 1 byte"),
        (("count", records, "--on-error", "skip"), "20 documents, "),
        (("tokens", "a"), "1 token, 1 character, 1.00 characters per token"),
    ):
        assert bpe(*arguments).err.splitlines()[-1].startswith(said)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"},
     {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)  # fmt: skip
def test_any_encoding(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "猫.txt").write_text("a 猫 é", encoding="utf-8")
    for arguments in (
        ("tokens", "a 猫 é", "--printable"),
        ("encode", tmp_path / "猫.txt", "-t", "bpetite-32k", "-o", tmp_path / "out"),
        ("inspect", tmp_path / "out"),
    ):
        done = process(*arguments, stdin=b"", env=environment)
        assert (done.code, b"codec" in done.err) == (0, False), (arguments, done.err)
    content = json.loads(process("tokens", "é", "--json", stdin=b"", env=environment).out)
    assert content["characters"] == 1
    assert "\\u732b.txt: no such" in process("count", "猫.txt", env={"PYTHONIOENCODING": "ascii"}).err


@pytest.mark.skipif(os.name == "nt", reason="pipes of a shell")
def test_a_closed_pipe_and_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a<|endoftext|>" * 200_000)
    assert bpe("encode", tmp_path / "in.txt", "-t", "bpetite-32k", "-o", tmp_path / "o").code == 0
    with start("decode", tmp_path / "o", "--jsonl") as begun:
        assert begun.stdout is not None
        assert begun.stderr is not None
        assert begun.stdout.readline() == b'{"text": "a"}\n'
        begun.stdout.close()
        assert begun.stderr.read() == b""
        assert begun.wait(60) == 141
    for unbuffered in ["", "1"] if os.path.exists("/dev/full") else []:
        with open("/dev/full", "wb") as full:
            done = process("tokens", "a", "-q", stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
        assert (done.code, done.err.splitlines()[-1]) == (5, "Error: No space left on device")


def test_text_that_is_not_utf8_is_named() -> None:
    said = process("tokens", stdin=b"gr\xf6").err
    assert said.splitlines()[-1] == b"Error: standard input is not UTF-8 at byte 2"
