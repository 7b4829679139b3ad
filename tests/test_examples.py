"""Every example in a docstring of the package runs and is exact, in compiled modules too."""
import doctest
import importlib
import tempfile
from pathlib import Path
from typing import Any

import pytest

import bpetite

PACKAGE = Path(bpetite.__file__).parent


def examples_in_source(path: Path) -> int:
    return path.read_text(encoding="utf-8").count(">>> ")


def module_name(path: Path) -> str:
    """bpetite/core/_tokenizer_base.pyx -> "bpetite.core._tokenizer_base"; a package is named after its folder."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


WITH_EXAMPLES = {module_name(path): path for suffix in ("py", "pyx") for path in sorted(PACKAGE.rglob(f"*.{suffix}"))
                 if examples_in_source(path)}  # fmt: skip


class Runner(doctest.DocTestRunner):
    """Skips an example whose optional dependency is not installed."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        if isinstance(exc_info[1], ImportError):
            skip_what_is_not_installed(exc_info[1])
        super().report_unexpected_exception(out, test, example, exc_info)


def skip_what_is_not_installed(error: ImportError) -> None:
    if isinstance(error, bpetite.MissingExtraError) or (error.name or "bpetite").split(".")[0] != "bpetite":
        pytest.skip(str(error))


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        skip_what_is_not_installed(error)
        raise
    names = {"Tokenizer": bpetite.Tokenizer, **vars(module)}
    tests = doctest.DocTestFinder(exclude_empty=True).find(module, name, globs=names)
    tests = [test for test in tests if ".__test__." not in test.name]  # where Cython has its docstrings once more
    assert sum(len(test.examples) for test in tests) == examples_in_source(WITH_EXAMPLES[name]), "some are not found"
    for test in tests:
        wrong: list[str] = []
        Runner(verbose=False).run(test, out=wrong.append)
        assert not wrong, "".join(wrong)


def test_compiled_modules_are_among_them() -> None:
    assert {"bpetite", "bpetite.tokenizer", "bpetite.core._tokenizer_base", "bpetite._merge"} <= set(WITH_EXAMPLES)
