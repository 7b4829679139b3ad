"""Token ids handed to Python: lists that share their int objects, arrays that own their memory."""
from cpython.ref cimport PyObject

from ..headers cimport token_t
from ._worker cimport Worker


cdef class IdLists:
    cdef list owner                # of the int objects
    cdef PyObject** objects        # id -> object; NULL where ids are too large for a table
    cdef PyObject** turns          # see id_lists.h

    # A list of ids, each one of the vocabulary's.
    cdef list make(self, const token_t* ids, Py_ssize_t n)


cdef class IdMemory:
    cdef token_t* ids              # of ids_grow
    cdef Py_ssize_t used, capacity


# An array of uint32 of the ids that are used.
cdef object array_of(IdMemory memory)

# The output of a worker as an array of uint32.
cdef object take_ids(Worker worker)
