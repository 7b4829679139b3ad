"""Special tokens: which of them a call recognises or refuses, and where they are in UTF-8."""
from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..headers cimport token_t

cdef extern from "headers/sieve.h" nogil:
    ctypedef struct bp_sieve:
        pass


cdef class Specials:
    # Literals sorted by their bytes; nothing changes after construction.
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t shortest, longest     # bytes
    cdef readonly tuple literals           # str, sorted by their UTF-8
    cdef uint8_t* blob
    cdef uint64_t* starts                  # number -> first byte in blob; size + 1 entries
    cdef token_t* ids                      # number -> id
    cdef int64_t firsts[257]               # byte -> the number of literals that begin with a lower one
    cdef bp_sieve* sieve

    cpdef int refuse(self, object text, Py_ssize_t base=*, str unit=*) except -1
    # The first literal in text[at:length], the longest of those that start there: returns its offset and sets *which to
    # its number, or returns -1. Unless the text is `final`, only a literal counts that more text cannot change.
    # IN/OUT: *limit, up to where the text is certain; -1 at first.
    cdef Py_ssize_t find_certain(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, bint final,
                                 Py_ssize_t* limit, Py_ssize_t* which) noexcept nogil


cdef class SpecialSets:
    cdef readonly dict ids                 # literal -> id
    cdef frozenset literals                # all of them
    cdef readonly Specials every
    cdef dict subsets

    # Chooses for every call: (special tokens to recognise, those to refuse or None). `allowed` is "all" or a collection
    # of literals; so is `disallowed`, of which "all" means every other one. Raises ValueError for an unknown literal,
    # TypeError for what is no collection, such as one literal, or None.
    cdef tuple choose(self, object allowed, object disallowed)
