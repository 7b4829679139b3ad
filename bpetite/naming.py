"""Names of encodings, models and patterns as people spell them: `cl100k_base`, `CL100K-base`, `gpt-2`."""
from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["folded", "nearest", "suggestion"]

_IGNORED = re.compile(r"[\s._-]+")


def folded(name: str) -> str:
    """A name without what its spellings differ in: case, hyphens, underscores, dots and spaces.

    >>> folded("CL100K-base"), folded("gpt-2")
    ('cl100kbase', 'gpt2')
    """
    return _IGNORED.sub("", name).casefold()


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is spelled most like this one; None where all are far from it.

    >>> nearest("cl100k_bse", ["o200k_base", "cl100k_base"])
    'cl100k_base'
    """
    from difflib import get_close_matches  # only on the way to an error

    spelled = {folded(one): one for one in known}
    found = get_close_matches(folded(name), spelled, n=1, cutoff=0.7)
    return spelled[found[0]] if found else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the nearest known one, or all of them.

    >>> suggestion("cl100k_bse", ["o200k_base", "cl100k_base"])
    "did you mean 'cl100k_base'?"
    """
    names = list(known)
    near = nearest(name, names)
    return f"known are {', '.join(names)}" if near is None else f"did you mean {near!r}?"
