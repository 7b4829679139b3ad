"""What many cores can make of a job: how much of its processor time only one thread can do.

    python -m benchmarks.scaling                 # serial shares, Amdahl's law, two threads, 32
    python -m benchmarks.scaling --megabytes 64 batch text

Two cores are enough. What threads can share is left to threads of its own; what the others use is serial: the calling
thread, a reader, a writer, of which the busiest counts. Two threads and eight are measured, since some of it grows with
their number. Amdahl's law then bounds the speed-up; in brackets stand the threads, of which a batch or a text takes no
more than shorten it. Work under the interpreter's lock is not in it; the ratio of two threads to one shows that.
"""
from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bpetite.core import _batch, _threads
from bpetite.core._threads import processors, run_with_helpers, worthwhile
from bpetite.corpus import encode_corpus

from . import texts
from .rounds import interleaved, median_ratio, processor, timed, wall

CORES = (16, 64, 192)
FEW, MANY = 2, 8
OVERSUBSCRIBED = 32

Job = Callable[[int], Any]


class Share(NamedTuple):
    """Processor seconds of a job."""

    serial: float
    shared: float


def jobs(size: int, folder: Path) -> dict[str, Job]:
    """Name -> what a number of threads does."""
    tok, whole, documents = texts.tokenizer(), texts.text("english", size), texts.documents("english", size)
    path = folder / "text.txt"
    path.write_bytes("".join(document + texts.END for document in documents).encode())

    def corpus(threads: int) -> None:
        with tempfile.TemporaryDirectory(dir=folder) as output:
            encode_corpus(path, f"{output}/out", tok, format="npy", jobs=threads)

    return {
        "batch": lambda threads: tok.encode_batch_to_numpy(documents, num_threads=threads),
        "text": lambda threads: tok.encode_to_numpy(whole, num_threads=threads),
        "corpus": corpus,
    }


@contextmanager
def accounted() -> Iterator[Counter[str]]:
    """The processor seconds of the threads that end meanwhile, by name, without those that share the work.

    These have no names. The calling thread of a batch or of a long text works like its helpers; here a thread of its
    own does that.
    """
    used: Counter[str] = Counter()
    run = threading.Thread.run

    def counted(thread: threading.Thread) -> None:
        try:
            run(thread)
        finally:
            used[thread.name] += time.thread_time()  # type: ignore[assignment]

    def apart(work: Callable[[], object], helper: Callable[[], object], helpers: int, fail: Any) -> None:
        calls = iter([work, *[helper] * helpers])
        run_with_helpers(lambda: None, lambda: next(calls)(), helpers + 1, fail)

    threading.Thread.run = counted  # type: ignore[method-assign]
    _threads.processors = lambda: MANY
    _batch.run_with_helpers = apart
    try:
        yield used
    finally:
        threading.Thread.run = run  # type: ignore[method-assign]
        _threads.processors = processors
        _batch.run_with_helpers = run_with_helpers


def share(job: Job, threads: int) -> Share:
    """What one run of the job takes."""
    with accounted() as used:
        began, began_all = time.thread_time(), time.process_time()
        job(threads)
        called, total = time.thread_time() - began, time.process_time() - began_all
    serial = max([called, *used.values()])
    return Share(serial, total - serial)


def least(shares: list[Share]) -> Share:
    """Other work on the machine adds to both."""
    return Share(min(each.serial for each in shares), min(each.shared for each in shares))


def speed_up(few: Share, many: Share, cores: int) -> float:
    """Amdahl's law, with serial work that is linear in the number of threads: one a core."""
    each = max(0.0, (many.serial - few.serial) / (MANY - FEW))
    serial = max(0.0, few.serial - each * FEW)
    return (serial + each + few.shared) / (serial + each * cores + few.shared / cores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=["corpus", "batch", "text"], help="of: %(default)s")
    parser.add_argument("--megabytes", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = options.megabytes * 1_000_000
        chosen = jobs(size, Path(folder))
        header = " | ".join(f"at {cores} cores" for cores in CORES)
        print(f"| | serial ms | shared ms | serial share | with {MANY} threads | {header} |")
        print("|---|" + "---|" * (4 + len(CORES)))
        for name in options.names:
            chosen[name](FEW)
            few = least([share(chosen[name], FEW) for _ in range(options.rounds)])
            many = least([share(chosen[name], MANY) for _ in range(options.rounds)])
            columns = [f"{few.serial * 1000:.1f}", f"{few.shared * 1000:.0f}"]
            columns += [f"{each.serial / (each.serial + each.shared):.2%}" for each in (few, many)]
            threads = [worthwhile(cores, size) if name in ("batch", "text") else cores for cores in CORES]
            columns += [f"{speed_up(few, many, n):.1f} ({n})" for n in threads]
            print(f"| {name} | " + " | ".join(columns) + " |", flush=True)
        free = processors()
        print(f"\n| | 2 threads to 1, wall | {OVERSUBSCRIBED} threads to {free}, wall | processor |\n|---|---|---|---|")
        for name in options.names:
            calls = {str(n): timed(partial(chosen[name], n)) for n in (1, 2, free, OVERSUBSCRIBED)}
            for call in calls.values():
                call()  # the threads that are many keep what they have learned, as one thread does
            times = interleaved(calls, options.rounds)
            crowded, usual = times[str(OVERSUBSCRIBED)], times[str(free)]
            print(
                f"| {name} | {median_ratio(wall(times['1']), wall(times['2'])):.2f} "
                f"| {median_ratio(wall(crowded), wall(usual)):.3f} "
                f"| {median_ratio(processor(crowded), processor(usual)):.3f} |",
                flush=True,
            )
    print(f"\n{os.cpu_count()} processors, {free} usable; load {statistics.fmean(os.getloadavg()):.1f}")


if __name__ == "__main__":
    main()
