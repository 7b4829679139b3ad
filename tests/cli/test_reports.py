"""What commands print: in a terminal and elsewhere, in any encoding, through a closed pipe, one thing and several."""
import json
import os
import sys
from pathlib import Path

import click
import pytest
from commands import bpe, process, start
from terminals import in_terminal

from bpetite.cli import reports


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "a cat"}\n{"text": 5}\n' * 20)
    return path


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_in_a_terminal(records: Path, tmp_path: Path) -> None:
    said = in_terminal("encode", records, "-t", "bpetite-32k", "-o", tmp_path / "a", "--on-error", "skip")
    assert f"\n{records}:2: no text" in said.replace("\r\n", "\n") or said.startswith(f"{records}:2: no text")
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


def test_a_line_of_progress_is_erased(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the next one, before a message, and at the end; it is cut where the terminal ends."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(reports, "LINE_SECONDS", (0, 0))
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with reports.ProgressLine(2_000_000, desc="counting") as line:
        line.update(500_000, "7 documents and so on")
        reports.say("a message")
        reports.say("another")
        line.update(1_500_000)
    first, second, *rest = capsys.readouterr().err.split(reports.CLEAR)[1:]
    assert first.startswith("counting 500k of 2MB (25%), ")
    assert len(first) == 39
    assert second == "a message\nanother\n"
    assert [rest[0][:26], rest[1:]] == ["counting 2M of 2MB (100%),", [""]]


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
