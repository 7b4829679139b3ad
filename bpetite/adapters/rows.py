"""Rows of a model's input: one text or a pair, truncated to fit, with special tokens around it, and padded.

The ids of a row are built at once. What few callers ask for (offsets, words, which text a token belongs to) is built
when it is asked for.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..engine.offsets import Span, TokenOrigins, trim
from ..engine.options import Side
from ..engine.padding import windows
from ..steps.template import BARE, Template

__all__ = ["Row", "Sample", "Segment", "build_row", "join_words", "truncate"]

Value = TypeVar("Value")


class Segment(NamedTuple):
    """Consecutive tokens of a row: those of text 0 or 1 from its token ``start`` on, or special tokens (text None)."""

    text: int | None
    ids: Sequence[int]
    start: int
    type_id: int


class Sample:
    """One input: one text or two, each encoded.

    Args:
        ids: The token ids of each text.
        trace: Gives for each text where its tokens come from.
        spell: Gives the printable form of an id.
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        trace: Callable[[int], TokenOrigins],
        spell: Callable[[int], str],
    ) -> None:
        self.ids = ids
        self._trace = trace
        self.spell = spell
        self._cache: dict[int, TokenOrigins] = {}

    def origins(self, text: int) -> TokenOrigins:
        """Where the tokens of a text come from."""
        if text not in self._cache:
            self._cache[text] = self._trace(text)
        return self._cache[text]

    def __getstate__(self) -> dict[str, Any]:
        """The origins by value, without the tokenizer that computes them: what the worker of a data loader sends."""
        for text in range(len(self.ids)):
            self.origins(text)
        return self.__dict__ | {"_trace": None, "spell": None}


def join_words(words: Sequence[tuple[str, list[int]]], trace: Callable[[str, list[int]], TokenOrigins]) -> TokenOrigins:
    """Where the tokens of a text that is given as words come from: spans are those in the word.

    Args:
        words: The words, and the token ids of each.
        trace: Gives for a word and its ids where they come from.
    """
    joined = TokenOrigins([], [], {})
    for number, (word, ids) in enumerate(words):
        spans, _, literals = trace(word, ids)
        joined.literals.update((len(joined.spans) + token, literal) for token, literal in literals.items())
        joined.spans.extend(spans)
        joined.words.extend([number] * len(ids))
    return joined


class Row:
    """One row; has the attributes of ``tokenizers.Encoding`` that ``transformers.BatchEncoding`` reads.

    Args:
        sample: The input that it is cut from.
        segments: Its tokens, in order.
        trim_offsets: See :class:`bpetite.steps.template.Template`.
    """

    def __init__(self, sample: Sample, segments: Sequence[Segment], trim_offsets: Sequence[bool] = ()) -> None:
        self._sample, self._segments, self._trims = sample, segments, trim_offsets
        self.ids: list[int] = [token_id for segment in segments for token_id in segment.ids]
        self.attention_mask: list[int] = [1] * len(self.ids)
        self._left = self._right = 0  # padding tokens on either side
        self._pad_type_id = 0

    def pad(self, width: int, pad_id: int, pad_type_id: int, padding_side: str) -> None:
        """Fill the row up to a width. It must not be padded yet."""
        missing = max(width - len(self.ids), 0)
        self._left, self._right = (missing, 0) if padding_side == "left" else (0, missing)
        self._pad_type_id = pad_type_id
        self.ids = self._padded(self.ids, pad_id)
        self.attention_mask = self._padded(self.attention_mask, 0)

    def _padded(self, values: list[Value], filler: Value) -> list[Value]:
        return [filler] * self._left + values + [filler] * self._right

    def __len__(self) -> int:
        return len(self.ids)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"tokens": self.tokens}

    @property
    def n_sequences(self) -> int:
        """1, or 2 for a pair."""
        return len(self._sample.ids)

    @property
    def type_ids(self) -> list[int]:
        """The type of each token, padding included."""
        return self._padded([segment.type_id for segment in self._segments for _ in segment.ids], self._pad_type_id)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each token that belongs to no text."""
        return [int(text is None) for text in self.sequence_ids]

    @cached_property
    def sequence_ids(self) -> list[int | None]:
        """The text, 0 or 1, of each token; None for special tokens and padding."""
        return self._padded([segment.text for segment in self._segments for _ in segment.ids], None)

    @cached_property
    def offsets(self) -> list[Span]:
        """(start, end) of each token in its text, in characters; (0, 0) for special tokens and padding."""
        spans = self._per_token(lambda text: self._sample.origins(text).spans, (0, 0))
        end = self._left
        for segment in self._segments if self._trims else ():
            start, end = end, end + len(segment.ids)
            for prefix_space in self._trims if segment.text is not None else ():
                spans[start:end] = trim(self.tokens[start:end], spans[start:end], prefix_space)
        return spans

    @cached_property
    def word_ids(self) -> list[int | None]:
        """The number of the pre-token that each token belongs to, or of the word in a text given as words; None for
        special tokens around the texts and padding."""
        return self._per_token(lambda text: self._sample.origins(text).words, None)

    def _per_token(self, values_of: Callable[[int], list[Any]], filler: Any) -> list[Any]:
        """A value for each token: that of its text, or a filler."""
        values: list[Any] = []
        for text, ids, start, _ in self._segments:
            values += [filler] * len(ids) if text is None else values_of(text)[start : start + len(ids)]
        return self._padded(values, filler)

    @cached_property
    def tokens(self) -> list[str]:
        """The printable form of each token; for a special token in a text, the characters that it takes up there."""
        tokens = list(map(self._sample.spell, self.ids))
        end = self._left
        for text, ids, first, _ in self._segments:
            start, end = end, end + len(ids)
            literals = {} if text is None else self._sample.origins(text).literals
            if literals:
                tokens[start:end] = [literals.get(first + n, token) for n, token in enumerate(tokens[start:end])]
        return tokens

    def token_to_sequence(self, token: int) -> int | None:
        """The text that a token belongs to."""
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        """The number of the word that a token belongs to, see :attr:`word_ids`."""
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        """(start, end) of a token; None for special tokens."""
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """(first, last + 1) of the tokens of a word of a text; None if it has none."""
        pairs = zip(self.sequence_ids, self.word_ids, strict=True)
        found = [token for token, pair in enumerate(pairs) if pair == (sequence, word)]
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        """(start, end) of a word in its text, in characters; None if it has no token."""
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The first token that covers a character of a text."""
        for token, (text, (start, end)) in enumerate(zip(self.sequence_ids, self.offsets, strict=True)):
            if text == sequence and start <= char < end:
                return token
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """The number of the word that a character of a text belongs to; None where no token covers it."""
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]


def build_row(sample: Sample, spans: Sequence[Span], template: Template | None) -> Row:
    """A row of the tokens ``start:end`` of each text, with the special tokens of a template."""
    template = template or BARE
    parts = template.single if len(sample.ids) == 1 else template.pair
    segments: list[Segment] = []
    for part in parts:
        if part.text:
            text = "AB".index(part.text)
            start, end = spans[text]
            segments.append(Segment(text, sample.ids[text][start:end], start, part.type_id))
        elif part.ids:
            segments.append(Segment(None, part.ids, 0, part.type_id))
    return Row(sample, segments, template.trim_offsets)


def truncate(
    lengths: Sequence[int], room: int | None, strategy: str, side: Side, stride: int, overflow: bool
) -> list[list[Span]]:
    """Where to cut a text or a pair so that it fits: for each row (start, end) in the tokens of each text.

    Args:
        lengths: Tokens of each text.
        room: Tokens that fit beside the special ones; None for no bound.
        strategy: "longest_first", "only_first" or "only_second".
        side: Where a text loses tokens.
        stride: How many tokens of the row before a row repeats.
        overflow: Whether the tokens that are cut off give further rows.

    Raises:
        ValueError: The text that may be cut is too short, or ``stride`` leaves no progress.
    """
    whole = [(0, length) for length in lengths]
    if room is None or sum(lengths) <= room:
        return [whole]
    if room < 0:
        raise ValueError(f"max_length leaves no room: {-room} tokens short for the special tokens alone")
    kept = _shares(lengths, room, strategy)
    if not overflow:
        return [[_windows(length, size, side, None)[0] for length, size in zip(lengths, kept, strict=True)]]
    shortened = [text for text, size in enumerate(kept) if size < lengths[text]]
    if len(shortened) > 1:
        raise ValueError("return_overflowing_tokens for a pair needs truncation='only_first' or 'only_second'")
    text = shortened[0]
    if stride >= kept[text]:
        raise ValueError(f"stride {stride} must be less than the {kept[text]} tokens that a row keeps")
    found = _windows(lengths[text], kept[text], side, stride)
    return [[*whole[:text], window, *whole[text + 1 :]] for window in (found if side == "right" else found[::-1])]


def _windows(length: int, size: int, side: Side, stride: int | None) -> list[Span]:
    _, starts, ends = windows(np.array([length]), size, side, stride)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _shares(lengths: Sequence[int], room: int, strategy: str) -> list[int]:
    """How many tokens each text keeps."""
    if len(lengths) == 1:
        if strategy == "only_second":
            raise ValueError("truncation='only_second' needs a pair of texts")
        return [room]
    if strategy in ("only_first", "only_second"):
        text = 0 if strategy == "only_first" else 1
        other = lengths[1 - text]
        if room <= other:
            raise ValueError(
                f"truncation={strategy!r}: the other text alone has {other} tokens, and there is room for {room}"
            )
        return [room - other, other] if text == 0 else [other, room - other]
    # The longer text loses tokens down to the length of the other; if that is not enough, each keeps half of the room.
    short, long = sorted(lengths)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return [short, long] if lengths[0] <= lengths[1] else [long, short]
