"""Runs seen from afar: lines without a terminal, ranks, a limit on problems, nothing kept."""
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bpetite import Tokenizer
from bpetite.cli import main, reports
from bpetite.corpus import Options, RecordError, make_part

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
    monkeypatch.setattr(reports, "LINE_SECONDS", 0)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("command", ["encode", "count"])
def test_lines_where_there_is_no_terminal(ram_path: Path, records: Path, bpe: Bpe, command: str) -> None:
    sink = (*NAMED, "-o", ram_path / "o") if command == "encode" else ()
    code, _, err = bpe(command, records, "--on-error", "skip", *sink)
    assert code == 0
    lines = [line for line in err.splitlines() if "% read" in line]
    assert len(lines) == 1
    assert lines[0].endswith(", 20 problems, 100% read")
    for quiet in ("-q", "--no-progress"):
        assert "% read" not in bpe("count", records, "--on-error", "skip", quiet)[2]


def test_one_view_of_many_ranks(ram_path: Path, records: Path, bpe: Bpe) -> None:
    """Finished, failed behind a checkpoint, and not begun: from the journals alone."""
    command = ("encode", records, *NAMED, "--on-error", "skip", "-o", ram_path / "o", "--world-size", 3, "--rank")
    assert bpe(*command, 0)[0] == 0
    part = make_part(
        records, ram_path / "o", Tokenizer.load("bpetite-32k"), rank=1, world_size=3, options=Options(on_error="skip"),
        tokenizer_name="bpetite-32k", checkpoint_seconds=0, max_errors=5,
    )  # fmt: skip
    with pytest.raises(RecordError):
        replace(part, block=64).run()
    code, out, _ = bpe("inspect", ram_path / "o", "--json")
    ranks = list(map(json.loads, out.splitlines()))
    assert (code, [rank["rank"] for rank in ranks]) == (0, ["0 of 3", "1 of 3", "2 of 3", "all"])
    assert [rank["state"] for rank in ranks[:3]] == ["finished", "failed", "not begun"]
    assert ranks[3]["state"] == "1 finished, 1 failed, 1 not begun"
    assert ranks[0]["documents"] == json.loads((ram_path / "o.rank00000of00003.manifest.json").read_text())["documents"]
    assert 0 < ranks[1]["bytes_read"] < ranks[1]["bytes_total"]
    assert (ranks[1]["pid"], ranks[1]["host"]) == (os.getpid(), platform.node())
    assert 0 <= ranks[1]["age_seconds"] < 100
    assert "more than max_errors 5" in ranks[1]["error"]
    for name in ("documents", "tokens", "problems", "bytes_read"):
        assert ranks[3][name] == sum(rank[name] for rank in ranks[:3])
    assert "rank 1 of 3: failed, " in bpe("inspect", ram_path / "o")[1]
    code, _, err = bpe("decode", ram_path / "o")
    assert (code, "`inspect` shows how far it is" in err) == (3, True)
    for rank in (1, 2):
        assert bpe(*command, rank)[0] == 0
    assert "rank all: 3 finished, 20 documents" in bpe("inspect", ram_path / "o")[1]
    assert bpe("merge", "-o", ram_path / "o", "--delete")[0] == 0
    assert "rank" not in bpe("inspect", ram_path / "o")[1]


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
        file.write('{"text": 5}\n' * 6000)
        file.write(json.dumps({"text": "a" * 100}) + "\n")
        for _ in range(200_000):
            file.write(json.dumps({"text": "a" * 100}) + "\n")
    code, _, err = bpe("count", path, "--on-error", "skip", "--max-errors", "5%", "-j", 1)
    assert code == 3
    records = int(err.rsplit(" problems in ")[1].split()[0].replace(",", ""))
    assert records < 100_000


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
