"""Objects on their way to workers: pickled once, sent to each node once, unpacked once in each process.

Ray and Spark ship a function's data in their own ways, and usually unpack it again for every task. A parcel is cheap to
unpack any number of times: it is a byte string, and its content is made at the first use in a process and kept. The
bytes of a tokenizer are those of its saved file, so equal tokenizers make equal parcels, in every process; caches that
hash a function's data depend on that.
"""
from __future__ import annotations

import copyreg
import hashlib
import io
import json
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from ..formats import native
from ..tokenizer import Tokenizer

__all__ = ["Parcel"]

Content = TypeVar("Content")

#: Contents that a process keeps.
KEPT = 8

_kept: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


class Parcel(Generic[Content]):
    """Something to be sent to workers.

    Args:
        content: A picklable object; tokenizers inside it are sent in their saved form.

    Attributes:
        key: SHA-256 of the bytes sent, in hex digits.

    Raises:
        TypeError, AttributeError, pickle.PicklingError: It cannot be pickled.
    """

    __slots__ = ("_payload", "key")

    def __init__(self, content: Content) -> None:
        file = io.BytesIO()
        _Pickler(file, 5).dump(content)
        self._payload: bytes | memoryview = file.getvalue()
        self.key: str = hashlib.sha256(self._payload).hexdigest()
        _keep(self.key, content)

    def __len__(self) -> int:
        """Bytes that are sent."""
        return len(self._payload)

    def get(self) -> Content:
        """The content: the same object at every call in a process, as long as at most `KEPT` parcels are in use."""
        with _lock:
            if self.key in _kept:
                _kept.move_to_end(self.key)
                content: Content = _kept[self.key]
                return content
        content = pickle.loads(self._payload)
        return _keep(self.key, content)

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Parcel[Any]], tuple[Any, ...]]:
        # out of band where the executor supports it: then workers of one node share the bytes
        payload = pickle.PickleBuffer(self._payload) if protocol >= 5 else bytes(self._payload)
        return _arrived, (self.key, payload)

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Parcel) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<Parcel {self.key[:8]}: {len(self)} bytes>"


def _arrived(key: str, payload: Any) -> Parcel[Any]:
    parcel: Parcel[Any] = Parcel.__new__(Parcel)
    parcel.key, parcel._payload = key, payload
    return parcel


def _keep(key: str, content: Content) -> Content:
    """Keep a content; of two made at the same time the first one is kept."""
    with _lock:
        kept: Content = _kept.setdefault(key, content)
        _kept.move_to_end(key)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
        return kept


class _Pickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table.copy()


def _unpack_tokenizer(data: bytes) -> Tokenizer:
    vocab = native.from_bytes(data)
    return Tokenizer.from_vocab(native.from_json(json.loads(data), "tokenizer") if vocab is None else vocab)


#: The saved forms of living tokenizers: making one takes as long as encoding 25 MB.
_saved: WeakKeyDictionary[Tokenizer, bytes] = WeakKeyDictionary()


def _pack_tokenizer(tokenizer: Tokenizer) -> tuple[Callable[[bytes], Tokenizer], tuple[bytes]]:
    data = _saved.get(tokenizer)
    if data is None:
        data = _saved[tokenizer] = native.dump(tokenizer.to_vocab())
    return _unpack_tokenizer, (data,)


_Pickler.dispatch_table[Tokenizer] = _pack_tokenizer
