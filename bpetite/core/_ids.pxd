"""Token ids handed to Python: lists that share their int objects, arrays that own their memory."""
from ..headers cimport token_t
from ._worker cimport Worker


cdef class IdMemory:
    cdef token_t* ids              # of ids_grow
    cdef Py_ssize_t used, capacity


# A list of ids that share their int objects with other lists.
cdef list list_of(const token_t* ids, Py_ssize_t n)

# An array of uint32 of the ids that are used.
cdef object array_of(IdMemory memory)

# The output of a worker as an array of uint32.
cdef object take_ids(Worker worker)
