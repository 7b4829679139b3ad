from ..core._tokenizer_base import TokenizerBase
from ..engine.options import Ids, SpecialSelection

def first_divergence(
    tokenizer: TokenizerBase, ids: Ids, *, allowed_special: SpecialSelection = "all", num_threads: int | None = 1
) -> int | None:
    """The index of the first id that differs from those of ``encode(decode(ids))``; None where all are the same.

    Where one of the two is the beginning of the other, it is the length of the shorter. Where the bytes of the ids are
    not UTF-8, so that no text has them, it is the index of the token with the first byte that is wrong.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: The special tokens that encoding recognises, as for :meth:`bpetite.Tokenizer.encode`.
        num_threads: Threads that encode; one for each usable processor when None, and never more.

    Raises:
        UnknownTokenError: A KeyError: an id is not in the vocabulary.

    >>> from bpetite import Tokenizer
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode("ab ab"), tok.first_divergence([256, 257]), tok.first_divergence([256, 32, 256])
    ([256, 257], None, 1)
    """
def is_canonical(
    tokenizer: TokenizerBase, ids: Ids, *, allowed_special: SpecialSelection = "all", num_threads: int | None = 1
) -> bool:
    """Whether ids are those of their text: ``encode(decode(ids)) == ids``, faster, and False where there is no text.

    Models that sample tokens give ids that training has never seen together; a check of rollouts finds them.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: As for :meth:`first_divergence`, and so are ``num_threads`` and what is raised.

    >>> from bpetite import Tokenizer
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.is_canonical([256, 257, 258]), tok.is_canonical([97, 98]), tok.is_canonical([0xC3])
    (True, False, False)
    """
