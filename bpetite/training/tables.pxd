"""Hash tables and filters of counts, and sums that may not fit."""
from libc.stdint cimport int64_t, uint64_t

from ..headers cimport bp_secret

cdef extern from "training/tables.h" nogil:
    void* bp_new_table(size_t size, int fill) noexcept
    void bp_free_table(void* table, size_t size) noexcept
    bint bp_filter_has(const uint64_t* bits, int shift, const bp_secret* secret, uint64_t pair) noexcept
    void bp_filter_add(uint64_t* bits, int shift, const bp_secret* secret, uint64_t pair) noexcept
    bint bp_add_overflows(int64_t* total, int64_t x) noexcept
