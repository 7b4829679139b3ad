"""Runs seen from afar: lines without a terminal, ranks, a limit on problems, nothing kept."""
import json
import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest
from commands import bpe

from bpetite import Tokenizer
from bpetite.cli import console
from bpetite.corpus import Options, RecordError, make_plan
from bpetite.corpus.run import run

NAMED = ("-t", "bpetite-32k")


@pytest.fixture
def records(ram_path: Path) -> Path:
    path = ram_path / "in.jsonl"
    path.write_text('{"text": "a cat"}\n{"text": 5}\n' * 20)
    return path


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "LINE_SECONDS", 0)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("command", ["encode", "count"])
def test_lines_where_there_is_no_terminal(ram_path: Path, records: Path, command: str) -> None:
    sink = (*NAMED, "-o", ram_path / "o") if command == "encode" else ()
    code, _, err = bpe(command, records, "--on-error", "skip", *sink)
    assert code == 0
    lines = [line for line in err.splitlines() if "problems" in line and "%" in line]
    assert len(lines) == 1
    assert lines[0].startswith("100% 600/600 [")
    assert lines[0].endswith(" tokens, 20 problems]")
    assert f"20 x no-text left out, the first at {records}:2" in err
    assert bpe("count", records, "--on-error", "skip", "-q", *NAMED)[2] == ""


def test_one_view_of_many_ranks(ram_path: Path, records: Path) -> None:
    """Finished, and ended after a checkpoint: from the manifests and states alone."""
    for number in range(3):
        (ram_path / f"{number}.jsonl").write_bytes(records.read_bytes())
    files = sorted(ram_path.glob("?.jsonl"))
    command = ("encode", *files, *NAMED, "--on-error", "skip", "-o", ram_path / "o", "--world-size", 3, "--rank")
    assert bpe(*command, 0)[0] == 0
    options = Options(
        on_error="skip", tokenizer_name="bpetite-32k", checkpoint_seconds=0, max_errors=5, rank=1, world_size=3
    )
    plan = make_plan(files, ram_path / "o", Tokenizer.load("bpetite-32k"), options)
    with pytest.raises(RecordError, match="more than max_errors 5"):
        run(replace(plan, block=64))
    code, out, _ = bpe("inspect", ram_path / "o", "--json")
    assert code == 0
    done, shown = map(json.loads, out.splitlines())
    assert (done["state"], done["rank"], done["documents"]) == ("finished", [0, 3], 20)
    assert (shown["state"], shown["rank"]) == ("unfinished", [1, 3])
    assert 0 < shown["bytes_read"] < shown["bytes_total"]
    assert (shown["pid"], shown["host"]) == (os.getpid(), platform.node())
    assert shown["problems"] <= 5
    assert f"o.rank00001of00003: unfinished, {shown['documents']} documents" in bpe("inspect", ram_path / "o")[1]
    assert json.loads(bpe("inspect", ram_path / "o.rank00000of00003", "--json")[1])["documents"] == 20
    code, _, err = bpe("decode", ram_path / "o")
    assert (code, "`inspect` shows how far it is" in err) == (3, True)
    for rank in (1, 2):
        assert bpe(*command, rank)[0] == 0
    assert bpe("merge", "-o", ram_path / "o", "--delete")[0] == 0
    assert "documents: 60" in bpe("inspect", ram_path / "o")[1]


def test_too_many_problems(ram_path: Path, records: Path) -> None:
    start = ("encode", records, *NAMED, "--on-error", "skip", "-o", ram_path / "o")
    for limit in (19, 0):
        code, _, err = bpe(*start, "--max-errors", limit)
        assert code == 3
        assert f"20 problems (20 x no-text), more than --max-errors {limit}; " in err
        assert not (ram_path / "o.npy").exists()
    for limit in ("x", "-1", "50%"):
        assert bpe(*start, "--max-errors", limit)[0] == 2
    assert bpe(*start, "--max-errors", 20, "--overwrite")[0] == 0
    assert bpe("count", records, "--on-error", "skip", "--max-errors", 20)[0] == 0
    assert bpe("count", records, "--on-error", "skip", "--max-errors", 10)[0] == 3


@pytest.mark.parametrize("command", ["encode", "count"])
def test_nothing_kept_is_an_error(ram_path: Path, command: str) -> None:
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
