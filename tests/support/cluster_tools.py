"""What the tests of bpetite.cluster share: a corpus, the content of a folder, a map in this process."""
import os
import pickle
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from bpetite import Tokenizer
from bpetite.cluster.calls import Call, results
from bpetite.corpus import Codec, codec_of
from bpetite.corpus.codec import Ids, Offsets

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "Zürich", "東京", "said", "'we'll", "go'", "1", "x\n\n", "", "!"]


def text_of(seed: int, words: int) -> str:
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(words))


@cache
def trained() -> Tokenizer:
    return Tokenizer.train([text_of(seed, 200) for seed in range(20)], 300)


class HereMap:
    """Makes calls in this process, everything that travels pickled: backwards, and every third one twice."""

    def __init__(self, *, lose: int | None = None) -> None:
        self.lose, self.begun = lose, 0

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        sent = pickle.dumps(Call(function))
        outcomes = {}
        for number in reversed(range(len(items))):
            for _ in range(1 + (number % 3 == 0)):
                self.begun += 1
                if self.begun == self.lose:
                    raise ConnectionError("the cluster is gone")
                item = pickle.loads(pickle.dumps(items[number]))
                outcomes.setdefault(number, pickle.loads(pickle.dumps(pickle.loads(sent)(item))))
        return results(outcomes[number] for number in range(len(items)))


def slow_codec(tokenizer: Tokenizer, folder: Path, seconds: float) -> Codec:
    """A tokenizer as a corpus sees it that takes its time, and notes in a folder which process is at work."""
    folder.mkdir(parents=True, exist_ok=True)
    codec = codec_of(tokenizer)
    return replace(codec, encode=partial(_slow, codec, str(folder), seconds), encode_separated=None)


def _slow(codec: Codec, folder: str, seconds: float, texts: Sequence[bytes]) -> tuple[Ids, Offsets]:
    Path(folder, f"{os.getpid()}.{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    return codec.encode(texts)


def kill_workers(folder: Path, times: int, every: int, done: threading.Event) -> list[int]:
    """Kill (-9) the process that encoded last after each ``every`` calls, ``times`` times; returns those killed."""
    killed: list[int] = []
    while len(killed) < times and not done.wait(0.05):
        seen = sorted((path.name.split(".") for path in folder.iterdir()), key=lambda one: int(one[1]))
        if len(seen) >= every * (len(killed) + 1) and (last := int(seen[-1][0])) not in (*killed, os.getpid()):
            os.kill(last, signal.SIGKILL)
            killed.append(last)
    return killed


def big_corpus(folder: Path, megabytes: int) -> Path:
    """A folder of text files of 4 MB: documents of a megabyte."""
    (folder / "big").mkdir()
    for number in range(megabytes):
        with (folder / "big" / f"{number // 4:03}.txt").open("ab") as file:
            file.write((text_of(number, 2000) + "\n").encode() * 105 + b"<|endoftext|>")
    return folder / "big"
