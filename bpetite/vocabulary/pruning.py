"""Leaving tokens out of a vocabulary: the tokens that can go, and the vocabulary without them.

A token needs the parts that its merges join. A token that no other one needs, a leaf, can go, and only text with that
token is encoded in another way: a leaf is joined no further, so a text without it among the ids had it at no step. In a
vocabulary of the ranks kind a token is always joined from the same two parts, its last step (:mod:`.kinds`).
"""
from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from ._merge_builder import last_steps
from .vocab import Vocab

#: token id -> the ids that it needs.
Needs = Mapping[int, tuple[int, ...]]


def needs(vocab: Vocab) -> dict[int, tuple[int, ...]]:
    """The parts of each token that merges make, from its first merge to its last.

    >>> needs(Vocab({0: b"a", 1: b"b", 2: b"ab"}, ((0, 1),), {}, pattern=None))
    {2: (0, 1)}
    """
    pairs: Iterable[tuple[int, int]] = vocab.merges or ()
    results: Iterable[int] = vocab.merge_results
    if vocab.merges is None:
        pairs, _ = last_steps(vocab.token_table, vocab.not_looked_up)
        results = (vocab.token_table.find_id(vocab.tokens[left] + vocab.tokens[right]) for left, right in pairs)
    parts: dict[int, tuple[int, ...]] = {}
    for pair, result in zip(pairs, results, strict=True):
        parts[result] = parts.get(result, ()) + pair
    return parts


def always_kept(vocab: Vocab) -> set[int]:
    """The ids of special tokens and single bytes; with an alphabet, of its tokens that stand for any character."""
    if vocab.alphabet is not None:
        stand_ins = (*vocab.alphabet.byte_ids, vocab.alphabet.unknown)
        return {token_id for token_id in (*stand_ins, *vocab.special_tokens.values()) if token_id is not None}
    fixed = {token_id for token_id, token in vocab.tokens.items() if len(token) == 1} - vocab.unreachable
    return fixed.union(vocab.special_tokens.values())


def closure(wanted: Iterable[int], parts: Needs) -> set[int]:
    """Tokens and all that they need.

    >>> sorted(closure([3], {2: (0, 1), 3: (2, 1), 4: (2, 2)}))
    [0, 1, 2, 3]
    """
    closed: set[int] = set()
    open_ = [*wanted]
    while open_:
        if (token_id := open_.pop()) not in closed:
            closed.add(token_id)
            open_ += parts.get(token_id, ())
    return closed


def largest_use(tokens: Iterable[int], parts: Needs, used: Mapping[int, int], fixed: set[int], excess: int) -> set[int]:
    """The tokens that are left when `excess` leaves have gone one after the other: always the leaf of least use, among
    equals the highest id. The use of a token that goes counts for its parts from then on. The `fixed` tokens stay, with
    all that they need. ValueError if fewer tokens can go.

    >>> sorted(largest_use(range(5), {2: (0, 1), 3: (2, 1), 4: (1, 1)}, {3: 1, 4: 9}, {0, 1}, 2))
    [0, 1, 4]
    """
    left = set(tokens)
    use = Counter(used)
    needed = Counter(chain.from_iterable(set(parts.get(token_id, ())) for token_id in left))
    leaves = [(use[token_id], -token_id) for token_id in left - fixed if not needed[token_id]]
    heapq.heapify(leaves)
    for gone in range(excess):
        if not leaves:
            raise ValueError(f"only {gone} of {excess} tokens can go: the others are kept or needed by those that are")
        _, negated = heapq.heappop(leaves)
        left.remove(-negated)
        own = parts.get(-negated, ())
        for part in own[:2]:
            use[part] += use[-negated]
        for part in set(own):
            needed[part] -= 1
            if not needed[part] and part not in fixed:
                heapq.heappush(leaves, (use[part], -part))
    return left


def renumbered(
    vocab: Vocab, kept: Collection[int], train_config: dict[str, Any] | None = None
) -> tuple[Vocab, dict[int, int]]:
    """The vocabulary of some of the tokens, numbered from 0 in the order of their ids; and old id -> new id.
    IN: no kept token needs one that goes."""
    ids = {old: new for new, old in enumerate(sorted(kept))}
    merges = vocab.merges
    if merges is not None:
        results = zip(merges, vocab.merge_results, strict=True)
        merges = [(ids[left], ids[right]) for (left, right), result in results if result in ids]
    special_tokens = {literal: ids[old] for literal, old in vocab.special_tokens.items() if old in ids}
    template = vocab.template
    if template is not None:
        template = replace(template, **{name: tuple(
            replace(part, ids=tuple(ids[old] for old in part.ids)) for part in getattr(template, name)
        ) for name in ("single", "pair")})  # fmt: skip
    return replace(
        vocab,
        tokens={new: vocab.tokens[old] for old, new in ids.items()},
        merges=merges,
        special_tokens=special_tokens,
        alphabet=None if vocab.alphabet is None else vocab.alphabet.renumbered(ids),
        template=template,
        token_flags={literal: flags for literal, flags in vocab.token_flags.items() if literal in special_tokens},
        unreachable=frozenset(ids[old] for old in vocab.unreachable if old in ids),
        name=None,
        train_config=train_config,
        beside={name: _with_ids(name, content, ids) for name, content in vocab.beside.items()},
    ), ids


def _with_ids(name: str, content: str, ids: Mapping[int, int]) -> str:
    """A file of ``transformers`` with the ids of special tokens, renumbered."""
    change: Callable[[dict[str, Any]], dict[str, Any]] | None = {
        "tokenizer_config.json": lambda content: content | {
            "added_tokens_decoder": {
                str(ids[int(old)]): token for old, token in content["added_tokens_decoder"].items() if int(old) in ids
            }
        } if "added_tokens_decoder" in content else content,
        "added_tokens.json": lambda content: {text: ids[old] for text, old in content.items() if old in ids},
    }.get(name)  # fmt: skip
    return content if change is None else json.dumps(change(json.loads(content)), ensure_ascii=False, indent=2)
