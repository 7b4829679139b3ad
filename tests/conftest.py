"""Fixtures that several test modules use."""
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# A loaded machine is no failure.
settings.register_profile("bpetite", deadline=None)
settings.load_profile("bpetite")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """shared("text/english.txt") -> its path; skips the test where the file is absent."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"../shared/data/{name} is absent")
        return path

    return find
