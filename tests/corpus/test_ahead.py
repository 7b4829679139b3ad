"""Work ahead by threads: order, bounds, errors, and the end of the threads."""
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.corpus.ahead import ahead
from tests.support.running import running_threads


def numbers(count: int) -> Iterator[str]:
    yield from map(str, range(count))


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 9), max_size=20), threads=st.integers(1, 4), held=st.integers(1, 9),
    spills=st.booleans(),
)  # fmt: skip
def test_results_come_in_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], threads: int, held: int, spills: bool
) -> None:
    folder = tmp_path_factory.mktemp("aside") if spills else None
    assert list(ahead(map(numbers, sizes), threads, held, folder)) == [str(n) for size in sizes for n in range(size)]
    assert folder is None or not [*folder.iterdir()]


def test_work_ahead_is_bounded_and_goes_on_while_the_caller_works() -> None:
    made: list[int] = []

    def counted() -> Iterator[str]:
        for number in range(100):
            made.append(number)
            yield str(number)

    results = ahead([counted()], 1, 3)
    assert next(results) == "0"
    deadline = time.monotonic() + 20
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert len(made) == 4  # the one that was given out, and the next ones
    assert list(results) == [str(number) for number in range(1, 100)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_comes_in_its_place_and_ends_all_threads(threads: int) -> None:
    closed: list[int] = []

    def source(number: int) -> Iterator[str]:
        try:
            yield f"{number}a"
            if number == 2:
                raise ValueError("damaged here")
            yield f"{number}b"
        finally:
            closed.append(number)

    before = running_threads()
    results = ahead(map(source, range(9)), threads, 1)
    assert [next(results) for _ in range(5)] == ["0a", "0b", "1a", "1b", "2a"]
    with pytest.raises(ValueError, match="damaged here"):
        next(results)
    assert {0, 1, 2} <= {*closed}  # of those that have begun
    assert running_threads() == before


def test_what_is_not_due_is_put_aside(tmp_path: Path) -> None:
    before = running_threads()
    made = [0] * 20

    def source(number: int) -> Iterator[str]:
        for one in range(number + 5):
            made[number] += 1
            yield f"{number} {one}"

    reading = ahead(map(source, range(20)), 8, 2, tmp_path)
    assert next(reading) == "0 0"
    deadline = time.monotonic() + 20
    while sum(made) < 3 + sum(range(6, 13)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert made[:9] == [3, *range(6, 13), 0]  # those that are not due wait for nothing
    assert list(reading) == [f"{n} {one}" for n in range(20) for one in range(n + 5)][1:]
    assert running_threads() == before
    assert not [*tmp_path.iterdir()]
    reading = ahead(map(source, range(20)), 8, 2, tmp_path)
    next(reading)
    reading.close()
    assert running_threads() == before
    assert not [*tmp_path.iterdir()]
    reading = ahead(map(source, range(20)), 8, 2, tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="missing"):
        list(reading)
