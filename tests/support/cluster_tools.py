"""What the tests of bpetite.cluster share: a corpus, what lies in a folder, an engine of this process."""
from __future__ import annotations

import gzip
import json
import os
import pickle
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bpetite import Tokenizer
from bpetite.cluster.executor import Outcome, Work
from bpetite.corpus.encoding.codec import Codec, Ids, Offsets, codec_of

FORMATS = ["npy", "nanogpt", "llmc", "megatron", "datatrove", "dolma", "parquet"]

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "Zürich", "東京", "said", "'we'll", "go'", "1", "x\n\n", "", "!"]


def text_of(seed: int, words: int) -> str:
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(words))


def make_corpus(folder: Path) -> Path:
    """Text, JSON lines (one of them compressed), empty documents and files, names that need care."""
    folder.mkdir(parents=True)
    (folder / "a one.txt").write_text(
        "<|endoftext|>".join(text_of(seed, seed * 7 % 90) for seed in range(60)), encoding="utf-8"
    )
    (folder / "b empty.txt").write_bytes(b"")
    records = [{"id": f"r{seed}", "text": text_of(seed, seed % 50)} for seed in range(80)]
    (folder / "ć lines.jsonl").write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    with gzip.GzipFile(folder / "d.jsonl.gz", "wb", mtime=0) as file:
        file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records[:30]))
    (folder / "e last.txt").write_text("<|endoftext|><|endoftext|>one more<|endoftext|>", encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder and what they hold."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class HereExecutor:
    """Runs jobs in this process, everything that travels pickled: backwards, and every third one twice."""

    def __init__(self, *, lose: int | None = None) -> None:
        self.lose, self.begun = lose, 0

    def run(self, work: Work) -> Generator[tuple[int, Outcome], None, None]:
        sent = pickle.dumps((work.call, work.shared))
        for number in reversed(range(len(work.jobs))):
            for _ in range(1 + (number % 3 == 0)):
                if not work.wanted(number):
                    break
                self.begun += 1
                if self.begun == self.lose:
                    raise ConnectionError("the engine is gone")
                call, shared = pickle.loads(sent)
                job = pickle.loads(pickle.dumps(work.jobs[number]))

                def report(value: Any, number: int = number) -> None:
                    if work.on_report is not None:
                        work.on_report(number, value)

                outcome = call(shared, job, report)
                yield number, pickle.loads(pickle.dumps(outcome))


def look_up(shared: dict[int, str], job: int, report: Callable[[Any], None]) -> tuple[int, str]:
    """A job that fails where there is nothing."""
    return job, shared[job]


def modules(shared: object, job: object, report: Callable[[Any], None]) -> list[str]:
    """A job that tells what its process has imported."""
    return [*sys.modules]


def slow_codec(tokenizer: Tokenizer, folder: Path, seconds: float) -> Codec:
    """A tokenizer as a corpus sees it that takes its time, and notes in a folder which process is at work."""
    folder.mkdir(parents=True, exist_ok=True)
    codec = codec_of(tokenizer)
    return replace(codec, encode=partial(_slow, codec, str(folder), seconds), encode_separated=None)


def _slow(codec: Codec, folder: str, seconds: float, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
    Path(folder, f"{os.getpid()}.{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return codec.encode(texts)


def workers_seen(folder: Path) -> list[int]:
    """The processes that a slow codec has noted, the latest last, one entry a call."""
    found = [path.name.split(".") for path in folder.iterdir()]
    return [int(pid) for pid, when in sorted(found, key=lambda one: int(one[1]))]


def kill_workers(folder: Path, times: int, every: int, done: threading.Event) -> list[int]:
    """Kill (-9) the process that encoded last after each ``every`` calls, ``times`` times; returns those killed."""
    killed: list[int] = []
    while len(killed) < times and not done.wait(0.05):
        seen = workers_seen(folder)
        if len(seen) >= every * (len(killed) + 1) and seen[-1] not in (*killed, os.getpid()):
            os.kill(seen[-1], signal.SIGKILL)
            killed.append(seen[-1])
    return killed


def big_corpus(folder: Path, megabytes: int) -> Path:
    """One text file of so many documents of a megabyte."""
    path = folder / "big.txt"
    with path.open("wb") as file:
        for number in range(megabytes):
            file.write((text_of(number, 2000) + "\n").encode() * 105 + b"<|endoftext|>")
    return path
