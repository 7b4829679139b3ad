"""Token ids to bytes and text."""
from libc.stdint cimport uint16_t

from ..headers cimport bp_head, bp_joiner
from ..vocabulary._tokens cimport TokenTable


cdef class Decoder:
    cdef TokenTable tokens         # None before the set-up
    cdef bp_joiner joiner
    cdef bp_head* heads
    cdef uint16_t* sizes
    cdef str errors

    cdef int set_up(self, TokenTable tokens, str errors) except -1
    cdef bytes decode_bytes(self, object ids)
    cdef str decode(self, object ids, object errors)
    cdef list decode_batch(self, object batch, object errors)
    # The name of an error handler, in C; the tokenizer's own where errors is None.
    cdef bytes handler(self, object errors)
    # (start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined.
    cdef list char_spans(self, object ids, bytes text)
    # The error to raise for an id, which is ids[index] or, where that is negative, stands alone.
    cdef object unknown(self, object token_id, Py_ssize_t index)
