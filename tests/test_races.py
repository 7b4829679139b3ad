"""The compiled modules under ThreadSanitizer. Its build is the work of minutes, so another process may do it."""
import sys

import pytest
from sanitized import Build, passed

pytestmark = [
    pytest.mark.sanitize,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sanitizers are loaded with LD_PRELOAD"),
]

THREAD = {"TSAN_OPTIONS": "halt_on_error=0:exitcode=66:history_size=4"}

RACE = """
import ctypes, sys, threading
race = ctypes.CDLL(sys.argv[1]).race  # ctypes lets go of the interpreter lock
threads = [threading.Thread(target=race) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.fixture(scope="module")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return Build(tmp_path_factory.mktemp("thread"), "thread", ["libtsan.so"], THREAD)


def test_a_planted_race_is_found(thread: Build) -> None:
    done = thread.run("-c", RACE, thread.planted(), fixed_addresses=True)
    assert done.returncode == 66
    assert "data race" in done.stderr


def test_threads_do_not_race(thread: Build) -> None:
    done = thread.run("tests/support/threads_stress.py", fixed_addresses=True)
    passed(done)
    assert "rounds of 8 threads" in done.stdout
