"""Where things lie, for tests that start a process of their own."""
import os
from pathlib import Path

import bpetite

TESTS = Path(__file__).resolve().parents[1]
SUPPORT = TESTS / "support"
TOOLS = TESTS.parent / "tools"

#: The folder that ``bpetite`` is imported from: the checkout, or site-packages.
PACKAGES = Path(bpetite.__file__).resolve().parents[1]

#: For ``PYTHONPATH``: the package and what the tests share.
PYTHONPATH = os.pathsep.join([str(PACKAGES), str(SUPPORT)])
