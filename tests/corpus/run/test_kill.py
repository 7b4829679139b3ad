"""kill -9 at random moments, over formats and numbers of jobs: always the same bytes in the end."""
import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import PYTHONPATH, SUPPORT


def kill(folder: Path, seed: int, kills: int) -> tuple[int, int, int]:
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "corpus_kills.py"), str(folder), str(seed), str(kills)],
        capture_output=True, text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    count, runs, resumed = map(int, done.stdout.split())
    return count, runs, resumed


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def test_some_kills(ram_path: Path) -> None:
    kills, _, resumed = kill(ram_path, 1, 40)
    assert kills >= 40
    assert resumed > 10


@pytest.mark.slow
def test_many_kills(ram_path: Path) -> None:
    kills, runs, resumed = kill(ram_path, 2, 550)
    assert kills >= 550
    assert runs >= 20  # every format, twice
    assert resumed > 100
