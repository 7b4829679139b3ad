"""The modules on a Python without the interpreter lock, which tools/freethreaded.py makes and keeps."""
import importlib.util
import subprocess
from typing import Any

import pytest
from paths import TESTS

pytestmark = pytest.mark.freethreaded


@pytest.fixture(scope="module")
def free() -> Any:
    spec = importlib.util.spec_from_file_location("freethreaded", TESTS.parent / "tools" / "freethreaded.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    interpreter = tool.Interpreter("free")
    try:
        interpreter.make()
    except tool.NotHere as reason:
        pytest.skip(str(reason))
    return interpreter


@pytest.mark.parametrize("allocator", ["default", "debug"])
def test_everything_that_threads_share_at_once(free: Any, allocator: str) -> None:
    command = [free.python, "tests/support/threads_stress.py", "3"]
    environment = free.environment({"PYTHONMALLOC": allocator})
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    assert done.stdout == "3 rounds of 6 threads, without the interpreter lock\n", done.stderr[-3000:]
