"""The steps before merging, in Python, for a vocabulary that asks for more than patterns and plain special tokens.

Special tokens that strip white space, a space put before a text, splits that drop or join fragments, rewritten text:
each is rare, and each is done here as Hugging Face's ``tokenizers`` does it. Splitting by patterns and merging stay
compiled, so a text that meets no rare case loses little speed.

Source: ``added_vocabulary.rs`` in https://github.com/huggingface/tokenizers
"""
from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

import regex

from ..bytelevel import encode_token
from ..patterns import as_tuple
from ..splitting.pretokenizer import Pretokenizer, pretokenizer
from ..splitting.unicode_version import matches, stand_ins
from ..steps import splits
from ..steps.normalizers import Prepend, Replace, normalizer
from ..steps.splits import Fragment, PrefixSpace, Printable
from ..vocabulary.vocab import Vocab
from . import offsets
from ._special import Specials

__all__ = ["Pipeline"]

#: Sets of special tokens whose finders are kept.
SUBSETS = 16

_word = regex.compile(r"\w")
_space_after = regex.compile(r"\s*")
_space_before = regex.compile(r"(?r)\s*")

#: A stretch of text: the id of the special token that it is or None, its text, and where each character starts and ends
#: in the given text.
Stretch = tuple[int | None, str, list[int] | None, list[int] | None]


class Pipeline:
    """Text to special tokens and to stretches that the compiled core encodes.

    Attributes:
        pretokenizer: What the core splits stretches with; "none" if they are split here.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._flags = vocab.token_flags
        self._special_tokens = vocab.special_tokens
        self._normalization = vocab.normalization
        self._unicode = vocab.unicode
        self._normalize = normalizer(vocab.normalization, vocab.unicode)
        found = as_tuple(vocab.pattern)
        self._prefix_space = found[:1] == (PrefixSpace(),)
        rest = found[1:] if self._prefix_space else found
        plain = tuple(step for step in rest if isinstance(step, str))
        at = found.index(Printable()) if Printable() in found else len(found)
        # all steps, if the core cannot do them: those that see the text, those that see its printable form
        self._steps, self._late_steps = (found[:at], found[at + 1 :]) if len(plain) < len(rest) else ((), ())
        self.pretokenizer: Pretokenizer = pretokenizer(
            None if self._steps or self._late_steps else plain or None, unicode=vocab.unicode
        )
        self._finders: dict[tuple[str, ...], tuple[_Finder, _Finder]] = {}

    def items(
        self, text: str, allowed: tuple[str, ...] | None, trusted: Sequence[tuple[int, int]] | None = None
    ) -> Iterator[int | bytes | tuple[bytes, array[int]]]:
        """Yield what the core is to put out, in order.

        Args:
            text: The text.
            allowed: The literals of the special tokens to recognise; None for none.
            trusted: (start, end) in characters of the only parts in which they are recognised; None for everywhere.

        Yields:
            The id of a special token; bytes to be cut by :attr:`pretokenizer` and encoded; or bytes with the ends of
            the pre-tokens in them.
        """
        for token_id, stretch, _, _ in self._stretches(text, allowed, trace=trusted is not None, trusted=trusted):
            if token_id is not None:
                yield token_id
            elif self._steps or self._late_steps:
                pieces = self._pieces(stretch)
                lengths = [length for piece in pieces for length in self._lengths(piece.text)]
                yield "".join([piece.text for piece in pieces]).encode("utf-8"), array("q", accumulate(lengths))
            else:
                yield self._with_space(stretch).encode("utf-8")

    def trace(self, text: str, allowed: tuple[str, ...] | None) -> offsets.Origin:
        """The text that the tokens of a text spell, and where each character of it came from."""
        origin = offsets.Origin()
        parts: list[str] = []

        def add(piece: str, starts: Iterable[int], ends: Iterable[int]) -> None:
            parts.append(piece)
            origin.starts.extend(starts)
            origin.ends.extend(ends)

        for token_id, stretch, starts, ends in self._stretches(text, allowed, trace=True):
            assert starts is not None  # asked for
            assert ends is not None
            if token_id is not None:
                add(stretch, starts, ends)
                continue
            for text, start, put_in in self._pieces(stretch):
                end = start + len(text) - put_in
                # what was put in front takes no room before the first character that came from the text
                edge = starts[start] if start < len(starts) else ends[-1]
                add(text, [edge] * put_in + starts[start:end], [edge] * put_in + ends[start:end])
        origin.text = "".join(parts)
        return origin

    def _with_space(self, stretch: str) -> str:
        return " " + stretch if self._prefix_space and not stretch.startswith(" ") else stretch

    def _pieces(self, stretch: str) -> list[Fragment]:
        """The pieces of a stretch, before any step that sees their printable form."""
        pieces = [Fragment(stretch)] if stretch else []
        if self._prefix_space and not self._steps:
            return splits.apply(PrefixSpace(), pieces)
        for step in self._steps:
            pieces = splits.apply(step, pieces, self._unicode)
        return pieces

    def _lengths(self, piece: str) -> Iterable[int]:
        """The lengths in bytes of the pre-tokens in a piece. In printable form a character is a byte."""
        if not self._late_steps:
            return (len(piece.encode("utf-8")),)
        cuts = [Fragment(encode_token(piece))]
        for step in self._late_steps:
            cuts = splits.apply(step, cuts)
        return [len(cut.text) for cut in cuts]

    def _stretches(
        self,
        text: str,
        allowed: tuple[str, ...] | None,
        *,
        trace: bool,
        trusted: Sequence[tuple[int, int]] | None = None,
    ) -> Iterator[Stretch]:
        early, late = self._finder(allowed or ())
        for start, end, token in early.cut(text, trusted):
            if token is not None:
                yield _special(token, start, end, trace)
                continue
            stretch = text[start:end]
            starts = list(range(start, end)) if trace else None
            ends = list(range(start + 1, end + 1)) if trace else None
            if self._normalize is not None:
                if starts is not None and ends is not None:
                    stretch, starts, ends = self._normalize_traced(stretch, starts, ends)
                else:
                    stretch = self._normalize(stretch)
            inner = None
            if trusted is not None and starts is not None and ends is not None:
                inner = [_inside(part, starts, ends) for part in trusted]
            for first, last, token in late.cut(stretch, inner):
                inside = starts[first:last] if starts is not None else None
                outside = ends[first:last] if ends is not None else None
                if token is None:
                    yield None, stretch[first:last], inside, outside
                elif inside and outside:
                    yield _special(token, inside[0], outside[-1], trace)
                else:
                    yield _special(token, 0, 0, trace)

    def _finder(self, allowed: tuple[str, ...]) -> tuple[_Finder, _Finder]:
        """What finds special tokens in the text as it is, and in the normalized text."""
        found = self._finders.get(allowed)
        if found is None:
            early: dict[str, str] = {}
            late: dict[str, str] = {}
            # of two that look alike once normalized the first counts: special ones come first, then lower ids
            for literal in sorted(allowed, key=self._rank):
                if "normalized" in self._flags.get(literal, ()):
                    late.setdefault(self._normalize(literal) if self._normalize is not None else literal, literal)
                else:
                    early[literal] = literal
            late.pop("", None)
            settings = self._special_tokens, self._flags, self._unicode
            found = _Finder(early, *settings), _Finder(late, *settings)
            if len(self._finders) >= SUBSETS:
                self._finders.clear()
            self._finders[allowed] = found
        return found

    def _rank(self, literal: str) -> tuple[bool, int]:
        return "plain" in self._flags.get(literal, ()), self._special_tokens[literal]

    def _normalize_traced(self, text: str, starts: list[int], ends: list[int]) -> tuple[str, list[int], list[int]]:
        for one in as_tuple(self._normalization):
            if isinstance(one, Prepend):
                if text:
                    put_in = [starts[0]] * len(one.text)
                    text, starts, ends = one.text + text, put_in + starts, put_in + ends
            elif isinstance(one, Replace):
                text, starts, ends = _replace_traced(one, self._unicode, text, starts, ends)
            else:
                origin = offsets.trace(text, [], one, self._unicode)
                starts, ends = [starts[at] for at in origin.starts], [ends[at - 1] for at in origin.ends]
                text = origin.text
        return text, starts, ends


def _inside(part: tuple[int, int], starts: list[int], ends: list[int]) -> tuple[int, int]:
    """The characters of a stretch that come from a part of the text alone."""
    first = bisect_left(starts, part[0])
    return first, max(first, bisect_right(ends, part[1]))


def _special(token: tuple[int, str], start: int, end: int, trace: bool) -> Stretch:
    token_id, literal = token
    return token_id, literal, [start] * len(literal) if trace else None, [end] * len(literal) if trace else None


def _replace_traced(
    one: Replace, unicode: str | None, text: str, starts: list[int], ends: list[int]
) -> tuple[str, list[int], list[int]]:
    made: list[str] = []
    made_starts: list[int] = []
    made_ends: list[int] = []
    at = 0
    for match in [*matches(regex.compile(one.pattern), unicode, text), None]:
        first, last = match if match is not None else (len(text), len(text))
        made.append(text[at:first])
        made_starts += starts[at:first]
        made_ends += ends[at:first]
        if match is not None:
            begin = starts[first] if first < len(text) else ends[-1] if ends else 0
            made.append(one.content)
            made_starts += [begin] * len(one.content)
            made_ends += [ends[last - 1] if last > first else begin] * len(one.content)
        at = last
    return "".join(made), made_starts, made_ends


class _Finder:
    """Finds special tokens with their flags, as ``find_matches`` of ``tokenizers`` does."""

    def __init__(
        self,
        literals: dict[str, str],
        special_tokens: dict[str, int],
        flags: dict[str, tuple[str, ...]],
        unicode: str | None,
    ) -> None:
        self._unicode = unicode
        self._tokens = [(special_tokens[literal], literal) for literal in literals.values()]
        self._flags = [frozenset(flags.get(literal, ())) for literal in literals.values()]
        self._specials = Specials({text: number for number, text in enumerate(literals)})

    def cut(
        self, text: str, trusted: Sequence[tuple[int, int]] | None = None
    ) -> Iterator[tuple[int, int, tuple[int, str] | None]]:
        """Yield (start, end, (id, literal)) for special tokens in trusted parts and (start, end, None) for the rest."""
        done = 0
        seen = text if self._unicode is None else text.translate(stand_ins(self._unicode, r"\s\w"))
        spans = (
            (part + start, part + end, number)
            for part, stop in ([(0, len(text))] if trusted is None else trusted)
            for start, end, number in self._specials.spans(text[part:stop])
        )
        for start, end, number in spans:
            flags = self._flags[number]
            if "single_word" in flags and (
                (start > 0 and _word.match(seen[start - 1])) or (end < len(text) and _word.match(seen[end]))
            ):
                continue
            if "lstrip" in flags:
                found = _space_before.search(seen, 0, start)
                start = max(found.start() if found and found.end() == start else start, done)
            if "rstrip" in flags:
                found = _space_after.match(seen, end)
                end = found.end() if found else end
            if done < start:
                yield done, start, None
            if start < end:  # the token before may have taken all white space that it is
                yield start, end, self._tokens[number]
            done = end
        if done < len(text):
            yield done, len(text), None
