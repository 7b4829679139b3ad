"""Memory in large pages, hash tables, growing arrays and moving in them (memory.h)."""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "headers/memory.h" nogil:
    void* bp_allocate(size_t bytes) noexcept
    void* bp_new_table(size_t size, int fill) noexcept
    void bp_free_table(void* table, size_t size) noexcept
    int bp_grow(void** array, uint64_t* capacity, uint64_t needed, size_t item) noexcept
    void bp_close_gap(uint32_t* ids, uint32_t* ranks, Py_ssize_t at, Py_ssize_t n) noexcept
    void bp_use_large_pages(void* memory, size_t bytes) noexcept
