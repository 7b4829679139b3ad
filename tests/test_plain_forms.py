"""The forms for processors with wide byte shuffles give the same results as the plain forms."""
import os
import subprocess
import sys

import pytest
from paths import PYTHONPATH, SUPPORT, TESTS

CORE = ["splitting", "vocabulary", "engine", "serving", "training"]


def run(*command: str, plain: bool) -> str:
    environment = {**os.environ, "BPETITE_PLAIN": str(int(plain)), "PYTHONPATH": PYTHONPATH}
    return subprocess.run(
        [sys.executable, *command], env=environment, check=True, capture_output=True, text=True, cwd=TESTS.parent
    ).stdout


def test_same_results() -> None:
    wide, plain = (run(str(SUPPORT / "plain_forms.py"), plain=plain) for plain in (False, True))
    assert wide.count("surrogate") == 140
    assert wide.splitlines() == plain.splitlines()


def test_the_plain_forms_can_be_asked_for() -> None:
    lanes = "from bpetite.splitting.pretokenizer import pretokenizer; print(pretokenizer().scanner.lanes)"
    assert run("-c", lanes, plain=True) == "4\n"


@pytest.mark.slow
def test_the_core_s_tests_hold_for_the_plain_forms() -> None:
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", *[str(TESTS / room) for room in CORE], plain=True)
