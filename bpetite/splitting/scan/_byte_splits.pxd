"""Splits of pre-tokens that see bytes, not characters: the steps of a tokenizer.json behind its ByteLevel."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t


cdef struct byte_cut:
    # A pre-token that is being cut: text[at:end] has not been read.
    Py_ssize_t start, at, end
    uint32_t state
    uint32_t cuts              # bit k: a cut k bytes before `at`


cdef class ByteSplits:
    # [state * 257 + byte]: the next state << 4, and bit k says that a cut is k bytes before this byte; 256 is the end.
    cdef const uint16_t* steps
    cdef bytes owner               # of the steps

    # Cut the pre-token text[start:end].
    cdef void begin(self, byte_cut* cut, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    # Write the next ends, at last the end of the pre-token, and return their number; 0 when none is left.
    # `capacity` is at least 5.
    cdef Py_ssize_t next_ends(self, byte_cut* cut, const uint8_t* text, Py_ssize_t* ends,
                              Py_ssize_t capacity) noexcept nogil
