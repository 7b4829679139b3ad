"""Token ids to bytes and text."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from ..vocabulary._tokens cimport TokenTable

cdef extern from "core/join.h" nogil:
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


cdef class Decoder:
    cdef TokenTable tokens         # None before the set-up
    cdef bp_joiner joiner
    cdef bp_head* heads
    cdef uint16_t* sizes
    cdef void* filled              # NULL before the tables of the joiner are there
    cdef object vocab
    cdef bytes skips               # position -> 1 for a special token that is skipped; None before any is
    cdef str errors
    cdef int strip                 # the spaces that go from the beginning of a text, see STRIPS
    cdef frozenset byte_tokens     # the ids of byte tokens, whose runs are replaced as a whole; or None
    cdef frozenset unstripped      # the ids of tokens whose spaces are spelled as spaces

    cdef int set_up(self, TokenTable tokens, object vocab) except -1
    cdef int fill(self) except -1  # the tables of `joiner`, when ids are first decoded
    # With `skip`, special tokens give nothing; with `middle`, no spaces go from the beginning.
    cdef bytes decode_bytes(self, object ids, bint skip=*, bint middle=*)
    cdef str decode(self, object ids, object errors, bint skip=*)
    cdef list decode_batch(self, object batch, object errors, bint skip)
    # The name of an error handler, in C; the tokenizer's own where errors is None.
    cdef bytes handler(self, object errors)
    cdef str replace(self, object ids)
    # (start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined.
    cdef list char_spans(self, object ids, bytes text)
    # The error to raise for an id, which is ids[index] or, where that is negative, stands alone.
    cdef object unknown(self, object token_id, Py_ssize_t index)
