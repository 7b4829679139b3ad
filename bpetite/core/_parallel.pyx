"""Work that threads share: sections, taken one after the other, whose ids are joined in order meanwhile.

Threads live for one call; each takes a worker of its own and asks for the next section when it is done with one, so
uneven sections are shared evenly. Errors are raised after all threads have ended.

What threads share is guarded by the interpreter lock and one rule: nothing that can run Python code stands between the
choice of what is shared and the step that owns it. Such code may give up the lock. It runs as a finalizer wherever an
object goes, and, up to Python 3.11, wherever one is made, since the cyclic collector runs in allocations; it runs as a
handler of signals, too. So objects are made first; then what is shared is looked at and changed by steps of C. What
takes longer has a flag of its own, `joining`: a thread that finds it set leaves its section to the one that joins.
"""
from ..headers cimport bp_stop, bp_watch_begin
from ._gather cimport Buffer, Share
from ._worker cimport Worker, bp_cache_loosen

from functools import partial

from ._threads import together


cdef class Job:
    """Sections to encode, and what has become of them."""

    cdef int run(self, Worker worker, Py_ssize_t threads) except -1:
        self.made = [None] * self.count
        self.failed = self.count
        threads = min(threads, self.count)
        if threads > 1:
            self.encoder.teach(worker, threads - 1)
        else:                                      # the tables of several would push each other out of the caches
            with nogil:
                bp_cache_loosen(&worker.cache)
        together(partial(_work, self, worker), partial(_work, self, None), threads - 1, self.end)
        if self.error is not None:
            raise self.error
        return 0

    def end(self, error):
        """Let the threads end: the calling one raises an error."""
        self.failed = -1
        bp_stop(&self.stop)

    cdef int encode(self, Worker worker, Py_ssize_t section) except -1:
        raise NotImplementedError()

    cdef int join(self, Worker worker, Share share, Buffer made, Py_ssize_t section) except -1:
        return self.gather.put(made, 0)

    cdef object explain(self, object error, Worker worker):
        return error


def _work(Job job, Worker own):
    """Encode sections until none is left: what one thread does. `own` is the calling one's worker, None in others."""
    cdef Worker worker = own
    cdef Share share = None
    cdef Py_ssize_t section
    try:
        if job.gather is not None:
            share = job.gather.share()
        if worker is None:
            worker = job.encoder.take_taught()
            bp_watch_begin(&worker.watch, &job.stop)
        while job.taken < job.count:
            section = job.taken if job.order is None else job.order[job.taken]
            job.taken += 1
            if section > job.failed:
                continue
            try:
                _encode_section(job, worker, share, section)
            except Exception as error:             # what it is waits, since a section before it may have another
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


cdef int _encode_section(Job job, Worker worker, Share share, Py_ssize_t section) except -1:
    job.encode(worker, section)
    if share is not None:
        job.made[section] = job.gather.take(worker, share)
        _join(job, worker, share)
        job.gather.copy(share)
    return 0


cdef int _join(Job job, Worker worker, Share share) except -1:
    """Join the sections that have none missing before them; a thread that does already sees those of this one, too."""
    if job.joining:
        return 0
    job.joining = True
    while job.joined < job.count and job.made[job.joined] is not None:
        job.join(worker, share, job.made[job.joined], job.joined)
        job.made[job.joined] = None
        job.joined += 1
    job.joining = False
    return 0


cdef object _fail(Job job, Py_ssize_t section, object error):
    """Note the error of a section unless one before it has one; returns what was noted before, which may go then."""
    cdef object before = job.error
    if section < job.failed:
        job.failed = section
        job.error = error
    return before
