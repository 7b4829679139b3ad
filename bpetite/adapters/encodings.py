"""Encodings in the shape of ``tokenizers.Encoding``. A column is made when it is asked for, for a whole batch.

bpetite makes ids, segment ids, masks and tokens, and for most tokenizers offsets and words. For the rest the Rust twin
of the view encodes the batch: texts given as words, overflow, text that bytes alone do not place, mistakes.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..steps.template import BARE, TemplatePart
from .places import Span, TextInRow

if TYPE_CHECKING:
    from tokenizers import Encoding as EncodingOfTwin

    from ..tokenizer import Tokenizer
    from .tokenizers_view import Reading, TokenizersView

#: Values of TOKENIZERS_PARALLELISM that mean one thread, as ``tokenizers`` reads them.
ONE_THREAD = frozenset(("off", "false", "f", "no", "n", "0"))


class Call(NamedTuple):
    """The settings of one call; ``truncation`` and ``padding`` as a ``tokenizers.Tokenizer`` gives them."""

    add_special_tokens: bool = True
    is_pretokenized: bool = False
    encode_special_tokens: bool = False
    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None


class Batch(Sequence[Any]):
    """The encodings of inputs that were given together.

    Args:
        view: The tokenizer.
        inputs: Texts or lists of words, or pairs of them.
        call: The settings.
        on_twin: Let the twin encode.
        overflowing: The rows that truncation cuts off follow the row that they come from.

    Attributes:
        given: The first texts, and for pairs the second ones; empty if the inputs are none of this.
        truncates: Rows may have been cut off.
        sources: The number of the input of each row that the twin has made.
    """

    def __init__(
        self, view: TokenizersView, inputs: Sequence[Any], call: Call, *,
        on_twin: bool = False, overflowing: bool = False,
    ) -> None:  # fmt: skip
        self._view, self._inputs, self._call, self._overflowing = view, inputs, call, overflowing
        self._reading: Reading = view.reading
        self.truncates: bool = call.truncation is not None
        self.sources: list[int] = []
        self._found: dict[int, list[TextInRow]] = {}
        self._made: dict[str, list[list[int]]] = {}
        self._begins: dict[tuple[int, int], int] = {}  # (text, row) -> the number of tokens cut off on the left
        self.given: Sequence[Sequence[Any]] = _texts_of(inputs, call.is_pretokenized)
        self._on_twin = on_twin or not self.given

    @cached_property
    def parts(self) -> tuple[TemplatePart, ...]:
        """The parts of each row, which are encoded now; none if the twin encodes."""
        if self._on_twin or "of_twin" in vars(self):
            return ()
        call, reading, texts = self._call, self._reading, self.given
        parts, limits = reading.parts[len(texts), call.add_special_tokens], call.truncation
        around = 0 if limits is None else sum(len(part.ids) for part in parts)
        if limits is not None and not _takes(limits, around, reading.added, len(texts)):
            return ()
        if call.encode_special_tokens and reading.has_plain:  # which are found in another order then
            return ()
        if call.is_pretokenized:
            texts = [[*chain.from_iterable(column)] for column in texts]
        options: dict[str, Any] = {"allowed_special": ()} if call.encode_special_tokens else {}
        try:
            if not reading.trusted(chain(*texts)):
                return ()
            made = [_encode(reading.tokenizer, column, options) for column in texts]
        except (ValueError, TypeError):  # text that bpetite refuses: the twin says why
            return ()
        if call.is_pretokenized:
            ids = [iter(column) for column in made]
            self._words = [[[*islice(one, len(row))] for row in column] for one, column in zip(ids, self.given)]
            made = [[[*chain.from_iterable(row)] for row in column] for column in self._words]
        self._whole, self._kept = made, made
        if limits is not None:
            self._cut(limits["max_length"] - around, left=limits["direction"] == "left")
        self._by_part = [
            self._kept["AB".index(part.text)] if part.text else [[*part.ids]] * len(self._inputs) for part in parts
        ]
        self._rows = _joined(self._by_part)
        return parts

    def _cut(self, room: int, *, left: bool) -> None:
        """Keep so many tokens of the texts of each row."""
        self._kept = [[*column] for column in self._whole]
        for number, row in enumerate(zip(*self._whole, strict=True)):
            lengths = [*map(len, row)]
            if sum(lengths) > room:
                for at, (ids, size) in enumerate(zip(row, _shares(lengths, room), strict=True)):
                    begin = len(ids) - size if left else 0
                    self._begins[at, number] = begin
                    self._kept[at][number] = ids[begin : begin + size]

    def __len__(self) -> int:
        return len(self._inputs) if self.parts else len(self.of_twin)

    def __getitem__(self, index: Any) -> Any:
        rows = range(len(self))[index]
        return [Encoding(self, row) for row in rows] if isinstance(rows, range) else Encoding(self, rows)

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (self.of_twin,)  # what is sent to another process does not take the tokenizer with it

    @cached_property
    def of_twin(self) -> list[EncodingOfTwin]:
        """The encodings of ``tokenizers``."""
        made = self._view.encode_on_twin(self._inputs, self._call, self._reading)
        if self.parts and [encoding.ids for encoding in made] != self.column("ids"):
            raise RuntimeError("the texts changed after the call; ask for this column before")
        if self._overflowing:
            rows = [(encoding, *encoding.overflowing) for encoding in made]
            self.sources = [number for number, row in enumerate(rows) for _ in row]
            made = [*chain.from_iterable(rows)]
        return made

    def column(self, name: str) -> list[list[Any]]:
        """The attribute ``name`` of all encodings, kept for the next time."""
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = self.new_column(name)
        return found

    def new_column(self, name: str) -> list[list[Any]]:
        """The attribute ``name`` of all encodings; whoever may change it calls :meth:`forget`."""
        if not self.parts or name not in COLUMNS:
            return [getattr(encoding, name) for encoding in (self if self.parts else self.of_twin)]
        filler, value_of = COLUMNS[name]
        if value_of is None:
            return self._padded([[*row] for row in self._rows] if len(self._rows) == 1 else self._rows, filler)
        values = [value_of(part) for part in self.parts]
        if values.count(value := values[0]) == len(values):
            return self._padded([[value] * len(row) for row in self._rows], filler)
        by_part = zip(values, self._by_part, strict=True)
        return self._padded(_joined([[[value] * len(ids) for ids in column] for value, column in by_part]), filler)

    def forget(self) -> None:
        """Encode a batch again for columns that follow. Copies of what it has take longer; those of one row do not."""
        if self.parts and len(self._inputs) > 1:
            del self.parts, self._whole, self._kept, self._by_part, self._rows
            self._made.clear()
            self._found.clear()

    def _padded(self, rows: list[list[Any]], filler: Any) -> list[list[Any]]:
        padding = self._call.padding
        if padding is None:
            return rows
        value, width = padding.get(filler, filler), padding["length"]
        if width is None:
            width = max(map(len, self._rows))
        multiple = padding["pad_to_multiple_of"] or 1
        width = -(-width // multiple) * multiple
        if padding["direction"] == "left":
            return [[value] * (width - len(row)) + row for row in rows]
        return [row + [value] * (width - len(row)) for row in rows]

    # Columns of one row; None if the twin has to make them

    def tokens(self, row: int) -> list[str] | None:
        """The tokens as the vocabulary spells them."""
        reading, padding = self._reading, self._call.padding
        if not self.parts or not reading.spelled_otherwise.isdisjoint(ids := self.column("ids")[row]):
            return None
        if padding is not None and padding["pad_token"] != reading.spelled(padding["pad_id"]):
            return None
        return [*map(reading.spelled, ids)]

    def offsets(self, row: int) -> list[Span] | None:
        """(start, end) of each token in the characters of its text, or of its word."""
        return self._placed(row, lambda text: text.spans, (0, 0))

    def word_ids(self, row: int) -> list[int | None] | None:
        """The number of the word of each token: of a pre-token, a special token, or a word that was given."""
        return self._placed(row, lambda text: text.words, None)

    def sequence_ids(self, row: int) -> list[int | None] | None:
        """The number of the text of each token."""
        return self._placed(row, lambda text: [text.number] * text.size, None)

    def n_sequences(self, row: int) -> int:
        """The number of texts."""
        return len(self.given) if self.parts else self.of_twin[row].n_sequences

    def _placed(self, row: int, of_text: Callable[[TextInRow], list[Any]], outside: Any) -> list[Any] | None:
        """A column from what texts have, and one value for all other tokens."""
        made: list[Any] = []
        for text in self.texts(row):
            made += [outside] * (text.first - len(made)) + of_text(text)
        return made + [outside] * (len(self.column("ids")[row]) - len(made)) if self.texts(row) else None

    def texts(self, row: int) -> list[TextInRow]:
        """The texts of a row in their order there; empty if the twin has to say where tokens are."""
        found = self._found.get(row)
        if found is None:
            found = self._found[row] = self._find_texts(row) if self.parts else []
        return found

    def _find_texts(self, row: int) -> list[TextInRow]:
        call, reading, ids = self._call, self._reading, self.column("ids")[row]
        words = call.is_pretokenized
        given = [column[row] if words else [column[row]] for column in self.given]
        if not (
            reading.spelled_otherwise.isdisjoint(ids) and all(reading.placed_by_bytes(text) for text in chain(*given))
        ):
            return []
        made, left = [], call.padding is not None and call.padding["direction"] == "left"
        first = len(ids) - len(self._rows[row]) if left else 0
        for part, column in zip(self.parts, self._by_part, strict=True):
            size = len(column[row])
            if part.text:
                number = "AB".index(part.text)
                begin = self._begins.get((number, row), 0)
                allowed: Any = () if call.encode_special_tokens else "all"
                own = self._words[number][row] if words else [self._whole[number][row]]
                text = TextInRow(reading, given[number], own, allowed, as_words=words)
                text.number, text.first, text.size, text.kept = number, first, size, slice(begin, begin + size)
                made.append(text)
            first += size
        return made


#: column -> the value in padding, or its name there; the value for all tokens of a part, None for their ids.
COLUMNS: dict[str, tuple[Any, Callable[[TemplatePart], int] | None]] = {
    "ids": ("pad_id", None),
    "type_ids": ("pad_type_id", lambda part: part.type_id),
    "attention_mask": (0, lambda part: 1),
    "special_tokens_mask": (1, lambda part: int(not part.text)),
}


def _column(name: str, doc: str) -> Any:
    return property(lambda encoding: [*encoding._batch.column(name)[encoding._row]], doc=doc)


def _by_row(name: str) -> Any:
    in_batch = getattr(Batch, name)

    def get(encoding: Encoding) -> Any:
        found = in_batch(encoding._batch, encoding._row)
        return getattr(encoding._batch.of_twin[encoding._row], name) if found is None else found

    return property(get, doc=in_batch.__doc__)


class Encoding:
    """A row of a batch, with the attributes of ``tokenizers.Encoding``; it pickles as one of those."""

    __slots__ = ("_batch", "_row")

    def __init__(self, batch: Batch, row: int) -> None:
        self._batch, self._row = batch, row

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> Any:
        return itemgetter(0), ([self._of_twin],)

    ids: list[int] = _column("ids", "The token ids.")
    type_ids: list[int] = _column("type_ids", "The segment ids.")
    attention_mask: list[int] = _column("attention_mask", "1 for a token, 0 for padding.")
    special_tokens_mask: list[int] = _column("special_tokens_mask", "1 for padding and for what the template adds.")
    tokens: list[str] = _by_row("tokens")
    offsets: list[Span] = _by_row("offsets")
    word_ids: list[int | None] = _by_row("word_ids")
    sequence_ids: list[int | None] = _by_row("sequence_ids")
    n_sequences: int = _by_row("n_sequences")

    @property
    def overflowing(self) -> list[Any]:
        """The rows that truncation cut off."""
        return self._of_twin.overflowing if self._batch.truncates else []

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The token of a character."""
        text = self._text(sequence_index)
        if text is None or text.as_words:  # a character of which word
            return self._of_twin.char_to_token(char_pos, sequence_index)
        at = text.token_at(char_pos)
        return None if at is None else text.first + at

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word of a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The first token of a word, and the one after its last."""
        text = self._text(sequence_index)
        if text is None:
            return self._of_twin.word_to_tokens(word_index, sequence_index)
        found = text.tokens_of(word_index)
        return found and (text.first + found[0], text.first + found[1])

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The start and end of a word."""
        text = self._text(sequence_index)
        if text is None:
            return self._of_twin.word_to_chars(word_index, sequence_index)
        found = text.tokens_of(word_index)
        return found and (text.spans[found[0]][0], text.spans[found[1] - 1][1])

    def token_to_sequence(self, token_index: int) -> int | None:
        """The number of the text of a token."""
        return self.sequence_ids[token_index] if 0 <= token_index < len(self) else None

    def token_to_chars(self, token_index: int) -> Span | None:
        """The start and end of a token; None outside of texts."""
        return None if self.token_to_sequence(token_index) is None else self.offsets[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        """The word of a token."""
        return None if self.token_to_sequence(token_index) is None else self.word_ids[token_index]

    @property
    def _of_twin(self) -> EncodingOfTwin:
        return self._batch.of_twin[self._row]

    def _text(self, sequence_index: int) -> TextInRow | None:
        return next((text for text in self._batch.texts(self._row) if text.number == sequence_index), None)


def _texts_of(inputs: Sequence[Any], words: bool) -> Sequence[Sequence[Any]]:
    """The first texts or lists of words, and for pairs the second ones; empty for anything else."""
    if all(map(_is_words, inputs)) if words else all(isinstance(one, str) for one in inputs):
        return [inputs] if inputs else ()
    if not all(isinstance(one, list | tuple) and len(one) == 2 for one in inputs):
        return ()
    columns = [*zip(*inputs, strict=True)]
    return columns if all(map(_is_words if words else _is_text, chain(*columns))) else ()


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_words(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def parts_of(tokenizer: Tokenizer) -> dict[tuple[int, bool], tuple[TemplatePart, ...]]:
    """(number of texts, with special tokens) -> the parts of a row; none where a pair has no form."""
    full = tokenizer.template or BARE
    return {(texts, special): template.single if texts == 1 else template.pair
            for special, template in ((True, full), (False, full.bare)) for texts in (1, 2)}  # fmt: skip


def _joined(by_part: Sequence[list[list[int]]]) -> list[list[int]]:
    """The rows, from the ids of their parts."""
    return by_part[0] if len(by_part) == 1 else [[*chain.from_iterable(row)] for row in zip(*by_part, strict=True)]


def _takes(limits: dict[str, Any], around: int, added: int, texts: int) -> bool:
    """False for truncation that ``tokenizers`` refuses or does in its own way.

    Args:
        limits: The truncation.
        around: The number of special tokens in a row.
        added: The number of special tokens around a single text, which counts against ``stride`` in any call.
        texts: The number of texts in a row.
    """
    limit, stride, strategy = limits["max_length"], limits["stride"], limits["strategy"]
    if limit < max(around, added, 1) or not 0 <= stride < max(limit - max(around, added), 1):
        return False
    return strategy == "longest_first" and not stride if texts > 1 else strategy != "only_second"


def _encode(tokenizer: Tokenizer, texts: Sequence[str], options: dict[str, Any]) -> list[list[int]]:
    if len(texts) == 1:
        return [tokenizer.encode(texts[0], **options)]
    alone = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ONE_THREAD
    return tokenizer.encode_batch(texts, num_threads=1 if alone else None, **options)


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """The number of tokens that each text of a row keeps."""
    if len(lengths) == 1:
        return [room]
    # the longer text loses tokens down to the length of the other; after that each keeps half of the room
    short, long = sorted(lengths)
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short = room // 2
        long = short + room % 2
    return [short, long] if lengths[0] <= lengths[1] else [long, short]
