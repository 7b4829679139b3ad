"""What is done in a way of its own on machines with wide shuffles gives what the plain form gives."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bpetite

HERE = Path(__file__).parent
PACKAGES = str(Path(bpetite.__file__).parent.parent)
CORE = ["scan", "wide", "encode", "special", "batch", "streaming", "offsets", "counts", "train"]


def run(*command: str, plain: bool) -> str:
    environment = {**os.environ, "BPETITE_PLAIN": str(int(plain)), "PYTHONPATH": PACKAGES}
    return subprocess.run(
        [sys.executable, *command], env=environment, check=True, capture_output=True, text=True, cwd=HERE.parent
    ).stdout


def test_same_results() -> None:
    wide, plain = (run(str(HERE / "plain_forms.py"), plain=plain) for plain in (False, True))
    assert wide.count("surrogate") == 140
    assert wide.splitlines() == plain.splitlines()


def test_the_plain_forms_can_be_asked_for() -> None:
    lanes = "from bpetite.pretokenize import pretokenizer; print(pretokenizer().scanner.lanes)"
    assert run("-c", lanes, plain=True) == "4\n"


@pytest.mark.slow
def test_the_core_s_tests_hold_for_the_plain_forms() -> None:
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", *[str(HERE / f"test_{name}.py") for name in CORE], plain=True)
