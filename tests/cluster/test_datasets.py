"""A function that encodes, in real Dataset.map calls of datasets."""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_tools import text_of, trained
from paths import PYTHONPATH

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when datasets is imported
datasets = pytest.importorskip("datasets", reason="datasets is not installed")

pytestmark = [
    pytest.mark.cluster,
    # num_proc forks, and by then other tests of the run have started threads
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning"),
]

TOKENIZER = trained()
TEXTS = [text_of(seed, seed % 40) for seed in range(2000)]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def stored(tmp_path: Path) -> Any:
    """A dataset that lies in files, as one that was loaded does: only such have a cache."""
    datasets.Dataset.from_dict({"id": range(len(TEXTS)), "text": TEXTS}).save_to_disk(tmp_path / "data")
    return datasets.load_from_disk(tmp_path / "data")


@pytest.mark.parametrize("num_proc", [None, 2])
def test_map(stored: Any, num_proc: int | None) -> None:
    encoded = stored.map(
        lambda rows: {"input_ids": TOKENIZER.encode_batch(rows["text"])}, batched=True, num_proc=num_proc
    )
    assert encoded["input_ids"][:] == TOKENIZER.encode_batch(TEXTS)
    assert encoded["text"][:] == TEXTS


RUN = """
import sys, datasets
from bpetite import Tokenizer
datasets.disable_progress_bars()
tokenizer = Tokenizer.load(sys.argv[2])
stored = datasets.load_from_disk(sys.argv[1])
made = stored.map(lambda rows: {"ids": tokenizer.encode_batch(rows["text"])}, batched=True)
print(made._fingerprint, *(file["filename"] for file in made.cache_files))
"""


def test_a_second_run_hits_the_cache(stored: Any, tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / "tok.json")
    TOKENIZER.extend(TEXTS, 1).save(tmp_path / "other.json")

    def run(seed: str, tokenizer: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", RUN, str(tmp_path / "data"), str(tmp_path / tokenizer)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": PYTHONPATH, "HF_HOME": str(tmp_path / "hf")},
            check=True, capture_output=True, text=True,
        )
        return done.stdout.split()

    fingerprint, cache = run("1", "tok.json")
    written = os.stat(cache).st_mtime_ns
    assert run("2", "tok.json") == [fingerprint, cache]
    assert os.stat(cache).st_mtime_ns == written
    assert run("2", "other.json")[0] != fingerprint
