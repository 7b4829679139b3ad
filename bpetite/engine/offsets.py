"""The characters of the given text that each token covers.

Characters of a rewritten text are aligned to the given text as Hugging Face's ``tokenizers`` aligns them, so
that offsets are those of its ``Encoding``.

Sources: ``normalizer.rs`` (``transform_range``) and ``pre_tokenizer.rs`` (``into_encoding``) in
https://github.com/huggingface/tokenizers, and ``recompose.rs`` in https://github.com/n1t0/unicode-normalization
"""
from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Literal

from ..bytelevel import encode_token
from ..core._tokenizer_base import TokenizerBase
from ..steps.normalizers import normalize

#: What trimmed offsets leave out: the space of the printable form, and white space as Rust knows it.
SPACES = "\u0120\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

#: (start, end) in characters.
Span = tuple[int, int]

#: Text in which characters can combine: ASCII combines with nothing before it, and does not change.
_combining_run = re.compile(r"[\0-\x7f]?[^\0-\x7f]+")


class Origin:
    """The text that tokens spell, and its origin."""

    def __init__(self) -> None:
        #: Character i comes from the characters ``starts[i]:ends[i]`` of the given text; empty if it is that text.
        self.starts: list[int] = []
        self.ends: list[int] = []
        self._parts: list[bytes] = []

    @property
    def data(self) -> bytes:
        """The text in UTF-8."""
        return b"".join(self._parts)

    def add(self, data: bytes, starts: Iterable[int], ends: Iterable[int]) -> None:
        """Append ordinary text in UTF-8."""
        self.starts += starts
        self.ends += ends
        self._parts.append(data)

    def add_special(self, token: bytes, span: Span | None) -> None:
        """Append a special token that takes up ``span`` of the given text (None if all of it is as given)."""
        size = len(token.decode("utf-8"))
        start, end = ([span[0]] * size, [span[1]] * size) if span is not None else ((), ())
        self.add(token, start, end)

    def spans(self, tokenizer: TokenizerBase, ids: list[int]) -> list[Span]:
        """(start, end) of each token, in characters of the given text."""
        spans = tokenizer._char_spans(ids, self.data)
        starts, ends = self.starts, self.ends
        return [(starts[start], ends[end - 1]) for start, end in spans] if starts else spans


def offsets_of(
    tokenizer: TokenizerBase,
    text: str | bytes,
    ids: list[int],
    allowed_special: Literal["all"] | Collection[str],
    trusted: Sequence[Span] | None = None,
) -> list[Span]:
    """(start, end) in characters of a text for each of its ids; `allowed_special` as in the encoding, in parts of the
    text that are `trusted` (all when None)."""
    given = text if isinstance(text, str) else text.decode("utf-8")
    return _trace(tokenizer, given, allowed_special, trusted).spans(tokenizer, ids)


def _trace(
    tokenizer: TokenizerBase,
    text: str,
    allowed_special: Literal["all"] | Collection[str],
    trusted: Sequence[Span] | None,
) -> Origin:
    if tokenizer._pipeline is not None:
        return tokenizer._pipeline.trace(text, tokenizer._specials(allowed_special)[0], trusted)
    origin, tokens, form = Origin(), tokenizer._vocab.tokens, tokenizer._vocab.normalization
    specials = [(text[at + start : at + end], at + start, at + end, tokens[token_id])
                for at, stop in ([(0, len(text))] if trusted is None else trusted)
                for start, end, token_id in tokenizer._special_spans(text[at:stop], allowed_special)]  # fmt: skip
    as_given = form is None and all(literal.encode("utf-8") == token for literal, _, _, token in specials)
    done = 0
    for _, start, end, token in [*specials, ("", len(text), len(text), b"")]:
        span = text[done:start]
        starts: Sequence[int] = () if as_given else range(done, start)
        ends: Sequence[int] = () if as_given else range(done + 1, start + 1)
        if isinstance(form, str):
            span, sources = align(form, span)
            starts, ends = [starts[at] for at in sources], [ends[at] for at in sources]
        if span:
            origin.add(span.encode("utf-8"), starts, ends)
        if token:
            origin.add_special(token, None if as_given else (start, end))
        done = end
    return origin


def trimmed(tokenizer: TokenizerBase, ids: Sequence[int], spans: list[Span], text: str = "") -> list[Span]:
    """Spans without the white space that tokens begin and end with, if the template trims them: as ``ByteLevel`` of
    ``tokenizers`` does. A special token may have taken white space of the `text` with it, if one is given."""
    vocab = tokenizer._vocab
    if vocab.template is None or not vocab.template.trim_offsets:
        return spans
    literals = {token_id: vocab.spelled(literal) for literal, token_id in vocab.special_tokens.items()}

    def spelled(token_id: int, span: Span) -> str:
        token, literal, found = vocab.tokens[token_id], literals.get(token_id), text[slice(*span)]
        if literal is not None:  # it may be the token of an unknown character
            return found if literal in found else literal
        if vocab.alphabet is None or not vocab.alphabet.of_characters:
            return encode_token(token)
        return vocab.alphabet.spell(token, token_id)

    tokens = [*map(spelled, ids, spans)]
    for keeps_prefix in vocab.template.trim_offsets:
        spans = [_trimmed(*one, keeps_prefix) for one in zip(range(len(ids)), tokens, spans, strict=True)]
    return spans


def _trimmed(at: int, token: str, span: Span, keeps_prefix: bool) -> Span:
    """The span of token number `at` without its white space; with `keeps_prefix` the first one keeps a space, which may
    have been put before the text."""
    start, end = span
    before, after = (len(token) - len(rest) for rest in (token.lstrip(SPACES), token.rstrip(SPACES)))
    if before > 1 or (before and (at > 0 < start or not keeps_prefix)):
        start = min(start + before, end)
    return start, max(end - after, start) if after and end >= after else end


def align(form: str, text: str) -> tuple[str, Sequence[int]]:
    """A text in a normal form, and for each of its characters the index of its origin in the text.

    >>> align("NFC", "cafe\\u0301s")
    ('cafés', [0, 1, 2, 3, 5])
    """
    if unicodedata.is_normalized(form, text):  # type: ignore[arg-type]
        return text, range(len(text))
    parts: list[str] = []
    sources: list[int] = []
    done = 0
    for match in _combining_run.finditer(text):
        start, end = match.span()
        run = match.group()
        normal = normalize(form, run)
        if normal == run:
            continue
        parts += [text[done:start], normal]
        sources += range(done, start)
        made = [*_aligned(form, run)]
        sources += [start + at for _, at in made]
        done = end
    return "".join([*parts, text[done:]]), [*sources, *range(done, len(text))]


def _aligned(form: str, run: str) -> Iterator[tuple[str, int]]:
    """(character, index of its origin). Each takes the places of the next unused character and of the characters that
    composing removes; an added character shares the place of the one before it."""
    at = 0
    for char, change in _changes(form, run):
        yield char, max(at - 1, 0) if change > 0 else at
        at += 1 - change


def _changes(form: str, run: str) -> Iterator[tuple[str, int]]:
    """(character, change) of a text in a normal form; the change is 0 for a character that replaces one of the text, 1
    for an added one, -n for one that replaces 1 + n."""
    decompose = partial(normalize, form.replace("C", "D"))
    parts = [(part, int(number > 0)) for char in run for number, part in enumerate(decompose(char))]
    # marks in the order of their classes, between characters that are none
    groups = groupby(parts, lambda part: _combining_class(part) > 0)
    decomposed = [part for _, group in groups for part in sorted(group, key=_combining_class)]
    return _composed(decomposed) if form.endswith("C") else iter(decomposed)


def _combining_class(part: tuple[str, int]) -> int:
    return unicodedata.combining(part[0])


def _composed(decomposed: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    starter: tuple[str, int] | None = None
    waiting: list[tuple[str, int]] = []  # characters after the starter that did not combine with it
    last = 0  # the combining class of the last of these
    for char, change in decomposed:
        combining = unicodedata.combining(char)
        if starter is None and combining:
            yield char, change
            continue
        if starter is not None and (not waiting or last < combining):
            both = normalize("NFC", starter[0] + char)
            if len(both) == 1:
                starter = both, starter[1] + change - 1
                continue
        if combining:
            waiting.append((char, change))
            last = combining
            continue
        if starter is not None:
            yield starter
        yield from waiting
        waiting.clear()
        starter = char, change
    if starter is not None:
        yield starter
    yield from waiting
