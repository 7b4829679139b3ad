"""Text rewritten before it is encoded, by tables that threads share."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef extern from "headers/normal_form.h" nogil:
    ctypedef struct bp_buffer:
        uint8_t* bytes
        Py_ssize_t filled, capacity

    bint bp_buffer_add(bp_buffer* buffer, const uint8_t* text, Py_ssize_t n) noexcept
    void bp_buffer_drop(bp_buffer* buffer, Py_ssize_t n) noexcept

    ctypedef struct bp_form:
        uint16_t* values
        uint32_t* starts
        uint32_t* decomposed
        bint composes

cdef extern from "headers/charsmap.h" nogil:
    ctypedef struct bp_charsmap:
        const uint32_t* units
        size_t count
        const uint8_t* made
        size_t length
        bint trims


cdef class Rewriter:
    # Nothing changes after construction.
    cdef readonly bint keeps_ascii         # ASCII stays as it is
    cdef bint in_place                     # what stays as it is, can be encoded where it is
    cdef bint prefix_first                 # a prefix comes before a text, also if that becomes nothing

    # The length of the beginning of text[0:n], valid UTF-8 of whole characters, that no further text changes, never all
    # of it; n if it is `final`. -1 if it does not stay as it is.
    cdef Py_ssize_t kept(self, const uint8_t* text, Py_ssize_t n, bint final) noexcept nogil
    # Append what such a beginning becomes. Returns its length, or -1 without memory.
    cdef Py_ssize_t append(self, const uint8_t* text, Py_ssize_t n, bint final, bp_buffer* out) noexcept nogil
    # The bytes at the end of what was appended that go if no text follows.
    cdef Py_ssize_t trailing(self, const bp_buffer* out) noexcept nogil


cdef class NormalForm(Rewriter):
    cdef bp_form form


cdef class CharsMap(Rewriter):
    cdef bp_charsmap map
    cdef Rewriter first                    # or None
    cdef uint32_t* units
    cdef bytes data                        # keeps the replacements alive
