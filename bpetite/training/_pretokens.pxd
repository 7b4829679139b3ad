"""Pre-tokens with their counts, one after the other: what counting gives and merging takes (_pretokens.pyx)."""
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t


cdef inline bint add_overflows(int64_t* total, int64_t x) noexcept nogil:
    """Add to a sum; True where it does not fit, and then it stays."""
    if total[0] > INT64_MAX - x if x > 0 else total[0] < INT64_MIN - x:
        return True
    total[0] += x
    return False


cdef class PretokenReader:
    cdef const uint8_t* data           # until the next pre-token is asked for
    cdef Py_ssize_t length
    cdef int64_t count

    # Go on to the next pre-token; False after the last.
    cdef bint advance(self) except -1 nogil
