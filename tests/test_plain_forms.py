"""The forms for each set of vector instructions give the same results as the plain ones."""
import os
import subprocess
import sys

import pytest
from paths import PYTHONPATH, TESTS, TOOLS
from tiers import all_but

import bpetite
from bpetite._simd import forms

CORE = ["splitting", "vocabulary", "core", "engine", "serving", "training"]

#: Tests of what depends on the form: the scanners, the finder of special tokens, UTF-8, and merging words.
BY_FORM = [
    "splitting/test_scan.py", "splitting/test_vector_tables.py", "core/test_encode.py", "core/test_special.py",
    "core/test_decode.py", "core/test_waiting_words.py",
]  # fmt: skip
EVERY = ["plain", "avx2", "neon", "avx512"]


def start(*command: str, simd: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BPETITE_SIMD": simd, "PYTHONPATH": PYTHONPATH, **variables}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, cwd=TESTS.parent)


def run(*command: str, simd: str, **variables: str) -> str:
    done = start(*command, simd=simd, **variables)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr
    return done.stdout


def test_same_results() -> None:
    first, *others = (run(str(TOOLS / "digests.py"), simd=form) for form in forms())
    assert first.count("surrogate") == 140
    for other in others:
        assert other.splitlines() == first.splitlines()


@pytest.mark.parametrize("form", forms())
def test_each_form_can_be_asked_for(form: str) -> None:
    assert run("-c", "import bpetite; print(bpetite.simd())", simd=form) == f"{form}\n"


def test_the_best_form_is_used_where_none_is_asked_for() -> None:
    assert forms()[0] == "plain"
    assert set(forms()) <= set(EVERY)
    assert run("-c", "import bpetite; print(bpetite.simd())", simd="") == f"{forms()[-1]}\n"
    assert bpetite.simd() in forms()


@pytest.mark.parametrize("asked", ["AVX2", "ssse3", "1", "avx2 ", *(form for form in EVERY if form not in forms())])
def test_what_cannot_be_had_is_an_error(asked: str) -> None:
    done = start("-c", "import bpetite", simd=asked)
    assert done.returncode == 1
    reason = "which this machine does not have" if asked in EVERY else "which is no set of vector instructions"
    assert f"ValueError: the environment has BPETITE_SIMD={asked!r}, {reason}: here it can be plain" in done.stderr


def test_what_is_asked_for_too_late_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BPETITE_SIMD", "mmx")
    with pytest.raises(ValueError, match="BPETITE_SIMD='mmx'"):
        bpetite.simd()


def test_modules_choose_when_they_are_loaded() -> None:
    """Not when a loop first runs, which may be in several threads, and after the environment has changed."""
    code = """
import os
from bpetite import simd
from bpetite.splitting.scan import _scan
from bpetite.splitting.pretokenizer import pretokenizer
os.environ.update({set!r})
print(simd(), pretokenizer().scanner.lanes)
"""
    unchanged, changed = (run("-c", code.format(set=set), simd="") for set in ({}, {"BPETITE_SIMD": "plain"}))
    assert changed == unchanged
    assert unchanged.split() == [forms()[-1], "64" if "avx512" in forms() else "4"]


other_forms = pytest.mark.parametrize("form", forms()[:-1])  # the last one is in use in all other tests


#: But for long ones that depend on threads and tables more than on the form.
REST = all_but(("another_thread_changes", "a_hundred_thousand", "without_bytes"), BY_FORM)


def core(rooms: list[str], form: str, *options: str, **variables: str) -> None:
    tests = [str(TESTS / room) for room in rooms]
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *tests, simd=form, **variables)


@pytest.mark.slow
@other_forms
def test_what_depends_on_the_form(form: str) -> None:
    core(BY_FORM, form, "-k", REST, BPETITE_EXAMPLES="15", PYTHONMALLOC="debug")


@pytest.mark.exhaustive
@other_forms
def test_the_whole_core_in_each_form(form: str) -> None:
    core(CORE, form)
