"""The merges of a vocabulary in flat memory."""
from libc.stdint cimport uint64_t

from ..headers cimport token_t


cdef class MergeList:
    cdef readonly Py_ssize_t size
    cdef token_t* pairs            # the ids of each merge, 2 * size
    cdef uint64_t capacity         # of pairs

    cdef bint add(self, token_t left, token_t right) noexcept nogil    # false without memory
