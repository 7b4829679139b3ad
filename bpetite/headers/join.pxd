"""Token ids to bytes (join.h)."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "headers/join.h" nogil:
    enum:
        BP_HEAD
        BP_LONG_TOKEN
        BP_NOT_ASCII

    ctypedef struct bp_head:
        uint8_t bytes[16]

    ctypedef struct bp_joiner:
        const bp_head* heads
        const uint16_t* sizes
        const uint64_t* starts
        const uint8_t* blob
        const uint32_t* slot_of
        size_t size

    size_t bp_slot(const bp_joiner* joiner, uint32_t position) noexcept
    int64_t bp_join_size(const bp_joiner* joiner, const uint32_t* positions, Py_ssize_t n, unsigned* not_ascii,
                         uint32_t* unknown) noexcept
    uint8_t* bp_join(const bp_joiner* joiner, const uint32_t* positions, Py_ssize_t n, uint8_t* at, uint8_t* end,
                     unsigned not_ascii) noexcept
