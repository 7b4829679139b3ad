"""The modules on a Python without the interpreter lock, which tools/freethreaded.py makes and keeps."""
import importlib.util
import os
import subprocess
from typing import Any

import pytest
from paths import TESTS
from tiers import all_but

pytestmark = pytest.mark.freethreaded

IMPORTS = """
import importlib, pathlib, sys
names = [".".join(path.with_suffix("").parts) for path in pathlib.Path("bpetite").rglob("*.pyx")]
for name in names:
    importlib.import_module(name)
print(len(names) > 30, sys._is_gil_enabled())
"""

#: The core's tests, each with few examples, but for what takes longest and is the same with the lock.
CORE = [
    "core/test_batch.py", "core/test_concurrency.py", "core/test_decode.py", "core/test_dropout.py",
    "core/test_encode.py", "core/test_forks.py", "core/test_ids.py", "core/test_long.py", "core/test_special.py",
    "core/test_stream_decoder.py", "core/test_threads.py", "engine/test_streaming.py", "test_merge.py",
    "training/counting/test_counts.py", "vocabulary/test_pickling.py", "vocabulary/test_tokens.py",
]  # fmt: skip
REST = all_but(("published", "many_live_streams", "a_signal"), CORE)


@pytest.fixture(scope="module")
def free() -> Any:
    spec = importlib.util.spec_from_file_location("freethreaded", TESTS.parent / "tools" / "freethreaded.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    interpreter = tool.Interpreter("free")
    if not interpreter.made:
        pytest.skip("no free-threaded Python is here; python tools/freethreaded.py makes one, in some ten minutes")
    interpreter.make()
    return interpreter


def run(free: Any, *arguments: str, **variables: str) -> str:
    """The output of the interpreter; its lock is on again where a module is not declared."""
    paths = os.pathsep.join([str(free.lib), str(TESTS.parent)])
    environment = {name: value for name, value in free.environment().items() if name != "PYTHON_GIL"}
    done = subprocess.run(
        [free.python, *arguments],
        cwd=TESTS.parent, env={**environment, "PYTHONPATH": paths, **variables}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-6_000:]
    return done.stdout


def test_no_module_turns_the_lock_on(free: Any) -> None:
    assert run(free, "-W", "error", "-c", IMPORTS) == "True False\n"


@pytest.mark.parametrize("allocator", ["default", "debug"])
def test_everything_that_threads_share_at_once(free: Any, allocator: str) -> None:
    said = run(free, "-W", "error", "tests/support/threads_stress.py", "6", PYTHONMALLOC=allocator)
    assert said == "6 rounds of 8 threads, without the interpreter lock\n"


def test_the_core(free: Any) -> None:
    tests = [f"tests/{name}" for name in CORE]
    said = run(free, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", REST, *tests, BPETITE_EXAMPLES="5")
    assert " passed" in said.splitlines()[-1]


def test_the_command_has_its_help(free: Any) -> None:
    """Texts of help are read from docstrings, which Python 3.13 indents less."""
    said = run(free, "-m", "bpetite", "encode", "--help")
    assert "Content of all inputs" in said
