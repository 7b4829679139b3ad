"""Work sharing between threads: sections, taken one after the other; their ids are joined in order as they come.

Threads live for one call; each takes a worker of its own and asks for the next section when it is done with one, so
uneven sections are shared evenly. Errors are raised after all threads have ended.

Critical sections guard the shared state: the interpreter lock or, in a Python without one, a lock of the object. One
rule: nothing that can run Python code stands between choosing shared state and owning it. Such code may give up the
lock. It runs as a finalizer wherever an object is freed, as a handler of signals, and up to Python 3.11 wherever an
object is made, since the cyclic collector runs in allocations. So objects are made first; then steps of C read and
change the shared state. Longer work has a flag of its own, `joining`: a thread that finds it set leaves its section to
the thread that joins.
"""
cimport cython

from ..headers cimport bp_stop, bp_watch_begin
from ._gather cimport Buffer, Buffers
from ._worker cimport Worker, bp_cache_loosen

from functools import partial

from ._threads import run_with_helpers


cdef class Job:
    """Sections to encode, and their results."""

    cdef int run(self, Worker worker, Py_ssize_t threads) except -1:
        self.made = [None] * self.count
        self.failed = self.count
        threads = min(threads, self.count)
        if threads > 1:
            self.encoder.teach(worker, threads - 1)
        else:                                      # the tables of several would push each other out of the caches
            with nogil:
                bp_cache_loosen(&worker.cache)
        run_with_helpers(partial(_work, self, worker), partial(_work, self, None), threads - 1, self.end)
        if self.error is not None:
            raise self.error
        return 0

    def end(self, error):
        """Let the threads end: the calling one raises an error."""
        with cython.critical_section(self):
            self.failed = -1
        bp_stop(&self.stop)

    cdef int encode(self, Worker worker, Py_ssize_t section) except -1:
        raise NotImplementedError()

    cdef int join(self, Worker worker, Buffers buffers, Buffer made, Py_ssize_t section) except -1:
        return self.gather.put(made, 0)

    cdef object explain(self, object error, Worker worker):
        return error


def _work(Job job, Worker own):
    """Encode sections until none is left, as each thread does. `own` is the calling thread's worker, else None."""
    cdef Worker worker = own
    cdef Buffers buffers = None
    cdef Py_ssize_t section
    try:
        if job.gather is not None:
            buffers = job.gather.buffers_of_thread()
        if worker is None:
            worker = job.encoder.take_taught()
            bp_watch_begin(&worker.watch, &job.stop)
        while (section := _next_section(job)) >= 0:
            try:
                _encode_section(job, worker, buffers, section)
            except Exception as error:             # it waits, since an earlier section may have another one
                if worker.watch.interrupted:
                    raise
                _fail(job, section, job.explain(error, worker))
    except BaseException as error:                 # a signal, or no memory for a worker, ends the call at once
        if own is not None:
            raise
        _fail(job, -1, error)
    finally:
        if own is None and worker is not None:
            job.encoder.give(worker)


cdef Py_ssize_t _next_section(Job job) except -2:
    """The section to encode next, or -1."""
    cdef Py_ssize_t section
    with cython.critical_section(job):
        while job.taken < job.count:
            section = job.taken if job.order is None else job.order[job.taken]
            job.taken += 1
            if section <= job.failed:
                return section
    return -1


cdef int _encode_section(Job job, Worker worker, Buffers buffers, Py_ssize_t section) except -1:
    job.encode(worker, section)
    if buffers is not None:
        _join(job, worker, buffers, job.gather.take(worker, buffers), section)
        job.gather.copy(buffers)
    return 0


cdef int _join(Job job, Worker worker, Buffers buffers, Buffer made, Py_ssize_t section) except -1:
    """Join the sections with none missing before them, unless another thread is joining, which sees them, too."""
    with cython.critical_section(job):
        job.made[section] = made
        if job.joining:
            return 0
        job.joining = True
    while True:
        with cython.critical_section(job):
            made = job.made[job.joined] if job.joined < job.count else None
            if made is None:
                job.joining = False
                return 0
            job.made[job.joined] = None
        job.join(worker, buffers, made, job.joined)
        job.joined += 1


cdef object _fail(Job job, Py_ssize_t section, object error):
    """Note the error of a section unless an earlier section has one; returns the previous note, to be freed."""
    cdef object before
    with cython.critical_section(job):
        before = job.error
        if section < job.failed:
            job.failed = section
            job.error = error
    return before
