"""Token ids handed to Python: lists that share their int objects, arrays that own their memory."""
from libc.stdint cimport uint32_t

from ..headers cimport token_t
from ..headers.python cimport PyObject
from ._encode cimport Worker


cdef class IdMemory:
    cdef token_t* ids              # of bp_resize; in fact uint16 where the width is 2
    cdef Py_ssize_t used
    cdef int width                 # bytes of an id


# A list of ids that share their int objects with other lists.
cdef list list_of(const token_t* ids, Py_ssize_t n)

# The values of int objects up to the first that is none in 0..2^32-1, or n; returns how many. Objects of list_of are
# not read.
cdef Py_ssize_t values_of(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept

# An array of the ids that are used.
cdef object array_of(IdMemory memory)

# The output of a worker as an array of uint32, or uint16.
cdef object take_ids(Worker worker)
