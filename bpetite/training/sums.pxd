"""Sums of counts that may not fit."""
from libc.stdint cimport int64_t

cdef extern from "training/sums.h" nogil:
    bint bp_add_overflows(int64_t* total, int64_t x) noexcept
