"""Measures of text in tokens: compression by script, tokens in use, words that take many tokens.

Texts are read as ordinary text, a few million characters at a time, so memory does not grow with the size of a file.
Everything is counted with NumPy over arrays of tokens and of code points.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import regex

from ..tokenizer import Tokenizer
from .cells import character_sizes
from .characters import COMMON, scripts_of

__all__ = ["ALL", "Meter", "ScriptUse", "Usage", "gathered", "measure", "pieces"]

#: Characters that are measured at a time; longer documents are cut, see :func:`pieces`.
BLOCK = 1 << 21

#: Characters that are held over all groups until the largest of them is measured.
HELD = 8 * BLOCK

#: The group of texts that belong to none.
ALL = "all"

#: Order of the Renyi entropy that correlated best with translation quality in the paper that proposed it.
RENYI_ORDER = 2.5

#: Longer words are left out of the list of costly words, which people read.
LONGEST_WORD = 40

#: A word of this many tokens is costly.
COSTLY = 3

#: The table of costly words is cut back to KEPT_WORDS when it has grown to MOST_WORDS.
MOST_WORDS, KEPT_WORDS = 200_000, 50_000

#: Code points of Unicode.
CODE_POINTS = 0x110000

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# A document is cut after a line that ends in a mark other than white space, and before a letter. The split patterns in
# use cut there as well, so the pieces give the tokens of the whole.
_CUT = regex.compile(r"(?<=\S\n)(?=\p{L})")

Numbers = npt.NDArray[Any]


@dataclass
class ScriptUse:
    """Counts of one script. Tokens and words belong to the script of their first character that has one; a word is a
    sequence of letters, marks and digits. ``word_tokens`` adds up the tokens that each word overlaps."""

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
        return self.tokens / self.characters if self.characters else 0.0

    @property
    def tokens_per_word(self) -> float:
        """The tokens that a word overlaps, on average."""
        return self.word_tokens / max(self.words, 1)

    @property
    def whole_word_share(self) -> float:
        """The share of words that lie in one token."""
        return self.whole_words / max(self.words, 1)

    def add(self, other: ScriptUse) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        counts = {name: getattr(self, name) for name in ("tokens", "bytes", "characters", "words")}
        rates = ("bytes_per_token", "tokens_per_character", "tokens_per_word", "whole_word_share")
        return counts | {name: round(getattr(self, name), 4) for name in rates}


@dataclass(repr=False)
class Usage:
    """The result of :func:`measure`.

    Attributes:
        documents: How many texts.
        ids: int64[n]: the ids of the vocabulary, ascending.
        counts: int64[n]: how often each of them occurred.
        ordinary: bool[n]: False for special tokens, which ordinary text does not use.
        scripts: script -> its counts; "Common" holds spaces, digits, punctuation and symbols.
        word_tokens: How many words have 1, 2, ... tokens; the last of the ten counts 10 and more.
        costly_words: (word, how often, tokens each), those that take most tokens beyond one a word first.
    """

    documents: int
    ids: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    ordinary: npt.NDArray[np.bool_]
    scripts: dict[str, ScriptUse] = field(default_factory=dict)
    word_tokens: list[int] = field(default_factory=lambda: [0] * 10)
    costly_words: list[tuple[str, int, int]] = field(default_factory=list)

    def __repr__(self) -> str:
        total = self.total
        rate = f"{total.bytes_per_token:.3f} bytes per token"
        return f"<Usage of {self.documents:,} documents: {total.tokens:,} tokens, {rate}>"

    @property
    def total(self) -> ScriptUse:
        """All scripts together."""
        total = ScriptUse()
        for use in self.scripts.values():
            total.add(use)
        return total

    @property
    def by_size(self) -> list[tuple[str, ScriptUse]]:
        """(script, its counts), the script with most bytes first."""
        return sorted(self.scripts.items(), key=lambda item: -item[1].bytes)

    @property
    def never_used(self) -> list[int]:
        """The ids of tokens that did not occur, special tokens left out."""
        unused: list[int] = self.ids[self.ordinary & (self.counts == 0)].tolist()
        return unused

    def most_used(self, limit: int) -> list[tuple[int, int]]:
        """(id, how often) of the most frequent tokens."""
        order = np.argsort(-self.counts, kind="stable")[:limit]
        return [(int(self.ids[at]), int(self.counts[at])) for at in order if self.counts[at]]

    @property
    def renyi_efficiency(self) -> float:
        """Renyi entropy of order 2.5 of the token frequencies, divided by its maximum, the logarithm of the
        vocabulary's size: 1 when all tokens are equally frequent, near 0 when a few make up the text.

        Source: V. Zouhar et al., "Tokenization and the Noiseless Channel", ACL 2023.
        """
        used = self.counts[self.counts > 0]
        if len(self.counts) < 2 or not len(used):
            return 0.0
        shares = used / used.sum()
        entropy = np.log(np.sum(shares**RENYI_ORDER)) / (1 - RENYI_ORDER)
        return float(entropy / np.log(len(self.counts))) + 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON; tokens are given as ids."""
        costly = [{"word": word, "count": count, "tokens": tokens} for word, count, tokens in self.costly_words]
        return {
            "documents": self.documents,
            **self.total.to_dict(),
            "renyi_efficiency": round(self.renyi_efficiency, 6),
            "tokens_used": int(np.count_nonzero(self.counts)),
            "never_used": self.never_used,
            "most_used": [{"id": token_id, "count": count} for token_id, count in self.most_used(50)],
            "words_by_tokens": self.word_tokens,
            "costly_words": costly,
            "scripts": {name: use.to_dict() for name, use in self.by_size},
        }


def measure(tokenizer: Tokenizer, texts: Iterable[str]) -> Usage:
    """Encode texts as ordinary text and count the tokens.

    Raises:
        ValueError: A byte of a text has no token.
    """
    meter = Meter(tokenizer)
    documents: Counter[str] = Counter()
    for _, held in gathered(((ALL, text) for text in texts), documents):
        meter.add(held)
    return meter.finished(documents.total())


def gathered(pairs: Iterable[tuple[str, str]], documents: Counter[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts of a group, about BLOCK characters at a time. OUT: how many texts each group has."""
    held: dict[str, list[str]] = {}
    sizes: Counter[str] = Counter()
    for group, text in pairs:
        documents[group] += 1
        for piece in pieces(text):
            held.setdefault(group, []).append(piece)
            sizes[group] += len(piece)
            full = group if sizes[group] >= BLOCK else None
            if full is None and sizes.total() >= HELD:
                full = sizes.most_common(1)[0][0]
            if full is not None:
                yield full, held.pop(full)
                del sizes[full]
    yield from held.items()


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of at most BLOCK characters.

    A piece ends after a line, where the split patterns in use cut as well, so that no token changes. In a text without
    such a line it ends after BLOCK characters, and the tokens around that place may differ from the whole text's.
    """
    at = 0
    while len(text) - at > BLOCK:
        cut = _CUT.search(text, at + BLOCK // 2, at + BLOCK)
        end = cut.start() if cut else at + BLOCK
        yield text[at:end]
        at = end
    yield text[at:]


class Meter:
    """Counts the tokens of texts, a block of them at a time.

    Args:
        tokenizer: What they are encoded with.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        tokens = tokenizer.vocab
        self.ids: npt.NDArray[np.int64] = np.array(sorted(tokens), dtype=np.int64)
        self.lengths: npt.NDArray[np.int64] = np.array([len(tokens[one]) for one in self.ids.tolist()], dtype=np.int64)
        self.dense: bool = len(self.ids) == 0 or bool(self.ids[-1] == len(self.ids) - 1)
        self.names: list[str] = [COMMON]
        # For each code point: the index of its script in `names`, True in words, True once the two are known.
        self.script_of: npt.NDArray[np.uint8] = np.zeros(CODE_POINTS, dtype=np.uint8)
        self.is_word: npt.NDArray[np.bool_] = np.zeros(CODE_POINTS, dtype=bool)
        self.known: npt.NDArray[np.bool_] = np.zeros(CODE_POINTS, dtype=bool)
        self.costly: Counter[tuple[str, int]] = Counter()
        specials = np.array(list(tokenizer.special_tokens.values()), dtype=np.int64)
        counts = np.zeros(len(self.ids), dtype=np.int64)
        self.usage: Usage = Usage(0, self.ids, counts, ~np.isin(self.ids, specials))

    def finished(self, documents: int) -> Usage:
        """Return the counts, of so many documents."""
        self.usage.documents = documents
        ranked = sorted(self.costly.items(), key=lambda item: (-item[1] * (item[0][1] - 1), item[0]))
        self.usage.costly_words = [(word, count, tokens) for (word, tokens), count in ranked[:50]]
        return self.usage

    def add(self, texts: list[str]) -> ScriptUse:
        """Count the tokens of texts; returns the counts of these alone.

        Raises:
            ValueError: A byte of a text has no token.
        """
        usage, added = self.usage, ScriptUse()
        ids, offsets = self.tokenizer.encode_batch_to_numpy(texts, allowed_special=())
        if not len(ids):
            return added
        index = ids.astype(np.int64) if self.dense else np.searchsorted(self.ids, ids)
        usage.counts += np.bincount(index, minlength=len(self.ids))
        # The tokens' own text: the texts themselves, but for normalization.
        data = self.tokenizer.decode_bytes(ids)
        text = data.decode("utf-8")
        codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        self.learn(codes)

        # Positions in bytes, of tokens and of characters, and the character and the token of each byte.
        lengths, sizes = self.lengths[index], character_sizes(codes)
        token_end, char_end = np.cumsum(lengths), np.cumsum(sizes)
        token_start, char_start = token_end - lengths, char_end - sizes
        char_at = np.repeat(np.arange(len(codes), dtype=np.int32), sizes)
        token_at = np.repeat(np.arange(len(ids), dtype=np.int32), lengths)
        text_edges = np.append(char_at, len(codes))[np.append(0, token_end)[offsets]]

        first_word_char, last_word_char = self.words(codes, text_edges)
        first_token = token_at[char_start[first_word_char]]
        last_token = token_at[char_end[last_word_char] - 1]
        touched = (last_token - first_token + 1).astype(np.int64)
        token_script, word_script = self.first_scripts(
            codes, (char_at[token_start], char_at[token_end - 1]), (first_word_char, last_word_char)
        )
        begun = np.append(0, char_at + 1)  # how many characters begin before each byte

        width = len(self.names)
        per_script = {
            "tokens": np.bincount(token_script, minlength=width),
            "bytes": np.bincount(token_script, weights=lengths, minlength=width),
            "characters": np.bincount(token_script, weights=begun[token_end] - begun[token_start], minlength=width),
            "words": np.bincount(word_script, minlength=width),
            "word_tokens": np.bincount(word_script, weights=touched, minlength=width),
            "whole_words": np.bincount(word_script, weights=touched == 1, minlength=width),
        }
        for number, name in enumerate(self.names):
            found = ScriptUse(**{key: int(values[number]) for key, values in per_script.items()})
            if found.tokens or found.words:
                usage.scripts.setdefault(name, ScriptUse()).add(found)
                added.add(found)
        for tokens, words in enumerate(np.bincount(np.minimum(touched, 10), minlength=11)[1:].tolist()):
            usage.word_tokens[tokens] += words
        costly = np.flatnonzero((touched >= COSTLY) & (last_word_char - first_word_char < LONGEST_WORD))
        columns = (first_word_char, last_word_char, touched)
        for first, last, count in zip(*(column[costly].tolist() for column in columns), strict=True):
            self.costly[text[first : last + 1], count] += 1
        if len(self.costly) > MOST_WORDS:
            self.costly = Counter(dict(self.costly.most_common(KEPT_WORDS)))
        return added

    def words(self, codes: Numbers, text_edges: Numbers) -> tuple[Numbers, Numbers]:
        """The first and the last character of each word; a word ends where its text does."""
        inside = self.is_word[codes]
        edge = np.zeros(len(codes) + 1, dtype=bool)
        edge[text_edges] = True
        before, after = np.append(False, inside[:-1]), np.append(inside[1:], False)
        return np.flatnonzero(inside & (~before | edge[:-1])), np.flatnonzero(inside & (~after | edge[1:]))

    def first_scripts(self, codes: Numbers, *stretches: tuple[Numbers, Numbers]) -> Iterator[Numbers]:
        """For each array of stretches (first and last character), the script of their first character that has one."""
        scripts = np.append(self.script_of[codes], 0)
        having = np.where(scripts != 0, np.arange(len(scripts), dtype=np.int32), len(codes))
        next_having = np.minimum.accumulate(having[::-1])[::-1]
        for first, last in stretches:
            found = next_having[first]
            yield np.where(found <= last, scripts[found], 0)

    def learn(self, codes: npt.NDArray[np.uint32]) -> None:
        """Look up scripts and word characters of code points that are not known yet."""
        met = np.zeros(CODE_POINTS, dtype=bool)
        met[codes] = True
        new = np.flatnonzero(met & ~self.known).astype(np.uint32)
        if not len(new):
            return
        self.known[new] = True
        characters = new.tobytes().decode("utf-32-le")
        for character, script in scripts_of(characters).items():
            if script not in self.names:
                self.names.append(script)
            self.script_of[ord(character)] = self.names.index(script)
        for word in _WORD.findall(characters):
            self.is_word[[ord(character) for character in word]] = True
