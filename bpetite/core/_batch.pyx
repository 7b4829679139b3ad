"""Many texts, or one long text, over several threads; and how threads share a job.

The texts are inspected first with the interpreter lock held (place and number of their characters), then encoded
without it. The texts of an Arrow array are read in place; no Python object is made for them.

Anything with Arrow's PyCapsule interface counts as an Arrow array: arrays of pyarrow, series of polars and pandas.
pyarrow reads it; without pyarrow, the items are read as Python objects like the items of any iterable.
Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html

A long text is cut at places where the scanner certainly cuts (certain_cuts.py), so that its tasks are encoded one by
one with the ids of all. A thread rewrites them to UTF-8 itself, window by window, where the text is not in UTF-8. Text
that shows no such place, such as a long run of digits, stays in one task.

Threads live for one call; each has a worker of its own. It takes a task of the job (a run of texts, a part of a long
text), encodes it and takes the next one, so uneven tasks are shared evenly. The error of the first faulty task is
raised, after all threads have ended.

A task's number of ids is known once it is encoded, the place of its ids in the result once all earlier tasks are.
So its ids have memory of their own until then, and its thread copies them to their place soon after, while they are in
that processor's cache. Copying everything at the end by one thread took a tenth of the whole time.

Critical sections guard the shared state: the interpreter lock or, in a Python without one, a lock of the object. One
rule: nothing that can run Python code stands between choosing shared state and owning it. Such code may give up the
lock. It runs as a finalizer wherever an object is freed, as a handler of signals, and up to Python 3.11 wherever an
object is made, since the cyclic collector runs in allocations. So objects are made first; then steps of C read and
change the shared state. Longer work has a flag of its own, `joining`: a thread that finds it set leaves its task to
the thread that joins.
"""
cimport cython
from cpython.array cimport array
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .._merge cimport Dropout
from ..headers cimport bp_free, bp_resize, bp_stop, bp_watch_begin, token_t
from ..headers.python cimport PyBytes_FromStringAndSize, PyList_New, PyList_SET_ITEM, Py_INCREF
from ..headers.vectors cimport BP_LOAD, BP_STORE, bp_utf8_valid
from ._encode cimport (
    DONE, Encoder, Worker, bp_cache_loosen, encode_range, encode_text, guess_ids, text_view,
    view_range, view_text,
)
from ._ids cimport IdMemory, array_of, list_of, take_ids
from ._special cimport Specials

from collections.abc import Mapping
from functools import partial

from ..errors import UnknownTokenError, short_repr
from ._threads import next_size, run_with_helpers, worthwhile

cdef enum:
    RUN_BYTES = 1 << 17        # text that a thread takes at a time, at most
    ALONE_BYTES = 1 << 17      # a second thread is not worth its start below this
    ALONE = 1 << 19            # the same of one text, in bytes or characters
    LARGEST_TASK = 1 << 18     # of it; the ids stay in the second-level cache until they are copied


cdef class TaskIds(IdMemory):
    """The ids of a task."""
    cdef uint8_t* place                    # in the result; NULL while it is not known


cdef TaskIds taken(Worker worker):
    cdef TaskIds ids = TaskIds()
    ids.ids, ids.used, ids.width = worker.out, worker.used, worker.width
    worker.out, worker.used, worker.capacity = NULL, 0, 0
    return ids


cdef class Gather:
    """The ids of all tasks, in order.

    Args:
        width: The bytes of an id.
        guess: Their expected number. After a guess that was too low, there are several results, which are joined at the
            end.
    """
    cdef list results                      # each but the last had no more room
    cdef Py_ssize_t room                   # ids in the last one
    cdef list threads                      # of each, the tasks that wait for their place
    cdef int width

    def __cinit__(self, int width, Py_ssize_t guess):
        self.width = width
        self.results, self.threads = [], []
        self.begin(guess)

    cdef int begin(self, Py_ssize_t room) except -1:
        cdef IdMemory result = IdMemory()
        result.width = self.width
        result.ids = <token_t*> bp_resize(NULL, room * self.width)
        if result.ids == NULL:
            raise MemoryError()
        self.room = room
        self.results.append(result)
        return 0

    cdef int put(self, TaskIds ids) except -1:
        """Give the ids of a task their place, after those put before; the thread that has made them copies them."""
        cdef IdMemory result = self.results[len(self.results) - 1]
        if self.room - result.used < ids.used:
            self.begin(max(ids.used, self.room // 2))
            result = self.results[len(self.results) - 1]
        BP_STORE(<void**> &ids.place, <uint8_t*> result.ids + result.used * self.width)
        result.used += ids.used
        return 0

    cdef IdMemory finish(self):
        """All ids, in memory of their own. Called after all threads have ended."""
        cdef IdMemory all = self.results[0], each
        cdef Py_ssize_t total = 0
        cdef token_t* ids
        for waiting in self.threads:
            copy_placed(waiting)
        for each in self.results:
            total += each.used
        ids = <token_t*> bp_resize(all.ids, total * self.width)
        if ids == NULL:
            raise MemoryError()
        all.ids = ids
        for each in self.results[1:]:
            memcpy(<uint8_t*> all.ids + all.used * self.width, each.ids, each.used * self.width)
            all.used += each.used
        return all


cdef int copy_placed(list waiting) except -1:
    """Copy the ids of the tasks that have a place by now, and forget them."""
    cdef TaskIds ids
    cdef uint8_t* to
    cdef Py_ssize_t i = 0
    while i < len(waiting):
        ids = waiting[i]
        to = <uint8_t*> BP_LOAD(<void**> &ids.place)
        if to == NULL:
            i += 1
            continue
        if ids.used:                               # else there may be no memory
            with nogil:
                memcpy(to, ids.ids, ids.used * ids.width)
        del waiting[i]
    return 0


cdef class Job:
    """Tasks to encode, and their results. Subclasses encode one task."""
    cdef Encoder encoder
    cdef int width                         # bytes of an id
    cdef Py_ssize_t count                  # of tasks
    cdef list order                        # in which they are taken, or None for their own
    cdef Gather gather                     # or None where there are no ids to be joined
    cdef list made                         # task -> its ids, until they have been joined to those before
    cdef Py_ssize_t taken, joined          # of the tasks
    cdef bint joining                      # some thread does
    cdef Py_ssize_t failed                 # the first task with an error; what follows it is not begun
    cdef object error
    cdef int stop                          # not 0 when the threads are to end

    cdef int run(self, Worker worker, Py_ssize_t threads) except -1:
        """Encode all tasks by several threads; `worker` is the calling one's. Raises the error of the first task that
        has one, whatever the number of threads."""
        self.made = [None] * self.count
        self.failed = self.count
        threads = min(threads, self.count)
        if threads == 1:                           # the tables of several would push each other out of the caches
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

    cdef int encode(self, Worker worker, Py_ssize_t task) except -1:
        """Encode one task; where ids are gathered, they are the worker's output."""
        raise NotImplementedError()

    cdef object explain(self, object error, Worker worker):
        """The error to raise for one met in a task."""
        return error


def _work(Job job, Worker own):
    """Encode tasks until none is left, as each thread does. `own` is the calling thread's worker, else None."""
    cdef Worker worker = own
    cdef list waiting = []
    cdef Py_ssize_t task
    try:
        if job.gather is not None:
            job.gather.threads.append(waiting)
        if worker is None:
            worker = job.encoder.take(None, 0, job.width)
            bp_watch_begin(&worker.watch, &job.stop)
        while (task := _next_task(job)) >= 0:
            try:
                _encode_task(job, worker, waiting, task)
            except Exception as error:             # it waits, since an earlier task may have another one
                if worker.watch.interrupted:
                    raise
                _fail(job, task, job.explain(error, worker))
    except BaseException as error:                 # a signal, or no memory for a worker, ends the call at once
        if own is not None:
            raise
        _fail(job, -1, error)
    finally:
        if own is None and worker is not None:
            job.encoder.give(worker)


cdef Py_ssize_t _next_task(Job job) except -2:
    """The task to encode next, or -1."""
    cdef Py_ssize_t task
    with cython.critical_section(job):
        while job.taken < job.count:
            task = job.taken if job.order is None else job.order[job.taken]
            job.taken += 1
            if task <= job.failed:
                return task
    return -1


cdef int _encode_task(Job job, Worker worker, list waiting, Py_ssize_t task) except -1:
    cdef TaskIds made
    job.encode(worker, task)
    if job.gather is not None:
        made = taken(worker)
        waiting.append(made)
        _join(job, made, task)
        copy_placed(waiting)
    return 0


cdef int _join(Job job, TaskIds made, Py_ssize_t task) except -1:
    """Give a place to the tasks with none missing before them, unless another thread does, which sees them, too."""
    with cython.critical_section(job):
        job.made[task] = made
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
        job.gather.put(made)
        job.joined += 1


cdef object _fail(Job job, Py_ssize_t task, object error):
    """Note the error of a task unless an earlier task has one; returns the previous note, to be freed."""
    cdef object before
    with cython.critical_section(job):
        before = job.error
        if task < job.failed:
            job.failed = task
            job.error = error
    return before


cdef class _LongText(Job):
    """One text, in tasks."""
    cdef text_view view
    cdef object text
    cdef Specials specials
    cdef list places                       # near which tasks begin, in bytes of a text in UTF-8, else in units
    cdef dict starts                       # task -> where it begins, as soon as that is known
    cdef object cuts

    cdef int divide(self, Py_ssize_t threads) except -1:
        cdef Py_ssize_t place = 0, length = self.view.length, size
        self.cuts = self.encoder.certain_cuts()
        if self.cuts is not None and self.view.utf8 != NULL and isinstance(self.text, str) and not self.text.isascii():
            self.text = str.encode(self.text, "utf-8")
        self.places = [0]
        while self.cuts is not None:
            size = next_size(length - place, threads, LARGEST_TASK)
            if length - place < 2 * size:
                break
            place += size
            self.places.append(place)
        self.count = len(self.places)
        self.starts = {self.count: length}
        return 0

    cdef Py_ssize_t start_of(self, Py_ssize_t task) except -1:
        """The first certain cut near the place of a task, or of a later one; the end of the text without any."""
        cdef Py_ssize_t wanted = task
        start = self.starts.get(task)
        while start is None:
            cut = self.cuts.near(self.text, self.places[task]) if task else 0
            task += 1
            start = cut if cut >= 0 else self.view.length if task == self.count else None
        self.starts[wanted] = start
        return start

    cdef int encode(self, Worker worker, Py_ssize_t task) except -1:
        cdef view_range wanted
        wanted.start, wanted.stop = self.start_of(task), self.start_of(task + 1)
        worker.wants_prefix = worker.tables.prefixed and task == 0
        return encode_range(worker, self.specials, self.text, &self.view, &wanted)


def encode_long(Encoder encoder, Worker worker, text, Specials specials, Py_ssize_t threads):
    """Append the ids of a text, which several threads share if it is long and the scanner certainly cuts it somewhere.
    """
    cdef _LongText job
    cdef IdMemory made
    cdef text_view view
    cdef object scanned = None
    view_text(text, &view)
    if view.length >= ALONE:
        scanned = encoder.scanned(text, &view)
    if scanned is None:
        encoder.encode(worker, text, specials)
        return
    job = _LongText()
    job.encoder, job.text, job.view, job.specials, job.width = encoder, scanned, view, specials, worker.width
    threads = worthwhile(threads, view.length)
    job.divide(threads)
    job.gather = Gather(job.width, guess_ids(&view))
    job.run(worker, threads)
    made = job.gather.finish()
    bp_free(worker.out)
    worker.out, worker.used, worker.capacity = made.ids, made.used, made.used
    made.ids = NULL


cdef class Batch(Job):
    """Texts to encode, run by run, and their ids.

    Args:
        texts: An iterable of texts, or an Arrow array.
        specials: The special tokens to recognise.
        refused: The special tokens that raise, or None.
        threads: The number of threads, at most.
        around: The ids before and the ids after each text.
        dropout: The draws, or None; text i is text number i.
    """
    cdef Py_ssize_t threads
    cdef Dropout dropout           # or None
    cdef array added_ids           # owns `around`
    cdef const token_t* around     # the template's ids
    cdef Py_ssize_t before         # ids before each text; the other `added - before` follow it
    cdef Py_ssize_t added
    cdef list texts                # keeps the characters alive; None where they are in an Arrow array
    cdef list arrow                # the arrays of that (arrays_of), or None
    cdef text_view* views
    cdef int64_t* ends             # ids up to and with each text, counted from the first text of its run
    cdef Py_ssize_t n
    cdef Py_ssize_t total          # bytes or units
    cdef Py_ssize_t guess          # ids
    cdef Py_ssize_t* runs          # run -> its first text; count + 1 entries
    cdef Py_ssize_t* sizes         # run -> its number of ids
    cdef list made_lists           # text -> list of ids, or None when arrays are wanted
    cdef object ids                # the array of a single run, or None
    cdef bint counting             # only `ends` are wanted, each counted from the text's own beginning
    cdef Specials specials

    def __cinit__(self, Encoder encoder, texts, Specials specials, Specials refused, Py_ssize_t threads, tuple around,
                  Dropout dropout):
        cdef Py_ssize_t i = 0
        self.encoder = encoder
        self.specials = specials
        self.threads = threads
        self.dropout = dropout
        self.width = sizeof(token_t)
        self.added_ids = array("I", [*around[0], *around[1]])
        self.around, self.before, self.added = self.added_ids.data.as_uints, len(around[0]), len(self.added_ids)
        self.hold(texts)
        self.views = <text_view*> malloc((self.n + 1) * sizeof(text_view))
        self.ends = <int64_t*> malloc((self.n + 1) * sizeof(int64_t))
        self.runs = <Py_ssize_t*> malloc((self.n + 2) * sizeof(Py_ssize_t))
        self.sizes = <Py_ssize_t*> malloc((self.n + 1) * sizeof(Py_ssize_t))
        if self.views == NULL or self.ends == NULL or self.runs == NULL or self.sizes == NULL:
            raise MemoryError()
        try:
            if self.texts is None:
                self.view_arrow(&i)
            for i in range(self.n):
                if self.texts is not None:
                    view_text(self.texts[i], self.views + i)
                if refused is not None:
                    refused.refuse(self.text(i))
                self.total += self.views[i].length
                self.guess += guess_ids(self.views + i) + self.added
        except (TypeError, ValueError) as error:
            raise of_text(error, i, self.n) from None

    def __dealloc__(self):
        free(self.views)
        free(self.ends)
        free(self.runs)
        free(self.sizes)

    def lists(self):
        """A list of ids for each text."""
        self.made_lists = PyList_New(self.n)
        self.encode_all()
        return self.made_lists

    def flat(self, int width):
        """Ids of all texts, in as many bytes each, and int64 offsets."""
        cdef Py_ssize_t i, run, at = 0
        cdef int64_t[::1] offsets
        import numpy                               # not at the top: lists do without it
        self.width = width
        self.encode_all()
        result = numpy.zeros(self.n + 1, numpy.int64)
        offsets = result
        for run in range(self.count):
            for i in range(self.runs[run], self.runs[run + 1]):
                offsets[i + 1] = at + self.ends[i]
            at += self.sizes[run]
        return self.ids if self.gather is None else array_of(self.gather.finish()), result

    def counts(self):
        """int64[n]: how many ids each text has."""
        cdef int64_t[::1] counts
        import numpy
        self.counting = True
        self.encode_all()
        result = numpy.empty(self.n, numpy.int64)
        counts = result
        if self.n:
            memcpy(&counts[0], self.ends, self.n * sizeof(int64_t))
        return result

    cdef int hold(self, texts) except -1:
        if isinstance(texts, (str, bytes)):
            raise TypeError(f"texts is an iterable of texts, not one {type(texts).__name__}: use [text]")
        if isinstance(texts, Mapping):
            raise TypeError(f"texts is an iterable of texts, not {short_repr(texts)}: use texts.values()")
        if not isinstance(texts, (list, tuple)):
            self.arrow = arrays_of(texts)
        if self.arrow is not None:
            for offsets, _ in self.arrow:
                self.n += len(offsets) - 1
            return 0
        try:
            iterator = iter(texts)
        except TypeError:
            raise TypeError(f"texts is an iterable of texts, not {short_repr(texts)}") from None
        self.texts = list(iterator)
        self.n = len(self.texts)
        return 0

    cdef int view_arrow(self, Py_ssize_t* i) except -1:
        # INOUT: *i, the text at hand.
        cdef const int64_t[::1] offsets
        cdef const uint8_t[::1] data
        cdef const uint8_t* first
        cdef text_view* view = self.views
        cdef Py_ssize_t start, at, n, bad
        for offsets, data in self.arrow:
            first = &data[0] if data.shape[0] else <const uint8_t*> b""
            n = offsets.shape[0] - 1
            start = i[0]
            bad = -1
            with nogil:
                for at in range(n):
                    view = self.views + start + at
                    view.utf8 = first + offsets[at]
                    view.length = offsets[at + 1] - offsets[at]
                    view.units = NULL
                    view.width = 1
                    if bp_utf8_valid(view.utf8, view.length) < view.length:
                        bad = at
                        break
            if bad >= 0:
                i[0] = start + bad
                view_text(self.text(i[0]), view)   # raises
            i[0] = start + n
        return 0

    cdef object text(self, Py_ssize_t i):
        if self.texts is not None:
            return self.texts[i]
        return PyBytes_FromStringAndSize(<const char*> self.views[i].utf8, self.views[i].length)

    cdef int encode_all(self) except -1:
        cdef Worker worker
        cdef Py_ssize_t threads = 1
        if self.total >= ALONE_BYTES and self.encoder.scanned_alone:
            threads = worthwhile(self.threads, self.total)
        self.divide(threads)
        cdef bint flat = self.made_lists is None and not self.counting
        if flat and self.count > 1:
            self.gather = Gather(self.width, self.guess)
        worker = self.encoder.take(None, 0, self.width)
        try:
            self.run(worker, threads)
            if flat and self.count <= 1:
                self.ids = take_ids(worker)
        finally:
            self.encoder.give(worker)
        return 0

    cdef int divide(self, Py_ssize_t threads) except -1:
        """Divide the texts into runs; one is enough for an array that one thread makes."""
        cdef Py_ssize_t i, size = 0, run = 0, most = self.total, left = self.total
        cdef list long_runs = []
        for i in range(self.n):
            if run == 0 or size + self.views[i].length > most:
                self.runs[run] = i
                run += 1
                size = 0
                if threads > 1 or self.made_lists is not None:
                    most = next_size(left, threads, RUN_BYTES)
            size += self.views[i].length
            left -= self.views[i].length
            if threads > 1 and self.views[i].length > RUN_BYTES:
                long_runs.append((-self.views[i].length, run - 1))
        self.runs[run] = self.n
        self.count = run
        if long_runs:                              # first, or the last thread may be alone with one for long
            long_runs.sort()
            self.order = []
            for _, first in long_runs:
                self.order.append(first)
            self.order += sorted(set(range(run)).difference(self.order))
        return 0

    cdef int encode(self, Worker worker, Py_ssize_t run) except -1:
        cdef Py_ssize_t guess = 0, offset = 0, i = self.runs[run], stop = self.runs[run + 1], each
        cdef int status = DONE
        if not self.counting:
            for each in range(i, stop):
                guess += guess_ids(self.views + each) + self.added
        worker.dropout = self.dropout
        worker.used = 0
        worker.reserve(guess)
        if not self.encoder.scanned_alone:
            while i < stop and status == DONE:
                status = begin_text(self, worker, i)
                self.encoder.encode(worker, self.text(i), self.specials)
                status |= end_text(self, worker, i)
                i += status == DONE
        with nogil:
            while i < stop and status == DONE:
                status = begin_text(self, worker, i)
                if status == DONE:
                    status = encode_text(worker, self.specials, self.views + i, &offset)
                if status == DONE:
                    status = end_text(self, worker, i)
                i += status == DONE
        if status != DONE:
            self.encoder.check(status, worker, self.text(i), self.specials, offset)
        i = 0
        for each in range(self.runs[run], stop if self.made_lists is not None else 0):
            ids = list_of(worker.out + i, self.ends[each] - i)
            Py_INCREF(ids)
            PyList_SET_ITEM(self.made_lists, each, ids)     # no lock of the list, which nobody else knows yet
            i = self.ends[each]
        self.sizes[run] = worker.used
        return 0

    cdef object explain(self, object error, Worker worker):
        return of_text(error, worker.text_number, self.n)


cdef inline int begin_text(Batch batch, Worker worker, Py_ssize_t i) noexcept nogil:
    worker.text_number, worker.position = i, 0
    return worker.put(batch.around, batch.before)


cdef inline int end_text(Batch batch, Worker worker, Py_ssize_t i) noexcept nogil:
    cdef int status = worker.put(batch.around + batch.before, batch.added - batch.before)
    batch.ends[i] = worker.used
    if batch.counting:
        worker.used = 0
    return status


cdef object of_text(object error, Py_ssize_t i, Py_ssize_t n):
    """The error of a text, with its number in the batch."""
    if n == 1:
        return error
    if isinstance(error, (UnicodeDecodeError, UnicodeEncodeError)):
        return type(error)(*error.args[:4], f"{error.reason} (text {i} of the batch)")
    if type(error) is TypeError or type(error) is ValueError:
        return type(error)(f"text {i} of the batch: {error}")
    if isinstance(error, UnknownTokenError):
        return UnknownTokenError(error.args[0], f"text {i} of the batch: {error}")
    return error


cdef list arrays_of(texts):
    """The arrays that Arrow text is made of, or None for any other iterable.

    Args:
        texts: An array of str or bytes, also as dictionary, view or fixed-size form; it holds no null.

    Returns:
        A list of (offsets, data): text i of an array is ``data[offsets[i]:offsets[i + 1]]``. The offsets are a copy,
        int64[n + 1], ascending and within the data.

    Raises:
        TypeError: An Arrow table, an array that holds no text, or a null; with its index.
        ValueError: The offsets of the array are damaged.
    """
    kind = type(texts)
    if not hasattr(kind, "__arrow_c_stream__") and not hasattr(kind, "__arrow_c_array__"):
        return None
    try:
        import pyarrow as pa                       # not at the top: it is an extra
    except ImportError:
        return None
    if isinstance(texts, (pa.Table, pa.RecordBatch)):
        raise TypeError(f"texts is a {kind.__name__} with the columns {', '.join(texts.schema.names)}: give one of "
                        f"them, texts.column(name)")
    if isinstance(texts, pa.ChunkedArray):
        parts = texts.chunks
    elif isinstance(texts, pa.Array):
        parts = [texts]
    else:
        try:
            parts = pa.chunked_array(texts).chunks if hasattr(kind, "__arrow_c_stream__") else [pa.array(texts)]
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):      # a series of different kinds of objects
            return None
    chunks = []
    first = 0
    for part in parts:
        if len(part):
            chunks.append(_chunk(part, first))
        first += len(part)
    return chunks


cdef tuple _chunk(part, Py_ssize_t first):
    import numpy as np
    import pyarrow as pa
    types = pa.types

    if part.null_count:
        at = first + int(part.is_null().to_numpy(zero_copy_only=False).argmax())
        raise TypeError(f"text {at} of the batch: text is str or UTF-8 bytes, not null; texts.drop_null() is without "
                        f"them")
    if types.is_dictionary(part.type):
        part = part.dictionary_decode()
    if types.is_string_view(part.type) or types.is_binary_view(part.type) or types.is_fixed_size_binary(part.type):
        part = part.cast(pa.large_binary())
    large = types.is_large_string(part.type) or types.is_large_binary(part.type)
    if not (large or types.is_string(part.type) or types.is_binary(part.type)):
        raise TypeError(f"texts is an Arrow array of {part.type}, not of text (string or binary)")
    _, offsets, data = part.buffers()
    offsets = np.frombuffer(offsets, np.int64 if large else np.int32, len(part) + 1, part.offset * (8 if large else 4))
    offsets = np.array(offsets, np.int64)
    size = 0 if data is None else data.size
    if offsets[0] < 0 or offsets[len(part)] > size or np.diff(offsets).min() < 0:
        raise ValueError(f"a damaged Arrow array: offsets that do not ascend within its {size} bytes")
    return offsets, np.frombuffer(data, np.uint8) if size else np.empty(0, np.uint8)
