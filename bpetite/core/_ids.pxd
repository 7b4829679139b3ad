"""Token ids handed to Python: lists that share their int objects, arrays that own their memory."""
from cpython.ref cimport PyObject

from ..headers cimport token_t
from ._worker cimport Worker


cdef class IdLists:
    cdef list owner                # of the int objects
    cdef PyObject** objects        # id -> object; NULL where ids are too large for a table
    cdef PyObject** turns          # see id_lists.h

    cdef PyObject* keep(self, object value)
    # A list of ids, each one of the vocabulary's.
    cdef list make(self, const token_t* ids, Py_ssize_t n)


# An array of uint32 that frees `ids` (ids_free) when it goes.
cdef object own_ids(token_t* ids, Py_ssize_t n, Py_ssize_t capacity)

# What a worker has put out as an array of uint32.
cdef object take_ids(Worker worker)

# The same of any ids, which are copied.
cdef object copy_ids(const token_t* ids, Py_ssize_t n)
