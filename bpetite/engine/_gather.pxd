"""Ids that several threads make part by part, put in order while they are made."""
from ..headers.types cimport token_t
from ._worker cimport Worker


cdef class Share:
    # What one thread has of it.
    cdef list waiting                      # its buffers that have a place
    cdef list spare                        # its buffers for the next parts


cdef class Buffer:
    cdef Share share
    cdef token_t* ids
    cdef Py_ssize_t used, capacity
    cdef Py_ssize_t skip                   # of the ids, so many do not count
    cdef token_t* place                    # where the others belong


cdef class Gather:
    cdef list shares
    cdef list full                         # results that had no room left
    cdef Buffer result

    cdef Share share(self)
    # Take what a thread's worker has put out; it goes on with other memory.
    cdef Buffer take(self, Worker worker, Share share)
    # Put a buffer behind those put before; its thread copies it when it comes by.
    cdef int put(self, Buffer buffer, Py_ssize_t skip) except -1
    cdef void drop(self, Buffer buffer)
    cdef int copy(self, Share share) except -1
    # All ids, in memory of their own. No thread is at work any more.
    cdef Buffer finish(self)
