"""Token ids to bytes and text."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from ..headers.types cimport token_t
from ..vocabulary._tokens cimport TokenTable

cdef extern from "headers/join.h" nogil:
    enum: BP_LONG_TOKEN
    enum: BP_NOT_ASCII

    ctypedef struct bp_piece:
        uint8_t bytes[16]

    ctypedef struct bp_joiner:
        const bp_piece* pieces
        const uint16_t* sizes
        const uint64_t* starts
        const uint8_t* blob
        const uint32_t* slot_of
        size_t places

    int64_t bp_join_size(const bp_joiner* joiner, const uint32_t* places, Py_ssize_t n, unsigned* not_ascii) noexcept
    void bp_join(const bp_joiner* joiner, const uint32_t* places, Py_ssize_t n, uint8_t* out, int64_t total) noexcept


cdef struct id_view:
    # Places of ids in the tables of a Decoder.
    const uint32_t* places
    Py_ssize_t n
    uint32_t* owned        # to be freed, or NULL
    bint held              # the buffer is to be released


cdef class Decoder:
    cdef TokenTable _tokens        # None before the set-up
    cdef str _errors
    cdef bp_joiner joiner
    cdef bp_piece* pieces
    cdef uint16_t* sizes

    cdef int _set_tokens(self, TokenTable tokens, str errors) except -1
    cdef int _read_ids(self, object ids, id_view* view, Py_buffer* buffer) except -1
    cdef void _to_places(self, uint32_t* places, Py_ssize_t n) noexcept
    cdef object _unknown(self, object ids, Py_ssize_t index)
