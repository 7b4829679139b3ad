"""Runs seen from afar: lines without a terminal, JSON, the status file, a limit on problems, nothing kept."""
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bpetite.cli import main, watching

Bpe = Callable[..., tuple[int, str, str]]


NAMED = ("-t", "bpetite-32k")


@pytest.fixture
def bpe(capfd: pytest.CaptureFixture[str]) -> Bpe:
    """Run a command; returns (exit code, standard output, standard error)."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as leave:
            main(list(map(str, arguments)))
        sys.stdout.flush()
        out, err = capfd.readouterr()
        assert isinstance(leave.value.code, int)
        return leave.value.code, out, err

    return call


@pytest.fixture
def records(ram_path: Path) -> Path:
    path = ram_path / "in.jsonl"
    path.write_text('{"text": "a cat"}\n{"text": 5}\n' * 20)
    return path


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LINE_SECONDS", 0)
    monkeypatch.setattr(watching, "STATUS_SECONDS", 0)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("command", ["encode", "count"])
def test_lines_where_there_is_no_terminal(ram_path: Path, records: Path, bpe: Bpe, command: str) -> None:
    sink = (*NAMED, "-o", ram_path / "o") if command == "encode" else ()
    code, _, err = bpe(command, records, "--on-error", "skip", *sink)
    assert code == 0
    lines = [line for line in err.splitlines() if " tokens/s" in line]
    assert len(lines) == 1
    assert ", 100% read" in lines[0]
    assert lines[0].endswith(", 20 problems")
    for quiet in ("-q", "--no-progress"):
        assert " tokens/s" not in bpe("count", records, "--on-error", "skip", quiet)[2]


@pytest.mark.usefixtures("often")
def test_json_lines(ram_path: Path, records: Path, bpe: Bpe) -> None:
    code, out, err = bpe("encode", records, *NAMED, "--on-error", "skip", "-o", ram_path / "o", "--log", "json")
    assert code == 0
    lines = [json.loads(line) for line in err.splitlines()]
    assert {"message", "progress"} == {line["event"] for line in lines}
    (progress,) = [line for line in lines if line["event"] == "progress"]
    assert (progress["documents"], progress["problems"]) == (20, 20)
    assert progress["tokens"] == json.loads(out)["tokens"]
    assert progress["bytes_read"] == progress["bytes_total"] == records.stat().st_size
    code, _, err = bpe("encode", records, *NAMED, "-o", ram_path / "p", "--log", "json")
    assert code == 3
    assert json.loads(err.splitlines()[-1])["event"] == "error"
    assert "no text" in json.loads(err.splitlines()[-1])["message"]
    assert not bpe("count", records)[2].startswith("{")


@pytest.mark.usefixtures("often")
def test_the_status_file(
    ram_path: Path, records: Path, bpe: Bpe, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = []
    write = watching.write_file
    monkeypatch.setattr(
        watching, "write_file",
        lambda path, data, **options: (states.append(json.loads(data)), write(path, data, **options))[1],
    )  # fmt: skip
    status = ram_path / "status.json"
    assert bpe("encode", records, *NAMED, "--on-error", "skip", "-o", ram_path / "o", "--status", status)[0] == 0
    assert [state["state"] for state in states] == ["running", "running", "finished"]
    assert [state["documents"] for state in states] == [0, 20, 20]
    code, out, _ = bpe("inspect", status, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["state"], found["documents"], found["problems"]) == ("finished", 20, 20)
    assert found["seconds_left"] in (None, 0)
    assert 0 <= found["age_seconds"] < 100
    assert "state: finished" in bpe("inspect", status)[1]
    assert bpe("encode", records, *NAMED, "-o", ram_path / "p", "--status", status)[0] == 3
    found = json.loads(bpe("inspect", status, "--json")[1])
    assert found["state"] == "failed"
    assert "no text" in found["error"]


def test_a_status_file_of_another_version(ram_path: Path, bpe: Bpe) -> None:
    path = ram_path / "status.json"
    path.write_text('{\n "bpetite_status": 9,\n "updated": "2026-01-01T00:00:00+00:00"}')
    code, _, err = bpe("inspect", path)
    assert code == 3
    assert "status file of version 9" in err
    path.write_text('{\n "bpetite_status": 1, "updated": 5}')
    assert bpe("inspect", path)[0] == 3


def test_too_many_problems(ram_path: Path, records: Path, bpe: Bpe) -> None:
    start = ("encode", records, *NAMED, "--on-error", "skip", "-o", ram_path / "o")
    for limit in ("19", "49.9%", 0, "0%"):
        code, _, err = bpe(*start, "--max-errors", limit)
        assert code == 3
        assert f"20 problems in 40 records (20 x no-text), more than --max-errors {limit}; " in err
        assert not (ram_path / "o.npy").exists()
    for limit in ("x", "-1", "101%", "1.5"):
        code, _, err = bpe(*start, "--max-errors", limit)
        assert code == 1
        assert "is neither a number such as 100 nor a share such as 0.1%" in err
    for limit in ("20", "50%"):
        assert bpe(*start, "--max-errors", limit, "--overwrite")[0] == 0
        assert bpe("count", records, "--on-error", "skip", "--max-errors", limit)[0] == 0
    assert bpe("count", records, "--on-error", "skip", "--max-errors", "10%")[0] == 3


def test_a_share_of_problems_ends_a_long_run_early(ram_path: Path, bpe: Bpe) -> None:
    path = ram_path / "in.jsonl"
    with path.open("w") as file:
        file.write('{"text": 5}\n' * 3000)
        file.write(json.dumps({"text": "a" * 100}) + "\n")
        for _ in range(100_000):
            file.write(json.dumps({"text": "a" * 100}) + "\n")
    code, _, err = bpe("count", path, "--on-error", "skip", "--max-errors", "5%", "-j", 1)
    assert code == 3
    records = int(err.rsplit(" problems in ")[1].split()[0].replace(",", ""))
    assert records < 50_000


@pytest.mark.parametrize("command", ["encode", "count"])
def test_nothing_kept_is_an_error(ram_path: Path, bpe: Bpe, command: str) -> None:
    path = ram_path / "in.jsonl"
    path.write_text('{"text": 5}\n' * 3)
    sink = (*NAMED, "-o", ram_path / "o") if command == "encode" else ()
    for _ in range(2):
        code, out, err = bpe(command, path, "--on-error", "skip", *sink)
        assert code == 3
        assert out
        assert "no document was kept: every record had a problem" in err
    path.write_text("")
    sink = (*NAMED, "-o", ram_path / "p") if command == "encode" else ()
    assert bpe(command, path, *sink)[0] == 0
