"""What a tokenizer makes of text: compression by script, tokens that are used and that are not, fragmented words.

Texts are read as ordinary text, a few million characters at a time, so that files of any size are measured in memory of
one size. Everything is counted with NumPy over arrays of tokens and of code points.
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
from .characters import COMMON, scripts_of

__all__ = ["ScriptUse", "Usage", "measure"]

#: Characters that are measured at a time; longer documents are cut behind a line.
BLOCK = 1 << 21

#: Order of the Renyi entropy that went best with translation quality in the paper that proposed it.
RENYI_ORDER = 2.5

#: Words longer than this are left out of the list of costly words: it is meant to be read.
LONGEST_WORD = 40

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# Where a document may be cut: behind a line end after a mark that is no space and before a letter. The split patterns
# in use cut there as well, so that the pieces give the tokens of the whole.
_CUT = regex.compile(r"(?<=\S\n)(?=\p{L})")


@dataclass
class ScriptUse:
    """Counts of one script. A token belongs to the script of its first character that has one, a word likewise; a word
    is a run of letters, marks and digits."""

    tokens: int = 0
    bytes: int = 0
    characters: int = 0
    words: int = 0
    word_tokens: int = 0
    whole_words: int = 0

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / self.tokens if self.tokens else 0.0

    @property
    def tokens_per_character(self) -> float:
        return self.tokens / self.characters if self.characters else 0.0

    @property
    def tokens_per_word(self) -> float:
        """How many tokens a word touches, on average."""
        return self.word_tokens / self.words if self.words else 0.0

    @property
    def whole_word_share(self) -> float:
        """The share of words that are one token, or part of one."""
        return self.whole_words / self.words if self.words else 0.0

    def add(self, other: ScriptUse) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Usage:
    """What came of measuring texts.

    Attributes:
        documents: How many texts.
        counts: int64, how often each token occurred, in the order of ``ids``.
        ids: The ids of the vocabulary, ascending.
        ordinary: Which of them are no special tokens: text is read as ordinary text, which does not use those.
        scripts: script -> its counts; "Common" holds spaces, digits, punctuation and symbols.
        word_tokens: How many words have 1, 2, ... tokens; the last of the ten counts 10 and more.
        costly_words: (word, how often, tokens each): those that take most tokens beyond one a word.
    """

    documents: int
    ids: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    ordinary: npt.NDArray[np.bool_]
    scripts: dict[str, ScriptUse] = field(default_factory=dict)
    word_tokens: list[int] = field(default_factory=lambda: [0] * 10)
    costly_words: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def total(self) -> ScriptUse:
        """All scripts together."""
        total = ScriptUse()
        for use in self.scripts.values():
            total.add(use)
        return total

    @property
    def never_used(self) -> list[int]:
        """The ids of tokens that did not occur; special tokens are not among them."""
        return [int(token_id) for token_id in self.ids[self.ordinary & (self.counts == 0)]]

    def most_used(self, limit: int) -> list[tuple[int, int]]:
        """(id, how often) of the most frequent tokens."""
        order = np.argsort(-self.counts, kind="stable")[:limit]
        return [(int(self.ids[at]), int(self.counts[at])) for at in order if self.counts[at]]

    @property
    def renyi_efficiency(self) -> float:
        """Renyi entropy of order 2.5 of the token frequencies over the highest possible one, log of the vocabulary's
        size: 1 when all tokens are used alike, near 0 when few carry everything.

        Source: V. Zouhar et al., "Tokenization and the Noiseless Channel", ACL 2023.
        """
        used = self.counts[self.counts > 0]
        if len(self.counts) < 2 or not len(used):
            return 0.0
        shares = used / used.sum()
        entropy = np.log(np.sum(shares**RENYI_ORDER)) / (1 - RENYI_ORDER)
        return float(entropy / np.log(len(self.counts))) + 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON; ids stand for tokens."""
        scripts = sorted(self.scripts.items(), key=lambda item: -item[1].bytes)
        return {
            "documents": self.documents,
            **_figures(self.total),
            "renyi_efficiency": round(self.renyi_efficiency, 6),
            "tokens_used": int(np.count_nonzero(self.counts)),
            "never_used": self.never_used,
            "most_used": [{"id": token_id, "count": count} for token_id, count in self.most_used(50)],
            "words_by_tokens": self.word_tokens,
            "costly_words": [
                {"word": word, "count": count, "tokens": tokens} for word, count, tokens in self.costly_words
            ],
            "scripts": {name: _figures(use) for name, use in scripts},
        }


def _figures(use: ScriptUse) -> dict[str, float]:
    return {
        "tokens": use.tokens,
        "bytes": use.bytes,
        "characters": use.characters,
        "words": use.words,
        "bytes_per_token": round(use.bytes_per_token, 4),
        "tokens_per_character": round(use.tokens_per_character, 4),
        "tokens_per_word": round(use.tokens_per_word, 4),
        "whole_word_share": round(use.whole_word_share, 4),
    }


def measure(tokenizer: Tokenizer, texts: Iterable[str]) -> Usage:
    """Encode texts as ordinary text and count what comes out.

    Raises:
        ValueError: A byte of a text has no token.
    """
    return _Measure(tokenizer).run(texts)


def blocks(texts: Iterable[str]) -> Iterator[tuple[list[str], int]]:
    """Texts gathered into lists of about BLOCK characters, and how many texts begin in each list."""
    held: list[str] = []
    size = begun = 0
    for text in texts:
        begun += 1
        at = 0
        while at < len(text) or not at:
            end = len(text)
            if end - at > BLOCK:
                cut = _CUT.search(text, at + BLOCK // 2, at + BLOCK)
                end = cut.start() if cut else at + BLOCK
            held.append(text[at:end])
            size += end - at
            at = end or 1
            if size >= BLOCK:
                yield held, begun
                held, size, begun = [], 0, 0
    if held:
        yield held, begun


class _Measure:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        tokens = tokenizer.vocab
        self.ids = np.array(sorted(tokens), dtype=np.int64)
        self.lengths = np.array([len(tokens[token_id]) for token_id in self.ids.tolist()], dtype=np.int64)
        self.dense = bool(len(self.ids) == 0 or self.ids[-1] == len(self.ids) - 1)
        self.script_of = np.zeros(0x110000, dtype=np.uint8)
        self.is_word = np.zeros(0x110000, dtype=bool)
        self.known = np.zeros(0x110000, dtype=bool)
        self.names = [COMMON]
        self.costly: Counter[tuple[str, int]] = Counter()

    def run(self, texts: Iterable[str]) -> Usage:
        specials = np.array(list(self.tokenizer.special_tokens.values()), dtype=np.int64)
        usage = Usage(0, self.ids, np.zeros(len(self.ids), dtype=np.int64), ~np.isin(self.ids, specials))
        for held, begun in blocks(texts):
            usage.documents += begun
            self.add(held, usage)
            if len(self.costly) > 200_000:  # keep what matters, drop the long tail
                self.costly = Counter(dict(self.costly.most_common(50_000)))
        ranked = sorted(self.costly.items(), key=lambda item: (-item[1] * (item[0][1] - 1), item[0]))
        usage.costly_words = [(word, count, tokens) for (word, tokens), count in ranked[:50]]
        return usage

    def add(self, texts: list[str], usage: Usage) -> None:
        ids, offsets = self.tokenizer.encode_batch_to_numpy(texts, allowed_special=())
        if not len(ids):
            return
        places = ids.astype(np.int64) if self.dense else np.searchsorted(self.ids, ids)
        usage.counts += np.bincount(places, minlength=len(self.ids))
        # What the ids stand for, which is the texts themselves, but for normalization.
        data = self.tokenizer.decode_bytes(ids)
        text = data.decode("utf-8")
        codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
        self.learn(codes)

        ends = np.cumsum(self.lengths[places])
        starts = ends - self.lengths[places]
        sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
        char_at = np.repeat(np.arange(len(codes), dtype=np.int32), sizes)  # of each byte
        begins = np.frombuffer(data, dtype=np.uint8) & 0xC0 != 0x80
        begun = np.concatenate([[0], np.cumsum(begins)])

        scripts = self.script_of[codes]
        none = len(codes)
        owned = np.where(scripts != 0, np.arange(none, dtype=np.int32), none)
        next_owned = np.append(np.minimum.accumulate(owned[::-1])[::-1], none)
        padded = np.append(scripts, 0)
        reach = next_owned[char_at[starts]]
        token_script = np.where(reach <= char_at[ends - 1], padded[reach], 0)

        token_at = np.repeat(np.arange(len(ids), dtype=np.int32), self.lengths[places])  # of each byte
        first_byte = ends_of(sizes) - sizes
        inside = self.is_word[codes]
        breaks = np.zeros(none + 1, dtype=bool)
        edges = np.append(0, ends)[offsets]  # in bytes, where a text ends and the next begins
        breaks[np.append(char_at, none)[edges]] = True
        before = np.append(False, inside[:-1])
        word_starts = np.flatnonzero(inside & (~before | breaks[:-1]))
        behind = np.append(inside[1:], False)
        word_ends = np.flatnonzero(inside & (~behind | breaks[1:]))
        first = token_at[first_byte[word_starts]]
        last = token_at[first_byte[word_ends] + sizes[word_ends] - 1]
        touched = (last - first + 1).astype(np.int64)
        word_reach = next_owned[word_starts]
        word_script = np.where(word_reach <= word_ends, padded[word_reach], 0)

        width = len(self.names)
        per_script = {
            "tokens": np.bincount(token_script, minlength=width),
            "bytes": np.bincount(token_script, weights=ends - starts, minlength=width),
            "characters": np.bincount(token_script, weights=begun[ends] - begun[starts], minlength=width),
            "words": np.bincount(word_script, minlength=width),
            "word_tokens": np.bincount(word_script, weights=touched, minlength=width),
            "whole_words": np.bincount(word_script, weights=touched == 1, minlength=width),
        }
        for number, name in enumerate(self.names):
            found = ScriptUse(**{key: int(values[number]) for key, values in per_script.items()})
            if found.tokens or found.words:
                usage.scripts.setdefault(name, ScriptUse()).add(found)
        for tokens, words in enumerate(np.bincount(np.minimum(touched, 10), minlength=11)[1:].tolist()):
            usage.word_tokens[tokens] += words
        costly = np.flatnonzero((touched >= 3) & (word_ends - word_starts < LONGEST_WORD))
        self.costly.update(
            (text[start : end + 1], count)
            for start, end, count in zip(
                word_starts[costly].tolist(), word_ends[costly].tolist(), touched[costly].tolist(), strict=True
            )
        )

    def learn(self, codes: npt.NDArray[np.uint32]) -> None:
        """Look up scripts and word characters among code points that were not met before."""
        met = np.zeros(0x110000, dtype=bool)
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
        for run in _WORD.findall(characters):
            self.is_word[[ord(character) for character in run]] = True


def ends_of(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Where things of these sizes end when they lie one behind the other."""
    return np.cumsum(sizes, dtype=np.int64)
