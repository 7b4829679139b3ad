"""Token ids to bytes and text."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from ..headers cimport bp_head, bp_joiner, bp_watch, token_t
from ..vocabulary._tokens cimport TokenTable


cdef struct id_view:
    # Positions of ids in the byte table of a Decoder.
    const uint32_t* positions
    Py_ssize_t n
    uint32_t* owned        # to be freed, or NULL
    bint held              # the buffer is to be released
    bp_watch watch


cdef class ByteTable:
    cdef object owner              # of the memory that the joiner points to
    cdef bp_joiner joiner
    cdef bp_head* heads
    cdef uint16_t* sizes

    # Lay out tokens 0..tokens-1 of a blob: token i is blob[starts[i]:starts[i + 1]] and gets the position positions[i],
    # or i where that is NULL; positions are below size. slot_of: position -> i + 1, NULL where the two are the same.
    cdef int fill(self, object owner, const uint8_t* blob, const uint64_t* starts, const uint32_t* slot_of,
                  const token_t* positions, Py_ssize_t tokens, size_t size) except -1


cdef class Decoder:
    cdef TokenTable tokens         # None before the set-up
    cdef ByteTable table
    cdef str errors

    cdef int set_up(self, TokenTable tokens, str errors) except -1
    cdef bytes decode_bytes(self, object ids)
    cdef str decode(self, object ids, object errors)
    cdef list decode_batch(self, object batch, object errors)
    # The name of an error handler, in C; the tokenizer's own where errors is None.
    cdef bytes handler(self, object errors)
    # (start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined.
    cdef list char_spans(self, object ids, bytes text)
    # The bytes of the tokens of a view, joined.
    cdef bytes join_view(self, id_view* view)
    # The ids of a view, which holds no positions any more.
    cdef const token_t* ids_of(self, id_view* view) noexcept
    # OUT: the positions of all ids in the byte table; an array of uint32 is read where it is. release_ids goes with it.
    cdef int read_ids(self, object ids, id_view* view, Py_buffer* buffer) except -1
    # The error to raise for an id, which is ids[index] or, where that is negative, stands alone.
    cdef object unknown(self, object token_id, Py_ssize_t index)


# buffer: may be NULL where nothing is held
cdef void release_ids(id_view* view, Py_buffer* buffer) noexcept
