"""Pairs of tokens in phrases: how often each occurs, and which of them may be frequent (_pair_counts.pyx)."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from ..headers cimport token_t


cdef enum:
    WAITING = 512               # pairs that wait to be counted


cdef struct pair_count:
    uint64_t key
    int64_t count


@cython.final
cdef class PairCounts:
    cdef uint64_t* slots               # key << count_bits | count; 0 where unused
    cdef uint64_t mask
    cdef int shift
    cdef int id_bits                   # of a token's number; a key is left << id_bits | right
    cdef int count_bits
    cdef uint64_t most_count           # that a slot can hold; then the pair is in `large`, with its whole count
    cdef pair_count* large
    cdef uint64_t large_used
    cdef uint64_t large_room
    cdef uint64_t used
    cdef uint64_t most
    cdef readonly int64_t error
    cdef pair_count waiting[WAITING]   # pairs to be added, so that the slot of one is fetched while others are added
    cdef uint32_t waits                # how many

    cdef uint64_t* find(self, uint64_t key) noexcept nogil
    cdef int64_t count_of(self, uint64_t slot) noexcept nogil
    cdef int64_t large_count(self, uint64_t key) noexcept nogil
    # Add to the pairs of a phrase, once there are enough for `settle`, which comes after the last.
    cdef int put(self, const token_t* tokens, Py_ssize_t size, int64_t count) noexcept nogil
    cdef int settle(self) noexcept nogil
    cdef int add(self, uint64_t key, int64_t count) noexcept nogil
    cdef int add_large(self, uint64_t* slot, int64_t count) noexcept nogil
    cdef int make_room(self) noexcept nogil
    cdef int64_t median(self) noexcept nogil


@cython.final
cdef class FrequentPairs:
    cdef uint64_t* bits
    cdef int shift
    cdef int id_bits

    # OUT: cuts[0:n], in front of which of the tokens no frequent pair ends; there must be room for size - 1. Returns n.
    cdef Py_ssize_t cut(self, const token_t* tokens, Py_ssize_t size, Py_ssize_t* cuts) noexcept nogil
