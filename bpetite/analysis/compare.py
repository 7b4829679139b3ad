"""Several tokenizers on the same texts: compression, words cut into tokens, and the share of the vocabulary in use.

The texts are measured as in :mod:`bpetite.analysis.usage`, once for each tokenizer.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import short_repr
from ..tokenizer import Tokenizer
from .results import ALL, Comparison, Figures, ScriptUse
from .usage import Meter, blocks

__all__ = ["Texts", "compare"]

#: Texts, texts by group, or pairs of a group and a text.
Texts = Iterable[str] | Iterable[tuple[str, str]] | Mapping[str, Iterable[str]]


def compare(
    tokenizers: Mapping[str, Tokenizer] | Iterable[Tokenizer],
    texts: Texts,
    *,
    by: str | None = None,
    files: Iterable[str] = (),
) -> Comparison:
    """Compare tokenizers on the same texts, read as ordinary text.

    Args:
        tokenizers: name -> tokenizer, or tokenizers, which are called A, B, and so on.
        texts: Texts; group -> its texts, such as "de" -> texts in German; or pairs (group, text), in any order.
        by: The name of the grouping, for the report to say.
        files: The files that the texts come from, for the report to name; they are not read.

    Raises:
        ValueError: No tokenizer; a text has a byte that has no token in one of them.
        TypeError: A text is no str.

    >>> one, two = (Tokenizer.train("ab ab ab", size) for size in (257, 258))
    >>> found = compare({"one": one, "two": two}, {"x": ["ab ab"], "y": ["zz ab"]})
    >>> found
    <Comparison of tokenizers: 2 tokenizers, 1.429 bytes per token, one, 2.000 bytes per token, two, 2 documents>
    >>> {group: round(use.bytes_per_token, 3) for group, use in found.tokenizers[0].groups.items()}
    {'x': 1.667, 'y': 1.25}
    """
    named = _named(tokenizers)
    meters = {name: Meter(tokenizer) for name, tokenizer in named.items()}
    groups: dict[str, dict[str, ScriptUse]] = {name: {} for name in named}
    documents: Counter[str] = Counter()
    for group, held in blocks(_pairs(texts), documents):
        for name, meter in meters.items():
            groups[name].setdefault(group, ScriptUse()).add(meter.add(held))
    figures = []
    for name, tokenizer in named.items():
        usage, special = meters[name].finished(documents.total()), set(tokenizer.special_tokens.values())
        ordinary = (token for token_id, token in sorted(tokenizer.vocab.items()) if token_id not in special)
        figures.append(Figures(name, usage, groups[name], max(ordinary, key=len, default=b"")))
    return Comparison(figures, dict(documents), by, tuple(files))


def _named(tokenizers: Mapping[str, Tokenizer] | Iterable[Tokenizer]) -> dict[str, Tokenizer]:
    if isinstance(tokenizers, Tokenizer):
        raise TypeError("tokenizers are several, not one: use [tokenizer]")
    if isinstance(tokenizers, Mapping):
        named = dict(tokenizers)
    else:
        given = list(tokenizers)
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if len(given) <= 26 else [f"T{at}" for at in range(1, len(given) + 1)]
        named = dict(zip(letters, given, strict=False))
    for name, one in named.items():
        if not isinstance(one, Tokenizer):
            raise TypeError(f"{name}: {short_repr(one)} is no Tokenizer; Tokenizer.load takes a file or a name")
    if not named:
        raise ValueError("no tokenizer to compare")
    return named


def _pairs(texts: Texts) -> Iterator[tuple[str, str]]:
    if isinstance(texts, str | bytes):
        raise TypeError(f"texts is an iterable of texts, not one {type(texts).__name__}: use [text]")
    given: Iterable[Any] = texts
    if isinstance(texts, Mapping):
        for group, some in texts.items():
            if isinstance(some, str | bytes):
                raise TypeError(f"texts[{group!r}] is an iterable of texts, not one {type(some).__name__}: use [text]")
        given = ((group, text) for group, some in texts.items() for text in some)
    for one in given:
        group, text = one if isinstance(one, tuple) and len(one) == 2 else (ALL, one)
        if not isinstance(text, str) or not isinstance(group, str):
            raise TypeError(f"a text is a str, or a pair of a group and a text, not {short_repr(one)}")
        yield group, text
