"""Kill draws of corpus runs with signal 9 at random moments until each is done; see `corpus_model`.

Run by test_model.py in a process of its own, because it forks: ``corpus_kills.py FOLDER SEED KILLS``. Prints the
numbers of kills, of draws, and of kills that left a state to go on from.
"""
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import corpus_model
from faulty_store import DiskStore

#: Kills of one call; then it may end.
MOST = 12


def start(work: Callable[[], object]) -> int:
    """Do some work in a new process; returns its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as error:
        traceback.print_exception(error)
    finally:
        sys.stderr.flush()
        os._exit(code)


def killed(one: corpus_model.Draw, output: str, choose: random.Random, seconds: float) -> tuple[int, int]:
    """Make the calls of a draw in processes that are killed; returns the numbers of kills, and of states left."""
    kills = resumed = 0
    folders = [Path(tempfile.gettempdir()), Path(output.removeprefix("disk://")).parent]
    for call in corpus_model.calls_of(one, output, choose):
        for attempt in range(MOST + 1):
            child = start(partial(call, lambda *_: None))
            if attempt < MOST:  # a machine with much to do would kill one call for ever
                time.sleep(choose.uniform(0, seconds))
                os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code == 0:
                break
            if code != -signal.SIGKILL:
                sys.exit(f"draw {one.seed} failed after {kills} kills: {one}")
            kills += 1
            resumed += any(path.stat().st_size for folder in folders for path in folder.rglob("state.json"))
    return kills, resumed


def main(folder: Path, seed: int, wanted: int) -> None:
    tempfile.tempdir = str(folder / "temporary")
    counts = [0, 0, 0]
    choose = random.Random(seed)
    while counts[0] < wanted:
        for name in ("in", "out", "plain", "temporary"):
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).mkdir()
        one, sizes = corpus_model.draw(seed * 100_000 + counts[1], folder / "in")
        counts[1] += 1
        try:
            corpus_model.oracle(one)
        except corpus_model.FlawedError:
            continue
        with corpus_model.patched(sizes):
            began = time.monotonic()
            for call in corpus_model.calls_of(one, str(folder / "plain" / "o"), choose, plain=True):
                call(lambda *_: None)
            output = f"{DiskStore.protocol}://{folder}/out/o" if one.url else str(folder / "out" / "o")
            more = killed(one, output, choose, time.monotonic() - began + 0.02)
        counts[0], counts[2] = counts[0] + more[0], counts[2] + more[1]
        expected, found = (
            {path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("plain", "out")
        )
        if one.how == "merged":  # the ranks of one output may be deleted, those of the other may never have been
            expected, found = ({name: data for name, data in files.items() if name in expected.keys() & found.keys() or
                                ".rank" not in name} for files in (expected, found))  # fmt: skip
        if expected != found:
            differing = sorted(name for name in expected | found if expected.get(name) != found.get(name))
            sys.exit(f"draw {one.seed} differs in {differing} after {counts[0]} kills: {one}")
    print(*counts)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
