"""Rows of a model's input: one text or a pair, cut to fit, with special tokens around and padding beside.

The ids of a row are made at once; what few callers ask for (offsets, words, which text a token is of) when asked for.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ..steps.template import Template, TemplatePart

__all__ = ["Piece", "Row", "Sample", "cut", "lay_out"]

#: What stands around texts when a tokenizer has no template.
BARE = Template((TemplatePart(text="A"),), (TemplatePart(text="A"), TemplatePart(text="B", type_id=1)))


class Piece(NamedTuple):
    """A stretch of a row: tokens of text 0 or 1 from its token ``start`` on, or special tokens (text None)."""

    text: int | None
    ids: Sequence[int]
    start: int
    type_id: int


class Sample:
    """One input: one text or two, each encoded.

    Args:
        ids: The token ids of each text.
        spans: Gives (start, end) in characters of each token of a text, see ``Tokenizer.encode_with_offsets``.
        words: For each text that came as words, the word that each token is of.
        spell: Gives the printable form of an id.
    """

    def __init__(
        self,
        ids: Sequence[Sequence[int]],
        spans: Callable[[int], list[tuple[int, int]]],
        words: Sequence[list[int]] | None,
        spell: Callable[[int], str],
    ) -> None:
        self.ids, self._spans, self.words, self.spell = ids, spans, words, spell
        self._cache: dict[int, list[tuple[int, int]]] = {}

    def spans(self, text: int) -> list[tuple[int, int]]:
        """(start, end) of each token of a text, in characters."""
        if text not in self._cache:
            self._cache[text] = self._spans(text)
        return self._cache[text]

    def __getstate__(self) -> dict[str, Any]:
        """By value, as a loader's worker sends it: the spans, and nothing of the tokenizer that made them."""
        for text in range(len(self.ids)):
            self.spans(text)
        return self.__dict__ | {"_spans": None, "spell": None}


class Row:
    """One row; has the attributes of ``tokenizers.Encoding`` that ``transformers.BatchEncoding`` reads.

    Args:
        sample: What it is cut from.
        pieces: Its stretches, in order.
    """

    def __init__(self, sample: Sample, pieces: Sequence[Piece]) -> None:
        self._sample, self._pieces = sample, pieces
        self.ids: list[int] = [token_id for piece in pieces for token_id in piece.ids]
        self.attention_mask = [1] * len(self.ids)
        self.overflowing: list[Row] = []
        self._before = self._behind = 0
        self._pad_type_id = 0

    def pad(self, width: int, pad_id: int, pad_type_id: int, side: str) -> None:
        """Fill the row up to a width."""
        missing = max(width - len(self.ids), 0)
        self._pad_type_id = pad_type_id
        if side == "left":
            self._before = missing
            self.ids = [pad_id] * missing + self.ids
            self.attention_mask = [0] * missing + self.attention_mask
        else:
            self._behind = missing
            self.ids = self.ids + [pad_id] * missing
            self.attention_mask = self.attention_mask + [0] * missing

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
        made = [piece.type_id for piece in self._pieces for _ in piece.ids]
        return [self._pad_type_id] * self._before + made + [self._pad_type_id] * self._behind

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each token that is of no text."""
        return [int(text is None) for text in self.sequence_ids]

    @cached_property
    def sequence_ids(self) -> list[int | None]:
        """The text, 0 or 1, that each token is of; None for special tokens and padding."""
        made = [piece.text for piece in self._pieces for _ in piece.ids]
        return [None] * self._before + made + [None] * self._behind

    @cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """(start, end) in characters of each token in its text; (0, 0) for special tokens and padding."""
        made: list[tuple[int, int]] = []
        for text, ids, start, _ in self._pieces:
            made += [(0, 0)] * len(ids) if text is None else self._sample.spans(text)[start : start + len(ids)]
        return [(0, 0)] * self._before + made + [(0, 0)] * self._behind

    @property
    def word_ids(self) -> list[int | None]:
        """The word that each token is of, where the text came as words."""
        if self._sample.words is None:
            raise NotImplementedError("words are known where a text is given as words (is_split_into_words=True)")
        made: list[int | None] = []
        for text, ids, start, _ in self._pieces:
            made += [None] * len(ids) if text is None else self._sample.words[text][start : start + len(ids)]
        return [None] * self._before + made + [None] * self._behind

    @cached_property
    def tokens(self) -> list[str]:
        """The printable form of each token."""
        return [self._sample.spell(token_id) for token_id in self.ids]

    def token_to_sequence(self, token: int) -> int | None:
        """The text that a token is of."""
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        """The word that a token is of."""
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> tuple[int, int] | None:
        """(start, end) of a token; None for special tokens."""
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The first token that covers a character of a text."""
        for token, (text, (start, end)) in enumerate(zip(self.sequence_ids, self.offsets, strict=True)):
            if text == sequence and start <= char < end:
                return token
        return None


def lay_out(sample: Sample, windows: Sequence[tuple[int, int]], template: Template | None) -> Row:
    """A row of the tokens ``start:end`` of each text, with special tokens as a template says."""
    template = template or BARE
    parts = template.single if len(sample.ids) == 1 else template.pair
    pieces: list[Piece] = []
    for part in parts:
        if part.text:
            text = "AB".index(part.text)
            start, end = windows[text]
            pieces.append(Piece(text, sample.ids[text][start:end], start, part.type_id))
        elif part.ids:
            pieces.append(Piece(None, part.ids, 0, part.type_id))
    return Row(sample, pieces)


def cut(
    lengths: Sequence[int], room: int | None, strategy: str, side: str, stride: int, overflow: bool
) -> list[list[tuple[int, int]]]:
    """Where to cut a text or a pair so that it has room: for each row a window (start, end) of each text.

    Args:
        lengths: Tokens of each text.
        room: Tokens that fit beside the special ones; None for no bound.
        strategy: "longest_first", "only_first" or "only_second".
        side: Where a text loses tokens.
        stride: How many tokens a row repeats of the one before.
        overflow: Whether what is cut off gives further rows.

    Raises:
        ValueError: The text that may be cut is too short, or ``stride`` leaves no progress.
    """
    whole = [(0, length) for length in lengths]
    if room is None or sum(lengths) <= room:
        return [whole]
    if room < 0:
        raise ValueError(f"max_length leaves no room: {-room} tokens short for the special tokens alone")
    keep = _shares(list(lengths), room, strategy)
    if not overflow:
        pairs = zip(keep, lengths, strict=True)
        return [[(0, kept) if side == "right" else (length - kept, length) for kept, length in pairs]]
    cut_texts = [text for text, kept in enumerate(keep) if kept < lengths[text]]
    if len(cut_texts) > 1:
        raise ValueError("return_overflowing_tokens for a pair needs truncation='only_first' or 'only_second'")
    text = cut_texts[0]
    if stride >= keep[text]:
        raise ValueError(f"stride {stride} must be less than the {keep[text]} tokens that a row keeps")
    made = []
    for window in _windows(lengths[text], keep[text], stride, side):
        row = list(whole)
        row[text] = window
        made.append(row)
    return made


def _shares(lengths: list[int], room: int, strategy: str) -> list[int]:
    """How many tokens each text keeps."""
    if len(lengths) == 1:
        if strategy == "only_second":
            raise ValueError("truncation='only_second' needs a pair of texts")
        return [room]
    if strategy in ("only_first", "only_second"):
        text = 0 if strategy == "only_first" else 1
        kept = room - lengths[1 - text]
        if kept <= 0:
            other = lengths[1 - text]
            raise ValueError(
                f"truncation={strategy!r}: the other text alone has {other} tokens, and there is room for {room}"
            )
        return [kept, lengths[1]] if text == 0 else [lengths[0], kept]
    short, long = sorted(lengths)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return [short, long] if lengths[0] <= lengths[1] else [long, short]


def _windows(length: int, size: int, stride: int, side: str) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    if side == "right":
        for start in range(0, length, size - stride):
            made.append((start, min(start + size, length)))
            if made[-1][1] == length:
                break
        return made
    for end in range(length, 0, stride - size):
        made.append((max(end - size, 0), end))
        if made[-1][0] == 0:
            break
    return made
