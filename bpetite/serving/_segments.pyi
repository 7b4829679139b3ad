from collections.abc import Iterable
from typing import Any

from ..engine.options import SpecialSelection

def checked(segments: Iterable[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """A list of pairs (str, is it trusted); TypeError for anything else."""

def encode_joined(
    encoder: Any,
    lists: Any,
    segments: list[tuple[str, bool]],
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
) -> list[int]:
    """The ids of pairs (str, is it trusted), joined."""
