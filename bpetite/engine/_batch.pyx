"""Many texts at once: lists, one flat array with offsets, over several threads.

Texts are looked at once with the interpreter lock held (where their characters are, how many), then encoded without
it. Threads live for one call; each takes its own worker and asks for the next run of texts when it is done with one,
so an uneven batch is shared evenly; the ids of runs are put together meanwhile (_gather.pyx). Errors are raised after
all threads have ended: that of the first text that has one, whatever the number of threads.
"""
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from ..headers.types cimport token_t
from ._encode cimport guess_ids, run_view, text_view
from ._gather cimport Buffer, Gather, Share
from ._ids cimport own_ids
from ._long cimport LongEncoder
from ._special cimport Specials
from ._worker cimport DONE, Worker

from functools import partial

from ._encode import thread_count
from ._threads import together

cdef enum:
    RUN_BYTES = 1 << 17        # text that a thread takes at a time, at most
    ALONE_BYTES = 1 << 17      # a second thread is not worth its start below this


cdef class _Batch:
    """Texts to encode, and what has become of them."""
    cdef list texts                # keeps the characters alive
    cdef text_view* views
    cdef int64_t* ends             # ids up to and with each text, counted from the first text of its run
    cdef Py_ssize_t n
    cdef Py_ssize_t total          # bytes or units
    cdef Py_ssize_t guess          # ids
    cdef Py_ssize_t* runs          # run -> its first text; run_count + 1 entries
    cdef list made                 # run -> its ids, as long as they have no place
    cdef Py_ssize_t* sizes         # run -> how many
    cdef Py_ssize_t run_count, next_run, next_put
    cdef Gather gather             # or None when lists are wanted
    cdef list lists                # text -> list of ids, or None when arrays are wanted
    cdef Specials specials
    cdef Py_ssize_t failed         # the first text with an error, or n
    cdef object error

    def fail(self, error):
        """Let the threads end: somebody has seen an error."""
        if self.error is None:
            self.error = error

    def __dealloc__(self):
        free(self.views)
        free(self.ends)
        free(self.runs)
        free(self.sizes)


cdef class BatchEncoder(LongEncoder):
    """An Encoder for many texts at once; the arguments are those of Encoder."""

    def encode_batch(self, texts, *, num_threads=None, allowed_special="all", disallowed_special=(),
                     bint add_special_tokens=False):
        """A list of token ids for each text; see :meth:`encode`.

        Args:
            texts: An iterable of str or UTF-8 bytes.
            num_threads: Threads to use; all that the process may run on when None. The ids never depend on it.
            allowed_special: As for :meth:`encode`, and so are ``disallowed_special`` and ``add_special_tokens``.

        Raises:
            ValueError: As for :meth:`encode`; of several texts with an error the first one counts, and the message
                says which it is.
        """
        cdef _Batch batch = self._batch(texts, allowed_special, disallowed_special)
        batch.lists = [None] * batch.n
        self._run_all(batch, num_threads)
        if add_special_tokens and self._template is not None:
            return [self._template.one(ids) for ids in batch.lists]
        return batch.lists

    def encode_batch_to_numpy(self, texts, *, num_threads=None, allowed_special="all", disallowed_special=()):
        """All token ids in one array, and where each text's begin.

        Args:
            texts: An iterable of str or UTF-8 bytes.
            num_threads: As for :meth:`encode_batch`.
            allowed_special: As for :meth:`encode`, and so is ``disallowed_special``.

        Returns:
            ids uint32[n] and offsets int64[len(texts) + 1]: the ids of text i are ``ids[offsets[i]:offsets[i + 1]]``.
        """
        cdef _Batch batch = self._batch(texts, allowed_special, disallowed_special)
        cdef Py_ssize_t i, run, at = 0
        cdef Buffer all
        cdef token_t* ids
        cdef int64_t[::1] offsets
        import numpy                               # not at the top: who asks for lists does not wait for it
        self._run_all(batch, num_threads)
        result = numpy.zeros(batch.n + 1, numpy.int64)
        offsets = result
        for run in range(batch.run_count):
            for i in range(batch.runs[run], batch.runs[run + 1]):
                offsets[i + 1] = at + batch.ends[i]
            at += batch.sizes[run]
        if batch.gather is None:
            return numpy.empty(0, numpy.uint32), result
        all = batch.gather.finish()
        ids = all.ids
        all.ids = NULL
        return own_ids(ids, at), result

    cdef _Batch _batch(self, object texts, object allowed, object disallowed):
        cdef _Batch batch = _Batch()
        cdef Py_ssize_t i
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts is an iterable of texts, not one {type(texts).__name__}: use [text]")
        batch.texts = list(texts)
        batch.n = batch.failed = len(batch.texts)
        batch.views = <text_view*> malloc((batch.n + 1) * sizeof(text_view))
        batch.ends = <int64_t*> malloc((batch.n + 1) * sizeof(int64_t))
        if batch.views == NULL or batch.ends == NULL:
            raise MemoryError()
        batch.specials = self._specials
        chosen = allowed != "all" or disallowed != ()
        if chosen:
            batch.specials = self._choose("", allowed, disallowed)
        i = 0
        try:
            if chosen:
                for i in range(batch.n):
                    self._choose(batch.texts[i], allowed, disallowed)
            for i in range(batch.n):
                self._view(batch.texts[i], batch.views + i)
                batch.total += batch.views[i].length
                batch.guess += guess_ids(batch.views + i)
        except (TypeError, ValueError) as error:
            raise _of_text(error, i, batch.n) from None
        return batch

    cdef int _run_all(self, _Batch batch, object num_threads) except -1:
        cdef Py_ssize_t threads, i, size = 0, most, run = 0
        threads = thread_count(num_threads)
        if batch.total < ALONE_BYTES or not self._compiled:
            threads = 1
        if threads == 1 and batch.lists is None:
            most = batch.total
        else:
            most = min(<Py_ssize_t> RUN_BYTES, batch.total // (4 * threads))
        batch.runs = <Py_ssize_t*> malloc((batch.n + 2) * sizeof(Py_ssize_t))
        batch.sizes = <Py_ssize_t*> malloc((batch.n + 1) * sizeof(Py_ssize_t))
        if batch.runs == NULL or batch.sizes == NULL:
            raise MemoryError()
        for i in range(batch.n):
            if run == 0 or size + batch.views[i].length > most:
                batch.runs[run] = i
                run += 1
                size = 0
            size += batch.views[i].length
        batch.runs[run] = batch.n
        batch.run_count = run
        batch.made = [None] * run
        if batch.lists is None and run:
            batch.gather = Gather(0 if run == 1 else batch.guess)
        work = partial(self._work, batch)
        together(work, work, min(threads, run) - 1, batch.fail)
        if batch.error is not None:
            raise batch.error
        return 0

    def _work(self, _Batch batch):
        """Encode runs of texts until none is left: what one thread does."""
        cdef Worker worker
        cdef Py_ssize_t run, i = 0, start, guess
        cdef int status = DONE
        cdef Share share = None if batch.gather is None else batch.gather.share()
        try:
            worker = self._take()
            while batch.next_run < batch.run_count and batch.error is None:
                run = batch.next_run
                batch.next_run += 1
                worker.used = 0
                guess = 0
                for i in range(batch.runs[run], batch.runs[run + 1]):
                    guess += guess_ids(batch.views + i)
                worker.reserve(guess)
                i = batch.runs[run]
                if self._compiled:
                    with nogil:
                        while i < batch.runs[run + 1]:
                            status = run_view(worker, batch.specials, batch.views + i)
                            if status != DONE:
                                break
                            batch.ends[i] = worker.used
                            i += 1
                    if status != DONE:
                        self._check(status, worker, batch.texts[i])
                else:
                    while i < batch.runs[run + 1]:
                        self._encode_slowly(worker, batch.texts[i], batch.specials)
                        batch.ends[i] = worker.used
                        i += 1
                if batch.lists is None:
                    batch.sizes[run] = worker.used
                    batch.made[run] = batch.gather.take(worker, share)
                    while batch.next_put < batch.run_count and batch.made[batch.next_put] is not None:
                        batch.gather.put(batch.made[batch.next_put], 0)
                        batch.made[batch.next_put] = None
                        batch.next_put += 1
                    batch.gather.copy(share)
                    continue
                start = 0
                for i in range(batch.runs[run], batch.runs[run + 1]):
                    batch.lists[i] = self._to_list(worker.out + start, batch.ends[i] - start)
                    start = batch.ends[i]
        except BaseException as error:             # raised by the thread that called
            if batch.error is None or i < batch.failed:
                batch.error = _of_text(error, i, batch.n)
                batch.failed = i
            return
        self._give(worker)


cdef object _of_text(object error, Py_ssize_t i, Py_ssize_t n):
    """What is wrong with a text, saying which of several it is."""
    if n == 1:
        return error
    if isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)):
        return type(error)(*error.args[:4], f"{error.reason} (text {i} of the batch)")
    if type(error) is TypeError or type(error) is ValueError:
        return type(error)(f"text {i} of the batch: {error}")
    return error
