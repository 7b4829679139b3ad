"""The tokens a merger knows, by internal id.

The 256 bytes come first, in an order that is given; learned tokens follow in order. Two merges of a list rarely give
the same bytes, but when they do, the second gives the token of the first. Hence the hash table from bytes to ids.
"""
cimport cython
from libc.stdint cimport UINT32_MAX, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from ..headers cimport bp_grow, bp_hash_bytes, bp_secret, draw_secret

cdef enum:
    FIRST_LEARNED = 256
    MAX_TOKENS = 0x7FFFFFFE     # ids, and their complements, are to fit an int32

cdef bp_secret secret = draw_secret()


cdef inline uint64_t first_slot(const unsigned char* data, uint64_t length) noexcept nogil:
    return bp_hash_bytes(&secret, data, length) >> 32


@cython.final
cdef class LearnedTokens:
    """Begins with the 256 bytes, each once, in the order in which they have the ids 0..255."""

    def __cinit__(self, bytes first not None):
        cdef uint32_t number
        if len(first) != 256 or len(set(first)) != 256:
            raise ValueError("the first tokens are the 256 bytes, each once")
        if bp_grow(<void**> &self.data, &self.capacity, 4096, 1) < 0:
            raise MemoryError
        self.mask = 1023
        self.slots = <uint32_t*> calloc(self.mask + 1, sizeof(uint32_t))
        self.room = 512
        self.start = <uint64_t*> malloc((self.room + 1) * sizeof(uint64_t))
        self.width = <uint32_t*> malloc(self.room * sizeof(uint32_t))
        if self.slots == NULL or self.start == NULL or self.width == NULL:
            raise MemoryError
        for number in range(256):
            self.data[number] = first[number]
            self.start[number] = number
            self.width[number] = 1
        self.start[256] = 256
        self.used = 256
        self.count = 256

    def __dealloc__(self):
        free(self.data)
        free(self.start)
        free(self.width)
        free(self.slots)

    cdef int join(self, uint32_t left, uint32_t right, uint32_t* token) noexcept nogil:
        """The token with the bytes of left + right: DONE where there was one, OK where it is new."""
        cdef uint64_t length
        cdef int result = self.lay_out(left, right, &length)
        return self.token_of(length, self.width[left] + self.width[right], token) if result == OK else result

    cdef int has_joined(self, uint32_t left, uint32_t right) noexcept nogil:
        """1 where a token has the bytes of left + right, 0 where none has."""
        cdef uint64_t length
        cdef int result = self.lay_out(left, right, &length)
        return self.slots[self.slot_of(length)] != 0 if result == OK else result

    cdef int lay_out(self, uint32_t left, uint32_t right, uint64_t* length) noexcept nogil:
        """Put the bytes of left + right after the last token."""
        cdef uint64_t left_length = token_length(self, left)
        cdef uint64_t right_length = token_length(self, right)
        if left_length + right_length > UINT32_MAX:
            return TOO_LARGE
        if bp_grow(<void**> &self.data, &self.capacity, self.used + left_length + right_length, 1) < 0:
            return NO_MEMORY
        memcpy(self.data + self.used, self.data + self.start[left], left_length)
        memcpy(self.data + self.used + left_length, self.data + self.start[right],
               right_length)
        length[0] = left_length + right_length
        return OK

    cdef uint64_t slot_of(self, uint64_t length) noexcept nogil:
        """The slot of the token with the `length` bytes after the last token, or the empty one where it would go."""
        cdef unsigned char* data = self.data + self.used
        cdef uint64_t slot = first_slot(data, length) & self.mask
        cdef uint32_t known
        while self.slots[slot]:
            known = self.slots[slot] - 1
            if token_length(self, known) == length and memcmp(self.data + self.start[known], data, length) == 0:
                break
            slot = (slot + 1) & self.mask
        return slot

    cdef int token_of(self, uint64_t length, uint32_t width, uint32_t* token) noexcept nogil:
        """The token with the `length` bytes after the last token: DONE where there was one, OK where it is new."""
        cdef uint64_t* starts
        cdef uint32_t* widths
        cdef uint64_t slot
        if <uint64_t> self.count * 2 > self.mask and self.grow_slots() < 0:
            return NO_MEMORY
        slot = self.slot_of(length)
        if self.slots[slot]:
            token[0] = self.slots[slot] - 1
            return DONE
        if self.count >= MAX_TOKENS:
            return TOO_LARGE
        if self.count == self.room:
            starts = <uint64_t*> realloc(
                self.start, (<uint64_t> self.room * 2 + 1) * sizeof(uint64_t))
            if starts == NULL:
                return NO_MEMORY
            self.start = starts
            widths = <uint32_t*> realloc(self.width, <uint64_t> self.room * 2 * sizeof(uint32_t))
            if widths == NULL:
                return NO_MEMORY
            self.width = widths
            self.room *= 2
        token[0] = self.count
        self.width[self.count] = width
        self.count += 1
        self.slots[slot] = self.count
        self.used += length
        self.start[self.count] = self.used
        return OK

    cdef int grow_slots(self) noexcept nogil:
        cdef uint64_t mask = self.mask * 4 + 3
        cdef uint32_t* slots = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
        cdef uint64_t slot
        cdef uint32_t token
        if slots == NULL:
            return NO_MEMORY
        for token in range(FIRST_LEARNED, self.count):
            slot = first_slot(self.data + self.start[token], token_length(self, token)) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = token + 1
        free(self.slots)
        self.slots = slots
        self.mask = mask
        return OK

    cdef int add(self, const unsigned char* data, uint64_t length, uint32_t* token) noexcept nogil:
        """The token with these bytes, at least two: DONE where there was one, OK where it is new."""
        if bp_grow(<void**> &self.data, &self.capacity, self.used + length, 1) < 0:
            return NO_MEMORY
        memcpy(self.data + self.used, data, length)
        return self.token_of(length, <uint32_t> length, token)

    cdef void count_as_one(self) noexcept nogil:
        """The tokens that there are take one place each from here on, and what they are joined to one for each of them.

        IN: no pair is joined to a token that there is.
        """
        cdef uint32_t token
        for token in range(self.count):
            self.width[token] = 1

    cdef int compare(self, uint32_t one, uint32_t other) noexcept nogil:
        """Below, equal to or above 0 as the bytes of `one` sort before, equal or after those of `other`."""
        cdef uint64_t one_length, other_length
        cdef int order
        if one == other:
            return 0
        one_length = token_length(self, one)
        other_length = token_length(self, other)
        order = memcmp(self.data + self.start[one], self.data + self.start[other],
                       one_length if one_length < other_length else other_length)
        if order == 0:
            order = (one_length > other_length) - (one_length < other_length)
        return order
