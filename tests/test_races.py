"""Everything that threads share, at once (tools/threads_stress.py); and the same under ThreadSanitizer.

The build for the sanitizer is the work of minutes, so another process than that of test_sanitizers.py may do it.
"""
from pathlib import Path

import pytest
from tooling import load, sanitized

RACE = """
import ctypes, sys, threading
race = ctypes.CDLL(sys.argv[1]).race  # ctypes lets go of the interpreter lock
threads = [threading.Thread(target=race) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_every_public_method_in_eight_threads(tmp_path: Path) -> None:
    stress = load("threads_stress")
    stress.stress(0, tmp_path)
    called = {*stress.NOT_CALLED}
    for tok in stress.tokenizers():
        called |= {*stress.calls_of(tok, "the cat", tmp_path)}
    assert {name for name in dir(tok) if not name.startswith("_")} <= called


@pytest.mark.sanitize
def test_a_planted_race_is_found_and_threads_do_not_race(tmp_path: Path) -> None:
    build = sanitized(tmp_path, "thread")
    done = build.run("-c", RACE, build.planted())
    assert done.returncode == 66
    assert "data race" in done.stderr
    done = build.run("tools/threads_stress.py")
    assert load("sanitized").reports(done) == ""
    assert "rounds of 8 threads" in done.stdout
