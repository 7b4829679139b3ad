"""Training ends with the exception that its progress raises, in every round of every way to train."""
from collections.abc import Callable
from typing import Any

import pytest

from bpetite import Tokenizer, count_pretokens
from bpetite.training import train_parity

TEXTS = ["the cat sat on the mat, and the dog sat on the cat " * 3, "a bird, a cup and a cat"] * 40


class Cancelled(Exception):
    pass


WAYS: dict[str, Callable[..., Any]] = {
    "train": lambda **options: Tokenizer.train(TEXTS, 280, **options),
    "superwords": lambda **options: Tokenizer.train(TEXTS, 290, superwords_from=270, **options),
    "counts": lambda **options: Tokenizer.train_from_counts(count_pretokens(TEXTS), 280, **options),
    "extend": lambda **options: Tokenizer.train(TEXTS, 260).extend(TEXTS, 9, **options),
    "extend by superwords": lambda **options: Tokenizer.train(TEXTS, 270).extend(
        TEXTS, 9, superword_pattern="superbpe", **options
    ),
    "parity": lambda **options: train_parity({"a": TEXTS, "b": TEXTS[1:]}, 280, **options),
    "parity after all": lambda **options: train_parity({"a": TEXTS, "b": TEXTS[1:]}, 280, global_merges=9, **options),
    "count": lambda **options: count_pretokens(TEXTS, memory="1MB", **options),
}


@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt])
@pytest.mark.parametrize("way", WAYS)
def test_every_call_of_progress_may_cancel(way: str, error: type[BaseException]) -> None:
    calls: list[tuple[Any, ...]] = []
    expected = WAYS[way](progress=lambda *call: calls.append(call))
    assert {stage for stage, _, _ in calls} >= ({"merge"} if way == "counts" else {"count"})
    for number in range(len(calls)):
        left = iter(range(number))

        def cancel(*_: Any, left: Any = left) -> None:
            if next(left, None) is None:
                raise error

        with pytest.raises(error):
            WAYS[way](progress=cancel)
    again = WAYS[way]()
    assert again == expected if way != "count" else dict(again) == dict(expected)
