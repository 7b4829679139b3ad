"""Pruning: remove the tokens that a corpus does not use. Text without them keeps its tokens."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import index
from typing import Any

from ..errors import check_integer, short_repr
from ..vocabulary.pruning import always_kept, closure, largest_use, needs, renumbered
from ..vocabulary.vocab import Vocab
from .counting.count_pretokens import Corpus, count_as
from .counting.counts import check_count, pairs_of
from .counting.jobs import Progress
from .options import train_config

#: Encodes one pre-token.
Encode = Callable[[bytes], list[int]]


def prune(
    vocab: Vocab,
    encode: Encode,
    corpus: Corpus | None,
    *,
    vocab_size: int | None,
    keep: Iterable[int | str | bytes],
    num_threads: int | None,
    progress: Progress | None,
) -> tuple[Vocab, dict[int, int]]:
    """The vocabulary without tokens that are not needed, and old id -> new id; :meth:`bpetite.Tokenizer.prune`
    documents the arguments."""
    wanted = _ids(vocab, keep)
    fixed = always_kept(vocab) | wanted
    if vocab_size is not None:
        vocab_size = check_integer("vocab_size", vocab_size, 1)
    if corpus is None and vocab_size is None and not wanted:
        raise ValueError("prune needs texts or counts, vocab_size or keep")
    used = Counter[int]()
    counts: Any = {} if corpus is None else count_as(vocab, corpus, num_threads, progress)
    for item in pairs_of(counts):
        pretoken, count = check_count(*item)
        for token_id in encode(pretoken) if count else ():
            used[token_id] += count
    parts = needs(vocab)
    if vocab_size is None:
        kept = closure(fixed.union(used), parts)
    else:
        excess = len(vocab.tokens.keys() - vocab.special_only) - vocab_size
        kept = largest_use(vocab.tokens, parts, used, fixed, max(0, excess))
    record = {"keep": sorted(wanted), "vocab_size": vocab_size}
    return renumbered(vocab, kept, train_config("prune", record, vocab))


def _ids(vocab: Vocab, keep: Iterable[int | str | bytes]) -> set[int]:
    if isinstance(keep, str | bytes) or not isinstance(keep, Iterable):
        raise TypeError(f"keep is a collection of tokens or ids, not {short_repr(keep)}")
    ids: set[int] = set()
    for one in keep:
        token: Any = one.encode() if isinstance(one, str) else one
        try:
            token_id = vocab.find(token) if isinstance(token, bytes) else index(token)
        except TypeError:
            raise TypeError(f"keep: a token is str or bytes, an id an int, not {short_repr(one)}") from None
        if token_id is None or token_id not in vocab.tokens:
            raise ValueError(f"keep: there is no token {short_repr(one)}")
        ids.add(token_id)
    return ids
