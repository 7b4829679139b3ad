from array import array

from ..engine._special import Specials
from ..engine._surface import Surface

def append(
    tokenizer: Surface,
    text: str,
    specials: Specials,
    block: int,
    opened: tuple[str, array[int]],
    blocks: list[tuple[str, array[int]]],
    chars: array[int],
    tokens: array[int],
    reach: array[int],
) -> tuple[tuple[str, array[int]], int, int, array[int]]:
    """Put a text behind those that a :class:`bpetite.serving.growing_text.GrowingText` holds.

    Args:
        tokenizer: One whose text goes through a compiled scanner alone.
        text: The text, without lone surrogates.
        specials: The special tokens to recognise.
        block: Bytes that are read at a time.
        opened: The text behind the last edge, and its ids, an array of uint32.
        blocks: The texts between edges, and their ids, likewise.
        chars, tokens, reach: Of each edge, see that class.

    Returns:
        What is behind the last edge now; and the change: where it begins, how many ids are gone, and the new ones,
        likewise. No list is made of these: that would take longer than all the rest.
    """
