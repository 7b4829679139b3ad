"""A compiled split pattern: UTF-8 text in, ends of pre-tokens out."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef struct scan_cursor:
    # One scan over one text; the caller owns it (on the stack, one per thread) and treats all but `done` as private.
    const uint8_t* text
    Py_ssize_t length      # bytes
    Py_ssize_t done        # every pre-token that ends at or before this offset has been given out
    Py_ssize_t position
    uint64_t state
    bint final


cdef class Scanner:
    cdef readonly str kind                 # "vector" or "tables"

    # Begin a scan of text[0:length]. With final true the end of the buffer is the end of the text; otherwise more may
    # follow, and only pre-tokens that no continuation can change are given out.
    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil

    # Write up to `capacity` ends (byte offsets from the start of text, ascending; the first pre-token starts at 0, each
    # next one where the one before ended) and return how many; 0 when nothing is left. The text must be valid UTF-8.
    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil
