"""The work that compiling one pattern may take, counted in steps.

A few patterns have automata that grow exponentially, `(?:a|b)*a(?:a|b){20}` for one, and thousands of alternatives make
any of them large. Each stage counts what it does in units of about one operation in Python; when the steps are spent,
the pattern is left to `regex`. Counted work, unlike time, is the same on every machine, so a pattern gets the same kind
of scanner everywhere.
"""
from __future__ import annotations

__all__ = ["MAX_STEPS", "Budget", "NoTransducer"]

#: o200k takes 250,000, the most of the published patterns.
MAX_STEPS = 1_000_000


class NoTransducer(ValueError):
    """No transducer within the limits of these modules cuts as the pattern does."""


class Budget:
    """Counts the steps of one compilation."""

    def __init__(self) -> None:
        self.left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Raises `NoTransducer` when the steps are spent."""
        self.left -= steps
        if self.left < 0:
            raise NoTransducer(f"compiling it takes more than {MAX_STEPS:,} steps")
