"""Pairs of token ids and their ranks (pairs.h)."""
from libc.stdint cimport uint32_t, uint64_t

from .hashing cimport bp_secret

cdef extern from "headers/pairs.h" nogil:
    ctypedef struct bp_pair_entry:
        uint64_t pair
        uint32_t rank

    ctypedef struct bp_pairs:
        bp_pair_entry* entries
        uint32_t* joined
        uint64_t mask
        int shift

    bint bp_pairs_init(bp_pairs* pairs, const bp_secret* secret, uint64_t count, uint64_t ranks) noexcept
    void bp_pairs_free(bp_pairs* pairs) noexcept
    bint bp_pairs_add(bp_pairs* pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t joined) noexcept
    uint64_t bp_pair_hash(const bp_pairs* pairs, uint32_t left, uint32_t right) noexcept
    uint32_t bp_pair_rank(const bp_pairs* pairs, uint32_t left, uint32_t right) noexcept
