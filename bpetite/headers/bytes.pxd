"""Loads, keys and prefetches of byte strings (bytes.h)."""
from libc.stdint cimport uint8_t, uint64_t

cdef extern from "headers/bytes.h" nogil:
    enum:
        BP_KEY_BYTES
        BP_KEY_READ
    ctypedef struct bp_key:
        uint64_t low
        uint64_t high
    void BP_PREFETCH(const void* address) noexcept
    uint64_t bp_load64(const void* p) noexcept
    bp_key bp_load_key(const uint8_t* p, size_t n) noexcept
    bp_key bp_load_last_key(const uint8_t* p, size_t n) noexcept
