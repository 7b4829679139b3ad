"""Text of token ids that arrive one at a time."""
cimport cython
from libc.stdint cimport uint8_t

from ._decode cimport Decoder


@cython.final
cdef class StreamDecoder:
    cdef Decoder decoder
    cdef bytes handler             # the name of the error handler
    cdef frozenset skipped         # ids that give no text, or None
    cdef uint8_t open[4]           # the bytes of a character that is not complete: three at most
    cdef Py_ssize_t held           # how many there are

    # The text that an id completes.
    cdef str one(self, object token_id)
    cdef str many(self, object ids)
    cdef str read(self, const uint8_t* data, Py_ssize_t size)
