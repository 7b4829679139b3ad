"""Kill corpus runs at random moments until each is done, and compare what they leave with an uninterrupted run.

Run by test_kill.py in a process of its own, because it forks: ``corpus_kills.py FOLDER SEED KILLS``. Prints the
number of kills, of runs, and of kills that found a journal to go on from.
"""
import gzip
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from corpus_tools import byte_codec, outputs, some_documents, write_inputs

from bpetite.corpus import Options, Sources, make_part, merge_outputs
from bpetite.corpus.reading.given import given_documents

FORMATS = ["npy", "npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet", "mds", "litdata"]

#: Kills of one run; then it may end.
MOST = 20


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
        # finished already, of an input that can be read only once
        if isinstance(error, FileExistsError) and "only once" in str(error):
            code = 0
        else:
            traceback.print_exception(error)
    finally:
        sys.stderr.flush()
        os._exit(code)


def main(folder: Path, seed: int, wanted: int) -> None:
    chosen = random.Random(seed)
    documents = some_documents(120)
    inputs = write_inputs(folder / "in", documents)
    packed = [folder / "in" / f"{number}.txt.gz" for number in range(9)]
    for number, path in enumerate(packed):
        path.write_bytes(gzip.compress("<|endoftext|>".join(documents[number::9]).encode()))
    kills = runs = resumed = 0
    while kills < wanted:
        format = FORMATS[runs % len(FORMATS)]
        jobs = chosen.choice([1, 2, 4])
        folders = format in ("mds", "litdata")
        ranks = chosen.choice([1, 1, 3])
        shuffle = chosen.choice([None, None, 1]) if ranks == 1 else None
        options = Options(
            format=format,
            shard_tokens=chosen.choice([None, 300, 1000]),
            val_fraction=0.0 if folders else chosen.choice([0.0, 0.0, 0.2]),
            eot=chosen.choice([None, "append", "prepend"]),
            on_error="skip",
            rejected=chosen.choice([False, True]),
            shuffle=shuffle,
            memory=chosen.choice([40_000, 1 << 20]) if shuffle else 1 << 30,
            max_document_bytes=chosen.choice([1 << 30, 100]),
        )
        made = []
        sources = inputs if ranks > 1 else chosen.choice([inputs, packed, Sources((given_documents(documents),))])
        block, seconds = chosen.choice([100, 300, 1000]), chosen.choice([0, 0, 0.005])
        for name in ("whole", "killed"):
            out = folder / name
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            sink = out if folders else out / "o"
            part = replace(
                make_part(sources, sink, byte_codec(), options=options), block=block, checkpoint_seconds=seconds
            )
            if name == "whole":
                began = time.monotonic()
                part.run(jobs=jobs)
                duration = time.monotonic() - began
                made.append(outputs(out))
                continue
            work: list[Callable[[], object]] = [
                partial(part.of(rank, ranks).run, jobs=chosen.choice([jobs, jobs, 1])) for rank in range(ranks)
            ]
            if ranks > 1:
                work.append(partial(merge_outputs, sink, delete=True))
            for call in work:
                survived = 0
                while True:
                    child = start(call)
                    if survived < MOST:  # a machine with much to do would kill one run for ever
                        time.sleep(chosen.uniform(0, 1.1 * duration / (1 if ranks == 1 else 2)))
                        os.kill(child, signal.SIGKILL)
                    _, status = os.waitpid(child, 0)
                    if os.WIFEXITED(status):
                        if os.WEXITSTATUS(status):
                            sys.exit(f"a run of {options} failed after {kills} kills")
                        break
                    kills += 1
                    survived += 1
                    resumed += any(out.glob("*journal")) or any(out.glob("*.shard"))
            made.append(outputs(out))
        if made[0] != made[1]:
            differing = sorted(name for name in {**made[0], **made[1]} if made[0].get(name) != made[1].get(name))
            sys.exit(f"{options} with {jobs} jobs differs in {differing} after {kills} kills")
        runs += 1
    print(kills, runs, resumed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
