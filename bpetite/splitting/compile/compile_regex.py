"""Regular expressions of callers and files, compiled by `regex`, or refused in one way whatever is wrong with them."""
from __future__ import annotations

import regex

from ..pattern.regex_parser import quoted

__all__ = ["compile_regex"]


def compile_regex(pattern: str, what: str = "split pattern") -> regex.Pattern[str]:
    """The compiled pattern.

    Raises `ValueError` that names the pattern, the reason and the position: it is no regular expression, or it holds a
    lone surrogate, which no file of UTF-8 can hold. `what` is how the message calls it.
    """
    try:
        pattern.encode("utf-8")
        return regex.compile(pattern)
    except UnicodeEncodeError as bad:
        raise ValueError(f"{what} {quoted(pattern)}: a lone surrogate at position {bad.start}") from None
    except Exception as bad:  # RecursionError, OverflowError, TypeError, KeyError: `regex` lets many pass
        reason = "groups too deep inside each other" if isinstance(bad, RecursionError) else str(bad)
        raise ValueError(f"{what} {quoted(pattern)}: not a regular expression: {reason}") from None
