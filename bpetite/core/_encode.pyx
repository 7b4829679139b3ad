"""Text to token ids by one thread: special tokens out first, then the split pattern, then merges.

Text that a compiled scanner cuts is read without the interpreter lock. What needs Python, a pattern that only
`regex` can split, normalization, the steps of a pipeline, is done stretch by stretch, with the merging compiled all the
same.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from ..headers cimport bp_watch_begin
from ._special cimport Specials, SpecialSets
from ._text cimport (
    DONE, INTERRUPTED, NO_MEMORY, NO_TOKEN, NO_UTF8, guess_ids, text_view, utf8_window, view_text, window_drop,
    window_extend
)
from ._worker cimport BP_BLOCK, Core, Worker, bp_cache_loosen


cdef enum:
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter texts, handing it over costs more
    WORTH_A_COPY = 4096        # words
    RUN = 1 << 16              # bytes that are searched for special tokens, then encoded, in the second-level cache
    COPIED = 240               # bytes; shorter texts are copied to where sixteen bytes can be read at any offset


cdef int encode_utf8(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable,
                     bint final, Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t at = 0, found, which = 0, inside = 0, limit = length
    cdef int status
    if specials is not None and specials.size:
        if not final:
            # A special token that starts from here on may be another one once more text is there.
            limit = specials.open_from(text, 0, length)
        while True:
            found = specials.find(text, at, length, &which)
            if found < 0 or (found >= limit and not final):
                break
            status = worker.encode(text + at, found - at, readable - at, True, &inside)
            if status != DONE:
                done[0] = at + inside
                return status
            if worker.put(specials.ids[which]) != DONE:
                return NO_MEMORY
            at = found + <Py_ssize_t> (specials.starts[which + 1] - specials.starts[which])
            if limit < at:
                limit = specials.open_from(text, at, length)
    if at < limit:
        status = worker.encode(text + at, limit - at, readable - at, final, &inside)
        done[0] = at + inside
        return status
    done[0] = at
    return DONE


cdef int encode_view(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil:
    cdef uint8_t copy[COPIED + 16]
    if view.utf8 == NULL:
        if not worker.counting:
            worker.reserve(guess_ids(view))
        return _encode_units(worker, specials, view, offset)
    if view.length <= COPIED:
        memcpy(copy, view.utf8, view.length)
        return encode_utf8(worker, specials, copy, view.length, view.length + 16, True, offset)
    if not worker.counting:
        worker.reserve(guess_ids(view))
    return _encode_runs(worker, specials, view, offset)


cdef int _encode_runs(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil:
    cdef Py_ssize_t start = 0, run = RUN, end, done = 0
    cdef int status
    while True:
        end = start + run if view.length - start > run + run // 2 else view.length
        while end < view.length and (view.utf8[end] & 0xC0) == 0x80:
            end -= 1                           # to where a character begins
        status = encode_utf8(worker, specials, view.utf8 + start, end - start, view.length - start,
                             end == view.length, &done)
        start += done
        offset[0] = start
        if status != DONE or end == view.length:
            return status
        run = RUN if done else 2 * run         # a pre-token that is not closed in it


cdef int _encode_units(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil:
    cdef utf8_window* window = &worker.window
    cdef Py_ssize_t base = 0, done = 0         # bytes before the window, and of it
    cdef int status
    window.filled = window.read = 0
    while window.read < view.length:
        status = window_extend(window, view, view.length)
        if status == DONE:
            status = encode_utf8(worker, specials, window.bytes, window.filled, window.filled + 16,
                                 window.read == view.length, &done)
        if status != DONE:
            offset[0] = base + done
            return status
        base += done
        window_drop(window, done)
    return DONE


cdef int check(int status, object text, Py_ssize_t offset, Py_ssize_t base=0) except -1:
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


cdef int view_utf8(Worker worker, str text, text_view* view) except -1:
    view_text(text, view)
    if view.utf8 == NULL:
        worker.window.filled = worker.window.read = 0
        while worker.window.read < len(text):
            check(window_extend(&worker.window, view, view.length), text, 0)
        view.utf8, view.length = worker.window.bytes, worker.window.filled
    return 0


cdef class Encoder:
    """Encodes texts, one thread each, and keeps the workers that they take."""

    def __cinit__(self):
        self.specials = SpecialSets({})

    cdef int set_up(self, Core core, SpecialSets specials, object pretokenizer, object normalize, object pipeline,
                    Py_ssize_t cache_bytes) except -1:
        if self.core is not None:
            raise TypeError("a tokenizer is immutable: it is set up once")
        self.specials = specials
        self.compiled = core.scanner is not None and normalize is None and (pipeline is None or pipeline.is_compiled)
        self._pretokenizer = pretokenizer
        self._normalize = normalize
        self._pipeline = pipeline
        self._cache_bytes = cache_bytes
        self._pool = []
        self.core = core
        return 0

    # The interpreter lock makes both methods safe: no other thread can run between a test and the update after it.

    cdef Worker take(self):
        cdef Worker worker
        if self.core is None:
            raise TypeError("this tokenizer has not been set up")
        if self._spare is not None:
            worker = self._spare
            self._spare = None
        elif self._pool:
            worker = self._pool.pop()
        else:
            worker = Worker(self.core, self._cache_bytes)
        worker.used = worker.counted = 0
        worker.counting = False
        bp_watch_begin(&worker.watch, NULL)
        return worker

    cdef void give(self, Worker worker):
        worker.shrink()
        worker.dropout = None
        if self._spare is None:
            self._spare = worker
        else:
            self._pool.append(worker)

    cdef int teach(self, Worker own, Py_ssize_t helpers) except -1:
        cdef Worker worker, best = own
        cdef Worker teacher
        cdef list idle = self._pool if self._spare is None else [*self._pool, self._spare]
        for worker in idle:
            if best is None or worker.known() > best.known():
                best = worker
        if best is None or best.known() < WORTH_A_COPY:
            return 0
        for worker in idle:
            helpers -= not worker.lacks(best)
        if helpers > 0 and (self._teacher is None or self._teacher.known() < best.known() // 2):
            teacher = Worker(self.core, self._cache_bytes)
            teacher.learn(best)
            self._teacher = teacher
        return 0

    cdef Worker take_taught(self):
        cdef Worker worker = self.take()
        cdef Worker teacher = self._teacher
        if teacher is not None:
            with nogil:
                worker.learn(teacher)
        return worker

    cdef int encode(self, Worker worker, object text, Specials specials) except -1:
        cdef text_view view
        cdef Py_ssize_t offset = 0
        cdef int status
        view_text(text, &view)
        if not self.compiled:
            return self.encode_in_python(worker, text, specials)
        if view.length <= KEEP_LOCK:
            status = encode_view(worker, specials, &view, &offset)
        else:
            with nogil:
                bp_cache_loosen(&worker.cache)
                status = encode_view(worker, specials, &view, &offset)
        return check(status, text, offset) if status != DONE else 0

    cdef int encode_in_python(self, Worker worker, object text, Specials specials) except -1:
        cdef bytes data = str.encode(text, "utf-8") if isinstance(text, str) else bytes(text)
        cdef Py_ssize_t at = 0
        if self._pipeline is not None:
            literals = None if specials is None else specials.literals
            return self.encode_items(worker, self._pipeline.items(data.decode("utf-8"), literals))
        if specials is not None:
            for start, end, token_id in specials.cut(data):
                self._encode_ordinary(worker, data[at:start], at)
                check(worker.put(token_id), text, 0)
                at = end
        return self._encode_ordinary(worker, data[at:] if at else data, at)

    cdef int encode_items(self, Worker worker, object items) except -1:
        for item in items:
            if isinstance(item, bytes):
                self._encode_ordinary(worker, item, 0)
            elif isinstance(item, tuple):
                self.encode_pretokens(worker, item[0], item[1], 0)
            else:
                check(worker.put(item), "", 0)
        return 0

    cdef int _encode_ordinary(self, Worker worker, bytes data, Py_ssize_t base) except -1:
        cdef Py_ssize_t offset = 0, length
        cdef const uint8_t* text
        cdef int status
        if self._normalize is not None and not data.isascii():
            data = self._normalize(data.decode("utf-8")).encode("utf-8")
        if not data:
            return 0
        if self.core.scanner is None:
            return self.encode_pretokens(worker, data, self._pretokenizer.ends(data), base)
        text = <const uint8_t*> PyBytes_AS_STRING(data)
        length = PyBytes_GET_SIZE(data)
        with nogil:
            status = worker.encode(text, length, length, True, &offset)
        return check(status, data, offset, base)

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
                status = worker.encode_block(text, start, block, size, length, &offset)
                start = block[size - 1]
                at += size
        return check(status, data, offset, base)
