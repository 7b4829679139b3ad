"""Merging of token ids by a merge table."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from .headers cimport bp_grow, bp_pairs, bp_watch, token_t

cdef enum:
    SCAN_LIMIT = 96    # up to this many tokens are merged by scanning for the lowest rank


cdef struct merge_node:
    # A token in the linked list, with all data that a step reads.
    uint32_t rank          # of the pair with the next token, or BP_NO_MERGE
    token_t id
    uint32_t previous, next


cdef struct merge_space:
    # Working memory of merge(); all zero at first, owned by one thread, freed by space_free.
    token_t* ids           # IN and OUT
    uint32_t* ranks        # of each token with the next, or BP_NO_MERGE
    merge_node* nodes
    uint64_t* heap
    uint64_t capacity      # of ids
    uint64_t rank_capacity
    uint64_t node_capacity
    uint64_t heap_capacity


cdef inline bint space_reserve(merge_space* space, Py_ssize_t n) noexcept nogil:
    """Memory for n ids; false where there is none."""
    return bp_grow(<void**> &space.ids, &space.capacity, n, sizeof(token_t)) == 0


cdef inline void space_free(merge_space* space) noexcept nogil:
    free(space.ids)
    free(space.ranks)
    free(space.nodes)
    free(space.heap)
    memset(space, 0, sizeof(merge_space))


@cython.final
cdef class MergeTable:
    cdef bp_pairs pairs
    cdef readonly Py_ssize_t size          # pairs
    cdef readonly Py_ssize_t ranks         # ranks: more than pairs where one is listed twice

    # Filling: memory for that many pairs and ranks, once; then each pair. False for a pair that is known already, which
    # keeps its first rank.
    cdef int reserve(self, Py_ssize_t pairs, Py_ssize_t ranks) except -1
    cdef bint add(self, token_t left, token_t right, uint32_t rank, token_t joined) noexcept nogil
    # The rank of a pair, BP_NO_MERGE where it has none. The table has been filled.
    cdef uint32_t find(self, token_t left, token_t right) noexcept nogil
    # Merge space.ids[0:n] until no pair has a rank; returns the number of ids left, -1 without memory or after an
    # interruption of the watch.
    cdef Py_ssize_t merge(self, merge_space* space, Py_ssize_t n, bp_watch* watch) noexcept nogil
    # The same for up to SCAN_LIMIT ids. IN: the ranks of the n - 1 pairs; overwritten.
    cdef Py_ssize_t merge_few(self, token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil
    # OUT: the ranks of n - 1 pairs.
    cdef void rank_pairs(self, const token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil
