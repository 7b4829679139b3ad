"""Draws of runs that are killed and otherwise disturbed: what plain Python expects, and always the same bytes."""
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from corpus_tools import run
from paths import PYTHONPATH, SUPPORT

pytest.importorskip("fsspec")
pytest.importorskip("pyarrow")
pytest.importorskip("zstandard")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc, and forks")

#: Draws of a plain run, of a slow one, and of each test of it.
QUICK, MANY, EACH = 40, 5000, 125


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_draw(ram_path: Path, seed: int) -> None:
    import corpus_model

    corpus_model.check(seed, ram_path)


@pytest.mark.parametrize("name", ["in.txt", "in.jsonl"])
def test_a_document_of_just_the_most_bytes_wherever_it_is(ram_path: Path, name: str) -> None:
    """A draw of it is rare: it takes a block that ends in the separator."""
    for offset in range(40, 65):
        texts = ["y" * offset, "x" * 60, "z"]
        lines = [json.dumps({"text": "x" * (size - 12)}) for size in (offset, 60, 13)] if "jsonl" in name else texts
        (ram_path / name).write_text(("\n" if "jsonl" in name else "<|endoftext|>").join(lines))
        made = run(ram_path / name, ram_path / f"o{offset}", block=64, max_document_bytes=60, on_error="skip")
        assert made["documents"] == 3 - (offset > 60)


def test_a_document_that_ends_in_damage_has_its_end(ram_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No draw: which part of it is lost depends on the size of blocks."""
    monkeypatch.setattr("bpetite.corpus.read.text.REACH", 16)
    monkeypatch.setattr("bpetite.corpus.read.text.FIRST_LOOK", 64)
    (ram_path / "in.txt.gz").write_bytes(gzip.compress(b"some words " * 50) + gzip.compress(b"lost")[:-3])
    run(ram_path / "in.txt.gz", ram_path / "o", block=64, format="megatron", eot="append", on_error="skip")
    tokens = np.fromfile(ram_path / "o_text_document.bin", "<u2").tolist()
    assert len(tokens) > 300
    assert tokens.index(256) == len(tokens) - 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, MANY, EACH))
def test_many_draws(ram_path: Path, first: int) -> None:
    import corpus_model

    met = corpus_model.Counter()
    for seed in range(first, first + EACH):
        (ram_path / str(seed)).mkdir()
        met += corpus_model.check(seed, ram_path / str(seed))
    assert {*met} >= {"kill", "power", "full", "interrupt", "store"}


@pytest.mark.slow
def test_real_kills(ram_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "corpus_kills.py"), str(ram_path), "1", "200"], capture_output=True, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kills, runs, resumed = map(int, done.stdout.split())
    assert kills >= 200
    assert runs >= 7  # every layout
    assert resumed > 40
