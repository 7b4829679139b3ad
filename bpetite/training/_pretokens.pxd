"""Pre-tokens with their counts, one after the other: what counting gives and merging takes (_pretokens.pyx)."""
from libc.stdint cimport int64_t, uint8_t


cdef class PretokenReader:
    cdef const uint8_t* data           # until the next pre-token is asked for
    cdef Py_ssize_t length
    cdef int64_t count

    # Go on to the next pre-token; False after the last.
    cdef bint advance(self) except -1 nogil
