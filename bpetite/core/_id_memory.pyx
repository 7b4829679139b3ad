"""The allocator of all memory for token ids: results change hands between modules (id_memory.h)."""
from libc.stdint cimport uint32_t

from ..headers cimport token_t

cdef extern from "headers/id_memory.h" nogil:
    uint32_t* bp_ids_grow(uint32_t* ids, Py_ssize_t used, Py_ssize_t* capacity, Py_ssize_t wanted) noexcept
    uint32_t* bp_ids_trim(uint32_t* ids, Py_ssize_t used, Py_ssize_t* capacity) noexcept
    void bp_ids_free(uint32_t* ids, Py_ssize_t capacity) noexcept


cdef token_t* ids_grow(token_t* ids, Py_ssize_t used, Py_ssize_t* capacity, Py_ssize_t wanted) noexcept nogil:
    return bp_ids_grow(ids, used, capacity, wanted)


cdef token_t* ids_trim(token_t* ids, Py_ssize_t used, Py_ssize_t* capacity) noexcept nogil:
    return bp_ids_trim(ids, used, capacity)


cdef void ids_free(token_t* ids, Py_ssize_t capacity) noexcept nogil:
    bp_ids_free(ids, capacity)
