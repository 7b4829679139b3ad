"""Many texts at once, over several threads: lists, one flat array with offsets; and how threads share a job."""
from ..headers cimport token_t
from ._dropout cimport Dropout
from ._encode cimport Encoder
from ._ids cimport IdMemory
from ._special cimport Specials
from ._worker cimport Worker


cdef class TaskIds(IdMemory):
    cdef token_t* place                    # in the result; NULL while it is not known


cdef class Gather:
    cdef list results                      # each but the last had no more room
    cdef Py_ssize_t room                   # ids in the last one
    cdef list threads                      # of each, the tasks that wait for their place

    cdef int begin(self, Py_ssize_t room) except -1
    # Give the ids of a task their place, after those put before; the thread that has them in its list copies them.
    cdef int put(self, TaskIds ids) except -1
    # All ids, in memory of their own. Called after all threads have ended.
    cdef IdMemory finish(self)


cdef class Job:
    cdef Encoder encoder
    cdef Py_ssize_t count                  # of tasks
    cdef list order                        # in which they are taken, or None for their own
    cdef Gather gather                     # or None where there are no ids to be joined
    cdef list made                         # task -> its ids, until they have been joined to those before
    cdef Py_ssize_t taken, joined          # of the tasks
    cdef bint joining                      # some thread does
    cdef Py_ssize_t failed                 # the first task with an error; what follows it is not begun
    cdef object error
    cdef int stop                          # not 0 when the threads are to end

    # Encode all tasks by several threads; `worker` is the calling one's. Raises the error of the first task that
    # has one, whatever the number of threads.
    cdef int run(self, Worker worker, Py_ssize_t threads) except -1

    # For those who inherit:
    # Encode one task; where ids are gathered, they are the worker's output.
    cdef int encode(self, Worker worker, Py_ssize_t task) except -1
    # The error to raise for one met in a task.
    cdef object explain(self, object error, Worker worker)


# Append the ids of a text, which several threads share if it is long and the scanner certainly cuts it somewhere.
cdef int encode_long(Encoder encoder, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1

# In the others: special tokens of `specials` are recognised, those of `refused` (or None) raise. With dropout, text i
# is text number i. `around` has the ids that are put before, and those put behind, the ids of each text.

# A list of ids for each text.
cdef list encode_lists(Encoder encoder, object texts, Specials specials, Specials refused, Py_ssize_t threads,
                       tuple around, Dropout dropout)

# The error of text i of n, to be raised.
cdef object of_text(object error, Py_ssize_t i, Py_ssize_t n)

# uint32 ids of all texts and int64 offsets.
cdef tuple encode_flat(Encoder encoder, object texts, Specials specials, Specials refused, Py_ssize_t threads,
                       tuple around, Dropout dropout)

# int64[n]: how many ids each text has.
cdef object count_each(Encoder encoder, object texts, Specials specials, Specials refused, Py_ssize_t threads,
                       tuple around, Dropout dropout)
