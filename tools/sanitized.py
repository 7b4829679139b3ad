"""The compiled modules built with sanitizers, in a copy of the tree; Linux with gcc.

    python tools/sanitized.py address -m pytest -p no:cacheprovider tests/core    under AddressSanitizer and
                                                                                  UndefinedBehaviorSanitizer
    python tools/sanitized.py thread tools/threads_stress.py 20                   under ThreadSanitizer

The first command builds what it runs in ``build/sanitized``, and later ones renew it.

Python's own allocator is off: it hands out parts of larger blocks, which hides reads past the end of a buffer. Leaks
are not looked for, because the interpreter itself leaks. ThreadSanitizer's library sees the locks of an interpreter
that was not built with it, the interpreter's own lock among them, so what it reports are accesses of ours that no lock
orders. A caller that changes an array while it is decoded races by itself; that is not in tools/threads_stress.py.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDERS = ("bpetite", "tests", "fuzz", "tools")

#: Kind -> what gcc is asked for, what is loaded first, and the variables of a run.
KINDS = {
    "address": (
        "address,undefined",
        ["libasan.so", "libubsan.so"],
        {
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            "PYTHONMALLOC": "malloc",
        },
    ),
    "thread": ("thread", ["libtsan.so"], {"TSAN_OPTIONS": "halt_on_error=0:exitcode=66:history_size=4"}),
}

PLANTED = """
#include <stdlib.h>
static int shared;
int over(int at) { volatile char *few = malloc(10); few[at] = 1; return few[at]; }
void race(void) { for (int i = 0; i < 5000000; i++) shared++; }
"""


class NotHere(Exception):
    """What cannot be had on this machine."""


def library(name: str) -> str:
    ask = ["gcc", f"-print-file-name={name}"]
    found = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    if not os.path.isabs(found):
        raise NotHere(f"gcc has no {name}")
    return found


class Build:
    """A copy of the tree whose modules are compiled with a sanitizer."""

    def __init__(self, folder: Path, kind: str) -> None:
        if not sys.platform.startswith("linux") or shutil.which("gcc") is None:
            raise NotHere("sanitizers take Linux, where they are loaded with LD_PRELOAD, and gcc")
        self.folder = folder
        self.sanitizers, libraries, options = KINDS[kind]
        self.fixed_addresses = kind == "thread"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
            **options,
            "BPETITE_EXAMPLES": "6",
            "LD_PRELOAD": " ".join(map(library, libraries)),
            "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "tests" / "support")]),
        }
        for name in FOLDERS:
            compiled = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(REPOSITORY / name, folder / name, ignore=compiled, dirs_exist_ok=True)
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "CONTRIBUTING.md"):
            shutil.copy(REPOSITORY / name, folder)
        translated = REPOSITORY / "build" / "cython"  # Cython's part of the work is the same
        if translated.is_dir():
            shutil.copytree(translated, folder / "build" / "cython", dirs_exist_ok=True)
        environment = {**os.environ, "BPETITE_SANITIZE": self.sanitizers, "CC": "gcc"}
        compiling = [sys.executable, "setup.py", "build_ext", "--inplace", f"-j{os.cpu_count()}"]
        subprocess.run(compiling, env=environment, cwd=folder, check=True, capture_output=True)

    def command(self, *arguments: str) -> list[str]:
        """Python under the sanitizer. ThreadSanitizer knows few of the layouts of memory that systems choose."""
        fixed = self.fixed_addresses and shutil.which("setarch") is not None
        return [*(["setarch", "--addr-no-randomize"] if fixed else []), sys.executable, *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = self.command(*arguments)
        return subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True)

    def planted(self) -> str:
        """A library with faults, compiled as the modules are."""
        source = self.folder / "planted.c"
        source.write_text(PLANTED)
        library = self.folder / "planted.so"
        flag = f"-fsanitize={self.sanitizers}"
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", flag, str(source), "-o", str(library)], check=True)
        return str(library)


def reports(done: subprocess.CompletedProcess[str]) -> str:
    """The end of what a process printed, if it failed or a sanitizer reported something; else ""."""
    said = done.stdout + done.stderr
    return said[-6_000:] if done.returncode or "Sanitizer" in said or "runtime error" in said else ""


if __name__ == "__main__":
    try:
        build = Build(REPOSITORY / "build" / "sanitized" / sys.argv[1], sys.argv[1])
    except (NotHere, LookupError) as error:
        sys.exit(f"{error}\n{__doc__}")
    sys.exit(subprocess.run(build.command(*sys.argv[2:]), env=build.environment, cwd=build.folder).returncode)
