"""Calls that are timed one after the other, again and again: the ratios of their times hold on a noisy machine."""
from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Times = dict[str, list[tuple[float, float]]]  # name -> (wall seconds, processor seconds) of each round


def timed(call: Callable[[], Any]) -> Callable[[], tuple[float, float]]:
    """A function that makes the call and returns its wall and processor seconds."""

    def run() -> tuple[float, float]:
        began, used = time.perf_counter(), time.process_time()
        call()
        return time.perf_counter() - began, time.process_time() - used

    return run


def interleaved(
    calls: Mapping[str, Callable[[], tuple[float, float]]], rounds: int, *, seconds: float = 0.0
) -> Times:
    """What each call returns in each round.

    Args:
        calls: Name -> a function that returns the wall and processor seconds of what it did.
        rounds: At least this many.
        seconds: Go on until this much time has passed.
    """
    times: Times = {name: [] for name in calls}
    began = time.perf_counter()
    done = 0
    while done < rounds or time.perf_counter() - began < seconds:
        for name, call in calls.items():
            times[name].append(call())
        done += 1
    return times


def wall(measured: Sequence[tuple[float, float]]) -> list[float]:
    return [seconds for seconds, _ in measured]


def processor(measured: Sequence[tuple[float, float]]) -> list[float]:
    return [seconds for _, seconds in measured]


def median_ratio(these: Sequence[float], those: Sequence[float]) -> float:
    """The median of the ratios round by round."""
    return statistics.median(a / b for a, b in zip(these, those, strict=True))


def print_ratios(times: Times, over: str) -> None:
    """Medians of wall and processor seconds, and their ratios to one of the rows."""
    for name, measured in times.items():
        row = [f"{name:28s}"]
        for label, column in (("wall", wall), ("processor", processor)):
            ratio = median_ratio(column(measured), column(times[over]))
            row.append(f"{label} {statistics.median(column(measured)):7.3f} s  x{ratio:5.2f}")
        print("   ".join(row), flush=True)
