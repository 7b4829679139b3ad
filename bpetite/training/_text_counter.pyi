from array import array
from collections.abc import Iterable, Iterator
from typing import final

from ..core._special import Specials
from ..splitting.scan._scan import Scanner
from ._count_table import CountTable

@final
class TextCounter:
    """Counts the pre-tokens of texts into a table of its own. One thread at a time.

    Args:
        scanner: The compiled split pattern, or None: then all text between special tokens is one pre-token.
        specials: Special tokens, which cut the text and are not counted.
        memory: Bytes after which the table is full; 0 for no bound.
    """

    @property
    def table(self) -> CountTable:
        """What has been counted."""
    def __new__(cls, scanner: Scanner | None, specials: Specials, memory: int = 0) -> TextCounter: ...
    def count_documents(self, texts: list[str | bytes], first: int | None = None) -> None:
        """Count whole texts, str or UTF-8 bytes; no pre-token spans two.

        Args:
            texts: A list that no other thread changes meanwhile.
            first: The number of the first text, for messages; None to leave numbers out.

        Raises:
            UnicodeEncodeError: A str holds a lone surrogate.
            UnicodeDecodeError: bytes are not UTF-8.
        """
    def count_part(
        self,
        text: str | bytes,
        start: int,
        stop: int,
        weight: int = 1,
        settle: bool = False,
        more: bool = False,
    ) -> tuple[int, int, int]:
        """Count the pre-tokens that begin at or after `start` and end at or before `stop`.

        Args:
            text: str or UTF-8 bytes.
            start: Where a pre-token begins (characters of a str, bytes of bytes).
            stop: Likewise; len(text) for the end of the text.
            weight: How often each counts; -1 takes back what was counted before.
            settle: Move start and stop to where a scan begun there has settled, see the method `settle`.
            more: The text goes on after the str or bytes; only what no continuation can change is counted.

        Returns:
            (start, stop, reached): `reached` is the end of the last pre-token that was counted, or of the special
            token after it. When it is not `stop`, counting must go on from `reached`.
        """
    def count_stream(self, text: str) -> None:
        """Count a text of any length as one scan, in pieces of STREAM characters, whatever the split pattern.

        Special tokens are not recognised.
        """
    def stop(self) -> None:
        """End the call that another thread makes, and all later ones, with InterruptedError. The table stays usable."""
    def count_ends(self, data: bytes, ends: array[int]) -> None:
        """Count pre-tokens of UTF-8 text that something else has split: their ends, ascending byte offsets."""

def batches(texts: Iterable[str | bytes], limit: int) -> Iterator[tuple[int, list[str | bytes], int]]:
    """Gather the texts of an iterable into batches.

    Args:
        texts: str and bytes; anything else is a TypeError that names its number.
        limit: Characters (bytes of bytes) of a batch; it ends with the text that reaches them. A text longer than that
            comes in a batch of its own.

    Yields:
        (first, batch, size): the number of the first text, a list of texts, and their length together.
    """
