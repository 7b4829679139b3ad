"""A compiled split pattern: UTF-8 text in, ends of pre-tokens out."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "splitting/scan/scanner.h" nogil:
    enum: SCAN_SHORT

    # One scan over one text; the caller owns it (on the stack, one per thread) and treats it as private.
    ctypedef struct scan_cursor:
        const uint8_t* text
        Py_ssize_t length      # bytes
        bint final
        bint ended
        Py_ssize_t position
        uint64_t leads
        Py_ssize_t mark
        uint32_t state
        Py_ssize_t early
        uint64_t before
        Py_ssize_t base
        int block, blocks
        uint64_t ready[64]

    ctypedef struct scan_twos:
        pass

    ctypedef struct scan_tables:
        const uint8_t* next
        const uint8_t* out
        const uint8_t* column
        const uint8_t* synchronized
        uint32_t states, columns
        uint32_t used_bits
        uint32_t mark_back
        const uint16_t* stage
        const uint8_t* pages
        uint8_t continuation, end
        const scan_twos* twos

    ctypedef struct scan_paged:
        const uint8_t* row
        const uint8_t* page
        const uint8_t* values
        uint32_t pages, ascii_pages

    ctypedef struct scan_vector:
        scan_paged transition
        const uint8_t* next
        const uint8_t* out
        scan_paged subset
        uint8_t all_states


cdef object NO_PATTERN                     # the kind of a compiled class that finds its ends without a pattern


cdef class Scanner:
    cdef readonly int lanes                # of a long text that are read in parallel: 64, 4 or 1
    cdef int simd                          # the form of its loops (simd.h)
    cdef scan_tables tables
    cdef scan_twos* twos
    cdef scan_vector vector
    cdef object owner                      # the objects that the pointers point into

    # Begin a scan of text[0:length]. If `final` is true the end of the buffer is the end of the text; otherwise more
    # may follow, and only pre-tokens that no continuation can change are given out. Costs a few stores.
    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil

    # Write up to `capacity` ends (byte offsets from the start of text, ascending; each pre-token starts where the one
    # before ended) and return their number; 0 at the end. The text must be valid UTF-8, and a buffer that is not
    # final must end between characters. Every byte is read once, whatever the text.
    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil

    # All ends of a whole text of 1 to SCAN_SHORT - 1 bytes in valid UTF-8, without a cursor; returns their number, or 0
    # if only a scan finds them.
    cdef Py_ssize_t short_ends(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t* ends) noexcept nogil
