"""Encodings in the shape of ``tokenizers.Encoding``. A column is made when it is asked for, for a whole batch.

bpetite makes most columns. The Rust twin of the view makes the others: words of a text that the tokenizer rewrites, and
everything about tokens that a text may spell differently.
"""
from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.offsets import is_spelled, offsets_of, trimmed
from ..steps.template import TemplatePart

if TYPE_CHECKING:
    from tokenizers import Encoding as TwinEncoding

    from ..tokenizer import Tokenizer
    from .tokenizers_view import Snapshot, TokenizersView

#: (start, end) in characters.
Span = tuple[int, int]
Rows = list[list[Any]]
#: Values of TOKENIZERS_PARALLELISM that mean one thread, as ``tokenizers`` reads them.
ONE_THREAD = frozenset(("off", "false", "f", "no", "n", "0"))
#: The names of texts in a template.
TEXTS = "AB"
#: Column -> its padding value, or the padding setting that holds it.
FILLERS: dict[str, Any] = {
    "ids": "pad_id", "type_ids": "pad_type_id", "attention_mask": 0, "special_tokens_mask": 1, "tokens": "pad_token",
    "sequence_ids": None, "word_ids": None, "offsets": (0, 0),
}  # fmt: skip
#: Columns that bpetite makes wherever it encodes.
ALWAYS = frozenset(("ids", "type_ids", "attention_mask", "special_tokens_mask"))


class Call(NamedTuple):
    """The settings of one call; ``truncation`` and ``padding`` as a ``tokenizers.Tokenizer`` gives them."""

    add_special_tokens: bool = True
    is_pretokenized: bool = False
    encode_special_tokens: bool = False
    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None


class TwinNeeded(Exception):
    """Only the twin encodes these inputs with these settings, or says what is wrong with them."""


class Batch(Sequence[Any]):
    """The encodings that bpetite makes of inputs that were given together.

    Args:
        view: The tokenizer.
        inputs: Texts or lists of words, or pairs of them.
        call: The settings.
        overflowing: Keep the rows that truncation cuts off, after the row that they come from.

    Attributes:
        call: The settings.
        offsets_ascend: True if the ends of offsets never decrease inside a text.
        texts: The first text or list of words of each input; for pairs also the second of each.
        sources: The index of the input of each row.

    Raises:
        TwinNeeded: bpetite does not encode these inputs.
    """

    def __init__(
        self, view: TokenizersView, inputs: Sequence[Any], call: Call, *, overflowing: bool = False
    ) -> None:
        self._view, self._inputs, self._overflowing = view, inputs, overflowing
        self.call: Call = call
        self._snapshot: Snapshot = view.snapshot
        self._columns: dict[str, Rows] = {}
        self.offsets_ascend: bool = not (call.is_pretokenized or self._snapshot.trims_twice)
        self.texts: Sequence[Sequence[Any]] = _texts_of(inputs, call.is_pretokenized)
        self.sources: Sequence[int] = range(len(inputs))
        self._cuts: list[list[slice]] | None = None
        parts = self._snapshot.parts[len(self.texts), call.add_special_tokens]
        # with encode_special_tokens, the twin finds plain added tokens in another order
        if not parts or (call.encode_special_tokens and self._snapshot.has_plain):
            raise TwinNeeded
        self._whole: list[Rows] = self._encoded()
        if call.truncation is not None:
            self._truncate(call.truncation, parts)
        self._by_part: list[tuple[TemplatePart, Rows]] = [
            (part, self._rows(part, self._whole[TEXTS.index(part.text)]) if part.text
             else [[*part.ids]] * len(self.sources)) for part in parts
        ]  # fmt: skip

    def _encoded(self) -> list[Rows]:
        """The ids of all texts."""
        words, texts = self.call.is_pretokenized, chain.from_iterable(self.texts)
        if not self._snapshot.reads_alike(chain.from_iterable(texts) if words else texts):
            raise TwinNeeded
        encode = partial(_encode, self._snapshot.tokenizer, self._allowed)
        try:
            if not words:
                return [*map(encode, self.texts)]
            self._ids_of_words = [[*map(encode, column)] for column in self.texts]
        except (ValueError, TypeError):
            raise TwinNeeded from None
        return [[[*chain.from_iterable(row)] for row in column] for column in self._ids_of_words]

    def _truncate(self, limits: dict[str, Any], parts: Sequence[TemplatePart]) -> None:
        """Choose what each row keeps of its texts."""
        length, stride, strategy = limits["max_length"], limits["stride"], limits["strategy"]
        left, alone = limits["direction"] == "left", len(self.texts) == 1
        room = length - sum(len(part.ids) for part in parts)
        # in any call, the special tokens around a single text count against the stride
        least = min(room, length - self._snapshot.added)
        if (
            length < 1 or least < 0 or not 0 <= stride < max(least, 1)
            or not (strategy != "only_second" if alone else strategy == "longest_first" and not stride)
            or (self._overflowing and (not alone or room < 1 or any(part.type_id for part in parts if part.text)))
        ):  # fmt: skip
            raise TwinNeeded  # the twin refuses this, or cuts by other rules
        if self._overflowing:
            slices = [_overflow(len(ids), room, stride, left=left) for ids in self._whole[0]]
            self.sources = [source for source, cuts in enumerate(slices) for _ in cuts]
            self._cuts = [[*chain.from_iterable(slices)]]
            return
        cuts: list[list[slice]] = [[] for _ in self._whole]
        for row in zip(*self._whole, strict=True):
            lengths = [*map(len, row)]
            for column, length, size in zip(cuts, lengths, _shares(lengths, room), strict=True):
                column.append(slice(max(length - size, 0), None) if left else slice(size))
        self._cuts = cuts

    def _rows(self, part: TemplatePart, values: Rows) -> Rows:
        """The values of the tokens that truncation leaves, from `values` of whole texts."""
        if self._cuts is None:
            return values
        cuts = self._cuts[TEXTS.index(part.text)]
        return [values[source][cut] for source, cut in zip(self.sources, cuts, strict=True)]

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        return [RowEncoding(self, row) for row in rows] if isinstance(rows, range) else RowEncoding(self, rows)

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (self.twin_encodings,)  # a pickle does not hold the tokenizer

    @cached_property
    def twin_encodings(self) -> list[TwinEncoding]:
        """The encodings of ``tokenizers``."""
        encodings = self._view.encode_on_twin(self._inputs, self.call, self._snapshot)
        if self._overflowing:
            encodings = [one for encoding in encodings for one in (encoding, *encoding.overflowing)]
        if [encoding.ids for encoding in encodings] != self.column("ids"):
            raise RuntimeError("the texts changed after the call; ask for this column before")
        return encodings

    def column(self, name: str) -> Rows:
        """The attribute ``name`` of all encodings, kept for the next time."""
        rows = self._columns.get(name)
        if rows is None:
            rows = self._columns[name] = self.new_column(name)
        return rows

    def new_column(self, name: str) -> Rows:
        """The attribute ``name`` of all encodings, as lists that the caller may change."""
        if name not in ALWAYS and not self._has(name):
            return [getattr(encoding, name) for encoding in self.twin_encodings]
        filler = FILLERS[name]
        by_part = [self._part_column(name, part, rows) for part, rows in self._by_part]
        rows = by_part[0] if len(by_part) == 1 else [[*chain.from_iterable(row)] for row in zip(*by_part, strict=True)]
        padding = self.call.padding
        if padding is None:
            return rows
        value, width = padding.get(filler, filler), padding["length"]
        if width is None:
            width = max(map(len, rows))
        multiple = padding["pad_to_multiple_of"] or 1
        width = -(-width // multiple) * multiple
        if padding["direction"] == "left":
            return [[value] * (width - len(row)) + row for row in rows]
        return [row + [value] * (width - len(row)) for row in rows]

    def _has(self, name: str) -> bool:
        """True for a column that bpetite makes."""
        snapshot = self._snapshot
        for _, rows in self._by_part:
            if not all(map(snapshot.spelled_otherwise.isdisjoint, rows)):
                return False
        if name == "word_ids" and not self.call.is_pretokenized:
            texts = chain.from_iterable(self.texts)
            return snapshot.one_template and all(is_spelled(snapshot.tokenizer, text) for text in texts)
        return name == "tokens" or snapshot.one_template

    def _part_column(self, name: str, part: TemplatePart, rows: Rows) -> Rows:
        """A column of the tokens that a part of the template gives; `rows` are their ids."""
        if name == "ids":
            return [[*ids] for ids in rows]
        if name == "tokens":
            return [[*map(self._snapshot.spelled, ids)] for ids in rows]
        if name == "word_ids" and part.text:
            return self._text_column(self._words, part)
        if name == "offsets" and part.text:
            return [*map(partial(trimmed, self._snapshot.tokenizer), rows, self._text_column(self._spans, part))]
        text = TEXTS.index(part.text) if part.text else None
        value = {"type_ids": part.type_id, "attention_mask": 1, "special_tokens_mask": int(text is None),
                 "sequence_ids": text, "word_ids": None, "offsets": (0, 0)}[name]  # fmt: skip
        return [[value] * len(ids) for ids in rows]

    def _text_column(self, of_text: Callable[..., list[Any]], part: TemplatePart) -> Rows:
        """A column of the tokens of a text. `of_text` takes the words of the text, or the text as one word, and the ids
        of each word."""
        number = TEXTS.index(part.text)
        texts, ids = self.texts[number], self._whole[number]
        if self.call.is_pretokenized:
            return self._rows(part, [*map(of_text, texts, self._ids_of_words[number])])
        return self._rows(part, [of_text([text], [some]) for text, some in zip(texts, ids, strict=True)])

    @property
    def _allowed(self) -> Any:
        return () if self.call.encode_special_tokens else "all"

    def _spans(self, texts: Sequence[str], ids: Sequence[list[int]]) -> list[Span]:
        """(start, end) of each token in its text or word."""
        pairs = zip(texts, ids, strict=True)
        return [span for text, some in pairs
                for span in offsets_of(self._snapshot.tokenizer, text, some, self._allowed)]  # fmt: skip

    def _words(self, texts: Sequence[str], ids: Sequence[list[int]]) -> list[int]:
        """The number of the word of each token: of a pre-token, a special token, or a word that was given."""
        if self.call.is_pretokenized:
            return [word for word, some in enumerate(ids) for _ in some]
        (text,), (all_ids,) = texts, ids
        tokenizer, sizes = self._snapshot.tokenizer, [*map(self._snapshot.lengths, all_ids)]
        ends: list[int] = []
        done = size = 0
        for start, end, token_id in [*tokenizer._special_spans(text, self._allowed), (len(text), 0, None)]:
            if ordinary := text[done:start].encode():
                ends += [size + stop for stop in tokenizer._pretokenizer.ends(ordinary)]
                size += len(ordinary)
            if token_id is not None:
                size += self._snapshot.lengths(token_id)
                ends.append(size)
            done = end
        return [bisect_left(ends, stop) for stop in accumulate(sizes)]


def _column(name: str, doc: str) -> Any:
    return property(lambda encoding: [*encoding._values(name)], doc=doc)


class RowEncoding:
    """A row of a batch, with the attributes of ``tokenizers.Encoding``; it pickles as one of those."""

    __slots__ = ("_batch", "_row")

    def __init__(self, batch: Batch, row: int) -> None:
        self._batch, self._row = batch, row

    def __len__(self) -> int:
        return len(self._values("ids"))

    def __reduce__(self) -> Any:
        return itemgetter(0), ([self._twin_encoding],)

    ids: list[int] = _column("ids", "The token ids.")
    type_ids: list[int] = _column("type_ids", "The segment ids.")
    attention_mask: list[int] = _column("attention_mask", "1 for a token, 0 for padding.")
    special_tokens_mask: list[int] = _column("special_tokens_mask", "1 for padding and for what the template adds.")
    tokens: list[str] = _column("tokens", "The tokens as the vocabulary spells them.")
    offsets: list[Span] = _column("offsets", "(start, end) of each token, in characters of its text or of its word.")
    word_ids: list[int | None] = _column("word_ids", "The number of the pre-token or the given word of each token.")
    sequence_ids: list[int | None] = _column("sequence_ids", "The number of the text of each token.")

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return len(self._batch.texts)

    @property
    def overflowing(self) -> list[Any]:
        """The rows that truncation cut off."""
        return self._twin_encoding.overflowing if self._batch.call.truncation else []

    @property
    def _twin_encoding(self) -> TwinEncoding:
        return self._batch.twin_encodings[self._row]

    def _values(self, name: str) -> list[Any]:
        return self._batch.column(name)[self._row]

    # Characters and words to tokens, and back; None if there is none

    def token_to_sequence(self, token_index: int) -> Any:
        """The number of the text of a token."""
        return self._at("sequence_ids", token_index)

    def token_to_chars(self, token_index: int) -> Any:
        """The start and end of a token."""
        return self._at("offsets", token_index)

    def token_to_word(self, token_index: int) -> Any:
        """The word of a token."""
        return self._at("word_ids", token_index)

    def _at(self, name: str, token_index: int) -> Any:
        texts = self._values("sequence_ids")
        inside = 0 <= token_index < len(texts) and texts[token_index] is not None
        return self._values(name)[token_index] if inside else None

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token of a character."""
        first, last = self._tokens_of(sequence_index)
        offsets = self._values("offsets")
        if self._batch.offsets_ascend:
            first = bisect_right(offsets, char_pos, first, last, key=itemgetter(1))
        inside = (at for at in range(first, last) if offsets[at][0] <= char_pos < offsets[at][1])
        return next(inside, None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word of a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """(first token, past-last token) of a word."""
        tokens, words = self._tokens_of(sequence_index), self._values("word_ids")
        first, last = bisect_left(words, word_index, *tokens), bisect_right(words, word_index, *tokens)
        return (first, last) if first < last else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The start and end of a word."""
        tokens, offsets = self.word_to_tokens(word_index, sequence_index), self._values("offsets")
        return None if tokens is None else (offsets[tokens[0]][0], offsets[tokens[1] - 1][1])

    def _tokens_of(self, sequence_index: int) -> Span:
        """(first token, past-last token) of a text; an index past the last text means the first text."""
        texts, sequence = self._values("sequence_ids"), sequence_index if sequence_index < self.n_sequences else 0
        count = texts.count(sequence)
        first = texts.index(sequence) if count else 0
        return first, first + count


def _texts_of(inputs: Sequence[Any], words: bool) -> Sequence[Sequence[Any]]:
    """The first text or list of words of each input; for pairs also the second of each.

    Raises:
        TwinNeeded: The inputs are neither texts, nor lists of words, nor pairs of these.
    """
    is_text = _is_words if words else _is_str
    if inputs and all(map(is_text, inputs)):
        return [inputs]
    if inputs and all(isinstance(one, list | tuple) and len(one) == 2 and all(map(is_text, one)) for one in inputs):
        return [*zip(*inputs, strict=True)]
    raise TwinNeeded


def _is_str(value: Any) -> bool:
    return isinstance(value, str)


def _is_words(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_str, value))


def _encode(tokenizer: Tokenizer, allowed_special: Any, texts: Sequence[str]) -> Rows:
    if len(texts) == 1:
        return [tokenizer.encode(texts[0], allowed_special=allowed_special)]
    alone = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ONE_THREAD
    return tokenizer.encode_batch(texts, num_threads=1 if alone else None, allowed_special=allowed_special)


def _overflow(size: int, room: int, stride: int, *, left: bool) -> list[slice]:
    """Slices of `size` tokens, at most `room` tokens each; neighbours share `stride` tokens."""
    if left:
        found = [slice(max(end - room, 0), end) for end in range(size, stride, stride - room)]
    else:
        found = [slice(start, start + room) for start in range(0, size - stride, room - stride)]
    return found or [slice(size)]


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """The most tokens that each text of a row keeps."""
    if len(lengths) == 1:
        return [room]
    # the longer text loses tokens down to the length of the other; after that each keeps half of the room
    short, long = sorted(lengths)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return [short, long] if lengths[0] <= lengths[1] else [long, short]
