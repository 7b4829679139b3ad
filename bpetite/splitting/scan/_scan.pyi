from array import array
from typing import Literal, Self

from typing_extensions import Buffer, disjoint_base

from ..compile.scanner_tables import ScannerTables

@disjoint_base
class Scanner:
    """A compiled pattern, immutable and safe to share between threads; built by `pretokenizer.pretokenizer`.

    `tables` is a `scanner_tables.ScannerTables`; `kind` is "vector" (64 lanes of the text side by side where the
    processor and the pattern allow it, else, or with `lanes=4`, four) or "tables" (one).
    """

    @property
    def lanes(self) -> int:
        """Of a long text, how many are read side by side: 64, 4 or 1."""
    def __new__(cls, kind: Literal["vector", "tables"], tables: ScannerTables, *, lanes: int = 64) -> Self: ...
    def ends(self, data: Buffer, *, capacity: int = 512) -> array[int]:
        """The ends of the pre-tokens of `data`, which must be valid UTF-8, as byte offsets in an ``array('q')``.

        They are found `capacity` (1 to 512) at a time; the result does not depend on it.
        """
    def ends_of_short(self, data: Buffer) -> array[int]:
        """The same for 1 to 63 bytes in one pass, as the encoder asks for it; no ends where only a scan finds them."""
    def count(self, data: Buffer) -> int:
        """The number of pre-tokens of `data`, which must be valid UTF-8."""

@disjoint_base
class Scan:
    """A scan over a text that arrives in chunks. It holds the text of the open pre-token, and no more.

    >>> from bpetite.splitting.pretokenizer import pretokenizer
    >>> scan = Scan(pretokenizer().scanner)
    >>> scan.feed(b"one tw")
    (b'one', array('q', [3]))
    >>> scan.feed(b"o", final=True)
    (b' two', array('q', [4]))
    """

    def __new__(cls, scanner: Scanner) -> Self: ...
    def feed(self, data: Buffer, *, final: bool = False) -> tuple[bytes, array[int]]:
        """Continue with `data`, valid UTF-8 that ends between characters.

        Returns (text, ends): the pre-tokens that nothing after `data` can change, joined, and where they end in it.
        `final` says that nothing follows: the scan is then over, and another call raises ValueError.
        """
    @property
    def held(self) -> int:
        """The number of bytes whose pre-token is still open."""
