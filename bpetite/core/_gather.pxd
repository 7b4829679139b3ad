"""Ids that several threads make section by section, joined in order while they are made."""
from ._ids cimport IdMemory
from ._worker cimport Worker


cdef class Buffers:
    # The buffers of one thread.
    cdef list waiting                      # whose target is known
    cdef list spare                        # for the next sections


cdef class Buffer(IdMemory):
    cdef Buffers home                      # None once it has been put or dropped
    cdef Py_ssize_t skip                   # ids at the front that do not count
    cdef Buffer result                     # which the others go to
    cdef Py_ssize_t target                 # from this id on


cdef class Gather:
    cdef list threads                      # the buffers of each
    cdef list full                         # results that had no room left
    cdef Buffer result
    cdef bint alone                        # the first section may be the result as it is

    cdef Buffers buffers_of_thread(self)
    # Take the output of a thread's worker, which goes on with other memory.
    cdef Buffer take(self, Worker worker, Buffers buffers)
    # Give a buffer its target, after those put before; its thread copies it the next time it calls copy.
    cdef int put(self, Buffer buffer, Py_ssize_t skip) except -1
    cdef int copy(self, Buffers buffers) except -1
    # All ids, in memory of their own. Called after all threads have ended.
    cdef Buffer finish(self)


# Empty memory for so many ids, and at least one.
cdef Buffer new_buffer(Py_ssize_t capacity)

# A buffer whose ids are not wanted: its thread uses it for another section.
cdef int drop(Buffer buffer) except -1
