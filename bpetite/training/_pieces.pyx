"""Pieces of phrases, as tokens, and how often each occurs.

Most pieces of prose are there once, so what counts is the time for one that is new: its tokens are copied to the end of
an array, as words that merges are learned from, and eight bytes go into a hash table. Those who look a piece up compare
the tokens in the array.
"""
cimport cython
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..headers cimport (
    BP_PREFETCH, bp_hash_key, bp_hash_long, bp_load64, bp_secret, bp_watch, bp_watch_begin, bp_watch_check, bp_work,
    draw_secret, token_t,
)
from ._count_table cimport NO_MEMORY, OK, check
from ._learned_tokens cimport LearnedTokens
from ._segments cimport after_word, head_of, is_word, segment, whole_word
from ._words cimport SLOT_WORK, Words
from .tables cimport bp_free_table, bp_new_table

cdef bp_secret secret = draw_secret()


cdef inline uint64_t hash_of(const token_t* tokens, uint64_t size) noexcept nogil:
    cdef const uint8_t* data = <const uint8_t*> tokens
    if size < 4:
        return bp_hash_key(&secret, bp_load64(data), bp_load64(data + size * sizeof(token_t) - 8))
    return bp_hash_long(&secret, data, size * sizeof(token_t))


@cython.final
cdef class PieceTable:
    """Pieces of two tokens and more -> 64-bit count. Not safe to change from two threads at once."""

    def __cinit__(self):
        self.clear()

    def __dealloc__(self):
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))

    def __len__(self):
        return self.number

    @property
    def size(self):
        """The tokens of all different pieces together."""
        return self.used

    def __iter__(self):
        """(tokens, count) of each piece, in the order in which they came up."""
        cdef uint64_t at
        cdef uint64_t start = 0
        cdef segment one
        while start < self.words.symbol_count:
            one = whole_word(self.words.symbols, start)
            yield tuple([self.words.symbols[one.start + at] for at in range(one.size)]), one.weight
            start = after_word(one)

    cdef int clear(self) except -1:
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))
        self.mask = 4095
        self.shift = 52
        self.number = self.used = 0
        self.waits = 0
        self.slots = <uint64_t*> bp_new_table((self.mask + 1) * sizeof(uint64_t), 0)
        if self.slots == NULL:
            raise MemoryError
        self.words = Words(LearnedTokens(bytes(range(256))))       # none of which is looked at
        return 0

    def update(self, PieceTable other not None):
        """Add another table's counts. After an OverflowError (past 2^63 - 1) or a signal some have been added."""
        cdef int result
        cdef bp_watch watch
        bp_watch_begin(&watch, NULL)
        with nogil:
            result = self.absorb(other, &watch)
        bp_watch_check(&watch)
        check(result)

    cdef int absorb(self, PieceTable other, bp_watch* watch) noexcept nogil:
        cdef uint64_t start = 0
        cdef segment one
        cdef int result = OK
        while start < other.words.symbol_count:
            one = whole_word(other.words.symbols, start)
            result = self.add(<const token_t*> other.words.symbols + one.start, one.size, one.weight)
            if result != OK or bp_work(watch, SLOT_WORK):
                self.waits = 0                     # the caller sees the watch
                return result
            start = after_word(one)
        return self.settle()

    cdef int add(self, const token_t* tokens, uint64_t size, int64_t count) noexcept nogil:
        cdef waiting_piece* one = &self.waiting[self.waits]
        one.tokens = tokens
        one.size = size
        one.count = count
        one.hash = hash_of(tokens, size)
        BP_PREFETCH(&self.slots[one.hash >> self.shift])
        self.waits += 1
        return self.settle() if self.waits == WAITING else OK

    cdef int settle(self) noexcept nogil:
        cdef int at, result
        cdef int waits = self.waits
        cdef uint64_t slot
        self.waits = 0                             # also after an error
        for at in range(waits):                    # those that are probably there already will be compared
            slot = self.slots[self.waiting[at].hash >> self.shift]
            if slot and slot >> 32 == self.waiting[at].hash >> 32:
                BP_PREFETCH(self.words.symbols + head_of(<uint32_t> slot - 1))
        for at in range(waits):
            result = self.put(&self.waiting[at])
            if result < 0:
                return result
        return OK

    cdef int put(self, const waiting_piece* one) noexcept nogil:
        cdef uint64_t at = one.hash >> self.shift
        cdef uint32_t number
        cdef int result
        while self.slots[at]:
            number = <uint32_t> self.slots[at] - 1
            if self.slots[at] >> 32 == one.hash >> 32 and is_word(self.words.symbols, number, one.tokens, one.size):
                return self.words.add_weight(number, one.size, one.count)
            at = (at + 1) & self.mask
        result = self.words.reserve(1, one.size)
        if result != OK:
            return NO_MEMORY
        self.slots[at] = one.hash >> 32 << 32 | self.words.symbol_count // 2 + 1
        memcpy(self.words.open(), one.tokens, one.size * sizeof(token_t))
        self.words.close(one.size, one.count)
        self.used += one.size
        self.number += 1
        return self.grow() if self.number * 4 > self.mask * 3 else OK

    cdef int grow(self) noexcept nogil:
        """Twice the slots. The halves of the hashes in them say where each goes, up to 2^32 slots."""
        cdef uint64_t mask = self.mask * 2 + 1
        cdef uint64_t at, to
        cdef uint64_t* slots
        if mask > UINT32_MAX:
            return NO_MEMORY
        slots = <uint64_t*> bp_new_table((mask + 1) * sizeof(uint64_t), 0)
        if slots == NULL:
            return NO_MEMORY
        for at in range(self.mask + 1):
            if self.slots[at]:
                to = self.slots[at] >> (self.shift - 1)
                while slots[to]:
                    to = (to + 1) & mask
                slots[to] = self.slots[at]
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))
        self.slots = slots
        self.mask = mask
        self.shift -= 1
        return OK
