"""Pickles of vocabularies and tokenizers: a key and the content, which is read only where the process lacks it.

A pool of processes sends its function with each piece of work, and so the tokenizer with each. The content is made once
for a vocabulary and kept; its key is its SHA-256, which covers all fields of the vocabulary, also those that its
fingerprint leaves out. Where a process has the object of a key, unpickling gives that object. It has those that live,
also since before it was forked, and the last few that it has unpickled, since a pool lets go of its function between
two pieces of work.

The pickle of a published encoding that was loaded by its name holds the name and the digest of all that it is made of.
"""
from __future__ import annotations

import gc
import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

#: The last unpickled objects that a process keeps.
KEPT = 4

_live: WeakValueDictionary[tuple[type, bytes], Any] = WeakValueDictionary()
#: Replaced as a whole: threads lose one of these at worst, and a fork finds no lock that is held.
_last: tuple[tuple[type, bytes, Any], ...] = ()


def reduced(vocab: Any, owner: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The value of ``__reduce__`` for the vocabulary itself, or for a tokenizer that runs it."""
    made = vars(vocab)["_pickled"] = _pickled(vocab)
    _live.setdefault((type(owner), made[0]), owner)
    return unpickled, (type(owner), type(vocab), *made)


def _pickled(vocab: Any) -> tuple[bytes, Callable[..., Any], Any]:
    """The key of a vocabulary, the function that makes the vocabulary, and the content that it reads."""
    known: tuple[bytes, Callable[..., Any], Any] | None = vars(vocab).get("_pickled")
    if known is None:
        content = pickle.dumps(vocab.settings(), 5)
        known = hashlib.sha256(content).digest(), _read, content
    return known


def unpickled(kind: Any, of: Any, key: bytes, make: Callable[..., Any], content: Any) -> Any:
    """The object of a pickle: a vocabulary, of class ``of``, or a tokenizer that runs one.

    Raises:
        ValueError: The content has another key; or as for Vocab: it is checked as any other.
    """
    if kind is of:
        return _known(kind, key, lambda: make(of, key, content))
    return _known(kind, key, lambda: kind.from_vocab(unpickled(of, of, key, make, content)))


def _known(kind: type, key: bytes, make: Callable[[], Any]) -> Any:
    """The object of a class and a key that this process has, or else a new one."""
    global _last
    known = _live.get((kind, key))
    if known is None:
        known = _live.setdefault((kind, key), _held(kind, key) or make())
    _last = ((kind, key, known), *(one for one in _last if one[:2] != (kind, key)))[:KEPT]
    return known


def _held(kind: type, key: bytes) -> Any:
    """An object that this process has not pickled: a worker is forked before it is sent the first pickle."""
    for one in gc.get_objects():
        if type(one) is kind:
            with suppress(Exception):  # another thread is making it, or it has no pickle
                if _pickled(getattr(one, "_vocab", one))[0] == key:
                    return one
    return None


def _read(kind: Any, key: bytes, content: bytes) -> Any:
    if hashlib.sha256(content).digest() != key:
        raise ValueError("the pickle of a vocabulary is damaged: its content has another SHA-256")
    vocab = kind(**pickle.loads(content))
    vars(vocab)["_pickled"] = key, _read, content
    return vocab
