"""Special tokens: which of them a call recognises or refuses, and where they are in UTF-8."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..headers cimport token_t

cdef extern from "core/sieve.h" nogil:
    ctypedef struct bp_sieve:
        int shuffles

    void bp_sieve_add(bp_sieve* sieve, uint8_t first, uint8_t second) noexcept
    Py_ssize_t bp_sieve_next(const bp_sieve* sieve, const uint8_t* text, Py_ssize_t at, Py_ssize_t stop,
                             Py_ssize_t length) noexcept


cdef class Specials:
    # Literals sorted by their bytes; nothing changes after construction.
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t shortest, longest     # bytes
    cdef readonly tuple literals           # str, sorted by their UTF-8
    cdef uint8_t* blob
    cdef uint64_t* starts                  # number -> first byte in blob; size + 1 entries
    cdef token_t* ids                      # number -> id
    cdef uint32_t* firsts                  # first byte -> first literal that starts with it; 257 entries
    cdef bp_sieve* sieve

    # The first literal in text[at:length], the longest of those that start there: returns its offset and sets *which
    # to its number, or returns -1.
    cdef Py_ssize_t find(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, Py_ssize_t* which) noexcept nogil
    # The same of a text that goes on after `length` unless this is `final`: only what more text cannot change. IN/OUT:
    # *limit, up to where the text is certain; -1 at first.
    cdef Py_ssize_t find_certain(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, bint final,
                                 Py_ssize_t* limit, Py_ssize_t* which) noexcept nogil
    # The first offset in text[at:length] from which on all of it is the beginning of a literal, which more text may
    # complete; or length.
    cdef Py_ssize_t open_from(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length) noexcept nogil


cdef class SpecialSets:
    cdef readonly dict ids                 # literal -> id
    cdef readonly Specials every
    cdef dict subsets

    cdef Specials subset(self, object chosen)
    # (special tokens to recognise, those to refuse or None); see choose.
    cdef tuple resolve(self, object allowed, object disallowed)


# True for the str "all".
cdef bint is_all(object names)

# Raise ValueError, with the offset, where one of these special tokens is in a str or bytes.
cdef int refuse(Specials refused, object text) except -1
