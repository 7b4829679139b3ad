"""Layouts read back by the trainers' own readers, in the environment that `environment.py` makes.

nanoGPT's and llm.c's readers are on no registry; tests/corpus/layouts/test_layouts.py reads those as their scripts do.
"""
import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from corpus_tools import EOT, ids, run, some_documents

PYTHON = Path(__file__).parents[2] / "build" / "readers" / "bin" / "python"
READ = Path(__file__).with_name("read.py")
WINDOW = 16

pytestmark = [
    pytest.mark.readers,
    pytest.mark.skipif(not PYTHON.exists(), reason="no environment: python tests/readers/environment.py makes it"),
]

DOCUMENTS = [*some_documents(60, 3), "x" * 300]


def read(format: str, path: Path) -> Any:
    """What the reader of a format finds."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    caches = {"HF_HOME": str(path.parent), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HOME": str(path.parent)}
    done = subprocess.run(
        [PYTHON, "-W", "ignore", READ, format, path], capture_output=True, text=True,
        env=environment | caches,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("in") / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"n{n}", "text": text}) + "\n" for n, text in enumerate(DOCUMENTS)))
    return path


def tokens() -> list[list[int]]:
    return [[*ids(text), EOT] for text in DOCUMENTS]


def windows(size: int, parts: list[list[int]]) -> list[list[int]]:
    """The tokens of documents in a row, cut in windows, without what is left."""
    row = list(itertools.chain.from_iterable(parts))
    return [row[at : at + size] for at in range(0, len(row) - size + 1, size)]


def test_megatron_core(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "o", format="megatron")
    assert read("megatron", tmp_path / "o_text_document") == [ids(text) for text in DOCUMENTS]


def test_datatrove(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "o.ds", format="datatrove")
    assert read("datatrove", tmp_path) == windows(WINDOW, tokens())


def test_olmo_core(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "o", format="dolma")
    assert read("dolma", tmp_path / "o.npy") == {"windows": windows(WINDOW, tokens()), "documents": tokens()}


def test_datasets(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "o", format="parquet", eot="append")
    expected = {"id": [f"n{n}" for n in range(len(DOCUMENTS))], "input_ids": tokens()}
    assert read("parquet", tmp_path / "o.parquet") == expected
