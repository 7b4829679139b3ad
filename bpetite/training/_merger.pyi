from array import array
from typing import final

from .._merge import MergeTable
from ..vocabulary._tokens import TokenTable
from ._count_records import RecordReader
from ._count_table import CountTable

@final
class Merger:
    """Learns merges from pre-tokens and their counts.

    Make the tokens of an earlier tokenizer known if there is one, add the pre-tokens, then call :meth:`learn` until it
    returns True. After an error or an interrupt the object must not be used.

    Args:
        min_frequency: Pairs that occur less often are not learned; at least 1.
        ties_by_bytes: Among equally frequent pairs take the greatest (left bytes, right bytes) instead of the smallest
            (left id, right id).
        max_token_bytes: Pairs that would give a longer token are not learned; 0 for no limit.
        first: The 256 bytes in the order of their internal ids.
        max_words: For superwords: pairs that would give more words than this, or ": ", are not learned. A word is what
            lies between spaces; 0 for no limit.
        beside: A merger whose tokens this one shares, instead of `first`.
    """

    def __new__(
        cls,
        min_frequency: int = 1,
        ties_by_bytes: bool = False,
        max_token_bytes: int = 0,
        first: bytes = ...,
        max_words: int = 0,
        beside: Merger | None = None,
    ) -> Merger: ...
    @property
    def tokens(self) -> int:
        """How many tokens there are, the 256 bytes included."""
    def add_word(self, word: bytes, count: int) -> None:
        """Add a pre-token that occurs `count` times (at least 1)."""
    def add_table(self, table: CountTable) -> None:
        """Add every pre-token of a table; those that occur 0 times are left out."""
    def add_records(self, records: RecordReader, least: int = 1) -> None:
        """Add what is left of a file, but for pre-tokens that occur less often than `least`."""
    def add_encoded(
        self,
        pretokens: CountTable | RecordReader,
        tokens: TokenTable,
        merges: MergeTable,
        ids: array[int],
        whole: bool,
        least: int = 1,
    ) -> None:
        """Add pre-tokens as the tokens that a vocabulary makes of them; :meth:`know` comes before.

        Args:
            pretokens: A `CountTable`, or a `RecordReader`: what is left of a file.
            tokens, merges: Of the vocabulary.
            ids: uint32[n], n at least 256: internal id -> the vocabulary's.
            whole: A pre-token that is a token is taken whole; nothing is learned from it.
            least: Of a file: those that occur less often are left out.
        """
    def know(self, pairs: array[int]) -> None:
        """Make the tokens of an earlier tokenizer known, so that words can be added that are these tokens already.

        Pairs that give a token that there is are not learned after it: where such a pair is left, the merges of the
        earlier tokenizer did not make the token, and one more would change the ids of its texts.

        Args:
            pairs: uint32[2 * n], such as an ``array("I")``: left, right, left, right, ..., internal ids. A pair whose
                bytes are no token yet gets the next internal id.
        """
    def add_token(self, token: bytes) -> int:
        """Reserve an internal id for a token that no merge gives, and return it."""
    def learn(self, token_limit: int, work_limit: int) -> bool:
        """Merge until there are `token_limit` tokens or nothing is left; False when `work_limit` came first.

        Args:
            token_limit: Tokens to end with, the 256 bytes included.
            work_limit: Segments to search before returning early (a few nanoseconds each).

        Raises:
            OverflowError: A pair occurs more than 2^63 - 1 times.
            MemoryError: Memory has run out.
        """
    def best(self) -> tuple[int, int] | None:
        """The pair that :meth:`learn` would learn next, (left, right) in internal ids, or None."""
    def learn_pair(self, left: int, right: int) -> int:
        """Learn a pair of internal ids; returns that of the token. :func:`join_together` joins it."""
    def token(self, token: int) -> bytes:
        """The bytes of a token by internal id."""
    def all_tokens(self) -> list[bytes]:
        """The bytes of all tokens, by internal id."""
    def merges(self, ids: list[int] | None = None) -> tuple[tuple[int, int], ...]:
        """What was learned, in order: (left, right) of each merge, internal ids or what `ids` has for them."""

def join_together(mergers: list[Merger], left: int, right: int, token: int) -> list[tuple[int, int]]:
    """Join a pair that one of several mergers, which share their tokens, has learned.

    Returns:
        (number of a merger, how many tokens fewer its words have), for those that have fewer.
    """
