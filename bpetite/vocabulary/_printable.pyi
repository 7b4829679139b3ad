from collections.abc import Iterable

from ._tokens import TokenTable

def members(data: bytes) -> dict[str, tuple[int, int]] | None:
    """key -> (start, stop) of its value in a JSON object."""

def read_tokens(data: bytes, start: int = 0, stop: int = -1) -> dict[int, bytes] | None:
    """id -> bytes in a JSON object, printable form -> id, from ``start`` to ``stop`` (-1 is the end of the data)."""

def read_merges(data: bytes, table: TokenTable) -> tuple[tuple[int, int], ...] | None:
    """Pairs of ids in a merges.txt."""

def read_merge_list(data: bytes, start: int, stop: int, table: TokenTable) -> tuple[tuple[int, int], ...] | None:
    """Pairs of ids in a JSON array of strings."""

def decode_tokens(printables: Iterable[str]) -> list[bytes] | None:
    """The bytes of printable forms."""
