"""Kill corpus runs at random moments until each is done, and compare what they leave with an uninterrupted run.

Run by test_kill.py in a process of its own, because it forks: ``corpus_kills.py FOLDER SEED KILLS``. Prints the
number of kills, of runs, and of kills that found a journal to go on from.
"""
import os
import random
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from corpus_tools import byte_codec, outputs, some_documents, write_inputs

from bpetite.corpus import Mixture, MixtureSource, Options, Sources, make_task
from bpetite.corpus.reading.given import given_documents

FORMATS = ["npy", "npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet", "mds", "litdata"]

#: Kills of one run; then it may end.
MOST = 20


def start(task: object, jobs: int) -> int:
    """Run a task in a new process; returns its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        task.run(jobs=jobs)  # type: ignore[attr-defined]
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def main(folder: Path, seed: int, wanted: int) -> None:
    chosen = random.Random(seed)
    documents = some_documents(120)
    inputs = write_inputs(folder / "in", documents)
    names = [str(path) for path in inputs]
    mixture = Mixture((MixtureSource("one", tuple(names), 1.4), MixtureSource("two", tuple(names[:2]), 0.6)))
    kills = runs = resumed = 0
    while kills < wanted:
        format = FORMATS[runs % len(FORMATS)]
        jobs = chosen.choice([1, 2, 4])
        folders = format in ("mds", "litdata")
        shuffle, drop = chosen.choice([None, None, 1]), chosen.choice([False, False, True])
        most = chosen.choice([None, 20])
        pack = chosen.choice([None, 7, 32]) if format == "npy" else None
        options = Options(
            format=format,
            pack=pack,
            pack_last="drop" if pack is None else chosen.choice(["drop", "pad"]),
            loss_mask=pack is not None and chosen.choice([False, True]),
            shard_tokens=chosen.choice([None, 300, 1000]),
            val_fraction=0.0 if folders else chosen.choice([0.0, 0.0, 0.2]),
            eot=chosen.choice([None, "append", "prepend"]),
            on_error="skip",
            rejected=chosen.choice([False, True]),
            shuffle=shuffle,
            drop_duplicates=drop,
            memory=chosen.choice([40_000, 1 << 20]) if drop or shuffle else 1 << 30,
            max_document_bytes=chosen.choice([1 << 30, 100]),
            min_document_bytes=chosen.choice([0, 5]),
            max_document_tokens=most,
            long_documents=chosen.choice(["cut", "split", "skip"]) if most else "cut",
        )
        made = []
        sources = chosen.choice([inputs, inputs, mixture, Sources((given_documents(documents),))])
        for name in ("whole", "killed"):
            out = folder / name
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            task = replace(
                make_task(sources, out if folders else out / "o", byte_codec(), options=options),
                block=chosen.choice([100, 300, 1000]),
                checkpoint_seconds=chosen.choice([0, 0, 0.005]),
            )
            began = time.monotonic()
            if name == "whole":
                task.run(jobs=jobs)
                duration = time.monotonic() - began
            survived = 0
            while name == "killed":
                child = start(task, chosen.choice([jobs, jobs, 1]))
                if survived < MOST:  # a machine with much to do would kill one run for ever
                    time.sleep(chosen.uniform(0, 1.1 * duration))
                    os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
                if os.WIFEXITED(status):
                    if os.WEXITSTATUS(status):
                        sys.exit(f"a run of {options} failed after {kills} kills")
                    break
                kills += 1
                survived += 1
                resumed += (out / ("journal" if folders else "o.journal")).exists()
            made.append(outputs(out))
        if made[0] != made[1]:
            differing = sorted(name for name in {**made[0], **made[1]} if made[0].get(name) != made[1].get(name))
            sys.exit(f"{options} with {jobs} jobs differs in {differing} after {kills} kills")
        runs += 1
    print(kills, runs, resumed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
