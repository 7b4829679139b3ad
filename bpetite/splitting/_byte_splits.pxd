"""Splits of pre-tokens that see bytes, not characters: what tokenizer.json has behind its ByteLevel."""
from libc.stdint cimport uint8_t, uint32_t


cdef struct byte_cut:
    # A pre-token that is being cut: text[at:end] has not been read.
    Py_ssize_t start, at, end
    uint32_t state
    uint32_t found             # bit k: a cut k bytes before `at`


cdef class ByteSplits:
    cdef const uint8_t* next       # [state * 256 + byte]: the state after a byte
    cdef const uint8_t* out        # [state * 257 + byte]: bit k says that a cut is k bytes before it; 256 is the end
    cdef uint8_t quiet[256]        # a pre-token of such bytes alone is never cut
    cdef tuple owner               # of what the pointers point into

    cdef bint _is_silent(self, int byte)
    # The index of the first byte of text[at:end] that is not quiet, or `end`.
    cdef Py_ssize_t find(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t end) noexcept nogil
    # Cut the pre-token text[start:end].
    cdef void begin(self, byte_cut* cut, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    # Write the next ends, the last of which is that of the pre-token, and return how many; 0 when none is left.
    # `capacity` is at least 5.
    cdef Py_ssize_t next_ends(self, byte_cut* cut, const uint8_t* text, Py_ssize_t* ends,
                              Py_ssize_t capacity) noexcept nogil
