"""The merges of a vocabulary in flat memory."""
from cpython.array cimport array
from libc.stdint cimport uint8_t, uint64_t

from ..headers cimport token_t
from ._tokens cimport TokenTable


cdef class Results:
    cdef TokenTable tokens
    cdef Py_ssize_t size
    cdef array ids                 # of the tokens that the merges give, in rank order; with room for all merges
    cdef array lengths             # slot -> lengths, modulo 64, of the left parts of the merges that give it; or ALL,
    cdef bint repeated             # if two of them may be equal
    cdef bytearray room            # the memory of
    cdef uint8_t* buffer           # for the bytes of a merge
    cdef bint failed               # a merge gave no token

    # Add the token of a merge of two slots; nothing after a merge that gives none.
    cdef void add(self, TokenTable tokens, Py_ssize_t left, Py_ssize_t right) noexcept nogil


cdef class MergeList:
    cdef readonly Py_ssize_t size
    cdef token_t* pairs            # the ids of each merge, 2 * size
    cdef uint64_t capacity         # of pairs
    cdef Results found             # of a reader that knows them, or of the last call; or None

    cdef bint add(self, token_t left, token_t right) noexcept nogil    # false without memory
