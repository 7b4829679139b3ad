"""What a process pays before its tokenizer is warm: imports, loading, the first text, the start of the command line.

    pytest benchmarks/test_first_call.py --benchmark-only
    python -m benchmarks.first_call          # beside the peers that are installed

Each round is a process of its own. That it gives the right ids is checked before anything is timed.
"""
from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from . import first_call, texts
from .processes import run_python

OURS = [name for name in first_call.SCRIPTS if name.startswith("bpetite")]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text to encode. The first call of a process gives what a warm tokenizer gives."""
    path = first_call.prepare(tmp_path_factory.mktemp("first_call"))
    code = first_call.SCRIPTS["bpetite"].replace("tok.", "ids = tok.")
    code += "; print(len(ids), ids.sum(), file=sys.stderr)"
    _, _, said = run_python("-c", code, str(texts.vocabulary()), str(path))
    ids = texts.tokenizer().encode_to_numpy(texts.text("english", first_call.SIZE))
    assert said.split() == [str(len(ids)), str(ids.sum())]
    return path


@pytest.mark.benchmark(group="first call")
@pytest.mark.parametrize("name", ["python", "numpy", *OURS, first_call.CLI])
def test_first_call(benchmark: BenchmarkFixture, path: Path, name: str) -> None:
    processor: list[float] = []

    def once() -> None:
        processor.append(first_call.run(name, path, path.parent / "bytecode")[1])

    benchmark.pedantic(once, rounds=7, warmup_rounds=1)
    benchmark.extra_info["processor_seconds"] = statistics.median(processor[1:] or processor)  # one without timing
