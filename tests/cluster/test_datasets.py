"""A function that encodes, in Dataset.map: a second run, in another process, hits the cache of datasets."""
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cluster_tools import text_of, trained
from paths import PYTHONPATH

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when datasets is imported
datasets = pytest.importorskip("datasets", reason="datasets is not installed")

TEXTS = [text_of(seed, seed % 40) for seed in range(200)]

RUN = """
import sys, datasets
from bpetite import Tokenizer
datasets.disable_progress_bars()
tokenizer = Tokenizer.load(sys.argv[2])
stored = datasets.load_from_disk(sys.argv[1])
made = stored.map(lambda rows: {"ids": tokenizer.encode_batch(rows["text"])}, batched=True)
print(made._fingerprint, *(file["filename"] for file in made.cache_files))
"""


@pytest.mark.cluster
def test_a_second_run_hits_the_cache(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(tmp_path / "data")  # only files have a cache
    trained().save(tmp_path / "tok.json")
    trained().extend(TEXTS, 1).save(tmp_path / "other.json")

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
