"""Stubs have signatures and types, the compiled objects say what they do.

That both have the same names, parameters and defaults is what ``mypy.stubtest`` checks, see ``.ci/run``.
"""
import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bpetite

PACKAGE = Path(bpetite.__file__).parent


def module_name(path: Path) -> str:
    """bpetite/core/_tokenizer_base.pyi -> "bpetite.core._tokenizer_base"."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


#: The stubs of what users call; others are for mypy.
CALLED = ["bpetite._simd", "bpetite.core._decode", "bpetite.core._tokenizer_base"]

STUBS = {module_name(path): path for path in sorted(PACKAGE.rglob("*.pyi"))}
COMPILED = {module_name(path) for path in PACKAGE.rglob("*.pyx")}


def compiled(stub: ast.AST, parent: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, compiled object) of every class, method and function of a stub that has no underscore."""
    for node in ast.iter_child_nodes(stub):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            found = getattr(parent, node.name)
            yield f"{name}.{node.name}", found
            yield from compiled(node, found, f"{name}.{node.name}")


def test_stubs_stand_for_compiled_modules() -> None:
    assert len(COMPILED) > 10
    assert set(STUBS) <= COMPILED


@pytest.mark.parametrize("module", CALLED)
def test_what_a_stub_stands_for_has_a_docstring(module: str) -> None:
    stub = ast.parse(STUBS[module].read_text(encoding="utf-8"))
    found = list(compiled(stub, importlib.import_module(module), module))
    assert found
    assert [name for name, one in found if not one.__doc__] == []
