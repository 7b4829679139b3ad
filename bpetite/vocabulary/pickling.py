"""Pickles of vocabularies and tokenizers: the fields of the vocabulary under a key, read where the process lacks it.

A pool of processes sends its function with each task, and so the tokenizer with each. The content is made once for a
vocabulary and kept; its key is its SHA-256. If a process has a tokenizer of the same class and key, unpickling gives
that one. It may come from before a fork. The last few that were unpickled stay alive, because a pool drops its function
between two tasks.

A tokenizer with attributes of a class of somebody else is made anew, and gets them.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any
from weakref import WeakValueDictionary

#: id() -> tokenizer of this process; a hash would read all of its content.
LIVE: WeakValueDictionary[int, Any] = WeakValueDictionary()

#: The last unpickled tokenizers that a process keeps.
KEPT = 4

#: (key, tokenizer). Replaced as a whole: threads lose one of these at worst, and a fork finds no lock that is held.
_last: tuple[tuple[bytes, Any], ...] = ()


def pickled(vocab: Any) -> tuple[bytes, bytes]:
    """The key and the content of a vocabulary."""
    import hashlib  # these not at the top: loading does without them
    import io
    import pickle

    content = io.BytesIO()
    pickler = pickle.Pickler(content, 5)
    pickler.fast = True  # no references to equal objects: equal vocabularies have the same bytes
    pickler.dump({field.name: getattr(vocab, field.name) for field in fields(vocab) if field.init})
    return hashlib.sha256(content.getvalue()).digest(), content.getvalue()


def vocab_of(cls: Any, key: bytes, content: bytes) -> Any:
    """The vocabulary of a pickle, which is checked like any other. ValueError if the content has another key."""
    import hashlib
    import pickle

    if hashlib.sha256(content).digest() != key:
        raise ValueError("the pickle of a vocabulary is damaged: its content has another SHA-256")
    return cls(**pickle.loads(content))


def reduced(tokenizer: Any) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any] | None]:
    """The value of ``__reduce__`` for a tokenizer."""
    own = getattr(tokenizer, "__dict__", None) or None
    vocab = tokenizer._vocab
    return unpickled, (type(tokenizer), type(vocab), *vocab.pickled, own is None), own


def unpickled(cls: Any, vocab_cls: Any, key: bytes, content: bytes, shared: bool) -> Any:
    """The tokenizer of a pickle; for the errors see :func:`vocab_of`."""
    global _last
    known = _known(cls, key) if shared else None
    if known is None:
        known = cls.from_vocab(vocab_of(vocab_cls, key, content))
    if shared:
        _last = ((key, known), *(pair for pair in _last if pair[1] is not known))[:KEPT]
    return known


def _known(cls: Any, key: bytes) -> Any:
    """A tokenizer of this process without attributes of its own, or None."""
    candidates: list[tuple[bytes | None, Any]] = [*_last, *((None, one) for one in LIVE.values())]
    for its, one in candidates:
        if type(one) is cls and not getattr(one, "__dict__", None) and (its or one._vocab.pickled[0]) == key:
            return one
    return None
