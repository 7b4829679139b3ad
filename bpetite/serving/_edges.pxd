"""The pieces between the edges of a text."""
from cpython.array cimport array

from ..headers cimport token_t


# Ids, as an array of uint32.
cdef array array_of(const token_t* ids, Py_ssize_t n)
