"""Maps of SentencePiece's normalizers (nmt_nfkc and the like), which replace some strings by others.

Source: ``normalizer.cc`` in https://github.com/google/sentencepiece, and for graphemes
https://github.com/huggingface/spm_precompiled
"""
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ..errors import short_repr
from ._rewriting import CharsMap

#: The most bytes of a grapheme that tokenizers looks up as a whole.
GRAPHEME = 5


@dataclass(frozen=True)
class Precompiled:
    """Replace characters by a map of SentencePiece.

    Args:
        charsmap: The map in base64.
        graphemes: Look up whole graphemes and single characters, as ``tokenizers`` does; false for the longest entry at
            each place, as SentencePiece does.
        kept: A regular expression of what stays as it is; "" for nothing.
        ending: Put after a text, also one that the map empties, but not after spaces alone.
    """

    saved_name: ClassVar[str] = "Precompiled"
    charsmap: str
    graphemes: bool = False
    kept: str = ""
    ending: str = ""

    def __repr__(self) -> str:  # of nmt_nfkc, the map has 320,000 characters
        shown = f"graphemes={self.graphemes}, kept={self.kept!r}, ending={self.ending!r}"
        return f"Precompiled({short_repr(self.charsmap)}, {shown})"


@lru_cache(maxsize=8)
def charsmap_of(step: Precompiled, *, trims: bool = False, prefix_first: bool = False) -> CharsMap:
    """The map of a step. ValueError if it is no map, or `kept` is no regular expression."""
    from base64 import b64decode  # not at the top: most files do without it

    try:
        re.compile(step.kept)
        data = b64decode(step.charsmap, validate=True)
        if not data:
            raise ValueError("it is empty")
        return CharsMap(data, trims, prefix_first)
    except (ValueError, re.error) as bad:
        raise ValueError(f"normalization: no map of SentencePiece, or a damaged one: {bad}") from None


def precompiled_replacements(step: Precompiled, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, replacement) of what a step replaces in a text."""
    charsmap = charsmap_of(step)
    if step.graphemes:
        yield from _of_graphemes(charsmap, text)
        return
    found = charsmap.replacements(text, re.compile(step.kept) if step.kept else None)
    yield from found
    if step.ending:
        unchanged = zip([0, *(end for _, end, _ in found)], [*(start for start, _, _ in found), len(text)])
        if any(made != " " for _, _, made in found) or any(text[start:end].strip(" ") for start, end in unchanged):
            yield len(text), len(text), step.ending


def _of_graphemes(charsmap: CharsMap, text: str) -> Iterator[tuple[int, int, str]]:
    import regex  # not at the top: most files do without it, which is slow to import

    for place in regex.finditer(r"\X", text):
        whole = place[0]
        found = charsmap.find(whole, shortest=True) if len(whole.encode("utf-8")) <= GRAPHEME else None
        if found is not None:  # that string stands for all of the grapheme
            yield *place.span(), found[0]
            continue
        for at, char in enumerate(whole, place.start()):
            found = charsmap.find(char)
            if found is not None:
                yield at, at + 1, found[0]
