"""One long text over several threads."""
from ._encode cimport Encoder


cdef class LongEncoder(Encoder):
    pass
