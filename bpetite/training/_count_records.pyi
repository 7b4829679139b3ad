from collections.abc import Callable, Iterator
from typing import final

from ._count_table import CountTable

@final
class RecordReader:
    """The records of a file, in order; what is damaged is a FormatError that names the file and the place.

    Args:
        read: Called as ``read(offset, buffer)``: reads into the buffer what the file has at the offset, and returns how
            many bytes that are, 0 at its end.
        name: Of the file, for messages.
        offset: Where the records begin.
        checksum: CRC-32 of what is before them.
        buffer_bytes: Bytes read at a time; more only where one record is longer.
        signed: Counts may be negative.
    """

    @property
    def name(self) -> object:
        """Of the file."""
    @property
    def documents(self) -> int:
        """How many documents were counted; known after the last record."""
    @property
    def at(self) -> int:
        """The offset of the record in the file."""
    def __new__(
        cls,
        read: Callable[[int, memoryview], int],
        name: object,
        offset: int = 0,
        checksum: int = 0,
        buffer_bytes: int = 1048576,
        signed: bool = False,
    ) -> RecordReader: ...
    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        """(bytes, count)."""
    def add_to(self, table: CountTable) -> None:
        """Add all that is left to a table."""

@final
class RecordMerger:
    """Adds up the records of files as a stream.

    Args:
        readers: Each is before its first record.
        least: Pre-tokens that occur less often are left out.
        buffer_bytes: Bytes of a block.
        signed: A sum may be negative, and is kept.
    """

    def __new__(
        cls, readers: list[RecordReader], least: int = 1, buffer_bytes: int = 1048576, signed: bool = False
    ) -> RecordMerger: ...
    def __iter__(self) -> Iterator[bytes]:
        """Blocks of records, bytes; what they are together can be asked for after the last."""
    def totals(self) -> tuple[int, int, int]:
        """(different pre-tokens, their bytes, pre-tokens in all); the last is an int of any size."""
    def checksum(self) -> str:
        """That of a `CountTable` with the same counts."""
    def rare(self) -> list[tuple[int, int]]:
        """For each count from 0 on, as far as they are told apart: (different pre-tokens with it, their bytes)."""
    def pair_error(self) -> int:
        """How often a pair of tokens occurs at most in what is left out: the last byte of the one and the first byte of
        the other are adjacent wherever the two are."""
