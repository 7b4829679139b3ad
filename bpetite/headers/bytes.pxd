"""Loads and hashes of byte strings (bytes.h)."""
from libc.stdint cimport uint8_t, uint64_t

cdef extern from "headers/bytes.h" nogil:
    uint64_t bp_mix(uint64_t x) noexcept
    uint64_t bp_load64(const void* p) noexcept
    uint64_t bp_hash_bytes(const uint8_t* p, size_t n) noexcept
