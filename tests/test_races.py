"""Everything that threads share, at once (tools/threads_stress.py); and the same under ThreadSanitizer.

The build for the sanitizer is the work of minutes, so another process than that of test_sanitizers.py may do it.
"""
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from paths import TESTS
from sanitized import Build, passed

STRESS = TESTS.parent / "tools" / "threads_stress.py"
THREAD = {"TSAN_OPTIONS": "halt_on_error=0:exitcode=66:history_size=4"}

RACE = """
import ctypes, sys, threading
race = ctypes.CDLL(sys.argv[1]).race  # ctypes lets go of the interpreter lock
threads = [threading.Thread(target=race) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


@pytest.fixture(scope="module")
def stress() -> Any:
    spec = importlib.util.spec_from_file_location("threads_stress", STRESS)
    assert spec is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)  # type: ignore[union-attr]
    return tool


def test_every_public_method_in_eight_threads(stress: Any, tmp_path: Path) -> None:
    stress.stress(0, tmp_path)
    called = {*stress.NOT_CALLED}
    for tok in stress.tokenizers():
        called |= {*stress.calls_of(tok, "the cat", tmp_path)}
    assert {name for name in dir(tok) if not name.startswith("_")} <= called


@pytest.mark.sanitize
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sanitizers are loaded with LD_PRELOAD")
def test_a_planted_race_is_found_and_threads_do_not_race(tmp_path: Path) -> None:
    build = Build(tmp_path, "thread", ["libtsan.so"], THREAD)
    done = build.run("-c", RACE, build.planted(), fixed_addresses=True)
    assert done.returncode == 66
    assert "data race" in done.stderr
    done = build.run("tools/threads_stress.py", fixed_addresses=True)
    passed(done)
    assert "rounds of 8 threads" in done.stdout
