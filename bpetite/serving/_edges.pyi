from collections.abc import Callable, Sequence

from ..core._special import Specials
from ..core._tokenizer_base import TokenizerBase
from .edges import Piece

def read(
    tokenizer: TokenizerBase,
    data: bytes,
    specials: Specials | None,
    block: int,
    stops: Sequence[int],
    final: bool,
    fresh: Callable[[bytes, int], bool] | None,
    kind: type[Piece],
) -> tuple[list[Piece], int | None]:
    """The pieces of a text that a compiled scanner cuts, as :meth:`bpetite.serving.edges.Edges.read` gives them.

    Args:
        tokenizer: The tokenizer.
        data: The text, in UTF-8; normalized, where the tokenizer normalizes.
        specials: The special tokens to recognise, or None.
        block: Bytes that are read at a time.
        stops: Offsets, ascending; reading ends at the first of them that is an edge.
        final: Whether the text ends there; its end is an edge then. Otherwise what is behind the last one is open.
        fresh: Which ends are edges: a function of the text and an offset; None where all are.
        kind: The class of a piece: a named tuple of end, ids, read.
    """
