"""Token ids to bytes and text."""
from libc.stdint cimport uint32_t

from .._merge cimport ByteJoin
from ..vocabulary._tokens cimport TokenTable


cdef class Decoder:
    cdef TokenTable tokens         # None before the set-up
    cdef ByteJoin tables           # None before ids are first decoded
    cdef ByteJoin shown            # the text of tokens, which are `texts` or the tokens themselves
    cdef TokenTable texts
    cdef bint rewrites             # there are
    cdef dict gaps                 # id -> spaces at its end that the last token of a text loses; None for none
    cdef void* filled              # NULL until then
    cdef object vocab
    cdef bytes skips               # position -> 1 for a special token that is skipped; None before any is
    cdef str errors
    cdef int strip                 # the spaces that go from the beginning of a text, see STRIPS
    cdef frozenset byte_tokens     # the ids of byte tokens, whose runs are replaced as a whole; or None
    cdef frozenset unstripped      # the ids of tokens whose spaces are spelled as spaces

    cdef int set_up(self, TokenTable tokens, object vocab) except -1
    cdef int fill(self) except -1  # the tables, when ids are first decoded
    # With `skip`, special tokens give nothing; with `middle`, no spaces go from the beginning.
    cdef bytes decode_bytes(self, object ids, bint skip=*, bint middle=*)
    cdef str decode(self, object ids, object errors, bint skip=*)
    cdef list decode_batch(self, object batch, object errors, bint skip)
    # The name of an error handler, in C; the tokenizer's own where errors is None.
    cdef bytes handler(self, object errors)
    cdef str replace(self, object ids)
    # The spaces that a text loses after a token, by its position.
    cdef Py_ssize_t gap(self, uint32_t position) except -1
    # (start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined.
    cdef list char_spans(self, object ids, bytes text)
    # The error to raise for an id, which is ids[index] or, where that is negative, stands alone.
    cdef object unknown(self, object token_id, Py_ssize_t index)
