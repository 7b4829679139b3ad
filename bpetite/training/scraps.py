"""Training without scraps: tokens that are little but steps to longer ones leave their places to others.

A merge list needs the parts of every token, so a token that others are made of cannot simply go. What can be done
within plain encoding: a pre-token that is a token is taken whole (``ignore_merges``, which tokenizer.json has), and
needs no merges then. So a scrap goes where the longer tokens that come by it are nearly always whole pre-tokens: its
merge goes, and so do those of the longer ones, which stay as whole pre-tokens. ``Kentuck`` goes, ``Kentucky`` stays.

In rounds, on the counts of pre-tokens as encoded at that time. A token *comes by* another one if that is it or one of
its parts, or of theirs, by its first merge. For a learned token t,

- ``uses`` are the tokens of the corpus that are t: pre-tokens that are t, and those inside of pre-tokens that are no
  token;
- ``through`` are all uses of tokens that come by t;
- ``lost`` are the uses of t, and those inside of other pre-tokens of all tokens that come by t: what would be encoded
  by more tokens without t.

t is a scrap where ``uses <= (1 - threshold) * through`` and ``lost < worth``; worth is the ``through`` of the token
learned last, what a free place gains. All scraps go at once, with the merges that have or make them, and with those of
tokens that have no merge any more; of these tokens those stay that are at least ``worth`` pre-tokens. Then as many
tokens are learned anew, from the pre-tokens that are no token, and the next round begins. It ends with a round without
scraps, or after ROUNDS; a round is not kept if too few pairs are left to fill the places.

PickyBPE (P. Chizhov et al., "BPE Gets Picky: Efficient Vocabulary Refinement During Tokenizer Training", EMNLP 2024)
decides at each merge, by the share of its part's uses that the pair takes (IoS), and encodes by the events of the
training, merges and splits in their order. That is no merge list, and no file that other libraries read has a place for
it. Here more scraps stay, those inside of longer words, and any library with ``ignore_merges`` gives the same ids.
"""
from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from itertools import chain

from .._merge import MergeTable
from ..vocabulary._merge_builder import build_merge_table
from ..vocabulary._tokens import TokenTable
from ._count_table import CountTable
from ._merger import Merger
from ._token_uses import token_uses

__all__ = ["ROUNDS", "Learned", "without_scraps"]

#: Rounds of removing and learning anew; further ones exchange a few tokens that are worth the same.
ROUNDS = 3


class Learned:
    """Tokens and merges as a :class:`Merger` shows them.

    Args:
        tokens: The tokens by internal id, the 256 bytes first.
        pairs: left, right of each merge, internal ids.
    """

    def __init__(self, tokens: list[bytes], pairs: list[tuple[int, int]]) -> None:
        self._tokens = tokens
        self._pairs = pairs

    @classmethod
    def of(cls, merger: Merger) -> Learned:
        """What a merger has learned."""
        return cls(merger.all_tokens(), list(merger.merges()))

    @property
    def tokens(self) -> int:
        """How many tokens there are, the 256 bytes included."""
        return len(self._tokens)

    def token(self, token: int) -> bytes:
        """The bytes of a token by internal id."""
        return self._tokens[token]

    def all_tokens(self) -> list[bytes]:
        """All tokens, by internal id."""
        return list(self._tokens)

    def merges(self, ids: list[int] | None = None) -> tuple[tuple[int, int], ...]:
        """The merges in order: (left, right), internal ids or what `ids` has for them."""
        return tuple(self._pairs if ids is None else [(ids[left], ids[right]) for left, right in self._pairs])

    def results(self) -> list[int]:
        """What each merge makes."""
        id_of = {token: number for number, token in enumerate(self._tokens)}
        return [id_of[self._tokens[left] + self._tokens[right]] for left, right in self._pairs]

    def give_to(self, merger: Merger, counts: CountTable) -> None:
        """Make this the beginning of what a new merger knows, and give it the pre-tokens that are no token, encoded.

        IN: tokens that no merge makes come last.
        """
        merger.know(array("I", chain.from_iterable(self._pairs)))
        for token in self._tokens[merger.tokens :]:
            merger.add_token(token)
        merger.add_encoded(counts, *self.tables(), array("I", range(self.tokens)), True)

    def tables(self) -> tuple[TokenTable, MergeTable]:
        """Its tokens and merges as the core reads them."""
        tokens = TokenTable(dict(enumerate(self._tokens)))
        return tokens, build_merge_table(tokens, self._pairs, ())


def without_scraps(learned: Learned, counts: CountTable, threshold: float) -> Learned | None:
    """What is left without the scraps of a round, those without a merge last; None where there are none."""
    results = learned.results()
    parts: dict[int, tuple[int, int]] = {}
    for pair, result in zip(learned.merges(), results, strict=True):
        parts.setdefault(result, pair)
    if not parts:
        return None
    whole, inside = token_uses(counts, *learned.tables())
    through: Counter[int] = Counter()
    lost = Counter(dict(enumerate(whole)))
    for token, by in _closures(parts).items():
        for part in by:
            through[part] += whole[token] + inside[token]
            lost[part] += inside[token]
    worth = through[results[-1]]
    scraps = {
        token
        for token in parts
        if whole[token] + inside[token] <= (1 - threshold) * through[token] and lost[token] < worth
    }
    if not scraps:
        return None
    made = dict.fromkeys(range(256))  # in the order in which the merges that stay make them
    kept = []
    for pair, result in zip(learned.merges(), results, strict=True):
        if result not in scraps and made.keys() >= set(pair):
            kept.append(pair)
            made[result] = None
    others = (
        token for token in range(256, learned.tokens)
        if token not in made and token not in scraps and (whole[token] >= worth or token not in parts)
    )  # fmt: skip
    ids = {old: new for new, old in enumerate([*made, *others])}
    return Learned([learned.token(old) for old in ids], [(ids[left], ids[right]) for left, right in kept])


def _closures(parts: Mapping[int, tuple[int, int]]) -> dict[int, frozenset[int]]:
    """Each token that merges make, and those of its parts, theirs, and so on. IN: parts come before what they make."""
    found: dict[int, frozenset[int]] = {}
    nothing: frozenset[int] = frozenset()
    for token, (left, right) in parts.items():
        found[token] = found.get(left, nothing) | found.get(right, nothing) | {token}
    return found
