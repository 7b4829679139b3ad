"""What a process pays before its tokenizer is warm: imports, loading, the first 10 MB, the start of the command line.

    pytest benchmarks/test_first_call.py --benchmark-only
    python -m benchmarks.ready               # loading, beside the peers that are installed

Each round is a process of its own. That it gives the right ids is checked before anything is timed.
"""
from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from . import texts
from .processes import run_python

SIZE = 10_000_000
READ = "import sys; folder, path = sys.argv[1:]; text = open(path, encoding='utf-8', newline='').read()\n"
FROM_FILES = """from bpetite import Tokenizer
tok = Tokenizer.from_files(folder + "/vocab.json", folder + "/merges.txt")
"""

#: What a process runs, given the folder with GPT-2's files and the path of a text.
SCRIPTS = {
    "python": READ,
    "numpy": READ + "import numpy",
    "import": READ + "import bpetite",
    "load": READ + FROM_FILES,
    "list": READ + FROM_FILES + "ids = tok.encode(text)",
    "array": READ + FROM_FILES + "ids = tok.encode_to_numpy(text)",
    "packaged": READ + "from bpetite import Tokenizer; Tokenizer.load('bpetite-32k').encode(text)",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text to encode. The first call of a process gives what a warm tokenizer gives."""
    path = tmp_path_factory.mktemp("first_call") / "text.txt"
    path.write_bytes(texts.text("english", SIZE).encode())
    ids = texts.tokenizer().encode_to_numpy(texts.text("english", SIZE))
    for name in ("list", "array"):
        code = SCRIPTS[name] + "; print(len(ids), sum(ids[:1000]), file=sys.stderr)"
        said = run_python("-c", code, str(texts.vocabulary()), str(path))[2]
        assert said.split() == [str(len(ids)), str(ids[:1000].sum())]
    return path


@pytest.mark.benchmark(group="first call")
@pytest.mark.parametrize("name", [*SCRIPTS, "command"])
def test_first_call(benchmark: BenchmarkFixture, path: Path, tmp_path: Path, name: str) -> None:
    if name == "command":  # with a short text: starting is what is measured
        short = tmp_path / "short.txt"
        short.write_text("the cat sat on the mat\n", encoding="utf-8")
        arguments = ["-m", "bpetite", "encode", str(short), "-t", "bpetite-32k", "--overwrite"]
        arguments += ["-o", str(tmp_path / "ids.npy")]
    else:
        arguments = ["-c", SCRIPTS[name], str(texts.vocabulary()), str(path)]
    processor: list[float] = []

    def once() -> None:
        processor.append(run_python(*arguments, bytecode=path.parent / "bytecode")[1])

    benchmark.pedantic(once, rounds=5, warmup_rounds=1)
    benchmark.extra_info["processor_seconds"] = statistics.median(processor[1:] or processor)  # one without timing
