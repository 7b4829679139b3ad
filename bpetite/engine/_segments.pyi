from typing import Any

from .options import SpecialSelection

def encode_joined(
    encoder: Any,
    lists: Any,
    segments: list[tuple[str, bool]],
    allowed_special: SpecialSelection,
    disallowed_special: SpecialSelection,
) -> list[int]:
    """The ids of pairs (str, is it trusted), joined."""
