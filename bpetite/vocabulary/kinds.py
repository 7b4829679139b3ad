"""From ranks to a merge list and back, if both give the same ids for every text; an error if they do not.

Under a merge list only the listed pair makes a token. Under ranks any two neighbours that join to a token do, and a
pre-token that is a token is taken whole. Each token can be decided alone: encode its bytes by ranks, without taking it
whole. Either the last step joins two parts to the token, or the token is never reached.

- In a longer text, a token is always joined from the same two parts as alone: until then nothing was joined across its
  ends, so its bytes went through the same steps as alone, in the same order.
- So the list of these pairs, in the order of the ids, is a merge list with the same ids for every text. At each step
  the pair that ranks join is in the list; and ranks join all pairs of the list, so this pair comes first there too.
  Parts may have higher ids than their token; some in Llama 3 do.
- A token that is never reached needs ``ignore_merges``, which finds it if it is a whole pre-token.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest

from ._merge_builder import last_steps
from .vocab import Vocab


def to_merges(vocab: Vocab) -> Vocab:
    """The vocabulary with a merge list that gives the same ids as its ranks; a vocabulary with merges is returned as it
    is.

    ``ignore_merges`` is set if no merge reaches some token.

    >>> ranks = Vocab({0: b"a", 1: b"b", 2: b"c", 3: b"ab", 4: b"abc"}, None, {}, pattern=None)
    >>> to_merges(ranks).merges
    ((0, 1), (3, 2))
    """
    if vocab.merges is not None:
        return vocab
    merges, unreached = last_steps(vocab.token_table, vocab.not_looked_up)
    return replace(vocab, merges=merges, ignore_merges=unreached > 0)


def to_ranks(vocab: Vocab) -> Vocab:
    """The vocabulary of the ranks kind that gives the same ids as its merge list; a vocabulary of ranks is returned as
    it is.

    Raises:
        ValueError: Ranks would give other ids for some text, or might; names the first token that prevents it.

    >>> vocab = Vocab.build({0: b"a", 1: b"b", 2: b"c", 3: b"ab", 4: b"bc"}, [(b"b", b"c"), (b"a", b"b")], pattern=None)
    >>> to_ranks(vocab)
    Traceback (most recent call last):
    ValueError: not the ids of the merge list: merge 0 joins b'b' and b'c', and by ranks b'a' and b'b' are joined next
    """
    if vocab.merges is None:
        return vocab
    ranks = replace(vocab, merges=None, ignore_merges=False)
    back = to_merges(ranks)
    assert back.merges is not None  # narrowed for the type checker
    tokens = vocab.tokens
    for position, (listed, ranked) in enumerate(zip_longest(vocab.merges, back.merges)):
        if listed != ranked:
            here = f"joins {_show(listed, tokens)}" if listed else "is missing"
            there = f"{_show(ranked, tokens)} are joined next" if ranked else "there is no further one"
            raise ValueError(f"not the ids of the merge list: merge {position} {here}, and by ranks {there}")
    if back.ignore_merges and not vocab.ignore_merges:
        merged = {tokens[left] + tokens[right] for left, right in back.merges}
        ranked = (token for token_id, token in tokens.items() if token_id not in vocab.not_looked_up)
        token = next(token for token in ranked if len(token) > 1 and token not in merged)
        raise ValueError(
            f"not the ids of the merge list: token {vocab.find(token)} {token!r} is reached by no "
            "merge, and by ranks a pre-token that equals it is taken whole"
        )
    return ranks


def _show(merge: tuple[int, int], tokens: Mapping[int, bytes]) -> str:
    return f"{tokens[merge[0]]!r} and {tokens[merge[1]]!r}"
