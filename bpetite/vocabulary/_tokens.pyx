"""The tokens of a vocabulary in flat memory: id -> bytes and bytes -> id.

One blob with all bytes, in the order of the ids, serves decoding (copying from it), look-up of whole words and the
building of the merge table. A dict of bytes objects would cost a pointer chase and the interpreter lock at each use.
Ids may be any uint32: where they are dense enough an array maps id -> slot, otherwise a binary search over the sorted
ids does.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from ..headers.hashing cimport bp_hash_bytes, bp_secret, draw_secret
from ..headers.types cimport token_t

cdef bp_secret secret = draw_secret()


cdef class TokenTable:
    """Tokens of a vocabulary.

    Args:
        tokens: id -> bytes, at most 2^31 - 1 of them. Of two with the same bytes the one of the lower id is found.
        unreachable: Ids that are never found by their bytes; neither is a token without bytes.

    Raises:
        MemoryError: No memory for the tables.
        TypeError: An id is no int, or a token no bytes object.
        ValueError: An id is outside 0..2^32-1, or there are too many tokens.
    """

    def __cinit__(self, dict tokens, unreachable=()):
        cdef list order, values
        cdef Py_ssize_t size = len(tokens), slot
        cdef uint64_t total = 0, capacity = 16, at
        cdef bytes token
        cdef bint same, some_unreachable = bool(unreachable)
        for token_id, value in tokens.items():
            if not (PyLong_CheckExact(token_id) and PyBytes_CheckExact(value)):
                raise TypeError(f"a vocabulary maps int to bytes, not {token_id!r} to {value!r}")
            total += PyBytes_GET_SIZE(value)
        order = sorted(tokens)
        if size and (order[0] < 0 or order[size - 1] > 0xFFFFFFFF):
            raise ValueError(f"token id {order[0] if order[0] < 0 else order[size - 1]} is outside 0..{0xFFFFFFFF}")
        if size >= 1 << 31:
            raise ValueError(f"a vocabulary holds at most {(1 << 31) - 1} tokens, not {size}")
        # Most vocabularies are in the order of their ids, and need no look-up for each.
        values = list(tokens.values()) if order == list(tokens) else [tokens[token_id] for token_id in order]
        self.order = order
        self.size = size
        self.ids = <token_t*> malloc((size + 1) * sizeof(token_t))
        self.starts = <uint64_t*> malloc((size + 1) * sizeof(uint64_t))
        self.sizes = <uint8_t*> malloc(size + 1)
        self.blob = <uint8_t*> malloc(total + 16)
        while capacity < 2 * <uint64_t> size:
            capacity *= 2
        self.mask = capacity - 1
        self.by_bytes = <uint32_t*> calloc(capacity, sizeof(uint32_t))
        if (self.ids == NULL or self.starts == NULL or self.sizes == NULL or self.blob == NULL
                or self.by_bytes == NULL):
            raise MemoryError()
        memset(self.blob + total, 0, 16)
        total = 0
        for slot in range(size):
            token = <bytes> values[slot]
            self.ids[slot] = order[slot]
            self.starts[slot] = total
            memcpy(self.blob + total, PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
            total += PyBytes_GET_SIZE(token)
            self.starts[slot + 1] = total          # `holds` reads it
            self.sizes[slot] = <uint8_t> min(PyBytes_GET_SIZE(token), <Py_ssize_t> BP_MANY)
            self.longest = max(self.longest, PyBytes_GET_SIZE(token))
            if PyBytes_GET_SIZE(token) == 0:
                self.empty += 1
            if PyBytes_GET_SIZE(token) == 0 or (some_unreachable and order[slot] in unreachable):
                self.hidden += 1
                continue
            at = bp_hash_bytes(&secret, self.blob + self.starts[slot], PyBytes_GET_SIZE(token)) >> 32
            same = False
            while self.by_bytes[at & self.mask]:
                same = same or self.holds(<Py_ssize_t> self.by_bytes[at & self.mask] - 1,
                                          self.blob + self.starts[slot], PyBytes_GET_SIZE(token))
                at += 1
            self.by_bytes[at & self.mask] = <uint32_t> (slot + 1)
            self.repeated += same
        self.starts[size] = total
        if size and self.ids[size - 1] < 8 * <uint64_t> size + 65536:
            self.direct = <uint64_t> self.ids[size - 1] + 1
            self.slot_of = <uint32_t*> calloc(self.direct, sizeof(uint32_t))
            if self.slot_of == NULL:
                raise MemoryError()
            for slot in range(size):
                self.slot_of[self.ids[slot]] = <uint32_t> (slot + 1)

    def __dealloc__(self):
        free(self.ids)
        free(self.starts)
        free(self.sizes)
        free(self.blob)
        free(self.by_bytes)
        free(self.slot_of)

    cdef Py_ssize_t slot(self, token_t token_id) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.size, middle
        if self.slot_of != NULL:
            return <Py_ssize_t> self.slot_of[token_id] - 1 if token_id < self.direct else -1
        while low < high:
            middle = (low + high) >> 1
            if self.ids[middle] < token_id:
                low = middle + 1
            else:
                high = middle
        return low if low < self.size and self.ids[low] == token_id else -1

    cdef Py_ssize_t find(self, const uint8_t* data, Py_ssize_t length) noexcept nogil:
        cdef uint64_t at = bp_hash_bytes(&secret, data, length) >> 32
        cdef Py_ssize_t slot
        while True:
            slot = <Py_ssize_t> self.by_bytes[at & self.mask] - 1
            if slot < 0:
                return -1
            if self.holds(slot, data, length):
                return slot
            at += 1

    cdef inline bint holds(self, Py_ssize_t slot, const uint8_t* data, Py_ssize_t length) noexcept nogil:
        cdef uint64_t start = self.starts[slot]
        return self.starts[slot + 1] - start == <uint64_t> length and memcmp(self.blob + start, data, length) == 0

    def get(self, bytes token not None):
        """The id of the token with these bytes, or None."""
        cdef Py_ssize_t slot = self.find(<const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
        return None if slot < 0 else self.order[slot]

    def __len__(self):
        return self.size
