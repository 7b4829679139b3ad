"""The default of an option that has no value for "not given": leaving it out differs from all its values."""
from __future__ import annotations

from enum import Enum
from typing import Final, Literal

__all__ = ["NOT_GIVEN", "NotGiven"]


class NotGiven(Enum):
    """The type of :data:`NOT_GIVEN`: ``option: str | None | NotGiven = NOT_GIVEN``."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


#: The value of an option that was left out.
NOT_GIVEN: Final[Literal[NotGiven.NOT_GIVEN]] = NotGiven.NOT_GIVEN
