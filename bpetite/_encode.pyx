"""Text to token ids and back."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from ._merge cimport MergeTable, merge_room, room_free, room_reserve
from ._scan cimport Scanner, scan_cursor
from ._tokens cimport TokenTable
from ._types cimport token_t

import re

import numpy

cdef enum:
    BLOCK = 64


cdef class Worker:
    """What one thread writes to while it encodes."""
    cdef merge_room room
    cdef token_t* out
    cdef Py_ssize_t used, capacity
    cdef Py_ssize_t bad_byte          # offset of a byte that has no token

    def __dealloc__(self):
        room_free(&self.room)
        free(self.out)

    cdef bint reserve(self, Py_ssize_t more) noexcept nogil:
        cdef void* grown
        cdef Py_ssize_t capacity
        if self.used + more <= self.capacity:
            return True
        capacity = (self.used + more) * 3 // 2 + 1024
        grown = realloc(self.out, capacity * sizeof(token_t))
        if grown == NULL:
            return False
        self.out = <token_t*> grown
        self.capacity = capacity
        return True


cdef class Encoder:
    """Text to token ids and back.

    Args:
        tokens: id -> bytes of every token, special ones included.
        merges: Pairs of ids in rank order, or None for the ranks kind.
        special_tokens: literal -> id.
        pretokenizer: What cuts text, with `scanner` or `ends(bytes)`.
        ignore_merges: With a merge list, a pre-token that is a token is taken whole.
        normalize: Applied to the text between special tokens.
        cache_bytes: Bound of the word cache of one thread.
    """
    cdef TokenTable tokens
    cdef MergeTable merges
    cdef Scanner scanner
    cdef object pretokenizer, normalize
    cdef dict special_tokens
    cdef object special_pattern
    cdef bint whole
    cdef uint32_t byte_ids[256]
    cdef uint8_t byte_known[256]
    cdef bytearray is_special

    def __init__(self, dict tokens, merges, dict special_tokens, pretokenizer, *, ignore_merges=False,
                 normalize=None, cache_bytes=64 << 20):
        cdef Py_ssize_t slot
        cdef uint8_t byte
        cdef int value
        self.tokens = TokenTable(tokens)
        self.merges = MergeTable(self.tokens, merges, frozenset(special_tokens.values()))
        self.pretokenizer = pretokenizer
        self.scanner = pretokenizer.scanner
        self.normalize = normalize
        self.special_tokens = special_tokens
        self.whole = merges is None or ignore_merges
        self.is_special = bytearray(self.tokens.size)
        for token_id in special_tokens.values():
            self.is_special[self.tokens.slot(token_id)] = True
        for value in range(256):
            byte = <uint8_t> value
            slot = self.tokens.find(&byte, 1)
            self.byte_known[value] = slot >= 0
            self.byte_ids[value] = self.tokens.ids[slot] if slot >= 0 else 0
        self.special_pattern = _pattern(special_tokens)

    cdef int _put(self, Worker worker, const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        """Encode one pre-token; 0, -1 without memory, -2 for a byte without token."""
        cdef Py_ssize_t n = end - start, i, slot
        cdef const uint8_t* special = <const uint8_t*> self.special_flags
        if not worker.reserve(n):
            return -1
        if self.whole:
            slot = self.tokens.find(text + start, n)
            if slot >= 0 and not (special[slot] and n > 1):
                worker.out[worker.used] = self.tokens.ids[slot]
                worker.used += 1
                return 0
        if not room_reserve(&worker.room, n):
            return -1
        for i in range(n):
            if not self.byte_known[text[start + i]]:
                worker.bad_byte = start + i
                return -2
            worker.room.ids[i] = self.byte_ids[text[start + i]]
        n = self.merges.merge(&worker.room, n)
        if n < 0:
            return -1
        memcpy(worker.out + worker.used, worker.room.ids, n * sizeof(token_t))
        worker.used += n
        return 0

    cdef const char* special_flags

    cdef int _ordinary(self, Worker worker, object text) except -1:
        cdef bytes data
        cdef const uint8_t* raw
        cdef Py_ssize_t length, at = 0, count, i
        cdef Py_ssize_t ends[BLOCK]
        cdef scan_cursor cursor
        cdef int status = 0
        cdef const long long[::1] far
        self.special_flags = <const char*> self.is_special
        if isinstance(text, str):
            if self.normalize is not None:
                text = self.normalize(text)
            data = (<str> text).encode("utf-8")
        else:
            if not isinstance(text, bytes):
                raise TypeError(f"text is str or bytes, not {type(text).__name__}")
            data = text
            decoded = data.decode("utf-8")
            if self.normalize is not None:
                data = self.normalize(decoded).encode("utf-8")
        raw = <const uint8_t*> PyBytes_AS_STRING(data)
        length = PyBytes_GET_SIZE(data)
        if self.scanner is not None:
            with nogil:
                self.scanner.begin(&cursor, raw, length, True)
                while status == 0:
                    count = self.scanner.next_ends(&cursor, ends, BLOCK)
                    if count == 0:
                        break
                    for i in range(count):
                        status = self._put(worker, raw, at, ends[i])
                        if status:
                            break
                        at = ends[i]
        elif length:
            far = self.pretokenizer.ends(data)
            with nogil:
                for i in range(far.shape[0]):
                    status = self._put(worker, raw, at, far[i])
                    if status:
                        break
                    at = far[i]
        if status == -1:
            raise MemoryError()
        if status == -2:
            raise ValueError(f"byte 0x{raw[worker.bad_byte]:02x} at offset {worker.bad_byte} has no token")
        return 0

    cdef int _with_specials(self, Worker worker, object text, object allowed, object disallowed) except -1:
        cdef Py_ssize_t end = 0
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        elif not isinstance(text, str):
            raise TypeError(f"text is str or bytes, not {type(text).__name__}")
        pattern = self.special_pattern if allowed == "all" else _pattern(self._chosen(allowed, "allowed_special"))
        if disallowed == "all":
            disallowed = set(self.special_tokens) - set(self.special_tokens if allowed == "all" else allowed)
        if disallowed:
            found = _pattern(self._chosen(disallowed, "disallowed_special")).search(text)
            if found:
                raise ValueError(f"the text holds the disallowed special token {found.group()!r} at {found.start()}")
        if pattern is None:
            return self._ordinary(worker, text)
        for match in pattern.finditer(text):
            self._ordinary(worker, text[end:match.start()])
            if not worker.reserve(1):
                raise MemoryError()
            worker.out[worker.used] = self.special_tokens[match.group()]
            worker.used += 1
            end = match.end()
        return self._ordinary(worker, text[end:])

    def _chosen(self, names, keyword):
        if isinstance(names, str):
            raise TypeError(f"{keyword} is \"all\" or a collection of special tokens, not {names!r}")
        for name in names:
            if name not in self.special_tokens:
                raise ValueError(f"{keyword}: {name!r} is no special token of this tokenizer")
        return names

    def encode(self, text, allowed_special="all", disallowed_special=()):
        cdef Worker worker = Worker()
        cdef Py_ssize_t i
        self._with_specials(worker, text, allowed_special, disallowed_special)
        return [worker.out[i] for i in range(worker.used)]

    def encode_ordinary(self, text):
        cdef Worker worker = Worker()
        cdef Py_ssize_t i
        self._ordinary(worker, text)
        return [worker.out[i] for i in range(worker.used)]

    def encode_to_numpy(self, text):
        cdef Worker worker = Worker()
        self._with_specials(worker, text, "all", ())
        data = PyBytes_FromStringAndSize(<char*> worker.out, worker.used * sizeof(token_t))
        return numpy.frombuffer(data, numpy.uint32).copy()

    def count(self, text):
        cdef Worker worker = Worker()
        self._with_specials(worker, text, "all", ())
        return worker.used

    def decode_bytes(self, ids):
        cdef Py_ssize_t slot
        cdef list parts = []
        for token_id in ids:
            slot = self.tokens.slot(token_id) if 0 <= token_id < 1 << 32 else -1
            if slot < 0:
                raise KeyError(int(token_id))
            parts.append(self.tokens.blob[self.tokens.starts[slot]:self.tokens.starts[slot + 1]])
        return b"".join(parts)

    def decode(self, ids, errors="strict"):
        return self.decode_bytes(ids).decode("utf-8", errors)


def _pattern(literals):
    if not literals:
        return None
    return re.compile("|".join(map(re.escape, sorted(literals, key=len, reverse=True))))
