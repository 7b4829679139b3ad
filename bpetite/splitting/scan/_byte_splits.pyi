from typing import Self

from typing_extensions import disjoint_base

from ..compile.scanner_tables import ScannerTables

@disjoint_base
class ByteSplits:
    """A compiled pattern over the printable form of bytes, immutable and safe to share between threads.

    `tables` is a `scanner_tables.ScannerTables`, without marks, and `alphabet` holds the character of each byte.
    """

    def __new__(cls, tables: ScannerTables, alphabet: str) -> Self: ...
    def ends(self, data: bytes) -> list[int]:
        """The ends of the parts of one pre-token, ascending, the last one at its length.

        >>> from bpetite.splitting.pretokenizer import compiled
        >>> ByteSplits(compiled((r"\\p{N}",), None), "".join(map(chr, range(256)))).ends(b"a12 b")
        [1, 2, 3, 5]
        """
