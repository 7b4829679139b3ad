"""Encodings in the shape of ``tokenizers.Encoding``. A column is made when it is asked for, for a whole batch.

bpetite makes ids, segment ids, masks and tokens, and for most tokenizers offsets and words. For the rest the Rust twin
of the view encodes the batch: overflow, look-ups as ``char_to_token``, text that bytes alone do not place, mistakes.
"""
from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.offsets import trimmed
from ..steps.template import BARE, TemplatePart

if TYPE_CHECKING:
    from tokenizers import Encoding as EncodingOfTwin

    from ..tokenizer import Tokenizer
    from .tokenizers_view import Snapshot, TokenizersView

#: (start, end) in characters.
Span = tuple[int, int]
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
        self._snapshot: Snapshot = view.snapshot
        self.truncates: bool = call.truncation is not None
        self.sources: list[int] = []
        self._made: dict[str, list[list[int]]] = {}
        self.given: Sequence[Sequence[Any]] = _texts_of(inputs, call.is_pretokenized)
        self._on_twin = on_twin or not self.given

    @cached_property
    def parts(self) -> tuple[TemplatePart, ...]:
        """The parts of each row, which are encoded now; none if the twin encodes."""
        if self._on_twin or "of_twin" in vars(self):
            return ()
        call, snapshot, texts = self._call, self._snapshot, self.given
        parts, limits = snapshot.parts[len(texts), call.add_special_tokens], call.truncation
        around = 0 if limits is None else sum(len(part.ids) for part in parts)
        if limits is not None and not _takes(limits, around, snapshot.added, len(texts)):
            return ()
        if call.encode_special_tokens and snapshot.has_plain:  # which are found in another order then
            return ()
        if call.is_pretokenized:
            texts = [[*chain.from_iterable(column)] for column in texts]
        options: dict[str, Any] = {"allowed_special": ()} if call.encode_special_tokens else {}
        try:
            if not snapshot.trusted(chain(*texts)):
                return ()
            made = [_encode(snapshot.tokenizer, column, options) for column in texts]
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
                for kept, ids, size in zip(self._kept, row, _shares(lengths, room), strict=True):
                    begin = len(ids) - size if left else 0
                    kept[number] = ids[begin : begin + size]

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
        made = self._view.encode_on_twin(self._inputs, self._call, self._snapshot)
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
        if not self._has(name):
            return [getattr(encoding, name) for encoding in self.of_twin]
        filler, values_of = COLUMNS[name]
        if name == "ids":
            return self._padded([[*row] for row in self._rows] if len(self._rows) == 1 else self._rows, filler)
        by_part = zip(self.parts, self._by_part, strict=True)
        return self._padded(_joined([values_of(self, part, rows) for part, rows in by_part]), filler)

    def _has(self, name: str) -> bool:
        """True for a column that bpetite makes."""
        if not self.parts or name in ALWAYS:
            return bool(self.parts)
        snapshot, words = self._snapshot, self._call.is_pretokenized
        if not all(map(snapshot.spelled_otherwise.isdisjoint, self._rows)):
            return False
        texts = chain(*chain(*self.given)) if words else chain(*self.given)
        return name == "tokens" or all(map(snapshot.placed_by_bytes, texts))

    def forget(self) -> None:
        """Drop encoded rows, since the caller may change the lists. For several rows, encoding again is faster than
        copying."""
        if self.parts and len(self._inputs) > 1:
            del self.parts, self._whole, self._kept, self._by_part, self._rows
            self._made.clear()

    def n_sequences(self, row: int) -> int:
        """The number of texts of a row."""
        return len(self.given) if self.parts else self.of_twin[row].n_sequences

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

    # Columns of a text, or of its words, whose tokens spell it as it was given

    def of_texts(self, of_text: Callable[..., list[Any]], part: TemplatePart, rows: list[list[int]]) -> list[list[Any]]:
        """A column of a part that is a text.

        Args:
            of_text: :meth:`spans` or :meth:`words`. IN: a text as words, the ids of each.
            part: The part.
            rows: The ids that truncation has left.
        """
        number, as_words, limits = "AB".index(part.text), self._call.is_pretokenized, self._call.truncation
        texts, whole = self.given[number], self._whole[number]
        made = []
        for row, kept in enumerate(rows):
            words, ids = (texts[row], self._words[number][row]) if as_words else ([texts[row]], [whole[row]])
            values = of_text(words, ids)
            if len(kept) < len(values):
                left = limits is not None and limits["direction"] == "left"
                values = values[len(values) - len(kept) :] if left else values[: len(kept)]
            made.append(values)
        return made

    def spans(self, texts: Sequence[str], ids: Sequence[list[int]]) -> list[Span]:
        """The start and end of each token in its text."""
        place = self._snapshot.tokenizer._char_spans
        return [span for text, some in zip(texts, ids, strict=True) for span in place(some, text.encode())]

    def trimmed(self, part: TemplatePart, rows: list[list[int]]) -> list[list[Span]]:
        """Offsets, without white space where the post-processor takes it off."""
        made = self.of_texts(self.spans, part, rows)
        return [trimmed(self._snapshot.tokenizer, ids, spans) for ids, spans in zip(rows, made, strict=True)]

    def words(self, texts: Sequence[str], ids: Sequence[list[int]]) -> list[int]:
        """The number of the word of each token: of a pre-token, a special token, or a word that was given."""
        if self._call.is_pretokenized:
            return [word for word, some in enumerate(ids) for _ in some]
        (text,), (all_ids,) = texts, ids
        tokenizer, lengths = self._snapshot.tokenizer, self._snapshot.lengths
        allowed: Any = () if self._call.encode_special_tokens else "all"
        ends: list[int] = []
        done = size = 0
        for start, end, token_id in [*tokenizer._special_spans(text, allowed), (len(text), 0, None)]:
            if ordinary := text[done:start].encode():
                ends += [size + stop for stop in tokenizer._pretokenizer.ends(ordinary)]
                size += len(ordinary)
            if token_id is not None:
                size += lengths(token_id)
                ends.append(size)
            done = end
        return [bisect_left(ends, stop) for stop in accumulate(map(lengths, all_ids))]


Rows = list[list[Any]]


def _same(value_of: Callable[[TemplatePart], Any]) -> Callable[[Batch, TemplatePart, Rows], Rows]:
    """A column that has one value for all tokens of a part."""
    return lambda batch, part, rows: [[value_of(part)] * len(ids) for ids in rows]


def _in_texts(values: Callable[[Batch, TemplatePart, Rows], Rows], outside: Any) -> Callable[..., Rows]:
    """A column that has one value outside of texts."""
    other = _same(lambda part: outside)
    return lambda batch, part, rows: (values if part.text else other)(batch, part, rows)


#: column -> the value in padding, or its name there; the values of a part of the rows, whose ids are given.
COLUMNS: dict[str, tuple[Any, Callable[[Batch, TemplatePart, Rows], Rows]]] = {
    "ids": ("pad_id", lambda batch, part, rows: rows),
    "type_ids": ("pad_type_id", _same(lambda part: part.type_id)),
    "attention_mask": (0, _same(lambda part: 1)),
    "special_tokens_mask": (1, _same(lambda part: int(not part.text))),
    "tokens": ("pad_token", lambda batch, part, rows: [[*map(batch._snapshot.spelled, ids)] for ids in rows]),
    "sequence_ids": (None, _same(lambda part: "AB".index(part.text) if part.text else None)),
    "word_ids": (None, _in_texts(lambda batch, part, rows: batch.of_texts(batch.words, part, rows), None)),
    "offsets": ((0, 0), _in_texts(Batch.trimmed, (0, 0))),
}
#: Those that bpetite makes wherever it encodes.
ALWAYS = [*COLUMNS][:4]


def _column(name: str, doc: str) -> Any:
    return property(lambda encoding: [*encoding._batch.column(name)[encoding._row]], doc=doc)


def _asked(name: str, doc: str) -> Callable[..., Any]:
    def ask(encoding: Encoding, *arguments: Any, **options: Any) -> Any:
        return getattr(encoding._of_twin, name)(*arguments, **options)

    ask.__name__, ask.__doc__ = name, doc
    return ask


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
    tokens: list[str] = _column("tokens", "The tokens as the vocabulary spells them.")
    offsets: list[Span] = _column("offsets", "(start, end) of each token, in characters of its text or of its word.")
    word_ids: list[int | None] = _column(
        "word_ids", "The number of the word of each token: of a pre-token, a special token, or a word that was given."
    )
    sequence_ids: list[int | None] = _column("sequence_ids", "The number of the text of each token.")

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return self._batch.n_sequences(self._row)

    @property
    def overflowing(self) -> list[Any]:
        """The rows that truncation cut off."""
        return self._of_twin.overflowing if self._batch.truncates else []

    char_to_token: Callable[..., Any] = _asked("char_to_token", "The token of a character.")
    char_to_word: Callable[..., Any] = _asked("char_to_word", "The word of a character.")
    word_to_tokens: Callable[..., Any] = _asked("word_to_tokens", "The first token of a word, and the one after.")
    word_to_chars: Callable[..., Any] = _asked("word_to_chars", "The start and end of a word.")
    token_to_sequence: Callable[..., Any] = _asked("token_to_sequence", "The number of the text of a token.")
    token_to_chars: Callable[..., Any] = _asked("token_to_chars", "The start and end of a token, None outside texts.")
    token_to_word: Callable[..., Any] = _asked("token_to_word", "The word of a token.")

    @property
    def _of_twin(self) -> EncodingOfTwin:
        return self._batch.of_twin[self._row]


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
