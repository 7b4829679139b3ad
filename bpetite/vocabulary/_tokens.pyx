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

from ..headers cimport (
    BP_KEY_BYTES, BP_PREFETCH, bp_hash_bytes, bp_hash_key, bp_key, bp_load_key, bp_secret, draw_secret, token_t,
)

cdef bp_secret secret = draw_secret()


cdef class TokenTable:
    """Tokens of a vocabulary.

    Args:
        tokens: id -> bytes, at most 2^31 - 1 tokens. Equal bytes find the lowest id.
        unreachable: Ids that are never found by their bytes; neither is a token without bytes.

    Raises:
        MemoryError: No memory for the tables.
        TypeError: An id is no int, or a token no bytes object.
        ValueError: An id is outside 0..2^32-1, or there are too many tokens.
    """

    def __cinit__(self, dict tokens, unreachable=()):
        cdef list order, values
        cdef Py_ssize_t size = len(tokens), slot
        cdef uint64_t total = 0, capacity = 16, hash, at
        cdef uint32_t tag, known
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
        values = list(tokens.values() if order == list(tokens) else map(tokens.__getitem__, order))
        self.order = order
        self.size = size
        self.ids = <token_t*> malloc((size + 1) * sizeof(token_t))
        self.starts = <uint64_t*> malloc((size + 1) * sizeof(uint64_t))
        self.sizes = <uint8_t*> malloc(size + 1)
        self.blob = <uint8_t*> malloc(total + 16)
        self.tag_shift = 4
        while capacity < 2 * <uint64_t> size:
            capacity *= 2
            self.tag_shift = min(self.tag_shift + 1, 31)
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
            hash = bp_hash_bytes(&secret, self.blob + self.starts[slot], PyBytes_GET_SIZE(token))
            tag = <uint32_t> hash << self.tag_shift
            at = hash >> 32
            same = False
            while self.by_bytes[at & self.mask]:
                known = self.by_bytes[at & self.mask] ^ tag
                if known >> self.tag_shift == 0:
                    same = same or self.holds(<Py_ssize_t> known - 1, self.blob + self.starts[slot],
                                              PyBytes_GET_SIZE(token))
                at += 1
            self.by_bytes[at & self.mask] = <uint32_t> (slot + 1) | tag
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
        cdef uint64_t hash = bp_hash_bytes(&secret, data, length), place = (hash >> 32) & self.mask
        cdef Py_ssize_t slot = -1
        while True:
            slot = next_alike(self, &place, <uint32_t> hash << self.tag_shift)
            if slot < 0 or self.holds(slot, data, length):
                return slot
            place = (place + 1) & self.mask

    cdef void find_keys(self, const bp_key* keys, Py_ssize_t n, Py_ssize_t* slots) noexcept nogil:
        # Each pass prefetches for all keys the data that the next pass reads.
        cdef uint64_t places[BP_FOUND_AT_ONCE]
        cdef uint32_t tags[BP_FOUND_AT_ONCE]
        cdef uint64_t hash
        cdef Py_ssize_t i
        for i in range(n):
            hash = bp_hash_key(&secret, keys[i].low, keys[i].high)
            tags[i] = <uint32_t> hash << self.tag_shift
            places[i] = (hash >> 32) & self.mask
            BP_PREFETCH(self.by_bytes + places[i])
        for i in range(n):
            slots[i] = next_alike(self, &places[i], tags[i])
            BP_PREFETCH(self.starts + max(slots[i], 0))
        for i in range(n):
            BP_PREFETCH(self.blob + self.starts[max(slots[i], 0)])
        for i in range(n):
            while slots[i] >= 0 and not has_key(self, slots[i], &keys[i]):
                places[i] = (places[i] + 1) & self.mask
                slots[i] = next_alike(self, &places[i], tags[i])

    cdef inline bint holds(self, Py_ssize_t slot, const uint8_t* data, Py_ssize_t length) noexcept nogil:
        cdef uint64_t start = self.starts[slot]
        return self.starts[slot + 1] - start == <uint64_t> length and memcmp(self.blob + start, data, length) == 0

    def get(self, bytes token not None):
        """The id of the token with these bytes, or None."""
        cdef Py_ssize_t slot = self.find(<const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
        return None if slot < 0 else self.order[slot]

    def __len__(self):
        return self.size


cdef inline Py_ssize_t next_alike(TokenTable table, uint64_t* place, uint32_t tag) noexcept nogil:
    """The first slot from a place of by_bytes on that has a tag, or -1. INOUT: *place."""
    cdef uint32_t known
    while True:
        known = table.by_bytes[place[0]]
        if known == 0:
            return -1
        known ^= tag
        if known >> table.tag_shift == 0:
            return <Py_ssize_t> known - 1
        place[0] = (place[0] + 1) & table.mask


cdef inline bint has_key(TokenTable table, Py_ssize_t slot, const bp_key* key) noexcept nogil:
    cdef uint64_t start = table.starts[slot], length = table.starts[slot + 1] - start
    cdef bp_key own
    if length > <uint64_t> BP_KEY_BYTES:
        return False
    own = bp_load_key(table.blob + start, length)
    return own.low == key.low and own.high == key.high
