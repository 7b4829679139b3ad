"""The compiled modules on arm64, by emulation (support/arm64.py)."""
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from arm64 import Arm64, NotHere
from paths import PYTHONPATH, SUPPORT
from tiers import all_but

pytestmark = pytest.mark.arm64

#: Form of the loops (headers/simd.h), from the plain one on.
FORMS = ["plain", "neon"]

#: The core's tests, each with few examples, without what takes longest and is the same on every processor.
CORE = [
    "test_merge.py", "vocabulary", "formats/test_json_tokens.py", "splitting/test_scan.py",
    "splitting/test_byte_splits.py", "splitting/test_compile_pattern.py", "core/test_encode.py", "core/test_batch.py",
    "core/test_decode.py", "core/test_special.py", "core/test_ids.py", "core/test_waiting_words.py",
    "core/test_stream_decoder.py", "training/merging/test_merger.py", "training/counting/test_counts.py",
]  # fmt: skip
LONG = (
    "test_members_are_found", "as_tiktoken", "test_special_tokens_with_the_same_first_byte",
    "test_long_texts_under_several_patterns", "another_thread_changes", "memory_of_a_run",
    "test_tokens_without_bytes", "test_many_different_ones", "test_one_long_pre_token_is_held", "in_every_process",
    "a_published_encoding_is_its_name", "test_many_live_streams", "test_few_ids", "test_long_arrays",
    "test_every_size_around", "test_cuts_at_a_mark", "test_merges_kind", "test_ranks_kind", "test_damaged_files",
    "test_one_text_in_parts", "in_any_order", "advised_about", "that_free_long", "a_hundred_thousand",
    "many_large_pages", "what_another_knows", "a_str_of_many_pages", "may_have_begun_in_several",
    "pairs_in_any_number_of_words", "test_long_pre_tokens_and_the_ends", "one_object_for_all_its_work",
    "a_new_process_reads_it", "a_version_of_unicode",
)  # fmt: skip
REST = all_but(LONG, CORE)

#: Tests of what depends on the form, which run once for each.
BY_FORM = ["splitting/test_scan.py", "core/test_encode.py", "core/test_special.py"]


@pytest.fixture(scope="module")
def arm64() -> Arm64:
    made = Arm64()
    try:
        made.make()
    except NotHere as error:
        pytest.skip(str(error))
    return made


def printed(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, (done.stdout + done.stderr)[-6_000:]
    return done.stdout.splitlines()


def here(*arguments: str) -> list[str]:
    """What a program prints on this machine, in its plain form."""
    environment = {**os.environ, "BPETITE_SIMD": "plain", "PYTHONPATH": PYTHONPATH}
    return printed(subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True))


def core(arm64: Arm64, names: list[str], form: str, examples: int) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-k", REST]
    tests = [f"tests/{name}" for name in names]
    variables = {"BPETITE_SIMD": form, "BPETITE_EXAMPLES": str(examples), "PYTHONPATH": "tests/support"}
    said = printed(arm64.run("-m", "pytest", *options, *tests, **variables))
    assert " passed" in said[-1]


def test_the_processor_is_another_one(arm64: Arm64) -> None:
    program = "import platform, bpetite._merge; print(platform.machine(), bpetite._merge.__file__)"
    machine, module = printed(arm64.run("-c", program))[0].split()
    assert machine == "aarch64"
    assert Path(module).parent == arm64.lib / "bpetite"


def test_the_forms(arm64: Arm64) -> None:
    program = "import bpetite; from bpetite._simd import forms; print(*forms(), bpetite.simd())"
    assert printed(arm64.run("-c", program)) == [" ".join([*FORMS, FORMS[-1]])]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_results(arm64: Arm64, form: str) -> None:
    found = printed(arm64.run("tests/support/plain_forms.py", BPETITE_SIMD=form))
    assert sum("surrogate" in line for line in found) == 140
    assert found == here(str(SUPPORT / "plain_forms.py"))


@pytest.mark.parametrize("form", FORMS)
def test_the_same_ids_of_texts(arm64: Arm64, shared: Callable[[str], Path], form: str) -> None:
    vocabularies = ["bpetite-32k", *[str(shared(name)) for name in ("gpt2", "openai/o200k_base.tiktoken")]]
    texts = [str(shared(f"text/{name}.txt")) for name in ("english", "code", "multilingual")]
    found = printed(arm64.run("tests/support/text_digests.py", *vocabularies, "--", *texts, BPETITE_SIMD=form))
    assert len(found) == 9
    assert found == here(str(SUPPORT / "text_digests.py"), *vocabularies, "--", *texts)


def test_the_core(arm64: Arm64) -> None:
    core(arm64, CORE, FORMS[-1], 5)


@pytest.mark.parametrize("form", FORMS[:-1])
def test_the_core_in_its_other_forms(arm64: Arm64, form: str) -> None:
    core(arm64, BY_FORM, form, 5)
