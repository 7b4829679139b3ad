"""Reading ahead: order, bounds, errors, and the end of the thread."""
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpetite.core._threads import in_order
from bpetite.corpus.reading.handoff import read_ahead
from tests.support.running import running_threads


@dataclass
class Job:
    number: int
    size: int = 1


def jobs(sizes: list[int]) -> Generator[Job, None, None]:
    for number, size in enumerate(sizes):
        yield Job(number, size)


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(0, 50), max_size=30), workers=st.integers(1, 4), held=st.integers(1, 100))
def test_results_come_in_order(sizes: list[int], workers: int, held: int) -> None:
    read = read_ahead([jobs(sizes)])
    results = in_order(lambda job: job.number * 2, read, workers, size=lambda job: job.size, held=held)
    assert list(results) == [2 * number for number in range(len(sizes))]


def test_reading_ahead_is_bounded() -> None:
    made: list[int] = []

    def counted() -> Generator[Job, None, None]:
        for number in range(100):
            made.append(number)
            yield Job(number, 10)

    reading = read_ahead([counted()])
    assert next(reading).number == 0
    time.sleep(0.2)
    assert len(made) == 2  # the one that was given out, and the next one
    for number in range(1, 100):
        assert next(reading).number == number
    assert list(reading) == []


def test_it_reads_while_the_caller_works() -> None:
    second = threading.Event()

    def signalled() -> Generator[Job, None, None]:
        yield Job(0)
        second.set()
        yield Job(1)

    reading = read_ahead([signalled()])
    next(reading)
    assert second.wait(20)
    reading.close()


def test_an_error_of_reading_comes_in_its_place() -> None:
    def broken() -> Generator[Job, None, None]:
        yield Job(0)
        yield Job(1)
        raise ValueError("damaged here")

    results = in_order(lambda job: job.number, read_ahead([broken()]), 1)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="damaged here"):
        next(results)
    with pytest.raises(ValueError, match="damaged here"):
        list(in_order(lambda job: job.number, read_ahead([broken()]), 2))


def test_an_error_of_work_ends_all_threads_and_closes_the_input() -> None:
    closed = threading.Event()

    def endless() -> Generator[Job, None, None]:
        try:
            number = 0
            while True:
                yield Job(number)
                number += 1
        finally:
            closed.set()

    def work(job: Job) -> int:
        if job.number == 5:
            raise ValueError("job 5")
        return job.number

    for workers in (1, 3):
        closed.clear()
        before = running_threads()
        reading = read_ahead([endless()])
        results = in_order(work, reading, workers)
        with pytest.raises(ValueError, match="job 5"):
            list(results)
        reading.close()
        assert closed.is_set()
        assert running_threads() == before


def test_closing_ends_the_reader() -> None:
    before = running_threads()
    reading = read_ahead([jobs([1] * 1000)])
    next(reading)
    reading.close()
    assert running_threads() == before


def test_what_is_never_begun_starts_no_thread() -> None:
    before = running_threads()
    reading = read_ahead([jobs([1])])
    assert running_threads() == before
    reading.close()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_sources_are_read_at_a_time(threads: int) -> None:
    begun: list[int] = []

    def source(number: int) -> Generator[Job, None, None]:
        begun.append(number)
        for one in range(number % 4):
            yield Job(10 * number + one)

    before = running_threads()
    reading = read_ahead(map(source, range(20)), threads, 2)
    assert next(reading).number == 10
    deadline = time.monotonic() + 20
    while len(begun) < threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(begun) <= threads + 1  # the first source was empty
    assert [job.number for job in reading] == [10 * n + one for n in range(20) for one in range(n % 4)][1:]
    reading = read_ahead(map(source, range(20)), threads, 2)
    next(reading)
    reading.close()
    assert running_threads() == before


def test_what_is_not_due_is_put_aside(tmp_path: Path) -> None:
    before = running_threads()
    made = [0] * 20

    def source(number: int) -> Generator[Job, None, None]:
        for one in range(number + 5):
            made[number] += 1
            yield Job(10 * number + one)

    reading = read_ahead(map(source, range(20)), 8, 2, tmp_path)
    assert next(reading).number == 0
    deadline = time.monotonic() + 20
    while sum(made) < sum(range(5, 13)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert made[:9] == [*range(5, 13), 0]  # none waits for the first, and no more are read than there are threads
    assert [job.number for job in reading] == [10 * n + one for n in range(20) for one in range(n + 5)][1:]
    assert running_threads() == before
    assert not [*tmp_path.iterdir()]
    reading = read_ahead(map(source, range(20)), 8, 2, tmp_path)
    next(reading)
    reading.close()
    assert running_threads() == before
    assert not [*tmp_path.iterdir()]
    reading = read_ahead(map(source, range(20)), 8, 2, tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="missing"):
        list(reading)


def test_eight_threads_read_in_an_eighth_of_the_time(tmp_path: Path) -> None:
    def source() -> Generator[Job, None, None]:
        for number in range(10):
            time.sleep(0.01)  # as a reader that decompresses without the interpreter lock
            yield Job(number)

    began = time.monotonic()
    assert len(list(read_ahead((source() for _ in range(24)), 8, 2, tmp_path))) == 240
    assert time.monotonic() - began < 2.4 / 3
