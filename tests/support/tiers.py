"""Cases of one test of which some run every time, and all of them with ``-m slow``."""
from collections.abc import Iterable
from typing import Any

import pytest


def slow_but(values: Iterable[Any], *quick: Any) -> list[Any]:
    """The values, marked `slow` but for those that are quick. Raises ValueError where a quick one is no value."""
    values = list(values)
    if unknown := [value for value in quick if value not in values]:
        raise ValueError(f"{unknown} are none of {values}")
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]
