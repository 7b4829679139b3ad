"""The steps before merging, in Python, for a vocabulary that asks for more than patterns and plain special tokens.

Special tokens that strip white space, a space put before a text, splits that drop or join fragments, rewritten text:
each is rare, and follows Hugging Face's ``tokenizers``. Splitting by patterns and merging stay compiled.

Source: ``added_vocabulary.rs`` in https://github.com/huggingface/tokenizers
"""
from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from ..bytelevel import ALPHABET, encode_token
from ..core._special import Specials
from ..patterns import as_tuple, is_plain
from ..splitting.pretokenizer import Pretokenizer, pretokenizer
from ..steps import splits
from ..steps._rewriting import Rewriter
from ..steps.charsmap import Precompiled
from ..steps.normalizers import (
    Mapped,
    Normalizer,
    Prepend,
    Replace,
    check_growth,
    expanded,
    normal_form,
    normalizer,
    replacements,
)
from ..steps.simplified import rewriter_of, space_before, without_removals, without_white_space_steps
from ..steps.splits import Fragment, Metaspace, PrefixSpace, Printable, SplitPattern, Step
from ..vocabulary._word_cuts import word_cuts
from ..vocabulary.special_literals import overlap
from ..vocabulary.vocab import QUIET_FLAGS, Vocab
from . import offsets

#: Flags of special tokens that are found in normalized text.
LATE = frozenset(("normalized", "spelled"))
#: Characters; the cuts of shorter fragments are kept.
LONG = 100
#: Sets of special tokens whose finders are kept.
SUBSETS = 16

#: A special token or the text up to the next one: the id or None, the text of the token, or the fragments of ordinary
#: text before any step that sees their printable form, and the start and end of each character in the given text.
Span = tuple[int | None, list[Fragment], Sequence[int], Sequence[int]]


class Pipeline:
    """Text to special tokens and to the ordinary text between them, which the compiled core encodes. `pattern` is the
    vocabulary's, or one that cuts alike (:mod:`bpetite.steps.simplified`)."""

    def __init__(self, vocab: Vocab, pattern: SplitPattern) -> None:
        self._flags = vocab.token_flags
        self._special_tokens = vocab.special_tokens
        self._tokens = vocab.tokens
        self._normalization = expanded(vocab.normalization)
        self._normalize = normalizer(vocab.normalization)
        self._space, self._alphabet = "" if vocab.alphabet is None else vocab.alphabet.space, vocab.alphabet_table
        # pre-tokens that are looked up as their file spells them: id by spelling, where it is not that of the bytes
        self._whole: dict[bytes, int] | None = None
        if vocab.ignore_merges and vocab.alphabet is not None and (self._space or vocab.alphabet.byte_ids):
            byte_ids = enumerate(vocab.alphabet.byte_ids)
            self._whole = {b"<0x%02X>" % byte: token_id for byte, token_id in byte_ids if token_id is not None}
        steps = as_tuple(pattern)
        at = steps.index(Printable()) if Printable() in steps else len(steps)
        # steps that see the text, and steps that see its printable form
        self._steps, self._late_steps = steps[:at], steps[at + 1 :]
        self._prefix_space = steps[:1] == (PrefixSpace(),)
        plain = self._steps[1:] if self._prefix_space else self._steps
        #: Splits ordinary text in the core; "none" if it is split here.
        self.pretokenizer: Pretokenizer = pretokenizer(None)
        #: A pre-token that begins with one of these characters gives nothing.
        self.dropped: str = ""
        #: True if the core does all that the vocabulary asks for: the pipeline only traces.
        self.scanned_alone: bool = False
        #: Of the core, if that does all.
        self.rewriter: Rewriter | None = None
        rewriter, rest = rewriter_of(without_white_space_steps(self._normalization, pattern), self._space)
        cuts, dropped = without_removals(plain) if self._whole is None else (plain, "")
        if is_plain(cuts) and not self._late_steps:
            self.pretokenizer, self.dropped = pretokenizer(cuts or None), dropped
            self._steps = ()
            self.scanned_alone = not (self._prefix_space or vocab.has_flags or rest or self._whole is not None)
            self.rewriter = rewriter if self.scanned_alone else None
        self._looked_up = vocab.find if vocab.ignore_merges else None
        self._not_looked_up = vocab.not_looked_up
        self.prefix: str = ""
        self.late: frozenset[int] = frozenset()  # special tokens that the core finds as those of rewritten text
        self._known_lengths = lru_cache(maxsize=1 << 14)(self._late_lengths)  # most words come again
        # tokens joined are the text, if a space is one
        self._spells_text = not self.dropped and self._whole is None and (
            vocab.alphabet is None or self._alphabet is None or not (vocab.alphabet.suffix or self._alphabet.lacking)
        )
        if vocab.alphabet is not None:
            self._cut_into_words(vocab, steps, rewriter, rest)
        self._finders: dict[tuple[Specials | None, bool], tuple[_Finder, _Finder]] = {}

    def _cut_into_words(
        self, vocab: Vocab, steps: tuple[Step, ...], rewriter: Rewriter | None, rest: tuple[Normalizer, ...]
    ) -> None:
        """Let the core cut the texts of a vocabulary of characters where no merge joins."""
        assert self._alphabet is not None
        assert vocab.alphabet is not None
        prefix = None
        whole = self._alphabet.lacking and (self._alphabet.drops or vocab.alphabet.byte_ids)
        if whole or vocab.alphabet.suffix or not vocab.alphabet.of_characters:
            return  # ids depend on more than two neighbours: of a mark, or of a character that is dropped or waits
        late = {literal for literal, flags in vocab.token_flags.items() if "spelled" in flags}
        if (not vocab.has_flags or self._are_found_at_once(vocab, late)) and self._whole is None:
            prefix = space_before(rest, steps, self._space)
        # a map may take what a text begins with, and no other part is the first
        whole = rewriter is None and prefix in ("", "always") if late else rewriter is None or prefix != "first"
        if prefix is not None and whole:
            self.late = frozenset(vocab.special_tokens[literal] for literal in late)
            self.rewriter = rewriter
            self.prefix, self.scanned_alone = prefix, True
        if (prefix is not None or not steps) and not vocab.ignore_merges:
            split = any(isinstance(step, Metaspace) and step.split for step in steps)
            cuts = word_cuts(vocab.token_table, vocab.merge_table, vocab.alphabet_table, split=split)
            self.pretokenizer = Pretokenizer(None, "words", cuts)

    def _are_found_at_once(self, vocab: Vocab, late: set[str]) -> bool:
        """True if all special tokens are found in a text at once as the `late` ones are after the others, in text that
        has `space` for each space: none takes characters of another one, and none has a space."""
        early = vocab.special_tokens.keys() - late
        flags = {flag for some in vocab.token_flags.values() for flag in some}
        ids = {vocab.special_tokens[literal] for literal in late}
        return (
            bool(late) and flags <= QUIET_FLAGS | {"spelled"}
            and not (early and (overlap(early, late) or overlap(late, early)))
            and not any({" ", self._space} & {*one} for one in late)
            and ids <= vocab.special_only and ids.isdisjoint(vocab.special_tokens[literal] for literal in early)
        )  # fmt: skip

    def items(
        self, text: str, allowed: Specials | None, trusted: Sequence[tuple[int, int]] | None = None, after: int = 0
    ) -> Iterator[int | bytes | tuple[bytes, array[int]]]:
        """Yield the items that the core turns into ids, in order: the id of a special token; bytes to be cut by
        :attr:`pretokenizer` and encoded; or bytes with the ends of the pre-tokens in them.

        Args:
            allowed: The special tokens to recognise; None for none.
            trusted: (start, end) in characters of the parts in which they are recognised, as they are written; None for
                the whole text.
            after: Leaves out what comes from the characters before this one; none of them is trusted.
        """
        # where normalization drops the beginning of a text, no Metaspace may take the rest for it
        trace = after > 0 or any(isinstance(step, Metaspace) for step in self._steps)
        for token_id, fragments, starts, _ in self._spans(text, allowed, trusted, trace=trace):
            if token_id is not None:
                yield token_id
                continue
            data, ends = "".join([fragment.text for fragment in fragments]).encode("utf-8"), None
            if self._steps or self._late_steps:
                lengths = (length for fragment in fragments for length in self._lengths(fragment.text))
                ends = array("q", accumulate(lengths))
            if after and starts and starts[0] < after:
                new = bisect_left(starts, after)
                before = [one.text[: new - one.start + one.put_in] for one in fragments if one.start < new]
                cut = len("".join(before).encode("utf-8"))
                ends = array("q", [end - cut for end in ends or self.pretokenizer.ends(data) if end > cut])
                data = data[cut:]
            if self._whole is not None:
                yield from self._spelled(data, ends or self.pretokenizer.ends(data))
            else:
                yield data if ends is None else (data, ends)

    def _spelled(self, data: bytes, ends: array[int]) -> Iterator[int | tuple[bytes, array[int]]]:
        """The items of pre-tokens in which a space is written as in their file."""
        assert self._whole is not None
        parts: list[bytes] = []
        for start, end in pairwise([0, *ends]):
            token_id = self._whole.get(data[start:end])
            if token_id is None:
                part = data[start:end]
                parts.append(part.replace(self._space.encode("utf-8"), b" ") if self._space else part)
                continue
            yield b"".join(parts), array("q", accumulate(map(len, parts)))
            yield token_id
            parts = []
        yield b"".join(parts), array("q", accumulate(map(len, parts)))

    def special_spans(self, text: str, allowed: Specials) -> list[tuple[int, int, int]]:
        """(start, end, id) of the special tokens in a text, in characters, with the white space that they take."""
        return [
            (starts[0], ends[-1], token_id)
            for token_id, _, starts, ends in self._spans(text, allowed)
            if token_id is not None
        ]

    def trace(
        self, text: str, allowed: Specials | None, trusted: Sequence[tuple[int, int]] | None = None
    ) -> offsets.Origin:
        """The text that the tokens of a text spell, and the origin of each of its characters; ``trusted`` as for
        :meth:`items`."""
        origin = offsets.Origin()
        for token_id, fragments, starts, ends in self._spans(text, allowed, trusted):
            if token_id is not None:
                origin.add_special(self._tokens[token_id], (starts[0], ends[-1]), fragments[0].text)
                continue
            for fragment, start, put_in in fragments:
                end = start + len(fragment) - put_in
                # an inserted prefix shares the place of the first character of the text
                first = [*[starts[start]] * put_in, *starts[start:end]] if put_in else starts[start:end]
                last = [*[ends[start]] * put_in, *ends[start:end]] if put_in else ends[start:end]
                if self._spells_text:
                    fragment = fragment.replace(self._space, " ") if self._space else fragment
                    origin.add(fragment.encode("utf-8"), first, last)
                    continue
                data, at = fragment.encode("utf-8"), 0
                sizes = [len(character.encode("utf-8")) for character in fragment]
                places = [place for place, size in zip(zip(first, last), sizes) for _ in range(size)]
                inside = self._steps or self._late_steps
                for stop in accumulate(self._lengths(fragment)) if inside else self.pretokenizer.ends(data):
                    self._trace_pretoken(origin, data[at:stop], places[at:stop])
                    at = stop
        return origin

    def _trace_pretoken(self, origin: offsets.Origin, data: bytes, places: list[tuple[int, int]]) -> None:
        """Append the text of a pre-token's tokens, or with an alphabet a letter for each byte of them. `places` are
        those of its bytes."""
        if self.dropped and data[:4].decode("utf-8", "ignore")[0] in self.dropped:
            return
        whole: int | None = None
        if self._looked_up is not None:
            whole = (self._whole or {}).get(data)
            if whole is None:
                whole = self._looked_up(data.replace(self._space.encode("utf-8"), b" ") if self._space else data)
                whole = None if whole in self._not_looked_up else whole
        if self._alphabet is None:
            origin.add(data, *zip(*(place for byte, place in zip(data, places) if byte & 0xC0 != 0x80)))
            return
        symbols = [(whole, len(data))] if whole is not None else self._alphabet.symbols(data)
        if self._alphabet.of_bytes and whole is None:  # its symbols stand for bytes in printable form
            places = [place for byte, place in zip(data, places) for _ in ALPHABET[byte].encode("utf-8")]
        at = 0
        for token_id, size in symbols:
            letters = len(self._tokens[token_id])
            origin.add(b"x" * letters, [places[at][0]] * letters, [places[at + size - 1][1]] * letters)
            at += size

    def _fragments(self, ordinary: Fragment, beginning: int) -> list[Fragment]:
        """The parts of ordinary text, whose first characters come from the `beginning` of the whole text."""
        fragments = [ordinary]
        if self._prefix_space and not self._steps:
            return splits.apply(PrefixSpace(), fragments)
        for step in self._steps:
            fragments = splits.apply(step, fragments, beginning=beginning)
        return fragments

    def _lengths(self, fragment: str) -> Iterable[int]:
        """The lengths in bytes of the pre-tokens in a part. In printable form a character is a byte."""
        if not self._late_steps:
            return (len(fragment.encode("utf-8")),)
        return (self._known_lengths if len(fragment) < LONG else self._late_lengths)(fragment)

    def _late_lengths(self, fragment: str) -> list[int]:
        cuts = [Fragment(encode_token(fragment))]
        for step in self._late_steps:
            cuts = splits.apply(step, cuts)
        return [len(cut.text) for cut in cuts]

    def _spans(
        self,
        text: str,
        allowed: Specials | None,
        trusted: Sequence[tuple[int, int]] | None = None,
        *,
        trace: bool = True,
    ) -> Iterator[Span]:
        """Yield the spans of a text; without `trace`, starts and ends do not follow a normalization."""
        early, late = self._finder(allowed, as_written=trusted is not None)
        for start, end, token_id in early.cut(text, trusted):
            if token_id is not None:
                yield token_id, [Fragment(text[start:end])], range(start, end), range(start + 1, end + 1)
            else:
                part = text[start:end]
                if trace or self._normalize is None:
                    part, starts, ends = self._normalized(part, start)
                else:  # tracing took up to twenty times as long
                    part = self._normalize(part)
                    starts = ends = range(start, start + len(part))
                for first, last, token_id in late.cut(part):
                    fragments = [Fragment(part[first:last])]
                    if token_id is None:
                        fragments = self._fragments(fragments[0], bisect_right(starts, 0, first, last) - first)
                    yield token_id, fragments, starts[first:last], ends[first:last]

    def _finder(self, allowed: Specials | None, as_written: bool) -> tuple[_Finder, _Finder]:
        """The finders of special tokens in the given text and in the normalized text; all are found in the given text
        if they are looked for `as_written`."""
        finders = self._finders.get((allowed, as_written))
        if finders is None:
            early: dict[str, str] = {}
            late: dict[str, str] = {}
            # of two that look alike once normalized the first counts: special ones come first, then lower ids
            for literal in sorted(() if allowed is None else allowed.literals, key=self._rank):
                flags = self._flags.get(literal, ())
                if as_written or LATE.isdisjoint(flags):
                    early[literal] = literal
                else:
                    normalize = self._normalize if "normalized" in flags else None
                    late.setdefault(normalize(literal) if normalize is not None else literal, literal)
            late.pop("", None)
            settings = self._special_tokens, self._flags
            finders = _Finder(early, *settings), _Finder(late, *settings)
            if len(self._finders) >= SUBSETS:
                self._finders.clear()
            self._finders[allowed, as_written] = finders
        return finders

    def _rank(self, literal: str) -> tuple[bool, int]:
        return "plain" in self._flags.get(literal, ()), self._special_tokens[literal]

    def _normalized(self, text: str, edge: int) -> tuple[str, Sequence[int], Sequence[int]]:
        """Text normalized, and the start and end of its characters in the given text, where it begins at `edge`; an
        inserted character has the place of a neighbour."""
        starts: Sequence[int] = range(edge, edge + len(text))
        ends: Sequence[int] = range(edge + 1, edge + len(text) + 1)
        sources: Sequence[int]
        given = len(text)
        for one in self._normalization:
            if isinstance(one, Prepend):
                put_in = len(one.text) if text else 0
                text = one.text[:put_in] + text
                starts, ends = [*[*starts[:1]] * put_in, *starts], [*[*ends[:1]] * put_in, *ends]
                continue
            if isinstance(one, Replace | Mapped | Precompiled):
                text, sources = _replaced(one, text)
            else:
                text, sources = normal_form(one).align(text)
            check_growth(one, len(text), given)
            if sources != range(len(text)):
                starts = [starts[at] if at >= 0 else edge for at in sources]
                ends = [ends[at] if at >= 0 else edge for at in sources]
        return text, starts, ends


def _replaced(one: Replace | Mapped | Precompiled, text: str) -> tuple[str, Sequence[int]]:
    """The rewritten text, and for each character the index of its origin: for inserted content the last replaced
    character, or the one before an empty match, -1 if there is none."""
    found = [*replacements(one, text)]
    made: list[str] = []
    sources: list[int] = []
    moved = any(last - first != 1 or len(content) != 1 for first, last, content in found)
    at = 0
    for first, last, content in found:
        made += text[at:first], content
        if moved:
            sources += range(at, first)
            sources += [last - 1] * len(content)
        at = last
    made.append(text[at:])
    return "".join(made), [*sources, *range(at, len(text))] if moved else range(len(text))


class _Finder:
    """Finds special tokens with their flags, as ``find_matches`` of ``tokenizers`` does."""

    def __init__(
        self, literals: dict[str, str], special_tokens: dict[str, int], flags: dict[str, tuple[str, ...]]
    ) -> None:
        self._ids = [special_tokens[literal] for literal in literals.values()]
        self._flags = [frozenset(flags.get(literal, ())) for literal in literals.values()]
        self._specials = Specials({text: number for number, text in enumerate(literals)})

    def cut(
        self, text: str, trusted: Sequence[tuple[int, int]] | None = None
    ) -> Iterator[tuple[int, int, int | None]]:
        """Yield (start, end, id) for special tokens in trusted parts and (start, end, None) for the rest."""
        done, seen, regex = 0, text, splits.regex_of
        if any(flags & {"single_word", "lstrip", "rstrip"} for flags in self._flags):
            from ..splitting.pattern.regex_text import as_regex_sees  # not at the top: it imports `regex`, slowly

            seen = as_regex_sees(text, r"\s\w")
        spans = (
            (part + start, part + end, number)
            for part, stop in ([(0, len(text))] if trusted is None else trusted)
            for start, end, number in self._specials.spans(text[part:stop])
        )
        for start, end, number in spans:
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
