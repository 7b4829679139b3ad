"""What all commands have: the examples of their help, -q, exit codes, words of errors, Ctrl-C."""
import errno
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from commands import bpe, start
from paths import PACKAGES

from bpetite import Tokenizer
from bpetite.cli import COMMANDS, EXAMPLES, cli, main
from bpetite.cli.base import Command, Preempted, as_typed
from bpetite.corpus import RecordError
from bpetite.errors import FormatError

TEXT = "the cat sat on the mat<|endoftext|>the cat ate the hat\n" * 40


def command_of(name: str) -> Command:
    found = cli.get_command(click.Context(cli), name)
    assert isinstance(found, Command)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the examples name, and ``bpetite`` on the path."""
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "bpetite"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -W error -m bpetite "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "corpus.txt").write_text(TEXT)
    (tmp_path / "more.jsonl.gz").write_bytes(gzip.compress(json.dumps({"text": TEXT}).encode() + b"\n"))
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    (tmp_path / "mixture.toml").write_text('[[source]]\nname = "texts"\npaths = ["texts"]\nrepeats = 2\n')
    return tmp_path


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the examples are for a shell")
def test_the_examples_of_every_help_run(folder: Path) -> None:
    before = {
        "merge": [
            f"bpetite encode corpus.txt -t bpetite-32k -f megatron -o {where}/megatron --rank {rank} --world-size 4"
            for where in ("tokens", "parts")
            for rank in range(4)
        ]
    }
    for name in COMMANDS:
        examples = (command_of(name).epilog or "").partition("Examples:\n")[2].splitlines()
        assert examples
        for example in (*before.get(name, ()), *examples):
            done = subprocess.run(example, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
            assert done.returncode in ((0, 1) if "--strict" in example else (0,)), (example, done.stderr)
            assert "Traceback" not in done.stderr
    assert all(example.split()[1] in COMMANDS for example in EXAMPLES)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_and_the_common_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert f"\n  bpetite {name} " in said[said.index("Examples:") :]
    for option in ("-q, --quiet", "-h, --help"):
        assert option in said
    assert not re.search(r"Raises:|\bNone\b|:\w+:`", said)  # which docstrings say to programmers
    for parameter in command_of(name).params:
        assert "_" not in (parameter.name or "") or not re.search(rf"(?<![-/]){parameter.name}\b", said)
    spelled: dict[str, object] = {}
    for other in COMMANDS:
        for parameter in command_of(other).params:
            if isinstance(parameter, click.Option) and parameter.name in ("jobs", "as_json", "overwrite"):
                assert spelled.setdefault(parameter.name, parameter.help) == parameter.help


@pytest.mark.parametrize(
    ("arguments", "slow"),
    [
        (["--help"], ["numpy", "tqdm", "bpetite.tokenizer", "bpetite.corpus"]),
        (["count", "corpus.txt", "-t", "bpetite-32k"], ["concurrent.futures", "tqdm", "multiprocessing", "pyarrow"]),
    ],
)
def test_a_command_loads_no_slow_module(folder: Path, arguments: list[str], slow: list[str]) -> None:
    code = "import sys; from bpetite.cli import main\ntry: main(sys.argv[1:])\nfinally: print(*sys.modules)"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert not {*slow} & {*done.stdout.splitlines()[-1].split()}


def test_quiet_leaves_data_and_errors(folder: Path) -> None:
    corpus = folder / "corpus.txt"
    code, out, err = bpe("count", corpus)
    assert (code, len(err.splitlines())) == (0, 2)
    assert bpe("count", corpus, "-t", "bpetite-32k", "-q") == (0, out, "")
    assert bpe("count", corpus).err == err
    assert bpe("train", corpus, "-n", "260", "-o", folder / "t.json", "-q") == (0, "", "")
    for command in (
        ("audit", "-t", folder / "t.json"), ("compare", "gpt2", folder / "t.json"),
        ("tokens", "-t", "gpt2", "--why", "a b")
    ):  # fmt: skip
        code, out, err = bpe(*command, "-q")
        assert (code, err) == (0, "")
        assert re.sub("Made .* UTC", "", out) == re.sub("Made .* UTC", "", bpe(*command).out) != ""
    assert json.loads(bpe("audit", "-q", "-t", folder / "t.json", "--json").out)["name"] == str(folder / "t.json")
    code, out, err = bpe("count", folder / "absent", "-q")
    assert (code, out, len(err.splitlines())) == (1, "", 1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["count", "--nothing"], 2), (["audit", "-t", "absent.json"], 2), (["--nothing"], 2), ([], 0),
        (["audit", "-t", "bpetite-32k", "absent.txt"], 2), (["audit", "-t", "bpetite-32k", "--validate"], 2),
        (["encode", "absent.txt", "-o", "x"], 2),
    ],
)  # fmt: skip
def test_exit_codes(arguments: list[str], code: int, tmp_path: Path) -> None:
    done = bpe(*arguments, cwd=tmp_path)
    assert (done.code, "Traceback" in done.err) == (code, False)


def test_messages_name_options_of_the_command(folder: Path) -> None:
    bad, small = folder / "bad.jsonl", folder / "small.json"
    bad.write_text('{"text": 5}\n{"text": "ab"}\n')
    Tokenizer.train(TEXT, 260).save(small)
    for line in (
        ["audit", "-t", small], ["compare", small, small], ["count"], ["train", "-n", "300", "-o", folder / "x.json"],
        ["encode", "-t", "bpetite-32k", "-o", folder / "x"],
    ):  # fmt: skip
        assert "--on-error skip goes on" in bpe(*line, bad).err
        assert bpe(*line, bad, "--on-error", "skip").code == 0
    said = bpe("count", bad, "--text-key", "body").err
    assert """no 'body' in the record, which has ["text"] (--text-key names another key)""" in said


def test_as_typed_leaves_names_of_files() -> None:
    options = [click.Option(["--text-key"]), click.Option(["--jobs"])]
    for kept in ("/data/text_key/x", "text_key.json: no text", "a-text_key", "jobs 3", "text_keys"):
        assert as_typed(kept, options) == kept
    assert as_typed("text_key 'a' and jobs=, text_key.", options) == "--text-key 'a' and --jobs, --text-key."


def begun(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A command that waits for standard input."""
    process = start(*arguments, cwd=folder, stdin=subprocess.PIPE, text=True)
    if arguments[0] == "count":
        assert process.stderr is not None
        process.stderr.readline()
    else:
        until = time.monotonic() + 60
        while not (folder / "out.partial" / "lock").exists() and time.monotonic() < until:
            time.sleep(0.1)
    return process


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_signals_and_two_runs(folder: Path) -> None:
    encode, said = ("encode", "-", "-t", "bpetite-32k", "-o", "out"), "interrupted: the same command goes on where it "
    for arguments, sent, code, message in (
        (encode, signal.SIGINT, 130, said), (encode, signal.SIGTERM, 75, said),
        (("count", "-"), signal.SIGINT, 130, "interrupted"),
    ):  # fmt: skip
        with begun(folder, *arguments) as process:
            assert process.stderr is not None
            if arguments == encode:
                second = bpe(*encode, cwd=folder)
                assert second == (4, "", "Error: out.partial: another run is writing this output\n")
            process.send_signal(sent)
            assert process.stderr.read().splitlines()[-1].startswith(message)
            assert process.wait(60) == code


def test_a_failed_run_leaves_nothing_to_go_on_from(folder: Path) -> None:
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"text": 5}\n')
    for _ in range(2):
        done = bpe("encode", "bad.jsonl", "-t", "bpetite-32k", "-o", "new/out", "-f", "datatrove", "-q", cwd=folder)
        assert (done.code, "going on" in done.err) == (3, False)
        assert list((folder / "new").iterdir()) == []


def test_a_finished_output_of_other_options_is_named(folder: Path) -> None:
    Tokenizer.train(TEXT, 260).save(folder / "tok.json")
    line = ["encode", "corpus.txt", "-t", "bpetite-32k", "-o", "out"]
    assert bpe(*line, cwd=folder).code == 0
    for more, differs in (
        (["--eot", "none"], "made with eot append, now none"),
        (["--shard-tokens", "1k"], "made with --shard-tokens None, now 1000"),
        (["-t", "tok.json"], "made with tokenizer "), (["texts"], "made with input 2 "),
    ):  # fmt: skip
        done = bpe(*line, *more, cwd=folder)
        assert done.code == 1
        assert differs in done.err
        assert "--overwrite replaces it" in done.err


@pytest.mark.parametrize("place", ["importlib.import_module", "cli.main"])  # in click, and before or behind it
@pytest.mark.parametrize(("sent", "code"), [(Preempted(), 75), (KeyboardInterrupt(), 130)])
def test_a_signal_while_no_command_runs(
    place: str, sent: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*arguments: object, **options: object) -> None:
        raise sent

    monkeypatch.setattr(f"bpetite.cli.{place}", ended)
    with pytest.raises(SystemExit) as left:
        main(["encode", "--help"])
    assert left.value.code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("x"), 1), (FileNotFoundError(2, "x", "y"), 1), (RecordError("x"), 3), (FormatError("x"), 3),
        (BlockingIOError(11, "x", "y"), 4), (OSError(errno.ENOSPC, "x"), 5), (OSError(errno.EDQUOT, "x", "y"), 5),
        (OSError(errno.EIO, "reading failed 5 times", "s3://a/b"), 75), (OSError(errno.EIO, "x", "/a/b"), 1),
        (ConnectionResetError("x"), 75), (TimeoutError("x"), 75), (Preempted(), 75), (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141), (MemoryError(), 1),
    ],
)
def test_exit_codes_of_errors(
    error: BaseException, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("bpetite.cli.encode.make_plan", fails)
    monkeypatch.setattr("bpetite.cli.console.discard_output", lambda: None)
    monkeypatch.setattr("bpetite.cli.compare.compare", fails)
    done = bpe("encode", "corpus.txt", "-t", "bpetite-32k", "-o", "out", cwd=folder)
    assert (done.code, bool(done.err)) == (code, code != 141)
    kept = isinstance(error, KeyboardInterrupt | BrokenPipeError)
    assert bpe("compare", "bpetite-32k", "bpetite-32k").code == (code if kept else 2)
