"""Stubs stand beside the compiled modules that Python code imports, and have the docstrings of the compiled objects.

That they have the same names, parameters and defaults is what ``mypy.stubtest`` checks, see ``.ci/run``.
"""
import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bpetite

PACKAGE = Path(bpetite.__file__).parent


def module_name(path: Path) -> str:
    """bpetite/core/_tokenizer_base.pyi -> "bpetite.core._tokenizer_base"."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


STUBS = {module_name(path): path for path in sorted(PACKAGE.rglob("*.pyi"))}
COMPILED = {module_name(path) for path in PACKAGE.rglob("*.pyx")}


def documented(stub: ast.AST, compiled: Any, name: str) -> Iterator[tuple[str, str | None, Any]]:
    """Yield (dotted name, docstring in the stub, compiled object) of every class, method and function of a stub."""
    for node in ast.iter_child_nodes(stub):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found = getattr(compiled, node.name)
            yield f"{name}.{node.name}", ast.get_docstring(node), found
            yield from documented(node, found, f"{name}.{node.name}")


def docstring(compiled: Any) -> str | None:
    """The docstring of a compiled object, without the signature that Cython puts before it."""
    text = inspect.cleandoc(compiled.__doc__ or "")
    if inspect.isroutine(compiled) or isinstance(compiled, type):
        text = re.sub(rf"\A(\w+\.)?{compiled.__name__}\(.*\)(\n\n|\Z)", "", text)
    return text or None


def test_stubs_stand_for_compiled_modules() -> None:
    assert len(COMPILED) > 10
    assert set(STUBS) <= COMPILED


@pytest.mark.parametrize("module", STUBS)
def test_stubs_have_the_docstrings_of_the_compiled_objects(module: str) -> None:
    stub = ast.parse(STUBS[module].read_text(encoding="utf-8"))
    found = list(documented(stub, importlib.import_module(module), module))
    assert found
    for name, told, compiled in found:
        if name.endswith("__"):
            continue  # special methods need no words
        assert told or name.rpartition(".")[2].startswith("_"), f"{name} has no docstring"
        if not (inspect.isgetsetdescriptor(compiled) and compiled.__doc__ is None):  # a readonly attribute has none
            assert told == docstring(compiled), name
