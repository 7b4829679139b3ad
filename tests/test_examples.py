"""Every example in a docstring of the package runs and is exact, in compiled modules too."""
import doctest
import importlib
import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bpetite

PACKAGE = Path(bpetite.__file__).parent


def module_name(path: Path) -> str:
    """bpetite/core/_tokenizer_base.pyx -> "bpetite.core._tokenizer_base"; a package is named after its folder."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def examples_in_source(path: Path) -> int:
    return path.read_text(encoding="utf-8").count(">>> ")


SOURCES = {module_name(path): path for suffix in ("py", "pyx") for path in sorted(PACKAGE.rglob(f"*.{suffix}"))}
WITH_EXAMPLES = [name for name, path in SOURCES.items() if examples_in_source(path)]


def documented(found: Any, name: str, module: str) -> Iterator[tuple[str, str]]:
    """Yield (dotted name, docstring) of a module, a class, a method or a function, and of all that is defined in it.

    Unlike `doctest.DocTestFinder`, this takes compiled functions for functions.
    """
    text = found.__doc__
    if isinstance(text, str) and text != type(found).__doc__:  # a value has the docstring of its type
        yield name, text
    if inspect.ismodule(found) or inspect.isclass(found):
        for key in vars(found):
            member = getattr(found, key, None)  # what other libraries call a name of ours raises
            if not inspect.ismodule(member) and getattr(member, "__module__", module) == module:
                yield from documented(member, f"{name}.{key}", module)


def doctests(name: str) -> list[doctest.DocTest]:
    """The examples of a module, docstring by docstring."""
    module = importlib.import_module(name)
    names = {"Tokenizer": bpetite.Tokenizer, **vars(module)}
    parser = doctest.DocTestParser()
    tests = [
        parser.get_doctest(text, names, whole, str(SOURCES[name]), None)
        for whole, text in documented(module, name, name)
    ]
    return [test for test in tests if test.examples]


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
        tests = doctests(name)
    except ImportError as error:
        skip_what_is_not_installed(error)
        raise
    assert sum(len(test.examples) for test in tests) == examples_in_source(SOURCES[name]), "some are not found"
    for test in tests:
        wrong: list[str] = []
        Runner(verbose=False).run(test, out=wrong.append)
        assert not wrong, "".join(wrong)


def test_compiled_modules_are_among_them() -> None:
    assert {"bpetite", "bpetite.tokenizer", "bpetite.core._tokenizer_base", "bpetite._merge"} <= set(WITH_EXAMPLES)
