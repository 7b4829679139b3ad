"""Texts made from the packaged vocabulary, the same on every machine: for tests and benchmarks without files of text.

A text is words of Zipf's distribution with separators between them. The frequent words are tokens of bpetite-32k in
the order in which it learned them, which is nearly that of their frequency. The rare ones are several tokens glued
together, so that merging has work to do. Each document is in one script and has a random seed of its own, so a longer
text begins with the shorter one.

    made_texts.text("english", 1_000_000)
"""
import random
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

from bpetite import Tokenizer

NAMES = ("english", "code", "multilingual", "cjk")
END = "<|endoftext|>"

#: Words of a document, and rare words of a script.
WORDS, RARE = 4_000, 20_000

PROSE = {" ": 80, ", ": 8, ". ": 6, "; ": 1, "'s ": 1, "--": 1, '." "': 1, ".\n\n": 1, "? ": 1}
CODE = {
    " ": 14, "_": 14, ".": 12, ", ": 10, "(": 8, " = ": 8, "\n        ": 6, ")\n    ": 6, ":\n            ": 4,
    '"': 4, "()\n\n    def ": 3, "[": 3, "] == ": 3, "\n\n\n": 1, "  # ": 2, "='": 2, "', ": 2, " -> ": 1,
}  # fmt: skip
UNSPACED = {"": 60, "，": 14, "。": 10, "、": 6, "：": 4, "。\n": 4, " ": 2}

#: Scripts of "multilingual", with the share of documents of each.
SCRIPTS = {
    "LATIN": 50, "CYRILLIC": 16, "CJK": 8, "HANGUL": 7, "KANA": 5, "GREEK": 4, "ARABIC": 4, "DEVANAGARI": 2,
    "BENGALI": 2, "TAMIL": 1, "THAI": 1,
}  # fmt: skip


class Source(NamedTuple):
    """Words and separators, each with cumulated weights."""

    words: Sequence[str]
    word_weights: Sequence[float]
    separators: Sequence[str]
    separator_weights: Sequence[float]


@cache
def text(name: str, size: int) -> str:
    """The first ``size`` bytes, less what a cut character would take, of the text ``name``, one of `NAMES`."""
    documents, made, number = [], 0, 0
    while made < size:
        content = document(name, number)
        documents.append(content)
        made += len(content.encode())
        number += 1
    return "".join(documents).encode()[:size].decode("utf-8", "ignore")


def document(name: str, number: int) -> str:
    rng = random.Random(f"{name} {number}")
    if name == "multilingual":
        name = rng.choices(list(SCRIPTS), list(SCRIPTS.values()))[0]
    elif name == "cjk":
        name = "CJK"
    words, word_weights, separators, separator_weights = source(name)
    drawn = rng.choices(words, cum_weights=word_weights, k=WORDS)
    between = rng.choices(separators, cum_weights=separator_weights, k=WORDS)
    return "".join(chain.from_iterable(zip(drawn, between, strict=True))) + END


@cache
def source(name: str) -> Source:
    """The words of a script, of English prose or of code, in the order of their frequency."""
    starts, pieces = tokens()["ASCII" if name in ("english", "code") else name]
    separators = CODE if name == "code" else UNSPACED if name in ("CJK", "KANA", "THAI") else PROSE
    known = starts if separators is PROSE and len(starts) > 20 else pieces
    rng = random.Random(name)
    glued = [
        rng.choice(known) + "".join(rng.choices(pieces, k=length))
        for length in rng.choices((1, 2, 3), (5, 3, 1), k=RARE)
    ]
    words = [*known, *glued]
    weights = [1 / (rank + 2.7) for rank in range(len(words))]
    return Source(words, list(accumulate(weights)), list(separators), list(accumulate(separators.values())))


@cache
def tokens() -> dict[str, tuple[list[str], list[str]]]:
    """Script -> its tokens of letters with a space before them, and those without one."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    vocab = Tokenizer.load("bpetite-32k").vocab
    for _, token in sorted(vocab.items()):
        word = token.decode("utf-8", "replace")
        if re.fullmatch(r" ?[^\W_]+", word):
            for script in scripts_of(word.strip()):
                starts, pieces = found.setdefault(script, ([], []))
                (starts if word[0] == " " else pieces).append(word.strip())
    return found


def scripts_of(word: str) -> list[str]:
    """Where a word belongs, by the Unicode name of its first letter outside ASCII."""
    first = next((char for char in word if not char.isascii()), None)
    if first is None:
        return ["ASCII", "LATIN"]
    name = unicodedata.name(first, "NONE").split()[0]
    return ["KANA" if name.startswith(("HIRAGANA", "KATAKANA")) else name]
