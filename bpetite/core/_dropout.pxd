"""BPE-dropout: merging that leaves out merges at random."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from .._merge cimport MergeTable, merge_space
from ..headers cimport bp_watch, token_t

cdef enum:
    DROPOUT_SCAN = 32      # up to this many tokens are scanned for the merge that a step takes
    POWERS = 40            # more candidates than 2 ** 32 there are not


cdef struct drop_node:
    # A token in the linked list, and the pair that it starts in the search tree of all pairs that have a rank.
    uint32_t rank          # of the pair with the next token, or NO_MERGE
    token_t id
    uint32_t previous, next
    uint32_t left, right   # below it in the tree, or NOWHERE
    uint32_t size          # of the tree from here on
    uint32_t priority      # below that of its parent


@cython.final
cdef class Dropout:
    cdef readonly double probability
    cdef readonly uint64_t seed
    cdef double powers[POWERS]             # probability ** 2 ** i

    # Merge space.ids[0:n], with random numbers that depend on the seed, the number of the text and the position in it
    # alone. Returns how many ids are left, -1 where there is no memory or the watch has been interrupted.
    cdef Py_ssize_t merge(self, MergeTable merges, merge_space* space, Py_ssize_t n, uint64_t text, uint64_t position,
                          bp_watch* watch) noexcept nogil
    # How many of the candidates of a step are dropped before the first that is not; `candidates` where all are.
    cdef Py_ssize_t _dropped(self, uint64_t* state, Py_ssize_t candidates) noexcept nogil
    cdef Py_ssize_t _by_scan(self, MergeTable merges, token_t* ids, Py_ssize_t n, uint64_t state) noexcept nogil
    cdef Py_ssize_t _by_tree(self, MergeTable merges, token_t* ids, Py_ssize_t n, uint64_t state,
                             bp_watch* watch) noexcept nogil


# What the arguments `dropout` and `seed` ask for; None for plain encoding. `kept` has the "dropout" that
# the tokenizer's file declares.
cdef Dropout chosen_dropout(object dropout, object seed, dict kept)
