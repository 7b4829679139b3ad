"""The fuzz targets: they run, find what is planted, and find nothing else. `fuzz/README.md` says how to look longer."""
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from paths import PYTHONPATH, TESTS

FUZZ = TESTS.parent / "fuzz"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([PYTHONPATH, str(TESTS.parent)])}

#: Seconds for each target in `.ci/run`, and the seed that makes its inputs the same in every run.
SECONDS, SEED = 7, 0

TARGETS = (
    "native", "huggingface", "tekken", "tiktoken", "gpt2", "sentencepiece", "gguf", "compiled", "encode", "vocabulary",
    "split", "decode", "train", "counts", "lines", "tokens", "journal", "manifest",
)  # fmt: skip


def fuzz(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *arguments], env=ENVIRONMENT, cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6_000:]
    return done.stdout


def test_every_target_is_here(tmp_path: Path) -> None:
    assert fuzz("list", cwd=tmp_path).split() == [*TARGETS]
    named = {path.name for path in (FUZZ / "found").iterdir()}
    assert named <= {*TARGETS}


def script(code: str, *arguments: str) -> str:
    """The output of a script that runs targets by itself."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return done.stdout


EVERY = """
import sys
from pathlib import Path
from fuzz.driver import run
from fuzz.targets import TARGETS

for name, target in TARGETS.items():
    print(name, *run(name, target, seconds=None, runs=20, seed=int(sys.argv[2]), artifacts=Path(sys.argv[1])))
"""


@pytest.mark.slow
def test_seeds_and_what_was_found_before(tmp_path: Path) -> None:
    tried = [line.split() for line in script(EVERY, str(tmp_path), str(SEED)).splitlines()]
    assert [name for name, *_ in tried] == [*TARGETS]
    assert all(int(number) > 20 for _, number in tried)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
def test_changed_inputs(target: str, tmp_path: Path) -> None:
    fuzz(target, "--seconds", str(SECONDS), "--seed", str(SEED), "--artifacts", str(tmp_path), cwd=tmp_path)


PLANTED = """
import random, sys
from pathlib import Path
from fuzz.driver import run
from fuzz.targets import Target

def one(data):
    if b'"b"' in data:
        raise ZeroDivisionError
    if b"\\xff" in data:
        raise KeyError
target = Target(one, lambda: [b'{"a": [1, 2], "c": "d"}'], (b'"b"',))
for found in run("planted", target, seconds=None, runs=3000, seed=1, artifacts=Path(sys.argv[1])):
    print(found)
"""


@pytest.mark.slow
def test_what_is_planted_is_found_and_kept(tmp_path: Path) -> None:
    said = script(PLANTED, str(tmp_path))
    kept = [path.read_bytes() for path in tmp_path.iterdir()]
    assert len(kept) == 2  # one for each place
    assert any(b'"b"' in data for data in kept)
    assert any(b"\xff" in data for data in kept)
    assert "ZeroDivisionError at" in said
    assert said.endswith("\n3001\n")


def test_mutations_are_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTS.parent))
    from fuzz.mutation import mutate

    pool = [b'{"a": [1, 2], "c": "d"}', b"", b"text\0{}"]

    def made(seed: int) -> list[bytes]:
        source = random.Random(seed)
        return [mutate(source.choice(pool), pool, [b"word"], source) for _ in range(500)]

    assert made(1) == made(1) != made(2)
    assert len(set(made(1))) > 300
