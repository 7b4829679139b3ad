"""Fixtures that several test modules use."""
import os
import tempfile
from collections.abc import Callable, Iterator
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


@pytest.fixture
def ram_path() -> Iterator[Path]:
    """A folder of the test's own, in memory where the system offers it: for tests that sync files again and again."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)
