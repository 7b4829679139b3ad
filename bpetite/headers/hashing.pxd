"""Keyed hashes (hashing.h), and the secret that a module draws for them when it is imported."""
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef extern from "headers/hashing.h" nogil:
    ctypedef struct bp_secret:
        uint64_t words[4]
        uint64_t odd[2]
    uint64_t bp_mix(const bp_secret* secret, uint64_t x) noexcept
    uint64_t bp_hash_key(const bp_secret* secret, uint64_t low, uint64_t high) noexcept
    uint64_t bp_hash_long(const bp_secret* secret, const uint8_t* p, size_t n) noexcept
    uint64_t bp_hash_bytes(const bp_secret* secret, const uint8_t* p, size_t n) noexcept
    bint bp_filter_has(const uint64_t* bits, int shift, const bp_secret* secret, uint64_t pair) noexcept
    void bp_filter_add(uint64_t* bits, int shift, const bp_secret* secret, uint64_t pair) noexcept


# OUT: a secret from the system's source of random bytes.
cdef inline bp_secret draw_secret() except *:
    cdef bp_secret secret
    from os import urandom
    cdef bytes drawn = urandom(sizeof(bp_secret))
    memcpy(&secret, PyBytes_AS_STRING(drawn), sizeof(bp_secret))
    secret.odd[0] |= 1
    secret.odd[1] |= 1
    return secret
