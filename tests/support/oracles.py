"""Definitions of what is built on encoding, in plain Python beside `bpetite.reference`."""
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from bpetite.reference import Pair, candidates, cut_specials


def cut_segments(segments: Iterable[tuple[str, bool]], literals: Sequence[str]) -> list[tuple[str, bool]]:
    """Cut a text of segments at the special tokens of the trusted segments, see :func:`cut_specials`.

    >>> cut_segments([("<s>a", True), ("b<s>", False), ("<s", True), (">", True)], ["<s>"])
    [('<s>', True), ('ab<s><s>', False)]
    """
    pieces = [piece for text, trusted in segments for piece in cut_specials(text, literals if trusted else ())]
    joined: list[tuple[str, bool]] = []
    for piece, special in pieces:
        if joined and not special and not joined[-1][1]:
            piece = joined.pop()[0] + piece
        joined.append((piece, special))
    return joined


def dropout_distribution(
    pretoken: bytes, ranks: Mapping[Pair, int] | Mapping[bytes, int], dropout: float
) -> dict[tuple[bytes, ...], float]:
    """Every encoding of a pre-token with BPE-dropout, and its probability, by enumeration.

    Each step drops every occurrence of a pair that has a rank with the probability ``dropout``, independently, and
    joins the first of the others in the order of :func:`merge_pretoken`. It ends if no pair is left. A pre-token that
    is a token is not taken whole.

    Source: I. Provilkov, D. Emelianenko and E. Voita, "BPE-Dropout: Simple and Effective Subword Regularization", ACL
    2020, algorithm 1.

    Args:
        pretoken: The bytes of one short pre-token: there are 2^n cases of n candidates.
        ranks: As for :func:`merge_pretoken`.
        dropout: From 0 to 1.

    >>> dropout_distribution(b"abc", {(b"a", b"b"): 0, (b"b", b"c"): 1}, 0.5)
    {(b'a', b'b', b'c'): 0.25, (b'a', b'bc'): 0.25, (b'ab', b'c'): 0.5}
    """
    done: defaultdict[tuple[bytes, ...], float] = defaultdict(float)
    level = {tuple(bytes([byte]) for byte in pretoken): 1.0}
    while level:  # all splits of the same length
        after: defaultdict[tuple[bytes, ...], float] = defaultdict(float)
        for tokens, reached in level.items():
            found = candidates(tokens, ranks)
            for dropped in product((True, False), repeat=len(found)):
                chance = reached * dropout ** sum(dropped) * (1 - dropout) ** (len(found) - sum(dropped))
                left = [one for one, is_dropped in zip(found, dropped, strict=True) if not is_dropped]
                if not left:
                    done[tokens] += chance
                    continue
                _, at = min(left)
                joined = (*tokens[:at], tokens[at] + tokens[at + 1], *tokens[at + 2 :])
                after[joined] += chance
        level = after
    return dict(done)


def edges(spans: Iterable[tuple[int, int]], length: int) -> list[int]:
    """The places between two tokens of a text that are also between two characters, with both ends of the text.

    Args:
        spans: (start, end) in characters of each token; a token that is a part of a character has the character's span.
        length: The length of the text in characters.

    >>> edges([(0, 2), (2, 3), (2, 3), (3, 5)], 5)
    [0, 2, 3, 5]
    """
    spans = tile(spans, length)
    ends = {0, length, *(end for _, end in spans)}
    return sorted(at for at in ends if not any(start < at < end for start, end in spans))


def tile(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Spans of tokens that reach to where another one starts: a mark that was composed belongs to its letter.

    >>> tile([(0, 1), (2, 3)], 4)
    [(0, 2), (2, 4)]
    """
    spans = list(spans)
    starts = {length, *(start for start, _ in spans)}
    return [(start, max(end, min(at for at in starts if at > start))) for start, end in spans]
