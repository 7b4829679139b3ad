"""BPE-dropout: merging that leaves out merges at random."""
cimport cython
from libc.stdint cimport uint64_t

from .._merge cimport MergeTable, merge_space
from ..headers cimport bp_watch

cdef enum:
    POWERS = 40            # more candidates than 2 ** 32 there are not


@cython.final
cdef class Dropout:
    cdef readonly double probability
    cdef readonly uint64_t seed
    cdef double powers[POWERS]             # probability ** 2 ** i

    # Merge space.ids[0:n], with random numbers that depend on the seed, the number of the text and the position in it
    # alone. Returns how many ids are left, -1 where there is no memory or the watch has been interrupted.
    cdef Py_ssize_t merge(self, MergeTable merges, merge_space* space, Py_ssize_t n, uint64_t text, uint64_t position,
                          bp_watch* watch) noexcept nogil


# The Dropout of the arguments `dropout` and `seed`; None for plain encoding. `kept` has the "dropout" that
# the tokenizer's file declares.
cdef Dropout chosen_dropout(object dropout, object seed, dict kept)
