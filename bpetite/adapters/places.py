"""The places of tokens in a text, and the words that they belong to, as ``tokenizers`` has them."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..engine.offsets import trimmed

if TYPE_CHECKING:
    from .tokenizers_view import Reading

#: (start, end) in characters.
Span = tuple[int, int]


class TextInRow:
    """A text of a row, whose tokens spell it as it was given.

    Args:
        reading: The tokenizer.
        texts: The text, or its words.
        ids: The ids of each.
        allowed: The special tokens that are recognised.
        as_words: Words were given.

    Attributes:
        number: 0 for the first text, 1 for the second.
        first: The number in the row of its first token.
        size: The number of its tokens.
        kept: These, among all tokens of the text.
    """

    number: int
    first: int
    size: int
    kept: slice

    def __init__(
        self, reading: Reading, texts: Sequence[str], ids: list[list[int]], allowed: Any, *, as_words: bool
    ) -> None:
        self._tokenizer, self._reading = reading.tokenizer, reading
        self._texts, self._ids, self._allowed = texts, ids, allowed
        self.as_words: bool = as_words

    @cached_property
    def spans(self) -> list[Span]:
        """The start and end of each token, in characters; they ascend if no words were given."""
        given = zip(self._texts, self._ids, strict=True)
        spans = [span for text, ids in given for span in self._tokenizer._char_spans(ids, text.encode())][self.kept]
        return trimmed(self._tokenizer, [*chain(*self._ids)][self.kept], spans)

    @cached_property
    def words(self) -> list[int]:
        """The number of the word, pre-token or special token of each token; they ascend."""
        if self.as_words:
            return [word for word, ids in enumerate(self._ids) for _ in ids][self.kept]
        (text,), (ids,) = self._texts, self._ids
        tokenizer, lengths = self._tokenizer, self._reading.lengths
        ends: list[int] = []
        done = size = 0
        for start, end, token_id in [*tokenizer._special_spans(text, self._allowed), (len(text), 0, None)]:
            if ordinary := text[done:start].encode():
                ends += [size + stop for stop in tokenizer._pretokenizer.ends(ordinary)]
                size += len(ordinary)
            if token_id is not None:
                size += lengths(token_id)
                ends.append(size)
            done = end
        words, word = [], 0
        for stop in accumulate(map(lengths, ids)):
            words.append(word)
            word += stop == ends[word]
        return words[self.kept]

    def token_at(self, character: int) -> int | None:
        """The number in the text of the token that has a character."""
        at = bisect_right(self.spans, character, key=itemgetter(1))
        return at if at < self.size and self.spans[at][0] <= character else None

    def tokens_of(self, word: int) -> Span | None:
        """The number in the text of the first token of a word, and of the one after its last."""
        start, stop = bisect_left(self.words, word), bisect_right(self.words, word)
        return (start, stop) if start < stop else None
