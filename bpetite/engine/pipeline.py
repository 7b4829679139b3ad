"""The steps before merging, in Python, for a vocabulary that asks for more than patterns and plain special tokens.

Special tokens that strip white space, a space put before a text, splits that drop or join fragments, rewritten text:
each is rare, and follows Hugging Face's ``tokenizers``. Splitting by patterns and merging stay compiled.

Source: ``added_vocabulary.rs`` in https://github.com/huggingface/tokenizers
"""
from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from ..bytelevel import encode_token
from ..core._special import Specials
from ..patterns import as_tuple, is_plain
from ..splitting.pretokenizer import Pretokenizer, pretokenizer
from ..steps import splits
from ..steps._rewriting import Rewriter
from ..steps.charsmap import Precompiled
from ..steps.normalizers import Prepend, Replace, check_growth, normal_form, normalizer, replacements
from ..steps.simplified import rewriter_of, space_before
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

#: A special token or the text up to the next one: the id or None, the fragments of ordinary text before any step that
#: sees their printable form, and the start and end of each character in the given text.
Span = tuple[int | None, list[Fragment], Sequence[int], Sequence[int]]


class Pipeline:
    """Text to special tokens and to the ordinary text between them, which the compiled core encodes. `pattern` is the
    vocabulary's, or one that cuts alike (:mod:`bpetite.steps.simplified`)."""

    def __init__(self, vocab: Vocab, pattern: SplitPattern) -> None:
        self._flags = vocab.token_flags
        self._special_tokens = vocab.special_tokens
        self._tokens = vocab.tokens
        self._normalization = vocab.normalization
        self._normalize = normalizer(vocab.normalization)
        self._space, self._alphabet, self._unknown = "", vocab.alphabet_table, b""
        if vocab.alphabet is not None:
            self._space = vocab.alphabet.space
            self._unknown = b"" if vocab.alphabet.unknown is None else vocab.tokens[vocab.alphabet.unknown]
        steps = as_tuple(pattern)
        at = steps.index(Printable()) if Printable() in steps else len(steps)
        # steps that see the text, and steps that see its printable form
        self._steps, self._late_steps = steps[:at], steps[at + 1 :]
        self._prefix_space = steps[:1] == (PrefixSpace(),)
        plain = self._steps[1:] if self._prefix_space else self._steps
        #: Splits ordinary text in the core; "none" if it is split here.
        self.pretokenizer: Pretokenizer = pretokenizer(None)
        if is_plain(plain) and not self._late_steps:
            self.pretokenizer = pretokenizer(plain or None)
            self._steps = ()
        self.scanned_alone: bool = False  # if the core does all that the vocabulary asks for, the pipeline only traces
        self.prefix: str = ""
        self.rewriter: Rewriter | None = None  # of the core, if that does all
        self.late: frozenset[int] = frozenset()  # special tokens that the core finds as those of rewritten text
        self._known_lengths = lru_cache(maxsize=1 << 14)(self._late_lengths)  # most words come again
        if vocab.alphabet is not None:
            self._cut_into_words(vocab, as_tuple(vocab.pattern))
        self._finders: dict[tuple[Specials | None, bool], tuple[_Finder, _Finder]] = {}

    def _cut_into_words(self, vocab: Vocab, steps: tuple[Step, ...]) -> None:
        """Let the core cut the texts of a vocabulary of characters where no merge joins."""
        prefix = None
        late = {literal for literal, flags in vocab.token_flags.items() if "spelled" in flags}
        if (not vocab.has_flags or self._are_found_at_once(vocab, late)) and not (vocab.ignore_merges and self._space):
            rewriter, rest = rewriter_of(vocab.normalization, self._space)
            prefix = space_before(rest, steps, self._space)
        if prefix is not None and (not late or (rewriter is None and prefix in ("", "always"))):
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
            yield data if ends is None else (data, ends)

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
                origin.add_special(self._tokens[token_id], (starts[0], ends[-1]))
            for fragment, start, put_in in fragments:
                end = start + len(fragment) - put_in
                # an inserted prefix shares the place of the first character of the text
                first = [*[starts[start]] * put_in, *starts[start:end]] if put_in else starts[start:end]
                last, done = [*[ends[start]] * put_in, *ends[start:end]] if put_in else ends[start:end], 0
                fragment = fragment.replace(self._space, " ") if self._space else fragment  # as the tokens spell it
                for begin, stop in self._unknown_runs(fragment) if self._unknown else ():
                    origin.add(fragment[done:begin].encode("utf-8"), first[done:begin], last[done:begin])
                    origin.add_special(self._unknown, (first[begin], last[stop - 1]))
                    done = stop
                origin.add(fragment[done:].encode("utf-8"), first[done:], last[done:])
        return origin

    def _unknown_runs(self, fragment: str) -> Iterator[tuple[int, int]]:
        """(start, end) of the characters in a fragment that become the id for unknown ones, for each such id."""
        at = 0
        for part in self.pretokenizer.split(fragment):
            assert self._alphabet is not None
            yield from ((at + start, at + end) for start, end in self._alphabet.unknown_runs(part))
            at += len(part)

    def _fragments(self, text: str, is_first: bool) -> list[Fragment]:
        """The parts of ordinary text, with which the whole text may begin."""
        fragments = [Fragment(text)] if text else []
        if self._prefix_space and not self._steps:
            return splits.apply(PrefixSpace(), fragments)
        for step in self._steps:
            fragments = splits.apply(step, fragments, is_first=is_first)
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
        is_first = True
        for start, end, token_id in early.cut(text, trusted):
            if token_id is not None:
                yield token_id, [], range(start, end), range(start + 1, end + 1)
            else:
                part = text[start:end]
                if trace or self._normalize is None:
                    part, starts, ends = self._normalized(part, start)
                else:  # tracing took up to twenty times as long
                    part = self._normalize(part)
                    starts = ends = range(start, start + len(part))
                for first, last, token_id in late.cut(part):
                    is_first = is_first and starts[first] == 0
                    fragments = self._fragments(part[first:last], is_first) if token_id is None else []
                    yield token_id, fragments, starts[first:last], ends[first:last]
                    is_first = False
            is_first = False

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
        for one in as_tuple(self._normalization):
            if isinstance(one, Prepend):
                put_in = len(one.text) if text else 0
                text = one.text[:put_in] + text
                starts, ends = [*[*starts[:1]] * put_in, *starts], [*[*ends[:1]] * put_in, *ends]
                continue
            if isinstance(one, Replace | Precompiled):
                text, sources = _replaced(one, text)
            else:
                text, sources = normal_form(one).align(text)
            check_growth(one, len(text), given)
            if sources != range(len(text)):
                starts = [starts[at] if at >= 0 else edge for at in sources]
                ends = [ends[at] if at >= 0 else edge for at in sources]
        return text, starts, ends


def _replaced(one: Replace | Precompiled, text: str) -> tuple[str, Sequence[int]]:
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
        done, seen, regex = 0, text, splits.compiled
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
