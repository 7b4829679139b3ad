"""The steps before merging, in Python, for a vocabulary that asks for more than patterns and plain special tokens.

Special tokens that strip white space, a space put before a text, splits that drop or join fragments, rewritten text:
each is rare, and follows Hugging Face's ``tokenizers``. Splitting by patterns and merging stay compiled, so a text
without a rare case loses little speed.

Source: ``added_vocabulary.rs`` in https://github.com/huggingface/tokenizers
"""
from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate

from ..bytelevel import ALPHABET, encode_token
from ..core._special import Specials
from ..patterns import as_tuple, is_plain
from ..splitting.pretokenizer import Pretokenizer, compiled, pretokenizer
from ..splitting.scan._byte_splits import ByteSplits
from ..steps import splits
from ..steps.normalizers import Precompiled, Prepend, Replace, normalizer, replacements
from ..steps.simplified import space_before
from ..steps.splits import Fragment, Metaspace, PrefixSpace, Printable, SplitPattern, Step
from ..vocabulary._word_cuts import word_cuts
from ..vocabulary.vocab import Vocab
from . import offsets

__all__ = ["Pipeline"]

#: Flags of special tokens that are found in normalized text.
LATE = frozenset(("normalized", "spelled"))
#: Sets of special tokens whose finders are kept.
SUBSETS = 16

#: A stretch of the normalized text: the id of its special token or None, its characters, and the start and end of each
#: in the given text.
Stretch = tuple[int | None, str, list[int] | None, list[int] | None]


class Pipeline:
    """Text to special tokens and to stretches that the compiled core encodes.

    Attributes:
        pretokenizer: Splits stretches in the core; "none" if they are split here.
        is_compiled: True if the core does everything that the vocabulary asks for. Then the pipeline only traces.

    Args:
        vocab: The vocabulary.
        pattern: The vocabulary's, or one that cuts alike, see :mod:`bpetite.steps.simplified`.
    """

    def __init__(self, vocab: Vocab, pattern: SplitPattern) -> None:
        self._flags = vocab.token_flags
        self._special_tokens = vocab.special_tokens
        self._tokens = vocab.tokens
        self._normalization = vocab.normalization
        self._unicode = vocab.unicode
        self._normalize = normalizer(vocab.normalization, vocab.unicode)
        self._space, self._alphabet, self._unknown = "", vocab.alphabet_table, b""
        if vocab.alphabet is not None:
            self._space = vocab.alphabet.space
            self._unknown = b"" if vocab.alphabet.unknown is None else vocab.tokens[vocab.alphabet.unknown]
        steps = as_tuple(pattern)
        at = steps.index(Printable()) if Printable() in steps else len(steps)
        # the steps that see the text, and those that see its printable form
        self._steps, self._late_steps = steps[:at], steps[at + 1 :]
        # where normalization drops the beginning of a text, no step sees that beginning
        self._first_moves = vocab.normalization is not None and any(
            isinstance(step, Metaspace) and step.prefix == "first" for step in steps
        )
        self._prefix_space = steps[:1] == (PrefixSpace(),)
        plain = self._steps[1:] if self._prefix_space else self._steps
        self.pretokenizer: Pretokenizer = pretokenizer(None)
        if is_plain(plain):
            cutter = pretokenizer(plain or None, unicode=vocab.unicode)
            if self._late_steps and cutter.scanner is not None:
                cutter = _with_byte_splits(cutter, self._late_steps)
            if not self._late_steps or cutter.byte_splits is not None:
                self.pretokenizer = cutter
                self._steps = self._late_steps = ()
        self.is_compiled: bool = (
            self.pretokenizer.byte_splits is not None
            and not vocab.is_rare
            and vocab.normalization is None
            and not self._prefix_space
        )
        self.prefix: str = ""
        if vocab.alphabet is not None:
            self._cut_into_words(vocab, as_tuple(vocab.pattern))
        self._finders: dict[Specials | None, tuple[_Finder, _Finder]] = {}

    def _cut_into_words(self, vocab: Vocab, steps: tuple[Step, ...]) -> None:
        """Let the core cut the texts of a vocabulary of characters where no merge joins."""
        prefix = None
        if not vocab.has_flags and not (vocab.ignore_merges and self._space):
            prefix = space_before(vocab.normalization, steps, self._space)
        if prefix is not None:
            self.prefix, self.is_compiled = prefix, True
        if (prefix is not None or not steps) and not vocab.ignore_merges:
            split = any(isinstance(step, Metaspace) and step.split for step in steps)
            cuts = word_cuts(vocab.token_table, vocab.merge_table, vocab.alphabet_table, split=split)
            self.pretokenizer = Pretokenizer(None, "words", cuts, unicode=vocab.unicode)

    def items(
        self, text: str, allowed: Specials | None, trusted: Sequence[tuple[int, int]] | None = None, after: int = 0
    ) -> Iterator[int | bytes | tuple[bytes, array[int]]]:
        """Yield the items that the core turns into ids, in order.

        Args:
            text: The text.
            allowed: The special tokens to recognise; None for none.
            trusted: (start, end) in characters of the parts in which they are recognised; None for the whole text.
            after: Leaves out what comes from the characters before this one; none of them is trusted.

        Yields:
            The id of a special token; bytes to be cut by :attr:`pretokenizer` and encoded; or bytes with the ends of
            the pre-tokens in them.
        """
        is_first = True
        trace = trusted is not None or self._first_moves
        for token_id, stretch, starts, _ in self._stretches(text, allowed, trace=trace, trusted=trusted):
            is_first = is_first and (starts is None or starts[:1] == [0])
            if token_id is not None:
                yield token_id
            elif not (self._steps or self._late_steps or after):
                space = " " if self._prefix_space and not stretch.startswith(" ") else ""
                yield (space + stretch).encode("utf-8")
            else:
                fragments = self._fragments(stretch, is_first)
                data, ends = "".join([fragment.text for fragment in fragments]).encode("utf-8"), None
                if self._steps or self._late_steps:
                    lengths = (length for fragment in fragments for length in self._lengths(fragment.text))
                    ends = array("q", accumulate(lengths))
                if after and starts is not None and starts[0] < after:
                    new = bisect_left(starts, after)
                    before = [one.text[: new - one.start + one.put_in] for one in fragments if one.start < new]
                    cut = len("".join(before).encode("utf-8"))
                    ends = array("q", [end - cut for end in ends or self.pretokenizer.ends(data) if end > cut])
                    data = data[cut:]
                yield data if ends is None else (data, ends)
            is_first = False

    def special_spans(self, text: str, allowed: Specials) -> list[tuple[int, int, int]]:
        """(start, end, id) of the special tokens in a text, in characters, with the white space that they take."""
        if LATE.isdisjoint(flag for flags in self._flags.values() for flag in flags):
            cuts = self._finder(allowed)[0].cut(text)
            return [(start, end, token_id) for start, end, token_id in cuts if token_id is not None]
        return [
            (starts[0], ends[-1], token_id)
            for token_id, _, starts, ends in self._stretches(text, allowed, trace=True)
            if token_id is not None and starts is not None and ends is not None
        ]

    def trace(
        self, text: str, allowed: Specials | None, trusted: Sequence[tuple[int, int]] | None = None
    ) -> offsets.Origin:
        """The text that the tokens of a text spell, and the origin of each of its characters; ``trusted`` as for
        :meth:`items`."""
        origin = offsets.Origin()
        is_first = True
        for token_id, stretch, starts, ends in self._stretches(text, allowed, trace=True, trusted=trusted):
            assert starts is not None  # asked for
            assert ends is not None
            is_first = is_first and starts[:1] == [0]
            if token_id is not None:
                origin.add_special(self._tokens[token_id], (starts[0], ends[-1]))
            for fragment, start, put_in in () if token_id is not None else self._fragments(stretch, is_first):
                end = start + len(fragment) - put_in
                # an inserted prefix shares the place of the first character of the text
                first, last = [starts[start]] * put_in, [ends[start]] * put_in
                fragment = fragment.replace(self._space, " ") if self._space else fragment  # as the tokens spell it
                first, last, done = first + starts[start:end], last + ends[start:end], 0
                for begin, stop in self._unknown_runs(fragment) if self._unknown else ():
                    origin.add(fragment[done:begin].encode("utf-8"), first[done:begin], last[done:begin])
                    origin.add_special(self._unknown, (first[begin], last[stop - 1]))
                    done = stop
                origin.add(fragment[done:].encode("utf-8"), first[done:], last[done:])
            is_first = False
        return origin

    def _unknown_runs(self, fragment: str) -> Iterator[tuple[int, int]]:
        """(start, end) of the characters in a fragment that become the id for unknown ones, for each such id."""
        at = 0
        for part in self.pretokenizer.split(fragment):
            assert self._alphabet is not None
            yield from ((at + start, at + end) for start, end in self._alphabet.unknown_runs(part))
            at += len(part)

    def _fragments(self, stretch: str, is_first: bool) -> list[Fragment]:
        """The parts of a stretch, with which the text may begin, before any step that sees their printable form."""
        fragments = [Fragment(stretch)] if stretch else []
        if self._prefix_space and not self._steps:
            return splits.apply(PrefixSpace(), fragments)
        for step in self._steps:
            fragments = splits.apply(step, fragments, self._unicode, is_first=is_first)
        return fragments

    def _lengths(self, fragment: str) -> Iterable[int]:
        """The lengths in bytes of the pre-tokens in a part. In printable form a character is a byte."""
        if not self._late_steps:
            return (len(fragment.encode("utf-8")),)
        cuts = [Fragment(encode_token(fragment))]
        for step in self._late_steps:
            cuts = splits.apply(step, cuts)
        return [len(cut.text) for cut in cuts]

    def _stretches(
        self,
        text: str,
        allowed: Specials | None,
        *,
        trace: bool,
        trusted: Sequence[tuple[int, int]] | None = None,
    ) -> Iterator[Stretch]:
        early, late = self._finder(allowed)
        for start, end, token_id in early.cut(text, trusted):
            stretch = text[start:end]
            starts = list(range(start, end)) if trace else None
            ends = list(range(start + 1, end + 1)) if trace else None
            if token_id is not None:
                yield token_id, stretch, starts, ends
                continue
            if self._normalize is not None:
                if starts is not None and ends is not None:
                    stretch, starts, ends = self._normalize_traced(stretch, starts, ends, whole=trusted is not None)
                else:
                    stretch = self._normalize(stretch)
            inner = proof = None
            if trusted is not None and starts is not None and ends is not None:
                inner = [_inside(part, starts, ends) for part in trusted]
                proof = partial(self._is_made_of, text, trusted, stretch, [*starts, end])
            for first, last, token_id in late.cut(stretch, inner, proof):
                inside = starts[first:last] if starts is not None else None
                outside = ends[first:last] if ends is not None else None
                yield token_id, stretch[first:last], inside, outside

    def _is_made_of(
        self, text: str, trusted: Sequence[tuple[int, int]], stretch: str, starts: list[int], first: int, last: int
    ) -> bool:
        """True if a trusted part alone gives ``stretch[first:last]``, without the characters beside that part."""
        stop = max(stop for start, stop in trusted if start <= starts[first])
        own = text[starts[first] : min(starts[last], stop)]  # with the marks that it was composed with
        return self._normalize is None or stretch[first:last] in self._normalize(own)

    def _finder(self, allowed: Specials | None) -> tuple[_Finder, _Finder]:
        """The finders of special tokens in the given text and in the normalized text."""
        finders = self._finders.get(allowed)
        if finders is None:
            early: dict[str, str] = {}
            late: dict[str, str] = {}
            # of two that look alike once normalized the first counts: special ones come first, then lower ids
            for literal in sorted(() if allowed is None else allowed.literals, key=self._rank):
                flags = self._flags.get(literal, ())
                if LATE.isdisjoint(flags):
                    early[literal] = literal
                else:
                    normalize = self._normalize if "normalized" in flags else None
                    late.setdefault(normalize(literal) if normalize is not None else literal, literal)
            late.pop("", None)
            settings = self._special_tokens, self._flags, self._unicode
            finders = _Finder(early, *settings), _Finder(late, *settings)
            if len(self._finders) >= SUBSETS:
                self._finders.clear()
            self._finders[allowed] = finders
        return finders

    def _rank(self, literal: str) -> tuple[bool, int]:
        return "plain" in self._flags.get(literal, ()), self._special_tokens[literal]

    def _normalize_traced(
        self, text: str, starts: list[int], ends: list[int], *, whole: bool
    ) -> tuple[str, list[int], list[int]]:
        """The normalized text, and the start and end of its characters in the given text; an inserted character has
        the place of a neighbour, or with ``whole`` of all characters that it replaces."""
        edge = starts[0]
        for one in as_tuple(self._normalization):
            if isinstance(one, Prepend):
                firsts = lasts = [*[0] * len(one.text), *range(len(text))] if text else []
                text = one.text + text if text else text
            elif isinstance(one, Replace | Precompiled):
                text, firsts, lasts = _replace_traced(one, self._unicode, text)
            else:
                text, lasts = offsets.align(one, text, self._unicode)
                firsts = lasts
            starts = [starts[at] if at >= 0 else edge for at in (firsts if whole else lasts)]
            ends = [ends[at] if at >= 0 else edge for at in lasts]
        return text, starts, ends


def _inside(part: tuple[int, int], starts: list[int], ends: list[int]) -> tuple[int, int]:
    """The characters of a stretch that come from a part of the text alone."""
    first = bisect_left(starts, part[0])
    return first, max(first, bisect_right(ends, part[1]))


def _replace_traced(one: Replace | Precompiled, unicode: str | None, text: str) -> tuple[str, list[int], list[int]]:
    """The rewritten text, and for each character the first and the last index of its origin: for inserted content the
    replaced characters, or the one before an empty match, -1 if there is none."""
    made: list[str] = []
    firsts: list[int] = []
    lasts: list[int] = []
    at = 0
    for first, last, content in replacements(one, unicode, text):
        made += [text[at:first], content]
        firsts += [*range(at, first), *[min(first, last - 1)] * len(content)]
        lasts += [*range(at, first), *[last - 1] * len(content)]
        at = last
    rest = range(at, len(text))
    return "".join([*made, text[at:]]), [*firsts, *rest], [*lasts, *rest]


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
        self._ids = [special_tokens[literal] for literal in literals.values()]
        self._flags = [frozenset(flags.get(literal, ())) for literal in literals.values()]
        self._specials = Specials({text: number for number, text in enumerate(literals)})

    def cut(
        self,
        text: str,
        trusted: Sequence[tuple[int, int]] | None = None,
        proof: Callable[[int, int], bool] | None = None,
    ) -> Iterator[tuple[int, int, int | None]]:
        """Yield (start, end, id) for special tokens in trusted parts and (start, end, None) for the rest.

        ``proof(start, end)`` says whether a literal there is made of trusted characters alone.
        """
        done, seen, regex = 0, text, splits.compiled
        if self._unicode is not None:
            from ..splitting.pattern.unicode_version import stand_ins  # not at the top: it imports `regex`, slowly

            seen = text.translate(stand_ins(self._unicode, r"\s\w"))
        spans = (
            (part + start, part + end, number)
            for part, stop in ([(0, len(text))] if trusted is None else trusted)
            for start, end, number in self._specials.spans(text[part:stop])
        )
        for start, end, number in spans:
            if proof is not None and not proof(start, end):
                continue
            flags = self._flags[number]
            if "single_word" in flags and (
                (start > 0 and regex(r"\w").match(seen[start - 1]))
                or (end < len(text) and regex(r"\w").match(seen[end]))
            ):
                continue
            if "lstrip" in flags:
                start = max(start, done)
                while start > done and regex(r"\s").match(seen[start - 1]):  # no farther: a search reads the text again
                    start -= 1
            if "rstrip" in flags:
                spaces = regex(r"\s*").match(seen, end)
                end = spaces.end() if spaces else end
            if done < start:
                yield done, start, None
            if start < end:  # the token before may have taken all white space that it is
                yield start, end, self._ids[number]
            done = end
        if done < len(text):
            yield done, len(text), None


def _with_byte_splits(cutter: Pretokenizer, steps: tuple[Step, ...]) -> Pretokenizer:
    """A compiled pre-tokenizer, followed by steps that see the printable form of bytes if these can be compiled."""
    if not is_plain(steps):
        return cutter
    try:
        byte_splits = ByteSplits(compiled(steps, None), ALPHABET)
    except ValueError:  # the pattern is outside of what compiles
        return cutter
    return Pretokenizer(cutter.pattern, cutter.scanner_kind, cutter.scanner, None, cutter.unicode, byte_splits)
