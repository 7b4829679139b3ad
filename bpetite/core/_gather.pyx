"""Ids that several threads make section by section, joined in order while they are made.

The number of ids in a section is known once it is encoded, their offset in the result once all earlier sections are.
So each section has memory of its own, and its thread copies it soon after the offset is known, while the ids are still
in that processor's cache. The thread then uses the memory again for another section. Copying everything at the end took
a tenth of the whole time, and passing memory from thread to thread a fifth.

All methods are called with the interpreter lock held; only the copying itself releases it. Sections are put by one
thread at a time; what another thread reads and changes at the same time is in critical sections (_parallel.pyx).
"""
cimport cython
from libc.string cimport memcpy

from ..headers cimport token_t
from ._id_memory cimport ids_free, ids_grow, ids_trim
from ._ids cimport IdMemory
from ._worker cimport Worker

cdef class Buffers:
    """The buffers of one thread."""


cdef class Buffer(IdMemory):
    """Memory with the ids of a section."""


cdef Buffer new_buffer(Py_ssize_t capacity):
    cdef Buffer buffer = Buffer()
    buffer.ids = ids_grow(NULL, 0, &buffer.capacity, capacity + 1)
    if buffer.ids == NULL:
        raise MemoryError()
    return buffer


cdef int drop(Buffer buffer) except -1:
    cdef Buffers buffers = buffer.home
    buffer.home = None                             # else it and its home would be left to the cyclic collector
    buffer.used = 0
    buffers.spare.append(buffer)
    return 0


cdef class Gather:
    """The ids of all sections, in order.

    Args:
        guess: Their expected number; 0 for a single section. Memory that is not written to costs nothing. After a
            guess that was too low, more is allocated, and everything is joined at the end.
    """

    def __cinit__(self, Py_ssize_t guess):
        self.threads, self.full = [], []
        self.result = new_buffer(guess)
        self.alone = guess == 0

    cdef Buffers buffers_of_thread(self):
        cdef Buffers buffers = Buffers()
        buffers.waiting, buffers.spare = [], []
        self.threads.append(buffers)
        return buffers

    cdef Buffer take(self, Worker worker, Buffers buffers):
        cdef Buffer taken = Buffer(), other
        taken.home = buffers
        taken.ids, taken.used, taken.capacity = worker.out, worker.used, worker.capacity
        worker.out, worker.used, worker.capacity = NULL, 0, 0
        if buffers.spare:
            other = buffers.spare.pop()
            worker.out, worker.capacity = other.ids, other.capacity
            other.ids, other.capacity = NULL, 0
        return taken

    cdef int put(self, Buffer buffer, Py_ssize_t skip) except -1:
        cdef Py_ssize_t count = buffer.used - skip
        cdef Buffers buffers = buffer.home
        buffer.home = None                         # see drop
        if self.alone:
            self.alone = False
            if not skip:
                self.result = buffer               # the only one, most likely
                return 0
        if self.result.capacity - self.result.used < count:
            self.full.append(self.result)
            self.result = new_buffer(max(count, self.result.capacity // 2))
        buffer.skip = skip
        buffer.result, buffer.target = self.result, self.result.used
        self.result.used += count
        with cython.critical_section(buffers):
            buffers.waiting.append(buffer)
        return 0

    cdef int copy(self, Buffers buffers) except -1:
        cdef Buffer buffer
        cdef token_t* to
        cdef const token_t* ids
        cdef Py_ssize_t size
        cdef list waiting, others = []             # other threads add to `others` while this one copies
        with cython.critical_section(buffers):
            waiting, buffers.waiting = buffers.waiting, others
        for buffer in waiting:
            to, size = buffer.result.ids + buffer.target, buffer.used - buffer.skip
            ids = buffer.ids + buffer.skip
            if size > 0:                           # else there may be no memory
                with nogil:
                    memcpy(to, ids, size * sizeof(token_t))
            buffer.result = None
            buffer.used = 0
            buffers.spare.append(buffer)
        return 0

    cdef Buffer finish(self):
        cdef Buffer all = self.result, each
        cdef Buffers buffers
        cdef Py_ssize_t total = self.result.used
        for buffers in self.threads:
            self.copy(buffers)
        if self.full:
            for each in self.full:
                total += each.used
            all = new_buffer(total)
            for each in [*self.full, self.result]:
                if each.used:
                    memcpy(all.ids + all.used, each.ids, each.used * sizeof(token_t))
                all.used += each.used
                ids_free(each.ids, each.capacity)
                each.ids = NULL
                each.capacity = 0
        else:
            all.ids = ids_trim(all.ids, total, &all.capacity)
        return all
