"""What all commands have: the examples of their help, -q and --no-progress, exit codes, words of errors, Ctrl-C."""
import errno
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
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
        for example in (*before.get(name, ()), *command_of(name).examples):
            done = subprocess.run(example, shell=True, cwd=folder, capture_output=True, text=True, timeout=120)
            assert done.returncode in ((0, 1) if name == "diff" else (0,)), (example, done.stderr)
            assert "Traceback" not in done.stderr
    assert all(example.split()[1] in COMMANDS for example in EXAMPLES)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_examples_and_the_common_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert f"\n  bpetite {name} " in said[said.index("Examples:") :]
    for option in ("-q, --quiet", "--no-progress", "-h, --help"):
        assert option in said
    spelled: dict[str, object] = {}
    for other in COMMANDS:
        for parameter in command_of(other).params:
            if isinstance(parameter, click.Option) and parameter.name in ("jobs", "as_json", "overwrite"):
                assert spelled.setdefault(parameter.name, parameter.help) == parameter.help


def test_helps_are_fast() -> None:
    """They import neither NumPy nor what encodes."""
    code = "import sys; from bpetite.cli import main\ntry: main(['--help'])\nfinally: print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert not [name for name in ("numpy", "tqdm", "bpetite.tokenizer", "bpetite.corpus") if f"'{name}'" in loaded]


def test_quiet_leaves_data_and_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: object) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return (left.value.code, *capsys.readouterr())

    corpus = folder / "corpus.txt"
    code, out, err = run("count", corpus)
    assert (code, len(err.splitlines())) == (0, 2)
    assert run("count", corpus, "-t", "bpetite-32k", "-q") == (0, out, "")
    assert run("count", corpus)[2] == err
    assert run("train", corpus, "-n", "260", "-o", folder / "t.json", "-q") == (0, "", "")
    assert run("audit", "-q", "-t", folder / "t.json") == (0, "", "")
    assert json.loads(run("audit", "-q", "-t", folder / "t.json", "--json")[1])["name"] == str(folder / "t.json")
    code, out, err = run("count", folder / "absent", "-q")
    assert (code, out, len(err.splitlines())) == (1, "", 1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["count", "--nothing"], 2),
        (["count", "absent.txt"], 1),
        (["audit", "-t", "absent.json"], 2),
        (["audit", "-t", "bpetite-32k", "absent.txt"], 2),
        (["audit", "-t", "bpetite-32k", "--validate"], 2),
        (["diff", "absent.json", "bpetite-32k"], 2),
        (["diff", "bpetite-32k", "bpetite-32k"], 0),
        (["encode", "absent.txt", "-t", "bpetite-32k", "-o", "x", "--rank", "3"], 2),
        (["encode", "absent.txt", "-o", "x"], 2),
        (["--nothing"], 2),
        ([], 0),
    ],
)
def test_exit_codes(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == code
    assert "Traceback" not in capsys.readouterr().err


def test_messages_name_options_of_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.jsonl").write_text('{"text": 5}\n{"text": "ab"}\n')
    small = str(folder / "small.json")
    Tokenizer.train(TEXT, 260).save(small)
    for name in ("audit", "diff", "count", "train", "encode"):
        option_of = {
            "audit": ["-t", small], "diff": [small, small], "count": [],
            "train": ["-n", "300", "-o", str(folder / "x")], "encode": ["-t", "bpetite-32k", "-o", str(folder / "x")],
        }  # fmt: skip
        line = [name, *option_of[name], str(folder / "bad.jsonl")]
        with pytest.raises(SystemExit):
            main(line)
        assert "--on-error skip goes on" in capsys.readouterr().err
        with pytest.raises(SystemExit) as left:
            main([*line, "--on-error", "skip"])
        assert left.value.code == 0, capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["count", str(folder / "bad.jsonl"), "--text-key", "body"])
    assert """no 'body' in the record, which has ["text"] (--text-key names another key)""" in capsys.readouterr().err


def test_as_typed_leaves_names_of_files() -> None:
    options = [click.Option(["--text-key"]), click.Option(["--jobs"])]
    for kept in ("/data/text_key/x", "text_key.json: no text", "a-text_key", "jobs 3", "text_keys"):
        assert as_typed(kept, options) == kept
    assert as_typed("text_key 'a' and jobs=, text_key.", options) == "--text-key 'a' and --jobs, --text-key."


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupted(folder: Path) -> None:
    def interrupted(*arguments: str) -> str:
        with subprocess.Popen(
            [sys.executable, "-m", "bpetite", *arguments], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True,
        ) as process:  # fmt: skip
            assert process.stderr is not None
            line = ""
            if arguments[0] == "count":
                line = process.stderr.readline()  # it has begun, and waits for standard input
            for _ in range(600):
                if line or (folder / "out.journal").exists():
                    break
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            said = process.stderr.read()
            assert process.wait(60) == 130
        return line + said

    encoded = interrupted("encode", "-", "-t", "bpetite-32k", "-o", "out")
    assert encoded.splitlines()[-1].startswith("interrupted: the same command goes on where it was;")
    assert interrupted("count", "-").splitlines()[-1] == "interrupted"


def test_a_failed_run_leaves_nothing_to_go_on_from(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.jsonl").write_text('{"text": "a"}\n{"text": 5}\n')
    command = ["encode", str(folder / "bad.jsonl"), "-t", "bpetite-32k"]
    for _ in range(2):
        with pytest.raises(SystemExit) as left:
            main([*command, "-o", str(folder / "new" / "out"), "-f", "datatrove", "-q"])
        assert left.value.code == 3
        assert "going on" not in capsys.readouterr().err
        assert list((folder / "new").iterdir()) == []


def test_a_finished_output_of_other_options_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Tokenizer.train(TEXT, 260).save(folder / "tok.json")
    line = ["encode", str(folder / "corpus.txt"), "-t", "bpetite-32k", "-o", str(folder / "out")]
    for more, differs in (
        ([], ""),
        (["--eot", "none"], "made with eot append, now none"),
        (["--shard-tokens", "1k"], "made with --shard-tokens None, now 1000"),
        (["-t", str(folder / "tok.json")], "made with tokenizer "),
        ([str(folder / "texts")], "made with 1 inputs, now 2"),
    ):
        with pytest.raises(SystemExit) as left:
            main([*line, *more])
        said = capsys.readouterr().err
        assert (left.value.code == 1) == (differs in said and "--overwrite replaces it" in said)
        assert differs in said


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
    error: BaseException, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("bpetite.cli.encode.make_part", fails)
    monkeypatch.setattr("bpetite.cli.reports.discard_output", lambda: None)
    with pytest.raises(SystemExit) as left:
        main(["encode", str(folder / "corpus.txt"), "-t", "bpetite-32k", "-o", str(folder / "out")])
    assert left.value.code == code
    assert bool(capsys.readouterr().err) == (code != 141)
    monkeypatch.setattr("bpetite.cli.diff.diff", fails)
    with pytest.raises(SystemExit) as left:
        main(["diff", "bpetite-32k", "bpetite-32k"])
    assert left.value.code == (code if isinstance(error, KeyboardInterrupt | BrokenPipeError) else 2)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_two_runs_and_a_preempted_one(folder: Path) -> None:
    command = [sys.executable, "-m", "bpetite", "encode", "-", "-t", "bpetite-32k", "-o", "out"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
        for _ in range(600):
            if (folder / "out.journal").exists():
                break
            time.sleep(0.1)
        second = subprocess.run(command, cwd=folder, input="", capture_output=True, text=True, check=False)
        assert (second.returncode, second.stderr) == (4, "Error: out.journal: another run is writing this output\n")
        first.send_signal(signal.SIGTERM)
        assert first.wait(60) == 75
        assert first.stderr is not None
        assert "interrupted: the same command goes on where it was" in first.stderr.read()
