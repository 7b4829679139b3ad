"""Programs of tools/ that tests use."""
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from paths import TOOLS


def load(name: str) -> Any:
    """The module of a program."""
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sanitized(folder: Path, kind: str) -> Any:
    """A build for a sanitizer; skips where there is none."""
    tool = load("sanitized")
    try:
        return tool.Build(folder, kind)
    except tool.NotHere as error:
        pytest.skip(str(error))
