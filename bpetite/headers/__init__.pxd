"""The C that several rooms share, as Cython sees it; vectors.pxd declares what takes vector instructions.

A module includes every header that is declared here, so that none of them may be slow to compile: the compiler's own
header of vector instructions is.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .python cimport PyBytes_AS_STRING

ctypedef uint32_t token_t  # a token id: 0..2^32-1

cdef enum:
    SPACE = 32

cdef extern from "headers/bytes.h" nogil:
    enum:
        BP_KEY_BYTES
        BP_KEY_READ
        BP_CODE_POINTS
    ctypedef struct bp_key:
        uint64_t low
        uint64_t high
    void BP_PREFETCH(const void* address) noexcept
    int bp_lowest_bit(uint64_t mask) noexcept
    bp_key bp_load_key(const uint8_t* p, size_t n) noexcept
    bp_key bp_load_last_key(const uint8_t* p, size_t n) noexcept
    Py_ssize_t bp_utf8_character(const uint8_t* text, Py_ssize_t n, uint32_t* code) noexcept
    uint8_t* bp_utf8_put(uint8_t* to, uint32_t c) noexcept

cdef extern from "headers/hashing.h" nogil:
    ctypedef struct bp_secret:
        uint64_t random[4]
        uint64_t odd[2]
    uint64_t bp_mix(const bp_secret* secret, uint64_t x) noexcept
    uint64_t bp_hash_key(const bp_secret* secret, uint64_t low, uint64_t high) noexcept
    uint64_t bp_hash_long(const bp_secret* secret, const uint8_t* p, size_t n) noexcept
    uint64_t bp_hash_bytes(const bp_secret* secret, const uint8_t* p, size_t n) noexcept

cdef extern from "headers/heap.h" nogil:
    void bp_sift_down(uint64_t* heap, Py_ssize_t size, Py_ssize_t at) noexcept
    Py_ssize_t bp_push(uint64_t* heap, Py_ssize_t size, uint32_t rank, uint32_t position) noexcept

cdef extern from "headers/memory.h" nogil:
    void* bp_zeros(size_t bytes) noexcept
    void* bp_resize(void* memory, size_t bytes) noexcept
    void bp_free(void* memory) noexcept
    int bp_grow(void** array, uint64_t* capacity, uint64_t needed, size_t item) noexcept
    void bp_close_gap(uint32_t* ids, uint32_t* ranks, Py_ssize_t at, Py_ssize_t n) noexcept
    void bp_use_large_pages(void* memory, size_t bytes) noexcept

cdef extern from "headers/pairs.h" nogil:
    ctypedef struct bp_pair_entry:
        uint64_t pair
        uint32_t rank
    ctypedef struct bp_pairs:
        bp_pair_entry* entries
        uint32_t* low
        uint64_t* filter
        uint64_t filter_mask
        uint32_t* joined
        uint64_t mask
        int shift
        bp_secret secret
    enum: BP_LOW_IDS
    const uint32_t BP_NO_MERGE
    bint bp_pairs_init(bp_pairs* pairs, const bp_secret* secret, uint64_t count, uint64_t ranks) noexcept
    void bp_pairs_free(bp_pairs* pairs) noexcept
    bint bp_pairs_add(bp_pairs* pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t joined) noexcept
    uint64_t bp_pair_hash(const bp_pairs* pairs, uint32_t left, uint32_t right) noexcept
    uint32_t bp_pair_rank(const bp_pairs* pairs, uint32_t left, uint32_t right) noexcept

cdef extern from "headers/watch.h" nogil:
    ctypedef struct bp_watch:
        bint interrupted
    void bp_watch_begin(bp_watch* watch, const int* stop) noexcept
    void bp_stop(int* stop) noexcept
    bint bp_work(bp_watch* watch, Py_ssize_t bytes) noexcept

cdef extern from "headers/watch.h":
    int bp_watch_check(const bp_watch* watch) except -1


# A secret for keyed hashes, of the system's random bytes; each module draws its own.
cdef inline bp_secret draw_secret() except *:
    from os import urandom
    cdef bytes drawn = urandom(sizeof(bp_secret))
    cdef bp_secret secret
    memcpy(&secret, PyBytes_AS_STRING(drawn), sizeof(bp_secret))
    secret.odd[0] |= 1
    secret.odd[1] |= 1
    return secret
