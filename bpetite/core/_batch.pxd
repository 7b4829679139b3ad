"""Ids as lists and arrays of Python."""
from libc.stdint cimport uint32_t

from ..headers cimport token_t
from ..headers.python cimport PyObject
from ._encode cimport Worker

# A list of ids that share their int objects with other lists.
cdef list list_of(const token_t* ids, Py_ssize_t n)

# The values of int objects up to the first that is none in 0..2^32-1, or n; returns how many. Objects of list_of are
# not read.
cdef Py_ssize_t values_of(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept

# The output of a worker as an array of uint32.
cdef object take_ids(Worker worker)

# The error of text i of n, to be raised.
cdef object of_text(object error, Py_ssize_t i, Py_ssize_t n)
