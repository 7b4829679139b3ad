"""Measures of text in tokens: compression by script, tokens in use, tokens of words.

Texts are read as ordinary text, a few million characters at a time, so memory does not grow with the size of a file.
Everything is counted with NumPy over arrays of tokens, of bytes and of code points.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from ..errors import short_repr
from ..tokenizer import Tokenizer
from .scripts import COMMON, scripts_of

#: Characters that are measured at a time; longer documents are cut, see :func:`passages_of`.
BATCH = 1 << 20

#: Characters that are held over all groups until the largest of them is measured.
HELD = 8 * BATCH

#: Properties of a code point: the index of its script, and whether it is part of a word; or that nothing is known yet.
SCRIPT, WORD, UNKNOWN = 0x7F, 0x80, 0xFF

Numbers = npt.NDArray[Any]

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# A document is cut after a line that ends in a mark other than white space, and before a letter. The split patterns in
# use cut there as well, so the passages give the tokens of the whole.
_CUT = regex.compile(r"(?<=\S)\n(?=\p{L})")


@dataclass
class TextCounts:
    """Counts of texts: all of them, those of a group, or the tokens and words of one script. These belong to the script
    of their first character that has one; a word is a sequence of letters, marks and digits. ``word_tokens`` adds up
    the tokens that each word overlaps."""

    tokens: int = 0
    bytes: int = 0
    characters: int = 0
    words: int = 0
    word_tokens: int = 0
    whole_words: int = 0

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / max(self.tokens, 1)

    @property
    def tokens_per_character(self) -> float:
        return self.tokens / max(self.characters, 1)

    @property
    def tokens_per_word(self) -> float:
        """The tokens that a word overlaps, on average."""
        return self.word_tokens / max(self.words, 1)

    @property
    def whole_word_share(self) -> float:
        """The share of words that lie in one token."""
        return self.whole_words / max(self.words, 1)

    def add(self, other: TextCounts) -> None:
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    def to_dict(self) -> dict[str, float]:
        """Return counts and rates, for JSON."""
        rates = ("bytes_per_token", "tokens_per_character", "tokens_per_word", "whole_word_share")
        return vars(self) | {name: round(getattr(self, name), 4) for name in rates}


@dataclass(repr=False)
class Usage:
    """The result of :func:`measure`.

    Attributes:
        documents: The number of texts.
        ids: int64[n]: the ids of the vocabulary, ascending.
        counts: int64[n]: the occurrences of each.
        ordinary: bool[n]: False for special tokens, which ordinary text does not use.
        scripts: script -> its counts, most bytes first; "Common" holds spaces, digits, punctuation and symbols.
        word_tokens: The numbers of words with 1, 2, ... tokens; the last of the ten counts 10 and more.
    """

    documents: int
    ids: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    ordinary: npt.NDArray[np.bool_]
    scripts: dict[str, TextCounts] = field(default_factory=dict)
    word_tokens: list[int] = field(default_factory=lambda: [0] * 10)

    def __repr__(self) -> str:
        total = self.total
        rate = f"{total.bytes_per_token:.3f} bytes per token"
        return f"<Usage of {self.documents:,} documents: {total.tokens:,} tokens, {rate}>"

    @property
    def total(self) -> TextCounts:
        """All scripts together."""
        total = TextCounts()
        for use in self.scripts.values():
            total.add(use)
        return total

    @property
    def never_used(self) -> list[int]:
        """The ids of tokens that did not occur, special tokens left out."""
        unused: list[int] = self.ids[self.ordinary & (self.counts == 0)].tolist()
        return unused

    @property
    def vocabulary_used(self) -> float:
        """The share of the tokens, without special ones, that occurred."""
        return int((self.counts[self.ordinary] > 0).sum()) / max(int(self.ordinary.sum()), 1)

    def most_used(self, limit: int) -> list[tuple[int, int]]:
        """(id, how often) of the most frequent tokens."""
        order = np.argsort(-self.counts, kind="stable")[:limit]
        return [(int(self.ids[at]), int(self.counts[at])) for at in order if self.counts[at]]

    def figures(self) -> dict[str, float]:
        """Return the figures over all texts, for JSON."""
        used = round(self.vocabulary_used, 6)
        return {"documents": self.documents, **self.total.to_dict(), "vocabulary_used": used}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, for JSON; tokens are given as ids."""
        return {
            **self.figures(),
            "never_used": self.never_used,
            "most_used": self.most_used(50),
            "words_by_tokens": self.word_tokens,
            "scripts": {name: use.to_dict() for name, use in self.scripts.items()},
        }


def measure(tokenizer: Tokenizer, texts: Iterable[str]) -> Usage:
    """Encode texts as ordinary text and count the tokens.

    Raises:
        TypeError: One text in place of several; a text is no str.
        ValueError: A byte of a text has no token.

    >>> measure(Tokenizer.train("ab ab ab", 258), ["ab ab", "ba"])
    <Usage of 2 documents: 4 tokens, 1.750 bytes per token>
    """
    texts = several("texts", texts)
    meter = Meter(tokenizer)
    documents: Counter[str | None] = Counter()
    for _, held in batches(((None, text) for text in map(checked_text, texts)), documents):
        meter.add(meter.read([passage.text for passage in held]))
    return meter.finished(documents.total())


def several(name: str, texts: Any) -> Iterable[Any]:
    """Texts, if they are several: a str would be read as a text for each character.

    Raises:
        TypeError: It is one text, or nothing that can be iterated.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(f"{name} is an iterable of texts, not one {type(texts).__name__}: use [text]")
    try:
        given: Iterable[Any] = iter(texts)
    except TypeError:
        raise TypeError(f"{name} is an iterable of texts, not {short_repr(texts)}") from None
    return given


def checked_text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {short_repr(text)}")
    return text


class Passage(NamedTuple):
    """A text, or a part of a long one: the number of the text, the first character in it, and the characters."""

    document: int
    start: int
    text: str


def batches(
    pairs: Iterable[tuple[str | None, str]], documents: Counter[str | None]
) -> Iterator[tuple[str | None, list[Passage]]]:
    """Yield a group, or None, and texts of it, about BATCH characters at a time; the largest when HELD characters wait.

    OUT: documents: how many texts each group has.
    """
    waiting: dict[str | None, list[Passage]] = {}
    sizes: Counter[str | None] = Counter()
    for number, (group, text) in enumerate(pairs):
        documents[group] += 1
        start = 0
        for passage in passages_of(text):
            waiting.setdefault(group, []).append(Passage(number, start, passage))
            start += len(passage)
            sizes[group] += len(passage)
            if sizes[group] >= BATCH or sizes.total() >= HELD:
                ((largest, _),) = sizes.most_common(1)
                yield largest, waiting.pop(largest)
                del sizes[largest]
    yield from waiting.items()


def passages_of(text: str) -> Iterator[str]:
    """Yield a text in passages of at most BATCH characters.

    A passage ends after a line, where the split patterns in use cut as well, so that no token changes. In a text
    without such a line it ends after BATCH characters, and the tokens around that place may differ from the whole
    text's.
    """
    at = 0
    while len(text) - at > BATCH:
        cut = _CUT.search(text, at + BATCH // 2, at + BATCH)
        end = cut.end() if cut else at + BATCH
        yield text[at:end]
        at = end
    yield text[at:]


class Tokenized(NamedTuple):
    """The tokens of some texts.

    Attributes:
        ids: uint32[n]: the ids.
        indices: int64[n]: the index of each among the ids of the vocabulary, which ascend.
        offsets: int64[texts + 1]: text i has the tokens ``offsets[i]:offsets[i + 1]``.
        ends: int64[n]: where the bytes of each token end.
        data: The bytes of all tokens, as encoding saw them: decoding may leave out a first space.
    """

    ids: Numbers
    indices: Numbers
    offsets: Numbers
    ends: Numbers
    data: bytes

    def text(self, number: int) -> Tokenized:
        """The tokens of one of the texts alone."""
        first, last = self.offsets[number : number + 2].tolist()
        start, end = (int(self.ends[at - 1]) if at else 0 for at in (first, last))
        ids, indices, ends = (column[first:last] for column in (self.ids, self.indices, self.ends))
        return Tokenized(ids, indices, np.array([0, last - first]), ends - start, self.data[start:end])


class Meter:
    """Reads texts as tokens with their bytes, and counts them, a batch of texts at a time.

    Attributes:
        ids: int64[n]: the ids of the vocabulary, ascending.
        tokens: Their bytes.
        lengths: int64[n]: the lengths of these.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        tokens = tokenizer.to_vocab().tokens
        self.ids: Numbers = np.array(sorted(tokens), dtype=np.int64)
        self.tokens: list[bytes] = [tokens[one] for one in self.ids.tolist()]
        self.lengths: Numbers = np.array([*map(len, self.tokens)], dtype=np.int64)
        inside = np.frombuffer(b"".join(self.tokens) + b" ", np.uint8) & 0xC0 == 0x80
        ends, before = np.cumsum(self.lengths), np.append(0, np.cumsum(inside))
        #: The characters that begin in each token, and if it begins inside one.
        self.begun: Numbers = self.lengths - (before[ends] - before[ends - self.lengths])
        self.inside: Numbers = (inside[ends - self.lengths] & (self.lengths > 0)).astype(np.int32)
        self.scripts: list[str] = [COMMON]
        self.properties: Numbers = np.full(0x110000, UNKNOWN, dtype=np.uint8)  # of each code point
        ordinary = ~np.isin(self.ids, list(tokenizer.special_tokens.values()))
        self.usage: Usage = Usage(0, self.ids, np.zeros(len(self.ids), dtype=np.int64), ordinary)

    def read(self, texts: Sequence[str]) -> Tokenized:
        """The tokens of ordinary texts.

        Raises:
            ValueError: A byte of a text has no token.
        """
        ids, offsets = self.tokenizer.encode_batch_to_numpy(texts, allowed_special=())
        sparse = len(ids) and self.ids[-1] >= len(self.ids)
        indices = np.searchsorted(self.ids, ids) if sparse else ids.astype(np.int64)
        data = b"".join(map(self.tokens.__getitem__, indices.tolist()))
        return Tokenized(ids, indices, offsets, np.cumsum(self.lengths[indices]), data)

    def finished(self, documents: int) -> Usage:
        """Return the counts, with the number of documents."""
        usage = self.usage
        usage.documents = documents
        usage.scripts = dict(sorted(usage.scripts.items(), key=lambda item: -item[1].bytes))
        return usage

    def add(self, read: Tokenized) -> TextCounts:
        """Count the tokens of texts that :meth:`read` gave; returns the counts of these alone."""
        ids, index, offsets, _, data = read
        if not len(ids):
            return TextCounts()
        self.usage.counts += np.bincount(index, minlength=len(self.ids))
        text = data.decode("utf-8")
        of_char = self.look_up(np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32))

        # Character positions of tokens (several may share a character), texts and words.
        begun = self.begun[index]
        ends = np.append(0, np.cumsum(begun))
        first_char = np.append(ends[:-1] - self.inside[index], len(text))
        word_first, word_last = _words(of_char >= WORD, ends[offsets])
        token_of = np.append(np.repeat(np.arange(len(ids), dtype=np.int32), begun), len(ids))  # in which each begins
        past = token_of[word_last + 1]
        touched = past + (first_char[past] <= word_last) - token_of[word_first]
        script_at = _next_script(of_char & SCRIPT)
        token_script, word_script = script_at(first_char[:-1], ends[1:] - 1), script_at(word_first, word_last)

        width = len(self.scripts)
        per_script = {
            "tokens": np.bincount(token_script, minlength=width),
            "bytes": np.bincount(token_script, self.lengths[index], width),
            "characters": np.bincount(token_script, begun, width),
            "words": np.bincount(word_script, minlength=width),
            "word_tokens": np.bincount(word_script, touched, width),
            "whole_words": np.bincount(word_script[touched == 1], minlength=width),
        }
        added = TextCounts()
        for number, name in enumerate(self.scripts):
            use = TextCounts(**{key: int(values[number]) for key, values in per_script.items()})
            if use.tokens or use.words:
                self.usage.scripts.setdefault(name, TextCounts()).add(use)
                added.add(use)
        for tokens, words in enumerate(np.bincount(np.minimum(touched, 10), minlength=11)[1:].tolist()):
            self.usage.word_tokens[tokens] += words
        return added

    def look_up(self, codes: npt.NDArray[np.uint32]) -> Numbers:
        """The properties of code points; new ones are asked for first."""
        properties = self.properties.take(codes, mode="clip")
        new = np.flatnonzero(np.bincount(codes[properties == UNKNOWN]))
        if not len(new):
            return properties
        characters = new.astype(np.uint32).tobytes().decode("utf-32-le")
        self.properties[new] = 0
        for character, script in scripts_of(characters).items():
            if script not in self.scripts:
                self.scripts.append(script)
            self.properties[ord(character)] = self.scripts.index(script)
        for word in _WORD.findall(characters):
            self.properties[[ord(character) for character in word]] |= WORD
        return self.properties[codes]


def _words(inside: Numbers, text_start: Numbers) -> tuple[Numbers, Numbers]:
    """The first and the last character of each word; a word ends where its text does."""
    edge = np.zeros(len(inside) + 1, dtype=bool)
    edge[text_start] = True
    edge[1:-1] |= inside[1:] != inside[:-1]
    return np.flatnonzero(inside & edge[:-1]), np.flatnonzero(inside & edge[1:])


def _next_script(scripts: Numbers) -> Any:
    """The function that gives, for ranges of characters, the script of the first one that has one."""
    having = np.append(np.flatnonzero(scripts > 0), len(scripts))
    scripts = np.append(scripts, 0)

    def script_at(first: Numbers, last: Numbers) -> Numbers:
        second = np.minimum(first + 1, last)  # nearly always a letter after a space
        script = np.where(scripts[first] > 0, scripts[first], scripts[second])
        left = np.flatnonzero((script == 0) & (second < last))
        following = having[np.searchsorted(having, first[left])]
        script[left] = np.where(following <= last[left], scripts[following], 0)
        return script

    return script_at
