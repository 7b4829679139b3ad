"""The compiled modules under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer, built in a copy."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import TESTS

pytestmark = [
    pytest.mark.sanitize,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sanitizers are loaded with LD_PRELOAD"),
]

#: Tests of compiled modules, without the longest: those repeat on whole texts what others do on short ones.
CORE = [
    "test_merge.py", "vocabulary", "engine", "serving", "training", "splitting/test_scan.py",
    "splitting/test_pretokenizer.py",
]  # fmt: skip
LONG = (
    "test_long_texts_under_several_patterns", "test_members_are_found", "test_gpt2_and_cl100k_as_tiktoken",
    "test_same_merges_as_tokenizers", "test_any_number_of_threads", "test_code_points_of_every_kind_in_every_context",
    "test_special_tokens_with_the_same_first_byte", "test_a_signal_ends", "test_shared_texts", "test_shared_samples",
    "test_random_patterns", "test_random_syntax", "test_edited_patterns", "test_hash_seeds", "test_spawned_workers",
    "takes_time_that_grows", "of_a_published_encoding", "one_character_at_a_time", "test_any_texts", "memory_of_many",
    "test_every_valid_character_passes", "phrases_are_cut_where",
)  # fmt: skip

#: Targets that reach compiled code, and seconds for each.
FUZZED = ("encode", "vocabulary", "split", "decode", "train", "counts", "native", "tiktoken")
SECONDS = 2

#: Without its own allocator, each object of Python's has red zones; leaks are not looked for, the interpreter has some.
ADDRESS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
}
THREAD = {"TSAN_OPTIONS": "halt_on_error=0:exitcode=66:history_size=4"}

PLANTED = """
#include <stdlib.h>
static int shared;
int over(int at) { volatile char *few = malloc(10); few[at] = 1; return few[at]; }
void race(void) { for (int i = 0; i < 5000000; i++) shared++; }
"""

RACE = """
import ctypes, sys, threading
race = ctypes.CDLL(sys.argv[1]).race  # ctypes lets go of the interpreter lock
threads = [threading.Thread(target=race) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
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
        for name in ("bpetite", "tests", "fuzz"):
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
        subprocess.run(
            ["gcc", "-g", "-shared", "-fPIC", f"-fsanitize={self.sanitizers}", str(source), "-o", str(self.folder / "planted.so")], check=True
        )
        return str(self.folder / "planted.so")


def passed(done: subprocess.CompletedProcess[str]) -> None:
    """Exit status 0 and no report."""
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-6_000:]
    assert "Sanitizer" not in said, said[-6_000:]
    assert "runtime error" not in said, said[-6_000:]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Build:
    libraries = ["libasan.so", "libubsan.so"]
    sanitizers = "address,undefined"
    return Build(tmp_path_factory.mktemp("address"), sanitizers, libraries, ADDRESS)


@pytest.fixture(scope="module")
def thread(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return Build(tmp_path_factory.mktemp("thread"), "thread", ["libtsan.so"], THREAD)


@pytest.mark.xdist_group("address")
def test_a_planted_overflow_is_found(address: Build) -> None:
    done = address.run("-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).over(10)", address.planted())
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr


@pytest.mark.xdist_group("address")
def test_the_core_reads_and_writes_only_its_own_memory(address: Build) -> None:
    short = ["-k", " and ".join(f"not {name}" for name in LONG)]
    done = address.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *short, *[f"tests/{room}" for room in CORE])
    passed(done)
    assert " passed" in done.stdout


@pytest.mark.xdist_group("address")
@pytest.mark.parametrize("target", FUZZED)
def test_fuzzed(address: Build, tmp_path: Path, target: str) -> None:
    options = ["--seconds", str(SECONDS), "--seed", "1", "--no-limit", "--artifacts", str(tmp_path)]
    passed(address.run("-m", "fuzz", target, *options))


@pytest.mark.xdist_group("thread")
def test_a_planted_race_is_found(thread: Build) -> None:
    done = thread.run("-c", RACE, thread.planted(), fixed_addresses=True)
    assert done.returncode == 66
    assert "data race" in done.stderr


@pytest.mark.xdist_group("thread")
def test_threads_do_not_race(thread: Build) -> None:
    done = thread.run("tests/support/threads_stress.py", fixed_addresses=True)
    passed(done)
    assert "rounds of 6 threads" in done.stdout
