"""A compiled split pattern: UTF-8 text in, ends of pre-tokens out."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "_scan_blocks.h" nogil:
    ctypedef struct scan_tables:
        const uint8_t* next
        const uint8_t* out
        uint32_t states
        uint32_t kinds


cdef struct scan_cursor:
    # One scan over one text; the caller owns it (on the stack, one per thread) and treats all but `done` as private.
    const uint8_t* text
    Py_ssize_t length      # bytes
    Py_ssize_t done        # every pre-token that ends at or before this offset has been given out
    bint final             # the end of the buffer is the end of the text
    # How far the machine is:
    Py_ssize_t position    # of the next byte it reads
    uint64_t leads         # which of the 64 bytes before `position` begin a character
    Py_ssize_t mark        # where its mark stands
    uint32_t state
    bint ended             # it has read the end of the text
    # Ends found and not given out yet, in this order:
    Py_ssize_t early       # one far back, or -1
    uint64_t before        # in the 64 bytes before `base`
    uint64_t ready         # in the 64 bytes from `base`
    Py_ssize_t base


cdef class Scanner:
    cdef readonly str kind                 # "vector" or "tables"
    cdef scan_tables tables
    cdef const uint16_t* stage             # code point // 64 -> page
    cdef const uint8_t* pages              # page * 64 + code point % 64 -> code
    cdef uint32_t mark_back                # how many characters back the mark is set
    cdef uint8_t stay, end                 # codes: the later bytes of a character, the end of the text
    cdef tuple owner                       # the objects that the pointers point into

    # Begin a scan of text[0:length]. With final true the end of the buffer is the end of the text; otherwise more may
    # follow, and only pre-tokens that no continuation can change are given out. Costs a few stores.
    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil

    # Go on after a buffer that was not final: text[0:length] now holds what was text[dropped:] before, and more behind
    # it. Only bytes before `done` may be dropped; offsets count from the new start of the buffer from here on.
    cdef void extend(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, Py_ssize_t dropped,
                     bint final) noexcept nogil

    # Write up to `capacity` ends (byte offsets from the start of text, ascending; the first pre-token starts at 0, each
    # next one where the one before ended) and return how many; 0 when nothing is left. The text must be valid UTF-8,
    # and a buffer that is not final must end between characters. Every byte is read once, whatever the text.
    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil

    cdef bint read_block(self, scan_cursor* cursor) noexcept nogil
    cdef uint64_t encode_block(self, const uint8_t* text, Py_ssize_t size, uint8_t* codes) noexcept nogil
    cdef uint64_t mark_of(self, uint64_t marks, uint64_t leads_before, uint64_t leads, uint64_t* before) noexcept nogil
