"""Memory for hash tables."""
cdef extern from "training/tables.h" nogil:
    void* bp_new_table(size_t size, int fill) noexcept
    void bp_free_table(void* table, size_t size) noexcept
