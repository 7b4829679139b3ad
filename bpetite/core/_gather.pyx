"""Ids that several threads make section by section, joined in order while they are made.

The number of ids in a section is known when it is made, their offset in the result when all before them are. So each
section is made in memory of its own, and the thread that made it copies it soon after its offset is known, while it is
still in that processor's cache; so is the memory when the thread uses it again for another section. Copying everything
at the end took a tenth of the whole time, and passing memory from thread to thread a fifth. A result of more than two
large pages is written past the caches, where the processor can.

The first write to a page makes the kernel clear it, and where several threads write to one large page at once, each
clears one, of which one is kept. So a page is touched by the first thread that has ids for it; the others go on with
their next sections meanwhile, and copy theirs afterwards.

All methods are called with the interpreter lock held; only the copying itself releases it.
"""
from libc.string cimport memcpy

from ..headers cimport token_t
from ._id_memory cimport ids_copy_past_caches, ids_free, ids_grow, ids_trim
from ._worker cimport Worker

cdef enum:
    PAGE_IDS = 1 << 19         # of a large page

cdef enum:                     # a large page of the result
    FRESH, CLAIMED, TOUCHED

cdef Py_ssize_t MOST_KEPT = 1 << 21        # ids; 8 MiB

cdef list kept = []            # buffers for the sections of later calls: memory whose pages have been cleared
cdef Py_ssize_t kept_ids = 0   # that they have room for


cdef class Share:
    """The memory of one thread."""


cdef class Buffer:
    """Memory with token ids."""

    def __dealloc__(self):
        ids_free(self.ids, self.capacity)


cdef Buffer new_buffer(Py_ssize_t capacity):
    cdef Buffer buffer = Buffer()
    buffer.ids = ids_grow(NULL, 0, &buffer.capacity, capacity + 1)
    if buffer.ids == NULL:
        raise MemoryError()
    if buffer.capacity > 2 * PAGE_IDS:
        buffer.pages = bytearray(buffer.capacity // PAGE_IDS + 1)
    return buffer


cdef Buffer take_kept():
    global kept_ids
    cdef Buffer buffer = kept.pop() if kept else None
    if buffer is not None:
        kept_ids -= buffer.capacity
    return buffer


cdef int keep(list buffers) except -1:
    global kept_ids
    cdef Buffer buffer
    for buffer in buffers:
        if kept_ids + buffer.capacity <= MOST_KEPT:
            buffer.share = None
            kept.append(buffer)
            kept_ids += buffer.capacity
    return 0


cdef class Gather:
    """The ids of all sections, in order.

    Args:
        guess: How many there may be; 0 where one section is all. Memory that is not written to costs nothing; when the
            guess was too low, more is allocated, and all is joined at the end.
    """

    def __cinit__(self, Py_ssize_t guess):
        self.shares, self.full = [], []
        self.result = new_buffer(guess)
        self.alone = guess == 0

    cdef Share share(self):
        cdef Share share = Share()
        share.waiting, share.spare = [], []
        self.shares.append(share)
        return share

    cdef Buffer take(self, Worker worker, Share share):
        cdef Buffer taken = Buffer(), other
        taken.share = share
        taken.ids, taken.used, taken.capacity = worker.out, worker.used, worker.capacity
        worker.out, worker.used, worker.capacity = NULL, 0, 0
        other = share.spare.pop() if share.spare else take_kept()
        if other is not None:
            worker.out, worker.capacity = other.ids, other.capacity
            other.ids, other.capacity = NULL, 0
        return taken

    cdef void drop(self, Buffer buffer):
        buffer.used = 0
        buffer.share.spare.append(buffer)

    cdef int put(self, Buffer buffer, Py_ssize_t skip) except -1:
        cdef Py_ssize_t count = buffer.used - skip
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
        buffer.share.waiting.append(buffer)
        return 0

    cdef int copy(self, Share share) except -1:
        cdef Buffer buffer
        cdef list waiting = share.waiting
        share.waiting = []                         # which other threads add to meanwhile
        for buffer in waiting:
            if buffer.used == buffer.skip or self.write(buffer):
                buffer.result = None
                self.drop(buffer)
            else:
                share.waiting.append(buffer)
        return 0

    cdef bint write(self, Buffer buffer) except -1:
        """Copy the ids to the result; returns False where another thread is clearing a page of it."""
        cdef token_t* ids = buffer.result.ids
        cdef Py_ssize_t start = buffer.target, size = buffer.used - buffer.skip
        cdef Py_ssize_t first = start // PAGE_IDS, last = (start + size - 1) // PAGE_IDS, page, claimed = 0
        cdef bytearray pages = buffer.result.pages
        cdef bint shared = False
        if pages is not None:
            for page in range(first, last + 1):
                if pages[page] == FRESH:
                    pages[page] = CLAIMED
                    first = page if claimed == 0 else first    # they follow each other: sections do not overlap
                    claimed += 1
                elif pages[page] == CLAIMED:
                    shared = True
            if claimed:
                with nogil:
                    for page in range(first, first + claimed):
                        ids[page * PAGE_IDS] = 0
                for page in range(first, first + claimed):
                    pages[page] = TOUCHED
            if shared:
                return False
        with nogil:
            if pages is not None:
                ids_copy_past_caches(ids + start, buffer.ids + buffer.skip, size)
            else:
                memcpy(ids + start, buffer.ids + buffer.skip, size * sizeof(token_t))
        return True

    cdef Buffer finish(self):
        cdef Buffer all = self.result, each
        cdef Share share
        cdef Py_ssize_t total = self.result.used
        for share in self.shares:
            self.copy(share)
            keep(share.spare)
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
