"""Training ends with the exception that its progress raises, or that a signal raises, in every way to train."""
import random
import signal
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from bpetite import Tokenizer, count_pretokens
from tests.support.alarms import Alarm, SecondRing, alarm
from tests.support.running import running_threads

LARGE = ["the cat and the dog " * 20] * 3000
TEXTS = ["the cat sat on the mat, and the dog sat on the cat " * 3, "a bird, a cup and a cat"] * 40


class Cancelled(Exception):
    pass


WAYS: dict[str, Callable[..., Any]] = {
    "train": lambda **options: Tokenizer.train(TEXTS, 280, **options),
    "threads": lambda **options: Tokenizer.train(LARGE, 259, **options),
    "superwords": lambda **options: Tokenizer.train(TEXTS, 290, superwords_from=270, **options),
    "counts": lambda **options: Tokenizer.train_from_counts(count_pretokens(TEXTS), 280, **options),
    "extend": lambda **options: Tokenizer.train(TEXTS, 260).extend(TEXTS, 9, **options),
    "extend by superwords": lambda **options: Tokenizer.train(TEXTS, 270).extend(
        TEXTS, 9, superword_pattern="superbpe", **options
    ),
    "count": lambda **options: count_pretokens(TEXTS, memory="1MB", **options),
}


@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt])
@pytest.mark.parametrize("way", WAYS)
def test_every_call_of_progress_may_cancel(way: str, error: type[BaseException]) -> None:
    calls: list[tuple[Any, ...]] = []
    expected = WAYS[way](progress=lambda *call: calls.append(call))
    before = running_threads()
    if way == "superwords":
        assert [stage for stage, _ in groupby(stage for stage, _, _ in calls)] == ["count", "merge"] * 2
    assert {stage for stage, _, _ in calls} >= ({"merge"} if way == "counts" else {"count"})
    for number in range(len(calls)):
        left = iter(range(number))

        def cancel(*_: Any, left: Any = left) -> None:
            if next(left, None) is None:
                raise error

        with pytest.raises(error):
            WAYS[way](progress=cancel, **({} if way == "counts" else {"num_threads": 1 + number % 2}))
        assert running_threads() == before
    again = WAYS[way]()
    assert again == expected if way != "count" else dict(again) == dict(expected)


SIGNALLED: dict[str, Callable[[bytes], Any]] = {
    "counting": lambda words: count_pretokens([words] * 4, num_threads=1),
    "counting, threads": lambda words: count_pretokens([words] * 4, num_threads=3),
    "counting, not ASCII": lambda words: count_pretokens([words.decode().replace("e", "é")] * 4, num_threads=1),
    "counting, on disk": lambda words: count_pretokens([words] * 4, memory="1MB", num_threads=2),
    "merging": lambda words: Tokenizer.train_from_counts({words: 1}, 100_000),
    "extending": lambda words: Tokenizer.train("ab", 256).extend({words: 1}, 100_000),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
@pytest.mark.parametrize("name", SIGNALLED)
def test_a_signal_ends_counting_and_merging(name: str) -> None:
    words = random.Random(0).randbytes(16_000_000).translate(bytes(97 + byte % 26 if byte < 220 else 32
                                                                   for byte in range(256)))
    before = running_threads()
    with alarm(SecondRing()), pytest.raises(Alarm):
        SIGNALLED[name](words)
    assert running_threads() == before
    assert count_pretokens(["ab ab", "ab"], num_threads=2) == {b"ab": 2, b" ab": 1}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
@pytest.mark.parametrize("use", [
    pytest.param(lambda counts: counts + counts + counts, marks=pytest.mark.slow),
    lambda counts: Tokenizer.train_from_counts(counts, 257),
])
def test_a_signal_ends_the_use_of_many_counts(use: Callable[[Any], Any]) -> None:
    """Adding them, and the pass over all of them before the first merge."""
    data = random.Random(0).randbytes(12_000_000)
    numbers = memoryview(data).cast("I")
    counts = count_pretokens([" ".join([f"{number:x}" for number in numbers])], pattern=r" ?\w+", num_threads=1)
    with alarm(SecondRing(), every=0.005), pytest.raises(Alarm):
        use(counts)
