"""The compiled modules built with sanitizers, in a copy of the tree."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import TESTS

PLANTED = """
#include <stdlib.h>
static int shared;
int over(int at) { volatile char *few = malloc(10); few[at] = 1; return few[at]; }
void race(void) { for (int i = 0; i < 5000000; i++) shared++; }
"""


def library(name: str) -> str:
    ask = ["gcc", f"-print-file-name={name}"]
    found = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        pytest.skip(f"gcc has no {name}")
    return found


class Build:
    """A copy of the tree whose modules are compiled with a sanitizer."""

    def __init__(self, folder: Path, sanitizers: str, libraries: list[str], options: dict[str, str]) -> None:
        if shutil.which("gcc") is None:
            pytest.skip("no gcc")
        self.folder = folder
        self.sanitizers = sanitizers
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            **options,
            "BPETITE_EXAMPLES": "6",
            "LD_PRELOAD": " ".join(map(library, libraries)),
            "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "tests" / "support")]),
        }
        for name in ("bpetite", "tests", "fuzz", "tools"):
            compiled = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(TESTS.parent / name, folder / name, ignore=compiled)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "CONTRIBUTING.md"):
            shutil.copy(TESTS.parent / name, folder)
        translated = TESTS.parent / "build" / "cython"  # Cython's part of the work is the same
        if translated.is_dir():
            shutil.copytree(translated, folder / "build" / "cython")
        environment = {**os.environ, "BPETITE_SANITIZE": sanitizers, "CC": "gcc"}
        compiling = [sys.executable, "setup.py", "build_ext", "--inplace", f"-j{os.cpu_count()}"]
        subprocess.run(compiling, env=environment, cwd=folder, check=True, capture_output=True)

    def run(self, *command: str, fixed_addresses: bool = False) -> subprocess.CompletedProcess[str]:
        """Python under the sanitizer. ThreadSanitizer knows few of the layouts of memory that systems choose."""
        before = ["setarch", "--addr-no-randomize"] if fixed_addresses and shutil.which("setarch") else []
        return subprocess.run(
            [*before, sys.executable, *command], env=self.environment, cwd=self.folder, capture_output=True, text=True
        )

    def planted(self) -> str:
        """A library with faults, compiled as the modules are."""
        source = self.folder / "planted.c"
        source.write_text(PLANTED)
        library = self.folder / "planted.so"
        flag = f"-fsanitize={self.sanitizers}"
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", flag, str(source), "-o", str(library)], check=True)
        return str(library)


def passed(done: subprocess.CompletedProcess[str]) -> None:
    """Exit status 0 and no report."""
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-6_000:]
    assert "Sanitizer" not in said, said[-6_000:]
    assert "runtime error" not in said, said[-6_000:]
