"""A compiled split pattern: UTF-8 text in, ends of pre-tokens out."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t


cdef extern from "splitting/scan/scanner.h" nogil:
    enum: SCAN_SHORT

    ctypedef struct scan_cursor:           # declared short, as the others: the header has the rest
        const uint8_t* text
        Py_ssize_t length, position
        bint final, ended

    ctypedef struct scan_paged:
        const uint8_t* row
        const uint8_t* page
        const uint8_t* values
        uint32_t pages, ascii_pages

    ctypedef struct scan_vector:
        scan_paged transition, subset
        const uint8_t* next
        const uint8_t* out
        uint8_t all_states

    ctypedef struct scan_tables:
        const uint8_t* next
        const uint8_t* out
        const uint8_t* column
        const uint8_t* synchronized
        uint32_t states, columns, used_bits, mark_back
        const uint16_t* page_of
        const uint8_t* pages
        uint8_t continuation, end
        const void* twos
        scan_vector vector
        int lanes, simd


cdef object NO_PATTERN                     # in place of tables, for a class that finds its ends without a pattern


cdef class Scanner:
    cdef scan_tables tables
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
