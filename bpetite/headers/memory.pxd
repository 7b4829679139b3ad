"""Memory in large pages (memory.h)."""

cdef extern from "headers/memory.h" nogil:
    void* bp_allocate(size_t bytes) noexcept
