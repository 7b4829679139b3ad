"""The fuzz targets: they run, find what is planted, and find nothing else. `fuzz/README.md` says how to look longer."""
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from paths import PYTHONPATH, TESTS

from fuzz.driver import FOUND, Failure, run
from fuzz.mutation import mutate
from fuzz.targets import TARGETS, Target

#: Seconds for each target in `.ci/run`, and the seed that makes its inputs the same in every run.
SECONDS, SEED = 7, 0


def test_every_target_is_here() -> None:
    assert len(TARGETS) > 15
    assert {path.name for path in FOUND.iterdir()} <= {*TARGETS}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_what_was_found_before(target: str, tmp_path: Path) -> None:
    (tried,) = run(target, TARGETS[target], seconds=None, runs=20, seed=SEED, artifacts=tmp_path, limit=False)
    assert isinstance(tried, int)
    assert tried > 20
    assert [*tmp_path.iterdir()] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
def test_changed_inputs(target: str, tmp_path: Path) -> None:
    """In a process of its own, whose memory is limited."""
    options = ["--seconds", str(SECONDS), "--seed", str(SEED), "--artifacts", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([PYTHONPATH, str(TESTS.parent)])}
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", target, *options], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6_000:]


def test_what_is_planted_is_found_and_kept(tmp_path: Path) -> None:
    def one(data: bytes) -> None:
        if b'"b"' in data:
            raise ZeroDivisionError
        if b"\xff" in data:
            raise KeyError

    target = Target(one, lambda: [b'{"a": [1, 2], "c": "d"}'], (b'"b"',))
    *found, tried = run("planted", target, seconds=None, runs=3000, seed=1, artifacts=tmp_path, limit=False)
    assert tried == 3001
    kept = {str(failure.place).partition(" at ")[0]: failure.path.read_bytes()
            for failure in found if isinstance(failure, Failure)}  # fmt: skip
    assert kept.keys() == {"ZeroDivisionError", "KeyError"}  # one for each place
    assert b'"b"' in kept["ZeroDivisionError"]
    assert b"\xff" in kept["KeyError"]


def test_mutations_are_the_same_for_the_same_seed() -> None:
    pool = [b'{"a": [1, 2], "c": "d"}', b"", b"text\0{}"]

    def made(seed: int) -> list[bytes]:
        source = random.Random(seed)
        return [mutate(source.choice(pool), pool, [b"word"], source) for _ in range(500)]

    assert made(1) == made(1) != made(2)
    assert len(set(made(1))) > 300
