"""One long text over several threads."""
from ._encode cimport Encoder
from ._special cimport Specials
from ._worker cimport Worker
from libc.stdint cimport uint8_t


cdef class LongEncoder(Encoder):
    cdef Py_ssize_t _run_parts(self, Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length,
                               bint final, Py_ssize_t threads, object given) except -1
