"""What a process pays before its tokenizer is warm: imports, loading, the first text, the start of the command line.

    pytest benchmarks/test_first_call.py --benchmark-only
    python -m benchmarks.first_call          # processor time, beside the peers that are installed

Each round is a process of its own. That it gives the right ids is checked before anything is timed.
"""
from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from . import first_call, texts

OURS = [name for name in first_call.SCRIPTS if name.startswith("bpetite")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the text to encode."""
    if not first_call.GPT2.exists():
        pytest.skip("../shared/data/gpt2 is absent")
    return first_call.prepare(tmp_path_factory.mktemp("first_call")).parent


@pytest.fixture(scope="module")
def checked(folder: Path) -> None:
    """The first call of a process gives what a warm tokenizer gives."""
    code = first_call.SCRIPTS["bpetite"].replace("tok.", "ids = tok.") + "; print(len(ids), ids.sum())"
    arguments = [sys.executable, "-c", code, str(first_call.GPT2), str(folder / "text.txt")]
    done = subprocess.run(arguments, cwd=first_call.ROOT, capture_output=True, text=True, check=True)
    ids = texts.tokenizer().encode_to_numpy(texts.text("english", first_call.SIZE))
    assert done.stdout.split() == [str(len(ids)), str(ids.sum())]


@pytest.mark.benchmark(group="first call")
@pytest.mark.parametrize("name", ["python", "numpy", *OURS, "cli"])
def test_first_call(benchmark: BenchmarkFixture, folder: Path, checked: None, name: str) -> None:
    processor: list[float] = []

    def once() -> None:
        processor.append(first_call.run(first_call.command(name, folder / "text.txt"), folder / "bytecode")[0])

    benchmark.pedantic(once, rounds=7, warmup_rounds=1)
    benchmark.extra_info["processor_seconds"] = statistics.median(processor[1:])
