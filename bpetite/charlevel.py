"""Character-level BPE as textbooks teach it: rules applied to the whole text, one pass each, in order.

For reading, teaching and comparing. :class:`bpetite.Tokenizer` differs: it works on bytes, splits the text first and
always joins the pair of lowest rank.

Source: R. Sennrich, B. Haddow and A. Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016.
"""
from collections.abc import Iterable, Mapping

from .reference import replace_pair

__all__ = ["encode"]


def encode(text: str, vocab: Mapping[str, int], merges: Iterable[tuple[str, str] | str]) -> list[int]:
    """Ids of a text: characters, then each rule in order joins every non-overlapping occurrence, left to right.

    Each rule is applied once, even if a later rule makes it applicable again.

    Args:
        text: Any str.
        vocab: token -> id.
        merges: Rules in order: pairs of tokens, or lines "left right" as in a merges.txt.

    Returns:
        The ids of the final tokens.

    Raises:
        KeyError: A final token is not in the vocabulary; the error holds the token.
        ValueError: A rule is not a pair.

    >>> vocab = {"l": 0, "o": 1, "w": 2, "e": 3, "r": 4, "lo": 5, "low": 7, "er": 8, "lower": 6}
    >>> encode("lower", vocab, ["l o", "e r", "lo w", "low er"])
    [6]
    """
    tokens = list(text)
    for rule in merges:
        pair = tuple(rule.split(" ")) if isinstance(rule, str) else tuple(rule)
        if len(pair) != 2 or not all(isinstance(part, str) and part for part in pair):
            raise ValueError(f"a merge rule is two tokens, not {rule!r}")
        tokens = replace_pair(tokens, (pair[0], pair[1]))
    return [vocab[token] for token in tokens]
