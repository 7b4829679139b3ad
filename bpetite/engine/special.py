"""Which special tokens a call recognises, and which it refuses.

The search itself is compiled (_special.pyx); this module turns the arguments ``allowed_special`` and
``disallowed_special`` into sets of literals.
"""
from collections.abc import Collection, Mapping

__all__ = ["choose"]


def choose(
    special_tokens: Mapping[str, int], allowed: str | Collection[str], disallowed: str | Collection[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The literals to recognise and the literals to refuse.

    Args:
        special_tokens: literal -> id of a tokenizer.
        allowed: "all" or a collection of its literals.
        disallowed: "all", which means all that are not allowed, or a collection of its literals.

    Raises:
        ValueError: A name is no special token of the tokenizer.
        TypeError: A str other than "all".

    >>> choose({"<s>": 1, "</s>": 2}, {"<s>"}, "all")
    (frozenset({'<s>'}), frozenset({'</s>'}))
    """
    every = frozenset(special_tokens)
    recognised = every if allowed == "all" else _names(allowed, every, "allowed_special")
    refused = every - recognised if disallowed == "all" else _names(disallowed, every, "disallowed_special")
    return recognised, refused


def _names(names: str | Collection[str], every: frozenset[str], keyword: str) -> frozenset[str]:
    if isinstance(names, str | bytes):
        raise TypeError(f'{keyword} is "all" or a collection of special tokens, not {names!r}')
    chosen = frozenset(names)
    if unknown := chosen - every:
        raise ValueError(f"{keyword}: {min(map(repr, unknown))} is no special token of this tokenizer")
    return chosen
