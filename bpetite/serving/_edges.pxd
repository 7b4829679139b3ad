"""The pieces between the edges of a text."""
from cpython.array cimport array

from ..engine._reader cimport Reader


# The ids of tokens that the reader keeps, as an array of uint32.
cdef array ids_of(Reader reader, Py_ssize_t start, Py_ssize_t end)
