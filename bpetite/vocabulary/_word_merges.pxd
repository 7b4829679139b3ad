"""The merges of a vocabulary that come before those across words."""
from libc.stdint cimport uint8_t

from .._merge cimport MergeTable


cdef class WordMerges:
    # Nothing changes after construction.
    cdef readonly MergeTable merges    # those below a rank
    cdef uint8_t apart[1 << 16]        # last byte of a token << 8 | first of the next -> none of them joins the two
