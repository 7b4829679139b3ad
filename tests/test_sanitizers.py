"""The compiled modules under AddressSanitizer and UndefinedBehaviorSanitizer; test_races.py has ThreadSanitizer."""
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tiers import all_but
from tooling import load, sanitized

pytestmark = pytest.mark.sanitize
reports = load("sanitized").reports

#: Tests of compiled modules, without the longest: those repeat on whole texts what others do on short ones, or in
#: threads what test_races.py does.
CORE = [
    "test_merge.py", "test_no_memory.py", "vocabulary", "formats/test_json_tokens.py", "core", "engine", "serving",
    "training", "splitting/test_scan.py", "splitting/test_pretokenizer.py", "corpus/read/test_json_lines.py",
    "corpus/read/test_records.py",
]  # fmt: skip
LONG = (
    "test_any_number_of_threads", "test_code_points_of_every_kind_in_every_context", "test_a_signal_ends",
    "test_special_tokens_with_the_same_first_byte", "test_texts_in_every_way", "test_random_patterns",
    "test_random_syntax", "test_hash_seeds", "takes_time_that_grows",
    "one_character_at_a_time", "memory_of_many", "test_every_valid_character_passes",
    "test_characters_over_the_edges_of_blocks", "no_step_of_a_long_pretoken",
)  # fmt: skip
REST = all_but(LONG, CORE)

#: Targets that reach compiled code, and seconds for each.
FUZZED = ("encode", "vocabulary", "split", "decode", "train", "counts", "lines", "native", "tiktoken")
SECONDS = 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return sanitized(tmp_path_factory.mktemp("address"), "address")


def test_a_planted_overflow_is_found(address: Any) -> None:
    done = address.run("-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1]).over(10)", address.planted())
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr


def test_the_core_reads_and_writes_only_its_own_memory(address: Any) -> None:
    hung = ["-o", "faulthandler_timeout=200", "-o", "faulthandler_exit_on_timeout=true"]  # a test that hangs is named
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", *hung, "-k", REST]
    done = address.run("-m", "pytest", *options, *[f"tests/{room}" for room in CORE])
    assert reports(done) == ""
    assert " passed" in done.stdout


def test_fuzzed(address: Any, tmp_path: Path) -> None:
    options = ["--seconds", str(SECONDS), "--seed", "1", "--no-limit", "--artifacts", str(tmp_path)]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda target: address.run("-m", "fuzz", target, *options), FUZZED)
        assert [*map(reports, done)] == [""] * len(FUZZED)
