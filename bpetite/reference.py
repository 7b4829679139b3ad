"""BPE in plain Python: the definition, against which every fast path is tested.

Read it from top to bottom. A token is its bytes; ids come in only at the two ends. Nothing here is fast, and nothing
in the package falls back to it.

Sources: P. Gage, "A New Algorithm for Data Compression", The C Users Journal, 1994 (the idea); R. Sennrich, B. Haddow
and A. Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016 (as a tokenizer); A. Radford et
al., "Language Models are Unsupervised Multitask Learners", 2019 (over bytes, after a split pattern).
"""
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import regex

from .splitting.pattern.regex_text import matches
from .splitting.pattern.unicode_data import class_ranges

__all__ = [
    "apply_merges",
    "candidates",
    "count_pairs",
    "cut_specials",
    "decode",
    "encode",
    "merge_pretoken",
    "normalize",
    "replace_pair",
    "split",
    "train",
]

Pair = tuple[bytes, bytes]
Token = TypeVar("Token")


def normalize(text: str, form: Any) -> str:
    """Text in a Unicode normal form, in which characters that Unicode 9.0 does not have stay as they are.

    >>> normalize("e\u0301", "NFC")
    'é'
    """
    return _known().sub(lambda match: unicodedata.normalize(form, match[0]), text)


@cache
def _known() -> re.Pattern[str]:
    known = "".join(f"\\U{start:08x}-\\U{stop - 1:08x}" for start, stop in class_ranges("Age=9.0") or ())
    return re.compile(f"[{known}]+")


def split(text: str, pattern: str | Sequence[str] | None) -> list[str]:
    """Cut text into pre-tokens; joined again they give the text.

    A match of the pattern is a pre-token, and so is the text between two matches. Of a sequence of patterns, each one
    cuts the pre-tokens of the one before; None leaves the text whole. Characters are those of Unicode 16.0.

    >>> split("I'll go", r"'ll| ?\\w+")
    ['I', "'ll", ' go']
    """
    patterns = () if pattern is None else (pattern,) if isinstance(pattern, str) else pattern
    pretokens = [text] if text else []
    for one in patterns:
        pretokens = [part for pretoken in pretokens for part in _split_once(pretoken, one)]
    return pretokens


def _split_once(text: str, pattern: str) -> list[str]:
    pretokens, end = [], 0
    for start, stop in matches(regex.compile(pattern), text):
        pretokens += [text[end:start], text[start:stop]]
        end = stop
    return [pretoken for pretoken in [*pretokens, text[end:]] if pretoken]


def cut_specials(text: str, literals: Iterable[str]) -> list[tuple[str, bool]]:
    """Cut text at special tokens: pairs (span, is it special), leftmost first and the longest at one position.

    >>> cut_specials("a<s><s>", ["<s>"])
    [('a', False), ('<s>', True), ('<s>', True)]
    """
    by_length = sorted(literals, key=len, reverse=True)
    spans, start, at = [], 0, 0
    while at < len(text):
        first = next((literal for literal in by_length if text.startswith(literal, at)), None)
        if first is None:
            at += 1
            continue
        spans += [(text[start:at], False), (first, True)]
        start = at = at + len(first)
    return [(span, special) for span, special in [*spans, (text[start:], False)] if span]


def replace_pair(tokens: Sequence[Token], pair: tuple[Token, Token], joined: Token | None = None) -> list[Token]:
    """One left-to-right pass that joins every non-overlapping occurrence of the pair; `joined` by default is the sum.

    >>> replace_pair([b"a", b"a", b"a"], (b"a", b"a"))
    [b'aa', b'a']
    """
    parts: Any = pair
    new: Token = parts[0] + parts[1] if joined is None else joined
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        if at + 1 < len(tokens) and (tokens[at], tokens[at + 1]) == pair:
            out.append(new)
            at += 2
        else:
            out.append(tokens[at])
            at += 1
    return out


def apply_merges(pretoken: bytes, merges: Iterable[Pair]) -> list[bytes]:
    """The textbook encoder: one pass per merge, in the order of the list.

    Equal to :func:`merge_pretoken` for every list in which the parts of a merge are bytes or come from earlier
    merges, so for every list that training gives.

    >>> apply_merges(b"abab", [(b"a", b"b")])
    [b'ab', b'ab']
    """
    tokens = [bytes([byte]) for byte in pretoken]
    for pair in merges:
        tokens = replace_pair(tokens, pair)
    return tokens


def merge_pretoken(pretoken: bytes, ranks: Mapping[Pair, int] | Mapping[bytes, int]) -> list[bytes]:
    """Join the pair of lowest rank, the leftmost of them first, until no pair has a rank.

    Args:
        pretoken: The bytes of one pre-token.
        ranks: Either pair -> its index in the merge list, or token -> its id; then the rank of a pair is the id of
            the two joined.

    >>> merge_pretoken(b"abc", {(b"b", b"c"): 0, (b"a", b"b"): 1})
    [b'a', b'bc']
    >>> merge_pretoken(b"abc", {b"ab": 256, b"bc": 257})
    [b'ab', b'c']
    """
    tokens = [bytes([byte]) for byte in pretoken]
    while True:
        joins = candidates(tokens, ranks)
        if not joins:
            return tokens
        _, at = min(joins)
        tokens[at : at + 2] = [tokens[at] + tokens[at + 1]]


def candidates(tokens: Sequence[bytes], ranks: Mapping[Pair, int] | Mapping[bytes, int]) -> list[tuple[int, int]]:
    """(rank, index of the left token) of the pairs that have a rank.

    >>> candidates([b"a", b"b", b"c"], {b"ab": 256, b"bc": 257})
    [(256, 0), (257, 1)]
    """
    pairs = []
    for at, pair in enumerate(pairwise(tokens)):
        rank = ranks.get(pair, ranks.get(pair[0] + pair[1]))  # type: ignore[call-overload]
        if rank is not None:
            pairs.append((rank, at))
    return pairs


def encode(
    text: str,
    tokens: Mapping[int, bytes],
    merges: Sequence[Pair] | None,
    *,
    special_tokens: Mapping[str, int] | None = None,
    pattern: str | Sequence[str] | None = None,
    normalization: str | None = None,
    ignore_merges: bool = False,
) -> list[int]:
    """Text to token ids: special tokens out first, then the split, then merges inside each pre-token.

    Args:
        text: Any str without lone surrogates.
        tokens: id -> bytes of every token that ordinary text can give.
        merges: The merge list; None for a vocabulary of the ranks kind, in which a pre-token that is a token is
            taken whole and otherwise the rank of a pair is the id of the two joined.
        special_tokens: literal -> id of the special tokens to recognise.
        pattern: The split pattern, see :func:`split`.
        normalization: "NFC", "NFD", "NFKC", "NFKD" or None; applied to the text between special tokens.
        ignore_merges: With a merge list, take a pre-token that is a token whole, as the ranks kind does.

    Raises:
        UnicodeEncodeError: The text holds a lone surrogate.
        KeyError: A byte has no token.

    >>> encode("the cat", {0: b" ", 1: b"a", 2: b"c", 3: b"e", 4: b"h", 5: b"t", 6: b"th"}, [(b"t", b"h")])
    [6, 3, 0, 2, 1, 5]
    """
    special_tokens = special_tokens or {}
    id_of = {token: token_id for token_id, token in tokens.items()}
    whole = merges is None or ignore_merges
    ranks = id_of if merges is None else {pair: rank for rank, pair in enumerate(merges)}
    ids: list[int] = []
    for span, special in cut_specials(text, special_tokens):
        if special:
            ids.append(special_tokens[span])
            continue
        if normalization is not None:
            span = normalize(span, normalization)
        for pretoken in split(span, pattern):
            data = pretoken.encode("utf-8")
            parts = [data] if whole and data in id_of else merge_pretoken(data, ranks)
            ids += [id_of[part] for part in parts]
    return ids


def decode(ids: Iterable[int], tokens: Mapping[int, bytes], *, errors: str = "strict") -> str:
    """Token ids to text: the bytes joined, read as UTF-8.

    Args:
        ids: Token ids.
        tokens: id -> bytes, special tokens included.
        errors: The treatment of bytes that are not UTF-8, as for ``bytes.decode``.

    Raises:
        KeyError: An id is not in the vocabulary.
        UnicodeDecodeError: The bytes are not UTF-8 and errors is "strict".
    """
    return b"".join(tokens[token_id] for token_id in ids).decode("utf-8", errors)


def count_pairs(words: Mapping[tuple[bytes, ...], int]) -> Counter[Pair]:
    """The number of occurrences of each pair; every adjacent position counts, so (a, a) occurs twice in a a a.

    >>> count_pairs({(b"a", b"a", b"a"): 5})
    Counter({(b'a', b'a'): 10})
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def train(
    texts: Iterable[str],
    vocab_size: int,
    *,
    special_tokens: Sequence[str] = (),
    pattern: str | Sequence[str] | None = None,
    min_frequency: int = 1,
    tie_break: str = "ids",
    normalization: str | None = None,
    max_token_bytes: int | None = None,
) -> tuple[dict[int, bytes], list[Pair]]:
    """Learn merges: count all pairs, join the most frequent one everywhere, and again.

    Args:
        texts: Documents; no pair spans two of them.
        vocab_size: Tokens to end with: 256 bytes plus learned ones; special tokens are not among them.
        special_tokens: Literals that cut the texts and take no part in any merge.
        pattern: The split pattern, see :func:`split`.
        min_frequency: Pairs that occur less often are not learned.
        tie_break: Among equally frequent pairs, "ids" takes the smallest (left id, right id), "bytes" the greatest
            (left bytes, right bytes), "tokenizers" the smallest (left id, right id) if bytes had ids in the order of
            GPT-2's characters for them.
        normalization: As for :func:`encode`.
        max_token_bytes: Pairs that would give a longer token are not learned.

    Returns:
        id -> bytes, where byte b has id b and learned tokens follow from 256; and the merge list. A merge whose bytes
        are a token already is in the list and gives that token.

    >>> tokens, merges = train(["ab ab ab"], 258, pattern=r" ?\\w+")
    >>> merges
    [(b'a', b'b'), (b' ', b'ab')]
    """
    words: Counter[tuple[bytes, ...]] = Counter()
    for text in texts:
        for span, special in cut_specials(text, special_tokens):
            if special:
                continue
            if normalization is not None:
                span = normalize(span, normalization)
            for pretoken in split(span, pattern):
                words[tuple(bytes([byte]) for byte in pretoken.encode("utf-8"))] += 1

    tokens = {byte: bytes([byte]) for byte in range(256)}
    id_of = {token: token_id for token_id, token in tokens.items()}
    # printable bytes of Latin-1 stand for themselves, the others for characters after those
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    in_order = printable + sorted(set(range(256)) - set(printable))
    in_gpt2_order = {bytes([byte]): number for number, byte in enumerate(in_order)}
    merges: list[Pair] = []
    while len(tokens) < vocab_size:
        counts = {
            pair: count
            for pair, count in count_pairs(words).items()
            if count >= min_frequency and (max_token_bytes is None or len(pair[0] + pair[1]) <= max_token_bytes)
        }
        if not counts:
            break
        most = max(counts.values())
        best = [pair for pair, count in counts.items() if count == most]
        order = id_of | in_gpt2_order if tie_break == "tokenizers" else id_of
        pair = max(best) if tie_break == "bytes" else min(best, key=lambda pair: (order[pair[0]], order[pair[1]]))
        merges.append(pair)
        joined = pair[0] + pair[1]
        if joined not in id_of:
            id_of[joined] = len(tokens)
            tokens[len(tokens)] = joined
        again: Counter[tuple[bytes, ...]] = Counter()
        for word, count in words.items():
            again[tuple(replace_pair(word, pair))] += count
        words = again
    return tokens, merges
