"""The compiled modules under AddressSanitizer and UndefinedBehaviorSanitizer; test_races.py has ThreadSanitizer."""
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sanitized import Build, passed
from tiers import all_but

pytestmark = [
    pytest.mark.sanitize,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sanitizers are loaded with LD_PRELOAD"),
]

#: Tests of compiled modules, without the longest: those repeat on whole texts what others do on short ones, or in
#: threads what test_races.py does.
CORE = [
    "test_merge.py", "vocabulary", "formats/test_json_tokens.py", "core", "engine", "serving", "training",
    "splitting/test_scan.py", "splitting/test_pretokenizer.py", "corpus/reading/test_json_lines.py",
    "corpus/reading/test_records.py", "corpus/reading/test_sums.py",
]  # fmt: skip
LONG = (
    "test_long_texts_under_several_patterns", "test_members_are_found", "test_gpt2_and_cl100k_as_tiktoken",
    "test_same_merges_as_tokenizers", "test_any_number_of_threads", "test_code_points_of_every_kind_in_every_context",
    "test_special_tokens_with_the_same_first_byte", "test_a_signal_ends", "test_shared_texts", "test_shared_samples",
    "test_random_patterns", "test_random_syntax", "test_edited_patterns", "test_hash_seeds", "test_spawned_workers",
    "takes_time_that_grows", "of_a_published_encoding", "one_character_at_a_time", "test_any_texts", "memory_of_many",
    "test_every_valid_character_passes", "test_characters_over_the_edges_of_blocks", "no_step_of_a_long_pretoken",
    "every_public_method_in_eight",
)  # fmt: skip
REST = all_but(LONG, CORE)

#: Targets that reach compiled code, and seconds for each.
FUZZED = ("encode", "vocabulary", "split", "decode", "train", "counts", "lines", "native", "tiktoken", "compiled")
SECONDS = 2

#: Without its own allocator, each object of Python's has red zones; leaks are not looked for, the interpreter has some.
ADDRESS = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Build:
    libraries = ["libasan.so", "libubsan.so"]
    sanitizers = "address,undefined"
    return Build(tmp_path_factory.mktemp("address"), sanitizers, libraries, ADDRESS)


def test_a_planted_overflow_is_found(address: Build) -> None:
    done = address.run("-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).over(10)", address.planted())
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr


def test_the_core_reads_and_writes_only_its_own_memory(address: Build) -> None:
    hung = ["-o", "faulthandler_timeout=200", "-o", "faulthandler_exit_on_timeout=true"]  # a test that hangs is named
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", *hung, "-k", REST]
    done = address.run("-m", "pytest", *options, *[f"tests/{room}" for room in CORE])
    passed(done)
    assert " passed" in done.stdout


def test_fuzzed(address: Build, tmp_path: Path) -> None:
    options = ["--seconds", str(SECONDS), "--seed", "1", "--no-limit", "--artifacts", str(tmp_path)]
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda target: address.run("-m", "fuzz", target, *options), FUZZED):
            passed(done)
