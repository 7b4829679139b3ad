"""Cuts that no merge joins across."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..splitting.scan._scan cimport Scanner, scan_cursor
from ._alphabet cimport AlphabetTable


cdef class WordCuts(Scanner):
    # Nothing changes after construction.
    cdef uint8_t cuts[1 << 16]         # byte | next byte << 8 -> a cut between the two; with an alphabet, ASCII only
    cdef uint64_t* joined              # with an alphabet: bits of the pairs of characters that are joined, but ASCII
    cdef int shift                     # of their hashes
    cdef AlphabetTable alphabet        # or None: the alphabet is bytes
    cdef bint forced                   # there is a cut before every space

    cdef Py_ssize_t cut_characters(self, scan_cursor* cursor, Py_ssize_t* place, Py_ssize_t* ends, Py_ssize_t n,
                                   Py_ssize_t capacity) noexcept nogil
    cdef bint joins(self, uint32_t left, uint32_t right) noexcept nogil
