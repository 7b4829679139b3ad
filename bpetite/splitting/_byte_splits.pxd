"""Splits of pre-tokens that see bytes, not characters: what tokenizer.json has behind its ByteLevel."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef extern from "splitting/quiet_bytes.h" nogil:
    ctypedef struct bp_quiet_bytes:
        uint8_t quiet[256]


cdef struct byte_cut:
    # A pre-token that is being cut: text[at:end] has not been read.
    Py_ssize_t start, at, end
    uint32_t state
    uint32_t found             # bit k: a cut k bytes before `at`


cdef class ByteSplits:
    # [state * 257 + byte]: the next state << 4, and bit k says that a cut is k bytes before this byte; 256 is the end.
    cdef const uint16_t* steps
    cdef bp_quiet_bytes quiet      # a pre-token of such bytes alone is never cut
    cdef uint32_t quiet_state      # after any number of them
    cdef bytes owner               # of the steps

    # The index of the first byte of text[at:end] that is not quiet, or `end`.
    cdef Py_ssize_t find(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t end) noexcept nogil
    # Cut the pre-token text[start:end], of which text[start:noisy] is quiet.
    cdef void begin(self, byte_cut* cut, Py_ssize_t start, Py_ssize_t noisy, Py_ssize_t end) noexcept nogil
    # Write the next ends, the last of which is that of the pre-token, and return how many; 0 when none is left.
    # `capacity` is at least 5.
    cdef Py_ssize_t next_ends(self, byte_cut* cut, const uint8_t* text, Py_ssize_t* ends,
                              Py_ssize_t capacity) noexcept nogil
