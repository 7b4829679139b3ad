"""The tokens of a merger, by internal id.

The 256 bytes come first, in a given order; learned tokens follow in order. Two merges of a list rarely give the same
bytes. When they do, the second gives the token of the first: hence the hash table from bytes to ids.
"""
cimport cython
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from ...headers cimport bp_grow, bp_hash_bytes, bp_secret, draw_secret

cdef enum:
    BYTES = 256

cpdef enum:
    MAX_TOKENS = 0x7FFFFFFE     # ids and their complements fit an int32

cdef bp_secret secret = draw_secret()


cdef int out_of_memory() except -1 nogil:
    with gil:
        raise MemoryError("out of memory while learning merges")


cdef int count_overflows() except -1 nogil:
    with gil:
        raise OverflowError("a pair occurs more than 2^63 - 1 times: divide the counts by a common factor")


cdef int too_large() except -1 nogil:
    with gil:
        raise OverflowError(
            "too many tokens or pre-tokens: at most 2^31 - 2 tokens, and 2^33 - 2 symbols of pre-tokens"
        )


@cython.final
cdef class LearnedTokens:
    """Begins with the 256 bytes, each once, in the order of their ids 0..255."""

    def __cinit__(self, bytes first not None):
        cdef uint32_t number
        if len(first) != BYTES or len(set(first)) != BYTES:
            raise ValueError("the first tokens are the 256 bytes, each once")
        self.mask = 1023
        self.slots = <uint32_t*> calloc(self.mask + 1, sizeof(uint32_t))
        if self.slots == NULL:
            raise MemoryError
        reserve(self, BYTES, BYTES)
        for number in range(<uint32_t> BYTES):
            self.data[number] = first[number]
            self.start[number] = number
            self.width[number] = 1
        self.start[BYTES] = BYTES
        self.count = BYTES

    def __dealloc__(self):
        free(self.data)
        free(self.start)
        free(self.width)
        free(self.slots)

    cdef int64_t lay_out(self, uint32_t left, uint32_t right) except -1 nogil:
        cdef uint64_t left_length = token_length(self, left)
        cdef uint64_t right_length = token_length(self, right)
        cdef uint64_t used = self.start[self.count]
        if left_length + right_length > UINT32_MAX:
            return too_large()
        reserve(self, self.count + 1, used + left_length + right_length)
        memcpy(self.data + used, self.data + self.start[left], left_length)
        memcpy(self.data + used + left_length, self.data + self.start[right], right_length)
        return left_length + right_length

    cdef bint has_joined(self, uint32_t left, uint32_t right) except -1 nogil:
        return self.slots[slot_of(self, self.lay_out(left, right))] != 0

    cdef int64_t join(self, uint32_t left, uint32_t right) except -1 nogil:
        return token_of(self, self.lay_out(left, right), self.width[left] + self.width[right])

    cdef int64_t add(self, const uint8_t* data, uint64_t length) except -1 nogil:
        reserve(self, self.count + 1, self.start[self.count] + length)
        memcpy(self.data + self.start[self.count], data, length)
        return token_of(self, length, <uint32_t> length)

    cdef int compare(self, uint32_t one, uint32_t other) noexcept nogil:
        cdef uint64_t one_length = token_length(self, one)
        cdef uint64_t other_length = token_length(self, other)
        cdef int order = memcmp(self.data + self.start[one], self.data + self.start[other],
                                min(one_length, other_length))
        return order if order else (one_length > other_length) - (one_length < other_length)


cdef int reserve(LearnedTokens self, uint64_t tokens, uint64_t length) except -1 nogil:
    """Make room for so many tokens of so many bytes together."""
    if (bp_grow(<void**> &self.data, &self.data_room, length, 1) < 0
            or bp_grow(<void**> &self.start, &self.start_room, tokens + 1, sizeof(uint64_t)) < 0
            or bp_grow(<void**> &self.width, &self.width_room, tokens, sizeof(uint32_t)) < 0):
        return out_of_memory()
    return 0


cdef inline uint64_t first_slot(const uint8_t* data, uint64_t length) noexcept nogil:
    return bp_hash_bytes(&secret, data, length) >> 32


cdef uint64_t slot_of(LearnedTokens self, uint64_t length) noexcept nogil:
    """The slot of the token with the `length` bytes after the last token, or the empty slot where it would go."""
    cdef uint8_t* data = self.data + self.start[self.count]
    cdef uint64_t slot = first_slot(data, length) & self.mask
    cdef uint32_t known
    while self.slots[slot]:
        known = self.slots[slot] - 1
        if token_length(self, known) == length and memcmp(self.data + self.start[known], data, length) == 0:
            break
        slot = (slot + 1) & self.mask
    return slot


cdef int64_t token_of(LearnedTokens self, uint64_t length, uint32_t width) except -1 nogil:
    """The token with the `length` bytes after the last token, made if there was none."""
    cdef uint64_t slot
    if <uint64_t> self.count * 2 > self.mask:
        grow(self)
    slot = slot_of(self, length)
    if self.slots[slot]:
        return self.slots[slot] - 1
    if self.count >= MAX_TOKENS:
        return too_large()
    self.width[self.count] = width
    self.count += 1
    self.start[self.count] = self.start[self.count - 1] + length
    self.slots[slot] = self.count
    return self.count - 1


cdef int grow(LearnedTokens self) except -1 nogil:
    """Four times the slots."""
    cdef uint64_t mask = self.mask * 4 + 3
    cdef uint32_t* slots = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
    cdef uint64_t slot
    cdef uint32_t token
    if slots == NULL:
        return out_of_memory()
    for token in range(BYTES, self.count):
        slot = first_slot(self.data + self.start[token], token_length(self, token)) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = token + 1
    free(self.slots)
    self.slots = slots
    self.mask = mask
    return 0
