"""Checked arithmetic (arithmetic.h)."""
from libc.stdint cimport int64_t

cdef extern from "headers/arithmetic.h" nogil:
    bint bp_add_overflows(int64_t* total, int64_t x) noexcept
