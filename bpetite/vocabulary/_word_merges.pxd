"""The merges of a vocabulary that come before those across words."""
from libc.stdint cimport uint8_t, uint32_t

from .._merge cimport MergeTable
from ._tokens cimport TokenTable


cdef class WordMerges:
    # Nothing changes after construction.
    cdef readonly MergeTable merges    # the merges below a rank
    cdef uint8_t apart[1 << 16]        # last byte of a token | first of the next << 8 -> none of them joins the two
    cdef uint32_t end                  # the rank

    # OUT: later[slot] is 1 for the tokens of all other merges of the table, and for the tokens that they are part of.
    cdef void find_later(self, TokenTable tokens, MergeTable table, uint8_t* later) noexcept nogil
