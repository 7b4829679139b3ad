"""Pickles of vocabularies and tokenizers: a key and the content, which is read only where the process lacks it.

A pool of processes sends its function with each piece of work, and so the tokenizer with each. The content is made once
for a vocabulary and kept; its key is its SHA-256, which covers all fields of the vocabulary, also those that its
fingerprint leaves out. Where a process has the object of a key, unpickling gives that object. It has those that it has
pickled, as long as they live, and the last few that it has unpickled, since a pool lets go of its function between two
pieces of work.

The pickle of a published encoding that was loaded by its name holds the name and the digest of all that it is made of.
"""
from __future__ import annotations

import hashlib
import pickle
import zlib
from _thread import allocate_lock
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

__all__ = ["KEPT", "reduced", "unpickled"]

#: The last unpickled objects that a process keeps.
KEPT = 4

_live: WeakValueDictionary[tuple[type, bytes], Any] = WeakValueDictionary()
_last: dict[tuple[type, bytes], Any] = {}
_lock = allocate_lock()


def reduced(vocab: Any, owner: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The value of ``__reduce__`` for the vocabulary itself, or for a tokenizer that runs it."""
    made: tuple[bytes, Callable[..., Any], Any] | None = vars(vocab).get("_pickled")
    if made is None:
        content = zlib.compress(pickle.dumps(vocab.settings(), 5), 1)
        vars(vocab)["_pickled"] = made = hashlib.sha256(content).digest(), _read, content
    _live.setdefault((type(owner), made[0]), owner)
    return unpickled, (type(owner), type(vocab), *made)


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
    known = _live.get((kind, key))
    if known is None:
        known = _live.setdefault((kind, key), make())
    with _lock:  # two threads would change the dict while they look for its first key
        _last.pop((kind, key), None)
        _last[kind, key] = known
        while len(_last) > KEPT:
            del _last[next(iter(_last))]
    return known


def _read(kind: Any, key: bytes, content: bytes) -> Any:
    if hashlib.sha256(content).digest() != key:
        raise ValueError("the pickle of a vocabulary is damaged: its content has another SHA-256")
    vocab = kind(**pickle.loads(zlib.decompress(content)))
    vars(vocab)["_pickled"] = key, _read, content
    return vocab
