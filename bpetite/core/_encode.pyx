"""Text to token ids by one thread: special tokens out first, then the split pattern, then merges.

Text that a compiled scanner cuts is read without the interpreter lock. Work that needs Python (a pattern that only
`regex` can split, normalization, the steps of a pipeline) is done span by span; merging is compiled there, too.

Up to a limit of tokens, a text is encoded in parts, each about as long as the missing tokens take at the rate so far.
Only a compiled scanner knows the certain part of a text, so any other tokenizer encodes the whole text.
"""
cimport cython
from cpython.array cimport array, clone
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy, memmove

from ..headers cimport bp_watch_begin
from ..headers.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyObject, Py_DECREF, Py_INCREF,
)
from ..headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ..headers.vectors cimport bp_utf8_count
from ..vocabulary._alphabet cimport AlphabetTable
from ..vocabulary._tokens cimport TokenTable, size_at
from ._special cimport Specials, SpecialSets
from ._text cimport (
    DONE, INTERRUPTED, NO_MEMORY, NO_TOKEN, NO_UTF8, guess_ids, view_range, text_view, utf8_window, view_text,
)
from ._worker cimport BP_BLOCK, EncodingTables, Worker, bp_cache_loosen

from array import array as new_array

from ._threads import thread_count

cdef extern from "headers/normal_form.h" nogil:
    bint bp_not_normal(const uint8_t* text, Py_ssize_t n, Py_ssize_t at, const uint8_t* table, Py_ssize_t* start,
                       Py_ssize_t* end) noexcept
    bint bp_units_normal(int width, const void* units, Py_ssize_t n, const uint8_t* table, uint32_t low) noexcept

cdef enum:
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter texts, handing it over costs more
    WORTH_A_COPY = 4096        # words
    WINDOW = 1 << 15           # units rewritten to UTF-8 at a time
    RUN = 1 << 16              # bytes that are searched for special tokens, then encoded, in the second-level cache
    BEHIND = 1 << 6            # bytes or units that are read after the stop of a range at first, then twice as many
    SHORTEST_PART = 64         # characters or bytes of a part, where a limit of tokens decides what is read
    FIRST_PART = 256           # of the first one: it tells the rate
    LONGEST_PART = 1 << 16
    COPIED = 240               # bytes; shorter texts are copied to where sixteen bytes can be read at any offset

cdef array INT64 = new_array("q")


# Rewrite further units after those in the window, up to `limit` at most: a fixed number, or as many as the window holds
# already, so that a window that closed no pre-token doubles. Returns DONE or an error.
cdef inline int window_extend(utf8_window* window, const text_view* view, Py_ssize_t limit) noexcept nogil:
    cdef Py_ssize_t widest = 4 if view.width == 4 else view.width + 1      # bytes of UTF-8 that a unit makes at most
    cdef Py_ssize_t end = min(window.read + max(<Py_ssize_t> WINDOW, window.filled // widest), limit)
    cdef Py_ssize_t needed = window.filled + (end - window.read) * widest + BP_UTF8_SLACK
    cdef Py_ssize_t bad = -1
    cdef void* grown
    if needed > window.capacity:
        grown = realloc(window.bytes, needed)
        if grown == NULL:
            return NO_MEMORY
        window.bytes = <uint8_t*> grown
        window.capacity = needed
    window.filled += bp_utf8_from_units(view.width, view.units, window.read, end, window.bytes + window.filled, &bad)
    window.read = end
    return DONE if bad < 0 else NO_UTF8


# Remove bytes from the front of the window.
cdef inline void window_drop(utf8_window* window, Py_ssize_t bytes) noexcept nogil:
    window.filled -= bytes
    memmove(window.bytes, window.bytes + bytes, window.filled)


cdef int encode_between_specials(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length,
                                 Py_ssize_t readable, bint final, Py_ssize_t stop, Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t at = 0, special, which = 0, inside = 0, limit = length
    cdef int status = DONE
    worker.waiting = 0
    if specials is not None and specials.size:
        limit = -1
        while at < stop:
            special = specials.find_certain(text, at, length, final, &limit, &which)
            if special < 0:
                break
            status = worker.encode_split(text + at, special - at, readable - at, True, stop - at, &inside)
            at += inside
            if status != DONE or at < special or special >= stop:
                done[0] = at
                return status if status != DONE else worker.finish(text, done)
            if worker.put(specials.ids[which]) != DONE:
                return NO_MEMORY
            worker.wants_prefix = worker.tables.restarts
            at = special + <Py_ssize_t> (specials.starts[which + 1] - specials.starts[which])
    if at < min(limit, stop):
        status = worker.encode_split(text + at, limit - at, readable - at, final, stop - at, &inside)
        at += inside
    done[0] = at
    return worker.finish(text, done) if status == DONE and worker.waiting else status


cdef int encode_text(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil:
    cdef uint8_t copy[COPIED + 16]
    cdef view_range whole
    cdef int status
    worker.wants_prefix = worker.tables.prefixed
    if view.utf8 != NULL and view.length <= COPIED:
        memcpy(copy, view.utf8, view.length)
        return encode_between_specials(worker, specials, copy, view.length, view.length + 16, True, view.length, offset)
    worker.reserve(guess_ids(view))
    whole.start, whole.stop = 0, view.length
    status = encode_windows(worker, specials, view, &whole)
    offset[0] = whole.bytes
    return status


cdef int encode_windows(Worker worker, Specials specials, const text_view* view, view_range* wanted) noexcept nogil:
    # Invariant: text[0:length] has been read and not encoded; it is the text from wanted.end to `read`. `stop` is the
    # offset of wanted.stop in it, or `length` until the text up to there has been read. A window ends at wanted.stop,
    # so that its offset in bytes is known. An open pre-token stays, and the next window is as long as it.
    cdef utf8_window* window = &worker.window
    cdef const uint8_t* text = view.utf8
    cdef Py_ssize_t read = wanted.start, length = 0, readable, stop = 0, done = 0, limit
    cdef int status
    window.filled, window.read = 0, read
    wanted.end, wanted.bytes = read, 0
    while wanted.end < wanted.stop:
        limit = wanted.stop
        if read >= limit:
            limit = min(limit + max(<Py_ssize_t> BEHIND, 2 * (read - limit)), view.length)
        if view.utf8 != NULL:
            read = min(read + max(<Py_ssize_t> RUN, length), limit)
            while read < view.length and (view.utf8[read] & 0xC0) == 0x80:
                read += 1                      # to where a character ends
            text, length = view.utf8 + wanted.end, read - wanted.end
            readable, stop = view.length - wanted.end, wanted.stop - wanted.end
        else:
            status = window_extend(window, view, limit)
            if status != DONE:
                return status
            text, length, read = window.bytes, window.filled, window.read
            readable = length + 16
            if read <= wanted.stop:
                stop = length
        status = encode_between_specials(worker, specials, text, length, readable, read == view.length, stop, &done)
        wanted.bytes += done
        if status != DONE:
            return status
        length -= done
        stop -= done
        if view.utf8 != NULL:
            wanted.end += done
        else:
            window_drop(window, done)
            wanted.end = read - bp_utf8_count(window.bytes, length)
        if read == view.length:
            break
    return DONE


cdef int encode_range(Worker worker, Specials specials, object text, const text_view* view,
                      view_range* wanted) except -1:
    cdef Py_ssize_t before = wanted.start
    cdef int status
    with nogil:
        status = encode_windows(worker, specials, view, wanted)
    if status != DONE:
        if view.utf8 == NULL:
            before = len((<str> text)[:before].encode("utf-8", "surrogatepass"))
        check_status(status, text, before + wanted.bytes)
    return 0


cdef int check_status(int status, object text, Py_ssize_t offset, Py_ssize_t base=0) except -1:
    if status == INTERRUPTED:
        return -1                              # the exception is set
    if status == NO_MEMORY:
        raise MemoryError("no memory for encoding this text")
    if status == NO_TOKEN:
        data = str.encode(text, "utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        raise ValueError(f"byte 0x{data[offset]:02x}, at offset {base + offset} of the text in UTF-8, has no "
                         f"token in this vocabulary")
    if status == NO_UTF8:
        (<str> text).encode("utf-8")           # raises, with the position
    return 0


cdef class Encoder:
    """Encodes texts, one thread each, and keeps the workers that they take."""

    def __cinit__(self):
        self.specials = SpecialSets({})

    def __dealloc__(self):
        cdef PyObject* idle = bp_take_worker(&self._idle)
        while idle != NULL:
            Py_DECREF(<object> idle)
            idle = bp_take_worker(&self._idle)

    cdef int set_up(self, EncodingTables tables, SpecialSets specials, object pretokenizer, object normalize,
                    object pipeline, Py_ssize_t cache_bytes) except -1:
        if self.tables is not None:
            raise TypeError("a tokenizer is immutable: it is set up once")
        self.specials = specials
        self.scanned_alone = (tables.scanner is not None and normalize is None
                              and (pipeline is None or pipeline.scanned_alone))
        self.normalizes = tables.scanner is not None and normalize is not None and pipeline is None
        self._pretokenizer = pretokenizer
        self._normalize = normalize
        self._pipeline = pipeline
        self._cache_bytes = cache_bytes
        self._pool = []
        self.tables = tables
        return 0

    cdef object certain_cuts(self):
        from ..splitting.certain_cuts import certain_cuts  # not at the top: few texts are so long

        if self._cuts is None:
            self._cuts = certain_cuts(self._pretokenizer, tuple(self.specials.literals), self.normalizes) or False
        return self._cuts or None

    # A critical section is the interpreter lock, or without that a lock of this object. No Python code runs between a
    # look at the pool and the change that follows from it (see _batch.pyx). A worker is read by its owner alone: one
    # that is in the pool, by whoever is in the section.

    cdef Worker take(self):
        cdef PyObject* idle = bp_take_worker(&self._idle)
        cdef Worker worker = None
        if self.tables is None:
            raise TypeError("this tokenizer has not been set up")
        if idle != NULL:
            worker = <Worker> idle
            Py_DECREF(worker)                          # the reference of the slot
        else:
            with cython.critical_section(self):
                if self._pool:
                    worker = self._pool.pop()
            if worker is None:
                worker = Worker(self.tables, self._cache_bytes)
        worker.used = 0
        worker.wants_prefix = self.tables.prefixed
        bp_watch_begin(&worker.watch, NULL)
        return worker

    cdef void give(self, Worker worker):
        cdef PyObject* before
        cdef Worker other
        cdef Py_ssize_t most
        worker.shrink()
        worker.dropout = None
        Py_INCREF(worker)
        before = bp_give_worker(&self._idle, <PyObject*> worker)
        if before != NULL:
            other = <Worker> before
            Py_DECREF(other)                           # the reference of the slot
            most = thread_count(None) - 1              # each keeps a cache, and more can hardly work at once
            with cython.critical_section(self):
                if len(self._pool) < most:
                    self._pool.append(other)

    cdef int teach(self, Worker own, Py_ssize_t helpers) except -1:
        cdef Worker worker, teacher, best
        cdef Py_ssize_t i
        with cython.critical_section(self):
            best = _best(self, own)
            if best.known() < WORTH_A_COPY:
                return 0
            for worker in self._pool:
                helpers -= not worker.lacks(best)
            if helpers <= 0 or (self._teacher is not None and self._teacher.known() >= best.known() // 2):
                return 0
            for i in range(len(self._pool)):           # nobody else may use it while it is copied
                if self._pool[i] is best:
                    del self._pool[i]
                    break
        try:
            teacher = Worker(self.tables, self._cache_bytes)
            with nogil:
                teacher.learn(best)
            with cython.critical_section(self):
                self._teacher = teacher
        finally:
            if best is not own:
                self.give(best)
        return 0

    cdef Worker take_taught(self):
        cdef Worker worker = self.take(), teacher
        with cython.critical_section(self):
            teacher = self._teacher
        if teacher is not None:
            with nogil:
                worker.learn(teacher)
        return worker

    cdef int encode(self, Worker worker, object text, Specials specials) except -1:
        cdef text_view view
        cdef Py_ssize_t offset = 0
        cdef int status
        view_text(text, &view)
        if not self.scans(&view):
            return self.encode_in_python(worker, text, specials)
        if view.length <= KEEP_LOCK:
            status = encode_text(worker, specials, &view, &offset)
        else:
            with nogil:
                bp_cache_loosen(&worker.cache)
                status = encode_text(worker, specials, &view, &offset)
        return check_status(status, text, offset) if status != DONE else 0

    cdef bint scans(self, const text_view* view) except -1:
        cdef Py_ssize_t start, end
        cdef const uint8_t* values
        cdef uint32_t low
        cdef bytes table
        if self.scanned_alone or not self.normalizes:
            return self.scanned_alone
        if view.utf8 != NULL and bp_utf8_count(view.utf8, view.length) == view.length:
            return True                        # no normal form changes ASCII
        table, low = self._normalize.table, self._normalize.low
        values = <const uint8_t*> PyBytes_AS_STRING(table)
        with nogil:
            if view.utf8 != NULL:
                return not bp_not_normal(view.utf8, view.length, 0, values, &start, &end)
            return bp_units_normal(view.width, view.units, view.length, values, low)

    cdef int encode_in_python(self, Worker worker, object text, Specials specials) except -1:
        cdef bytes data = str.encode(text, "utf-8") if isinstance(text, str) else bytes(text)
        cdef Py_ssize_t at = 0
        worker.wants_prefix = worker.tables.prefixed
        if self._pipeline is not None:
            return self.encode_items(worker, self._pipeline.items(data.decode("utf-8"), specials))
        if specials is not None:
            for start, end, token_id in specials.cut(data):
                _encode_ordinary(self, worker, data[at:start], at)
                check_status(worker.put(token_id), text, 0)
                worker.wants_prefix = worker.tables.restarts
                at = end
        return _encode_ordinary(self, worker, data[at:] if at else data, at)

    cdef int encode_items(self, Worker worker, object items) except -1:
        for item in items:
            worker.wants_prefix = False            # a space before the text is in it already
            if isinstance(item, bytes):
                _encode_ordinary(self, worker, item, 0)
            elif isinstance(item, tuple):
                self.encode_pretokens(worker, item[0], item[1], 0)
            else:
                check_status(worker.put(item), "", 0)
        return 0

    cdef int encode_pretokens(self, Worker worker, bytes data, const long long[::1] ends, Py_ssize_t base) except -1:
        cdef Py_ssize_t block[BP_BLOCK]
        cdef Py_ssize_t n = ends.shape[0], i, size, at = 0, start = 0, length = PyBytes_GET_SIZE(data), offset = 0
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef int status = DONE
        with nogil:
            while at < n and status == DONE:
                size = min(<Py_ssize_t> BP_BLOCK, n - at)
                for i in range(size):
                    block[i] = ends[at + i]
                status = worker.encode_pretokens(text, start, block, size, length, &offset)
                start = block[size - 1]
                at += size
        return check_status(status, data, offset, base)


cdef Worker _best(Encoder encoder, Worker own):
    """The worker with the fullest cache: one of the pool or `own`."""
    cdef Worker worker, best = own
    for worker in encoder._pool:
        if worker.known() > best.known():
            best = worker
    return best


cdef bytes _normalized(object normalize, bytes data):
    """A text in a normal form: the text itself, but for parts that are not in the form."""
    cdef bytes table = normalize.table
    cdef const uint8_t* values = <const uint8_t*> PyBytes_AS_STRING(table)
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef Py_ssize_t n = PyBytes_GET_SIZE(data), done = 0, start = 0, end = 0
    cdef list parts = []
    cdef bint found = True
    while found:
        with nogil:
            found = bp_not_normal(text, n, done, values, &start, &end)
        if found:
            parts.append(data[done:start])
            parts.append(normalize(data[start:end].decode("utf-8")).encode("utf-8"))
            done = end
    return b"".join([*parts, data[done:]]) if parts else data


cdef int _encode_ordinary(Encoder encoder, Worker worker, bytes data, Py_ssize_t base) except -1:
    cdef Py_ssize_t offset = 0, length
    cdef const uint8_t* text
    cdef int status
    if encoder._normalize is not None and not data.isascii():
        data = _normalized(encoder._normalize, data)
    if not data:
        return 0
    if encoder.tables.scanner is None:
        return encoder.encode_pretokens(worker, data, encoder._pretokenizer.ends(data), base)
    text = <const uint8_t*> PyBytes_AS_STRING(data)
    length = PyBytes_GET_SIZE(data)
    with nogil:
        status = worker.encode_span(text, length, length, True, length, &offset)
    return check_status(status, data, offset, base)


cdef bint has_more(Encoder encoder, object text, Py_ssize_t limit):
    if not encoder.scanned_alone or not isinstance(text, (str, bytes)):
        return False
    cdef AlphabetTable alphabet = encoder.tables.alphabet
    if encoder.tables.dropped or alphabet is not None and (alphabet.gathers or alphabet.drops or not text.isascii()):
        return False                           # a token may stand for any number of characters, or for longer ones
    return len(text) // max(encoder.tables.tokens.longest, encoder.specials.every.longest, 1) > limit


cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint wanted):
    cdef text_view view
    cdef view_range part
    cdef Py_ssize_t size = FIRST_PART, missing
    view_text(text, &view)
    if not encoder.scans(&view):
        if refused is not None:
            refused.refuse(text)
        encoder.encode(worker, text, specials)
        return str.encode(text, "utf-8") if wanted else None
    part.end = 0
    while part.end < view.length and worker.used <= limit:
        part.start, part.stop = part.end, min(part.end + size, view.length)
        encode_range(worker, specials, text, &view, &part)
        missing = min(limit + 1 - worker.used, <Py_ssize_t> LONGEST_PART)
        if worker.used:
            size = min(SHORTEST_PART + missing * part.end // worker.used, <Py_ssize_t> LONGEST_PART)
    if refused is None and not wanted:
        return None
    read = _utf8(&view, part.end)
    if refused is not None:
        refused.refuse(read.decode("utf-8") if isinstance(text, str) else read)
    return read


cdef bytes _utf8(const text_view* view, Py_ssize_t n):
    """The first bytes or units of a text that has been encoded. CPython takes four times as long for its own units."""
    cdef Py_ssize_t bad, widest = 4 if view.width == 4 else view.width + 1
    if view.utf8 != NULL:
        return PyBytes_FromStringAndSize(<const char*> view.utf8, n)
    cdef bytes data = PyBytes_FromStringAndSize(NULL, n * widest + BP_UTF8_SLACK)
    return data[:bp_utf8_from_units(view.width, view.units, 0, n, <uint8_t*> PyBytes_AS_STRING(data), &bad)]


cdef object token_ends(Worker worker):
    cdef TokenTable tokens = worker.tables.tokens
    cdef array ends = clone(INT64, worker.used, False)
    cdef int64_t* to = <int64_t*> ends.data.as_longlongs
    cdef Py_ssize_t i, total = 0
    cdef bint dense = tokens.size and tokens.ids[tokens.size - 1] == tokens.size - 1   # ids are slots
    with nogil:
        for i in range(worker.used):
            total += size_at(tokens.sizes, tokens.starts,
                             <Py_ssize_t> worker.out[i] if dense else tokens.slot(worker.out[i]))
            to[i] = total
    return ends
