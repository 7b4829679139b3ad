"""Joining a pair of tokens in all words (_joining.pyx)."""
cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from ..headers cimport bp_watch
from ._learned_tokens cimport LearnedTokens
from ._pair_table cimport PairTable, Sides
from ._words cimport Words


cdef enum:
    FOUND = 64                  # segments that are searched before the pair is joined in them
    NOTED = 512                 # neighbours that wait to be counted; a segment has fewer than a quarter of them


cdef struct segment_found:      # a segment in which the pair begins
    uint64_t start
    uint64_t places             # bit i: the pair begins at its slot i
    int64_t weight
    uint32_t number


cdef struct neighbour:          # of a pair that has been joined
    uint64_t side               # which of `Sides`
    int64_t weight
    uint32_t where              # the segment in which the pair with the new token begins


@cython.final
cdef class Joiner:
    cdef LearnedTokens known
    cdef Words words
    cdef PairTable pairs
    cdef Sides sides
    cdef int64_t joined         # pairs that `apply` has joined, each as often as its word occurs
    cdef uint64_t work          # segments searched so far, by all calls
    cdef segment_found found[FOUND]
    cdef neighbour noted[NOTED]

    # Join the pair everywhere and bring the counts of its neighbours up to date.
    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged, bp_watch* watch) noexcept nogil
    cdef int search(self, uint32_t left, uint32_t right, const uint32_t* items, uint32_t at,
                    uint32_t end) noexcept nogil
    cdef int join(self, uint32_t left, uint32_t right, uint32_t merged, int segments) noexcept nogil
    cdef int note(self, uint32_t merged, int number) noexcept nogil
    cdef int settle(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
