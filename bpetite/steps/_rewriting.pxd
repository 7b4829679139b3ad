"""Text rewritten before it is encoded, by tables that threads share."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

cdef extern from "headers/normal_form.h" nogil:
    ctypedef struct bp_buffer:
        uint8_t* bytes
        Py_ssize_t filled, capacity

    void bp_buffer_drop(bp_buffer* buffer, Py_ssize_t n) noexcept

    ctypedef struct bp_form:
        uint16_t* values
        uint32_t* starts
        uint32_t* decomposed
        bint composes


cdef class Rewriter:
    # Nothing changes after construction.
    cdef readonly bint keeps_ascii         # ASCII stays as it is

    # The length of the beginning of text[0:n], valid UTF-8 of whole characters, that no further text changes, never all
    # of it; n if it is `final`.
    cdef Py_ssize_t closed(self, const uint8_t* text, Py_ssize_t n, bint final) noexcept nogil
    # True if such a text stays as it is.
    cdef bint keeps(self, const uint8_t* text, Py_ssize_t n) noexcept nogil
    # Append what such a text becomes; false without memory.
    cdef bint append(self, const uint8_t* text, Py_ssize_t n, bp_buffer* out) noexcept nogil


cdef class NormalForm(Rewriter):
    cdef bp_form form
