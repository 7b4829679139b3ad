"""Work that threads share: sections, taken one after the other; their ids are joined in order as they come."""
from ._encode cimport Encoder
from ._gather cimport Buffer, Buffers, Gather
from ._worker cimport Worker


cdef class Job:
    cdef Encoder encoder
    cdef Py_ssize_t count                  # of sections
    cdef list order                        # in which they are taken, or None for their own
    cdef Gather gather                     # or None where there are no ids to be joined
    cdef list made                         # section -> its ids, until they have been joined to those before
    cdef Py_ssize_t taken, joined          # of the sections
    cdef bint joining                      # some thread does
    cdef Py_ssize_t failed                 # the first section with an error; what follows it is not begun
    cdef object error
    cdef int stop                          # not 0 when the threads are to end

    # Encode all sections by several threads; `worker` is the calling one's. Raises the error of the first section that
    # has one, whatever the number of threads.
    cdef int run(self, Worker worker, Py_ssize_t threads) except -1

    # For those who inherit:
    # Encode one section; where ids are gathered, they are the worker's output.
    cdef int encode(self, Worker worker, Py_ssize_t section) except -1
    # Put the ids of a section to the gathered ones. Sections come in order, by one thread at a time; the worker's
    # output is empty.
    cdef int join(self, Worker worker, Buffers buffers, Buffer made, Py_ssize_t section) except -1
    # The error to raise for one met in a section.
    cdef object explain(self, object error, Worker worker)
