"""Adding tokens that are taken only where they are a whole pre-token."""
from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .vocab import Vocab

__all__ = ["add_words"]


def add_words(vocab: Vocab, words: Iterable[bytes], train_config: dict[str, Any] | None = None) -> Vocab:
    """The vocabulary with a token for each pre-token that is not one token yet, after the highest id, in this order. In
    a vocabulary of the ranks kind shorter ones come first: the id is the rank, and a token is joined after its parts.

    A vocabulary with a merge list gets ``ignore_merges``. Tokens that their own merges do not make, which no text has
    given so far, would be found by it too: they become unreachable, and their merges, which never applied, go.

    Raises:
        ValueError: A pre-token has the bytes of a special token.

    >>> vocab = Vocab.build({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], pattern=None)
    >>> added = add_words(vocab, [b"aba", b"ab"])
    >>> added.tokens[3], len(added.tokens), added.ignore_merges
    (b'aba', 4, True)
    """
    words = dict.fromkeys(words)
    id_of = vocab.id_of
    looked_up = {word for word in words if word in id_of and id_of[word] not in vocab.not_looked_up}
    for word in words:
        if id_of.get(word) in vocab.special_only:
            raise ValueError(f"{word!r} is a special token, with the id {id_of[word]}")
    merges, unreachable = vocab.merges, vocab.unreachable
    if merges is not None and not vocab.ignore_merges:
        dead = {
            token_id
            for token_id, token in vocab.tokens.items()
            if token_id not in vocab.not_looked_up and token not in words and not _makes_itself(vocab, token_id)
        }
        unreachable = unreachable | dead
        merges = tuple(
            (left, right) for (left, right), result in zip(merges, vocab.merge_results, strict=True)
            if unreachable.isdisjoint((left, right, result))
        )  # fmt: skip
    free = max(vocab.tokens, default=-1) + 1
    new = [word for word in words if word not in looked_up]
    if merges is None:
        new.sort(key=len)
    added = {free + at: word for at, word in enumerate(new)}
    return replace(vocab, tokens=vocab.tokens | added, merges=merges, unreachable=unreachable, name=None,
                   ignore_merges=merges is not None, train_config=train_config)  # fmt: skip


def _makes_itself(vocab: Vocab, token_id: int) -> bool:
    """Whether the bytes of a token, merged, are this token. What no merge gives has a byte or is never given."""
    token = vocab.tokens[token_id]
    if len(token) == 1:
        return True
    parts = [vocab.id_of.get(bytes([byte])) for byte in token]
    if any(part is None or part in vocab.not_looked_up for part in parts):
        return False
    return list(vocab.merge_table.apply(array("I", [part for part in parts if part is not None]))) == [token_id]
