"""A heap of pairs to merge (heap.h)."""
from libc.stdint cimport uint32_t, uint64_t

cdef extern from "headers/heap.h" nogil:
    void bp_sift_down(uint64_t* heap, Py_ssize_t size, Py_ssize_t at) noexcept
    Py_ssize_t bp_push(uint64_t* heap, Py_ssize_t size, uint32_t rank, uint32_t position) noexcept
