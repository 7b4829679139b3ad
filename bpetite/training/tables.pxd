"""Memory for hash tables, and sums that may not fit."""
from libc.stdint cimport int64_t

cdef extern from "training/tables.h" nogil:
    void* bp_new_table(size_t size, int fill) noexcept
    void bp_free_table(void* table, size_t size) noexcept
    bint bp_add_overflows(int64_t* total, int64_t x) noexcept
