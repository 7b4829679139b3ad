"""The steps that compiling a pattern may take, and the error where no scanner comes of it."""
from __future__ import annotations

__all__ = ["Budget", "NoTransducer"]

#: o200k takes 250,000, the most of the published patterns.
MAX_STEPS = 1_000_000


class NoTransducer(ValueError):
    """No transducer within the limits of `pattern` and `compile` cuts as the pattern does."""


class Budget:
    """Counts the steps of one compilation, in units of about one operation in Python.

    A few patterns have automata that grow exponentially, `(?:a|b)*a(?:a|b){20}` for one, and thousands of alternatives
    make any of them large. When the steps are spent, the pattern is left to `regex`. Counted work, unlike time, is the
    same on every machine, so a pattern gets the same kind of scanner everywhere.
    """

    def __init__(self) -> None:
        self.left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Raises `NoTransducer` when the steps are spent."""
        self.left -= steps
        if self.left < 0:
            raise NoTransducer(f"compiling it takes more than {MAX_STEPS:,} steps")
