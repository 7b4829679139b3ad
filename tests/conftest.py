"""Fixtures that several test modules use."""
import gc
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, wraps
from pathlib import Path

import made_texts
import published
import pytest
from hypothesis import settings

from bpetite.core import _threads

# A loaded machine is no failure.
settings.register_profile("bpetite", deadline=None)
settings.load_profile("bpetite")

#: Hypothesis tries at most this many examples for each test, and fewer where a test says so.
EXAMPLES = int(os.environ.get("BPETITE_EXAMPLES", "20"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        test = getattr(item, "obj", None)
        known = getattr(test, "_hypothesis_internal_use_settings", None)
        if known is not None:
            test._hypothesis_internal_use_settings = settings(known, max_examples=min(known.max_examples, EXAMPLES))


def pytest_collection_finish() -> None:
    """The collector need not visit modules and test items again: many tests call it."""
    gc.collect()
    gc.freeze()


# What a shell starts in the background ignores Ctrl-C, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

@pytest.fixture(scope="session", autouse=True)
def many_processors() -> Iterator[None]:
    """As many threads as a test asks for, on any machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_threads, "processors", wraps(_threads.processors)(lambda: 8))
        yield


@pytest.fixture(scope="session", autouse=True)
def encodings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """tiktoken's cache, with the published encodings that packages of the extra `test` hold; no network."""
    folder = tmp_path_factory.mktemp("encodings")
    published.fill_cache(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        patch.setenv("BPETITE_CACHE_DIR", str(folder / "absent"))
        patch.setenv("BPETITE_ENCODINGS_URL", "http://127.0.0.1:9/")
        yield folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """shared("text/english.txt") -> the path of a vocabulary or a text; skips the test where there is none.

    Files of ``../shared/data`` come first. Without them, vocabularies come out of packages of the test extra and texts
    are made, of ``size`` bytes; see `published` and `made_texts`.
    """
    folder = tmp_path_factory.mktemp("shared")

    @cache
    def stand_in(name: str, size: int) -> Path | None:
        if name == "gpt2":
            pair = [published.write(f"gpt2/{file}", folder) for file in ("vocab.json", "merges.txt")]
            return folder / name if all(pair) else None
        text = Path(name).stem
        if name == f"text/{text}.txt" and text in made_texts.NAMES:
            path = folder / str(size) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made_texts.text(text, size).encode())
            return path
        return published.write(name, folder)

    def find(name: str, size: int = 600_000) -> Path:
        path = SHARED / name
        found = path if path.exists() else stand_in(name, size)
        if found is None:
            pytest.skip(f"neither ../shared/data nor an installed package has {name}")
        return found

    return find


@pytest.fixture
def ram_path() -> Iterator[Path]:
    """A folder of the test's own, in memory where the system offers it: for tests that sync files again and again."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)
