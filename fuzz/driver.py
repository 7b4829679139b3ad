"""Runs a target on seeds, on inputs that failed once, and on inputs made from both.

The input under test is always in a file, so that it is there after a crash. An input that takes too long ends the
process with the stacks of its threads; one that takes too much memory fails with MemoryError.
"""
from __future__ import annotations

import faulthandler
import hashlib
import random
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from .mutation import mutate
from .targets import Target

__all__ = ["FOUND", "Failure", "inputs_of", "run"]

#: Inputs that failed once, in a folder for each target.
FOUND = Path(__file__).parent / "found"

#: Seconds for one input, and bytes of address space for the process.
SECONDS_FOR_ONE = 60
MEMORY = 6 << 30


class Failure(Exception):
    """A target raised.

    Attributes:
        path: Holds the input.
        place: The exception's type, and the line that raised it; equal for what is probably the same fault.
    """

    def __init__(self, path: Path, size: int, place: str) -> None:
        super().__init__(f"{place}: the input of {size} bytes is in {path}")
        self.path = path
        self.place = place


def inputs_of(name: str, target: Target) -> list[bytes]:
    """The seeds of a target and what it failed on before."""
    return target.seeds() + [path.read_bytes() for path in sorted((FOUND / name).glob("*"))]


def run(
    name: str,
    target: Target,
    *,
    seconds: float | None,
    runs: int | None,
    seed: int,
    artifacts: Path,
    limit: bool = True,
) -> Iterator[Failure | int]:
    """Run a target until the time or the number of runs is over.

    Args:
        seconds, runs: When to stop; the inputs without a change are tried in any case.
        seed: Of the mutations; the same seed gives the same inputs.
        artifacts: The folder that gets the input of a failure.
        limit: Bound the memory of the process; sanitizers need it unbounded.

    Yields:
        Each failure, one for each place, with the exception of the target as its cause; at last the number of inputs
        that were tried.
    """
    if limit:
        _limit_memory()
    artifacts.mkdir(parents=True, exist_ok=True)
    running = artifacts / f"{name}.running"
    stop = None if seconds is None else time.monotonic() + seconds
    tried = 0
    places: set[str] = set()
    with running.open("wb", buffering=0) as file:
        for data in _inputs(inputs_of(name, target), target, seed, stop, runs):
            file.seek(0)
            file.truncate()
            file.write(data)
            faulthandler.dump_traceback_later(SECONDS_FOR_ONE, exit=True)
            try:
                target.one(data)
            except Exception as error:
                faulthandler.cancel_dump_traceback_later()
                place = _place(error)
                if place not in places:
                    places.add(place)
                    path = artifacts / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}"
                    path.write_bytes(data)
                    failure = Failure(path, len(data), place)
                    failure.__cause__ = error
                    yield failure
            finally:
                faulthandler.cancel_dump_traceback_later()
            tried += 1
    running.unlink()
    yield tried


def _place(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def _inputs(
    pool: list[bytes], target: Target, seed: int, stop: float | None, runs: int | None
) -> Iterator[bytes]:
    yield from pool
    source = random.Random(seed)
    made = 0
    while (runs is None or made < runs) and (stop is None or time.monotonic() < stop):
        yield mutate(source.choice(pool), pool, target.words, source)
        made += 1


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
