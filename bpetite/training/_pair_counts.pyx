"""Pairs of tokens in phrases: how often each occurs, and which of them may be frequent."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from ..headers cimport (
    BP_PREFETCH, bp_grow, bp_mix, bp_secret, bp_watch, bp_watch_begin, bp_watch_check, bp_work, draw_secret, token_t,
)
from ._count_table cimport NO_MEMORY, OK, OVERFLOW, add_pair_checks, check
from .tables cimport bp_add_overflows, bp_filter_add, bp_filter_has, bp_free_table, bp_new_table

cdef enum:
    FEW = 1024                  # counts up to here are told apart when rare pairs are left out
    LEAST_ROOM = 1 << 12        # pairs; a table of fewer never leaves any out
    LOOK_AHEAD = 32             # pairs that wait
    MOST_TOLD = 1 << 16         # counts up to here are told apart when pairs are put in order
    PAIR_BITS = 32              # of the filter of frequent pairs, for each of them

cdef bp_secret secret = draw_secret()


@cython.final
cdef class PairCounts:
    """How often two tokens stand side by side: an open-addressing table with a bound.

    Where there would be more pairs than `most`, the rarest half is left out (lossy counting, Manku and Motwani 2002):
    no count is then too low by more than `error`.

    A slot of eight bytes holds a pair and its count, in the bits that are left. The few counts that are too large for
    them are in a list.

    Args:
        most: Pairs; a table of LEAST_ROOM never leaves any out.
        tokens: How many numbers of tokens there are, at most 2^31.
    """

    def __cinit__(self, uint64_t most, uint64_t tokens):
        if tokens > <uint64_t> 1 << 31:
            raise ValueError(f"there are {tokens} tokens, more than 2^31")
        self.id_bits = 1
        while tokens > <uint64_t> 1 << self.id_bits:
            self.id_bits += 1
        self.count_bits = 64 - 2 * self.id_bits
        self.most_count = (<uint64_t> 1 << self.count_bits) - 1
        self.most = most if most > LEAST_ROOM else LEAST_ROOM
        self.mask = 4095
        self.shift = 52
        self.slots = <uint64_t*> bp_new_table((self.mask + 1) * sizeof(uint64_t), 0)
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))
        free(self.large)

    def __len__(self):
        return self.used

    cdef uint64_t* find(self, uint64_t key) noexcept nogil:
        cdef uint64_t at = bp_mix(&secret, key) >> self.shift
        while self.slots[at] and self.slots[at] >> self.count_bits != key:
            at = (at + 1) & self.mask
        return &self.slots[at]

    cdef int64_t count_of(self, uint64_t slot) noexcept nogil:
        cdef uint64_t count = slot & self.most_count
        return self.large_count(slot >> self.count_bits) if count == self.most_count else <int64_t> count

    cdef int64_t large_count(self, uint64_t key) noexcept nogil:
        cdef uint64_t at
        for at in range(self.large_used):
            if self.large[at].key == key:
                return self.large[at].count
        return <int64_t> self.most_count

    cdef int put(self, const token_t* tokens, Py_ssize_t size, int64_t count) noexcept nogil:
        cdef Py_ssize_t at
        cdef int result
        for at in range(1, size):
            self.waiting[self.waits].key = <uint64_t> tokens[at - 1] << self.id_bits | tokens[at]
            self.waiting[self.waits].count = count
            self.waits += 1
            if self.waits == WAITING:
                result = self.settle()
                if result < 0:
                    return result
        return OK

    cdef int settle(self) noexcept nogil:
        cdef uint32_t at
        cdef uint32_t waits = self.waits
        cdef int result
        self.waits = 0                             # also after an error
        for at in range(waits):
            if at + LOOK_AHEAD < waits:
                BP_PREFETCH(&self.slots[bp_mix(&secret, self.waiting[at + LOOK_AHEAD].key) >> self.shift])
            result = self.add(self.waiting[at].key, self.waiting[at].count)
            if result < 0:
                return result
        return OK

    cdef int add(self, uint64_t key, int64_t count) noexcept nogil:
        cdef uint64_t* slot = self.find(key)
        if slot[0] == 0:
            if (self.used + 1) * 8 > self.mask * 5 or self.used >= self.most:
                if self.make_room() < 0:
                    return NO_MEMORY
                slot = self.find(key)
            slot[0] = key << self.count_bits
            self.used += 1
        if <uint64_t> count > self.most_count - (slot[0] & self.most_count):
            return self.add_large(slot, count)
        slot[0] += count
        return OK

    cdef int add_large(self, uint64_t* slot, int64_t count) noexcept nogil:
        """Add to a count that becomes too large for its slot."""
        cdef uint64_t key = slot[0] >> self.count_bits
        cdef uint64_t at = 0
        while at < self.large_used and self.large[at].key != key:
            at += 1
        if at == self.large_used:
            if bp_grow(<void**> &self.large, &self.large_room, at + 1, sizeof(pair_count)) < 0:
                return NO_MEMORY
            self.large[at].key = key
            self.large[at].count = <int64_t> (slot[0] & self.most_count)
            self.large_used += 1
        slot[0] |= self.most_count
        return OVERFLOW if bp_add_overflows(&self.large[at].count, count) else OK

    cdef int make_room(self) noexcept nogil:
        """Twice the slots; the pairs that are too many are left out."""
        cdef uint64_t mask = self.mask
        cdef int shift = self.shift
        cdef int64_t least = 0
        cdef uint64_t at, to, used = 0
        cdef uint64_t* slots
        if self.used >= self.most:
            least = self.median()
        else:
            mask = mask * 2 + 1
            shift -= 1
        slots = <uint64_t*> bp_new_table((mask + 1) * sizeof(uint64_t), 0)
        if slots == NULL:
            return NO_MEMORY
        for at in range(self.mask + 1):
            if self.slots[at] and (least == 0 or self.count_of(self.slots[at]) > least):
                to = bp_mix(&secret, self.slots[at] >> self.count_bits) >> shift
                while slots[to]:
                    to = (to + 1) & mask
                slots[to] = self.slots[at]
                used += 1
        at = 0
        while at < self.large_used:
            if self.large[at].count <= least:
                self.large_used -= 1
                self.large[at] = self.large[self.large_used]
            else:
                at += 1
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))
        self.slots = slots
        self.mask = mask
        self.shift = shift
        self.used = used
        self.error += least
        return OK

    cdef int64_t median(self) noexcept nogil:
        """The least count that half of the pairs do not pass; where that is more than FEW, the least count that makes
        room for a pair."""
        cdef uint64_t number[FEW + 1]
        cdef uint64_t at
        cdef uint64_t below = 0
        cdef int64_t count
        cdef int64_t least = 0
        for count in range(FEW + 1):
            number[count] = 0
        for at in range(self.mask + 1):
            if self.slots[at]:
                count = self.count_of(self.slots[at])
                if count <= FEW:
                    number[count] += 1
                elif least == 0 or count < least:
                    least = count
        for count in range(FEW + 1):
            below += number[count]
            if below * 2 >= self.used:
                return count
        return least

    def update(self, PairCounts other not None):
        """Add the counts, and the error, of another table for as many tokens."""
        cdef uint64_t at
        cdef int result = OK
        cdef bp_watch watch
        if other.id_bits != self.id_bits:
            raise ValueError("the other table is not for as many tokens")
        bp_watch_begin(&watch, NULL)
        with nogil:
            for at in range(other.mask + 1):
                if bp_work(&watch, sizeof(pair_count)):
                    break
                if other.slots[at]:
                    result = self.add(other.slots[at] >> self.count_bits, other.count_of(other.slots[at]))
                    if result < 0:
                        break
        bp_watch_check(&watch)
        check(result)
        self.error += other.error

    def summary(self):
        """(the sum of all counts, 32 hex digits, equal for equal counts, see `CountTable.checksum`)."""
        cdef uint64_t at, key
        cdef int64_t count
        cdef uint64_t low = 0
        cdef uint64_t high = 0
        cdef uint64_t sums[2]
        cdef uint64_t ids = (<uint64_t> 1 << self.id_bits) - 1
        sums[0] = sums[1] = 0
        with nogil:
            for at in range(self.mask + 1):
                if self.slots[at]:
                    count = self.count_of(self.slots[at])
                    key = self.slots[at] >> self.count_bits
                    low += <uint64_t> count & 0xFFFFFFFFU
                    high += <uint64_t> count >> 32
                    add_pair_checks(sums, key >> self.id_bits << 32 | key & ids, count)
        return (int(high) << 32) + low, f"{sums[0]:016x}{sums[1]:016x}"

    def count_at(self, uint64_t place):
        """How often the pair at a place occurs, 1 for the most frequent, at most MOST_TOLD; 0 past the last."""
        cdef uint64_t* number = <uint64_t*> calloc(MOST_TOLD + 1, sizeof(uint64_t))
        cdef uint64_t at, above = 0
        cdef int64_t count = MOST_TOLD
        if number == NULL:
            raise MemoryError
        with nogil:
            for at in range(self.mask + 1):        # an unused slot counts as 0
                number[min(self.count_of(self.slots[at]), <int64_t> MOST_TOLD)] += 1
            number[0] = 0
            while count > 0 and above + number[count] < place:
                above += number[count]
                count -= 1
        free(number)
        return count


@cython.final
cdef class FrequentPairs:
    """The pairs that may occur `floor` times: a Bloom filter with one hash function, which fits the caches."""

    def __cinit__(self, PairCounts pairs not None, int64_t floor):
        cdef uint64_t at, number = 0, size = 64
        # written for each pair, kept for the frequent ones: without a branch, which would often be predicted wrongly
        cdef uint64_t* found = <uint64_t*> malloc((pairs.used + 1) * sizeof(uint64_t))
        if found == NULL:
            raise MemoryError
        for at in range(pairs.mask + 1):
            found[number] = pairs.slots[at] >> pairs.count_bits
            number += pairs.slots[at] != 0 and pairs.count_of(pairs.slots[at]) + pairs.error >= floor
        self.id_bits = pairs.id_bits
        self.shift = 58
        while size < number * PAIR_BITS:
            size *= 2
            self.shift -= 1
        self.bits = <uint64_t*> calloc(size // 64, sizeof(uint64_t))
        if self.bits == NULL:
            free(found)
            raise MemoryError
        if pairs.error >= floor:                   # any pair may be
            memset(self.bits, 0xFF, size // 8)
        for at in range(number):
            bp_filter_add(self.bits, self.shift, &secret, found[at])
        free(found)

    def __dealloc__(self):
        free(self.bits)

    cdef Py_ssize_t cut(self, const token_t* tokens, Py_ssize_t size, Py_ssize_t* cuts) noexcept nogil:
        cdef Py_ssize_t at, number = 0
        for at in range(1, size):                  # without a branch, which would often be predicted wrongly
            cuts[number] = at
            number += not bp_filter_has(self.bits, self.shift, &secret,
                                        <uint64_t> tokens[at - 1] << self.id_bits | tokens[at])
        return number
