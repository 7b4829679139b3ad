"""Token ids to bytes and text."""
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

    # With `skip`, special tokens give nothing; with `middle`, no spaces go from the beginning.
    cdef bytes decode_bytes(self, object ids, bint skip=*, bint middle=*)
    cdef str decode(self, object ids, object errors, bint skip=*)
