"""Token ids handed to Python: lists that share their int objects, arrays that own their memory, and streams.

A stream of ids keeps the part of its text that more text may change: the open pre-token, or the start of a special
token. A rest of more than a few bytes is read again only when it has doubled, so the cost does not depend on the cuts
between chunks.
"""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove

from .._merge cimport Dropout
from ..headers cimport BP_KEY_READ, bp_free, bp_resize, token_t
from ..headers.python cimport PyObject
from ..headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ..steps._rewriting cimport bp_buffer
from ._encode cimport (
    KEEP_LOCK, NO_TOKEN, NO_UTF8, Encoder, Worker, check_status, encode_between_specials, text_view, view_text,
)
from ._special cimport Specials

cdef extern from "core/numpy_array.h":
    ctypedef struct bp_numpy:
        PyObject* narrow
        PyObject* wide
    bint bp_numpy_is_set_up(bp_numpy* numpy)
    int bp_numpy_set_up(bp_numpy* numpy, object capsule, object narrow, object wide) except -1
    object bp_numpy_new(const bp_numpy* numpy, object descr, Py_ssize_t n, void** data)

cdef extern from "core/id_lists.h":
    enum: BP_TURNS
    list bp_id_list(const uint32_t* ids, Py_ssize_t n)
    Py_ssize_t bp_id_values(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept
    object bp_new_id(uint32_t token_id, uint32_t turn)

cdef enum:
    STEAL = 1 << 14            # ids; longer results take over the worker's memory instead of being copied
    SHORT = 64                 # bytes that are read again with each chunk
    KEPT = 1 << 20             # bytes of memory that stay after a long chunk

cdef Py_ssize_t NEVER = <Py_ssize_t> (<size_t> -1 >> 1)
cdef object END = object()
cdef str BUSY = "another call is reading this stream: its own chunks, or another thread"
cdef bp_numpy _numpy                               # all zero until it is needed
cdef object _frombuffer = None


cdef list list_of(const token_t* ids, Py_ssize_t n):
    return bp_id_list(ids, n)


cdef Py_ssize_t values_of(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept:
    return bp_id_values(items, n, values)


cdef class IdMemory:
    """The memory behind a NumPy array of token ids."""

    def __dealloc__(self):
        bp_free(self.ids)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.ids, self.used * self.width, 0, flags)


cdef int load_numpy() except -1:
    # Not at the top: lists do without it.
    global _frombuffer
    import numpy
    try:
        from numpy._core._multiarray_umath import _ARRAY_API
    except ImportError:                            # before NumPy 2
        from numpy.core._multiarray_umath import _ARRAY_API
    frombuffer, narrow, wide = numpy.frombuffer, numpy.dtype(numpy.uint16), numpy.dtype(numpy.uint32)
    with cython.critical_section(wide):
        if not bp_numpy_is_set_up(&_numpy):
            _frombuffer = frombuffer
            bp_numpy_set_up(&_numpy, _ARRAY_API, narrow, wide)
    return 0


cdef object array_of(IdMemory memory):
    dtype = dtype_of(memory.width)                 # imports NumPy
    return _frombuffer(memory, dtype)


cdef object dtype_of(int width):
    if not bp_numpy_is_set_up(&_numpy):
        load_numpy()
    return <object> (_numpy.narrow if width == 2 else _numpy.wide)


cdef object take_ids(Worker worker):
    cdef IdMemory taken
    cdef void* data
    dtype = dtype_of(worker.width)
    if worker.used >= STEAL:
        taken = IdMemory()
        with nogil:
            taken.ids = <token_t*> bp_resize(worker.out, worker.used * worker.width)
        if taken.ids == NULL:
            raise MemoryError()
        taken.used, taken.width = worker.used, worker.width
        worker.out, worker.capacity = NULL, 0
        return array_of(taken)
    array = bp_numpy_new(&_numpy, dtype, worker.used, &data)
    if worker.used:                                # a worker that has put out nothing has no memory for it
        memcpy(data, worker.out, worker.used * worker.width)
    return array


# ---- the ids of a text that arrives in chunks

@cython.final
cdef class OpenText:
    """The beginning of a text, as far as more text may change its ids.

    A rest of more than a few bytes is read again only when it has doubled, so the cost does not depend on the cuts
    between chunks. Without a scanner all of the text stays open until its end.

    Args:
        tokenizer: Its core cuts the text: no pipeline is applied.
        specials: The special tokens to recognise, or None.
        dropout: The draws, or None.
        is_normal: The text is in the tokenizer's normal form.
    """

    cdef Encoder encoder
    cdef Specials specials
    cdef Dropout dropout
    cdef uint64_t position         # bytes that have been merged, on which the draws depend
    cdef bint wants_prefix         # no text has been read
    cdef bint busy                 # another call is under way
    cdef bint rewrites
    cdef bp_buffer rewritten       # an open pre-token that was rewritten; it is no longer in the open text
    cdef uint8_t* open
    cdef Py_ssize_t size, capacity, enough     # bytes; with fewer than enough, nothing is read
    cdef readonly Py_ssize_t offset            # of the open text in the whole text, in bytes
    cdef token_t* ids              # of the last chunk, in a worker's memory
    cdef Py_ssize_t used, given, id_capacity

    def __cinit__(self, tokenizer, specials, dropout, bint is_normal=False):
        self.encoder = tokenizer._encoder
        self.specials, self.dropout = specials, dropout
        self.rewrites = self.encoder.tables.rewriter is not None and not is_normal
        self.wants_prefix = True
        self.enough = NEVER if self.encoder.tables.scanner is None else 0

    def __dealloc__(self):
        free(self.open)
        free(self.rewritten.bytes)
        bp_free(self.ids)

    @cython.critical_section
    def feed(self, chunk, bint final=False):
        """A list of the ids that are certain now and were not before; after the `final` chunk another text may begin.

        Args:
            chunk: str, or UTF-8 bytes of whole characters.
        """
        if self.busy:
            raise ValueError(BUSY)
        self.busy = True
        try:
            read_chunk(self, chunk, final)
            return list_of(self.ids, self.used)
        finally:
            self.busy = False


cdef int read_chunk(OpenText self, object chunk, bint final) except -1:
    """Append a chunk, and encode what is certain. OUT: the ids of `self`, used and not given out."""
    self.used = self.given = 0
    append(self, chunk)
    if self.size >= self.enough or final:
        encode_certain(self, final)
    return 0


cdef int append(OpenText self, object chunk) except -1:
    cdef text_view view
    cdef Py_ssize_t widest, bad = -1
    view_text(chunk, &view)
    widest = 1 if view.utf8 != NULL else 4 if view.width == 4 else view.width + 1
    grow(self, self.size + widest * view.length + max(<Py_ssize_t> BP_UTF8_SLACK, <Py_ssize_t> BP_KEY_READ))
    if view.utf8 != NULL:
        memcpy(self.open + self.size, view.utf8, view.length)
        self.size += view.length
    else:
        self.size += bp_utf8_from_units(view.width, view.units, 0, view.length, self.open + self.size, &bad)
    return check_status(NO_UTF8, chunk, 0) if bad >= 0 else 0


cdef int grow(OpenText self, Py_ssize_t capacity) except -1:
    cdef void* grown
    if capacity > self.capacity:
        grown = realloc(self.open, capacity + capacity // 4)
        if grown == NULL:
            raise MemoryError(f"no memory for {capacity} bytes of open text")
        self.open, self.capacity = <uint8_t*> grown, capacity + capacity // 4
    return 0


cdef int encode_certain(OpenText self, bint final) except -1:
    cdef Worker worker = self.encoder.take(self.dropout, self.position)
    cdef Py_ssize_t size = self.size, done = 0, open
    cdef void* grown
    cdef int status
    swap(self, worker)
    try:
        worker.wants_prefix = self.wants_prefix and worker.tables.prefixed
        worker.rewrites = self.rewrites
        if worker.tables.scanner is None:
            self.encoder.encode_items(worker, [self.open[:size]] if size else ())
            done = size
        else:
            if size <= KEEP_LOCK:
                status = encode_between_specials(worker, self.specials, self.open, size, self.capacity, final, size,
                                                 &done)
            else:
                with nogil:
                    status = encode_between_specials(worker, self.specials, self.open, size, self.capacity, final, size,
                                                     &done)
            if status:
                if status == NO_TOKEN and worker.rewritten.filled:
                    raise ValueError(f"a byte that normalization makes of bytes {self.offset} to {self.offset + size} "
                                     f"of the text has no token in this vocabulary")
                check_status(status, self.open[:size], done, self.offset)
            open = size - done + worker.rewritten.filled
            self.enough = size - done + open if open > SHORT else 0
        self.wants_prefix, self.position = worker.wants_prefix, worker.position
        self.used = worker.used
    finally:
        swap(self, worker)
        self.encoder.give(worker)
    self.size -= done
    self.offset += done
    memmove(self.open, self.open + done, self.size)
    if self.capacity > KEPT and self.size < KEPT // 2:
        grown = realloc(self.open, KEPT)
        if grown != NULL:
            self.open, self.capacity = <uint8_t*> grown, KEPT
    return 0


cdef void swap(OpenText self, Worker worker) noexcept:
    """The worker takes the memory of the stream, and the stream that of the worker; or they take theirs back."""
    worker.out, self.ids = self.ids, worker.out
    worker.capacity, self.id_capacity = self.id_capacity, worker.capacity
    worker.rewritten, self.rewritten = self.rewritten, worker.rewritten


@cython.final
cdef class IdsOfChunks:
    """The ids of a text that arrives in chunks. The next chunk is asked for when all certain ids are out.

    Args:
        text: A new OpenText.
        chunks: An iterator of str and bytes.
        whole: Of a chunk and its offset in the whole text, makes a str of whole characters. A stream of str does
            without it.
    """

    cdef OpenText text
    cdef object chunks             # None after the last one, or after an error
    cdef object whole
    cdef bint is_mixed             # bytes have come

    def __cinit__(self, OpenText text not None, chunks not None, whole not None):
        self.text, self.chunks, self.whole = text, chunks, whole

    def __iter__(self):
        return self

    @cython.critical_section
    def __next__(self):
        cdef OpenText text = self.text
        while text.given >= text.used:
            if self.chunks is None:
                raise StopIteration
            read_next(self)
        text.given += 1
        return bp_new_id(text.ids[text.given - 1], <uint32_t> text.given % BP_TURNS)


cdef int read_next(IdsOfChunks self) except -1:
    cdef bint final
    if self.text.busy:
        raise ValueError(BUSY)
    self.text.busy = True
    try:
        chunk = next(self.chunks, END)
        final = chunk is END
        if final:
            chunk, self.chunks = "", None
        if self.is_mixed or type(chunk) is not str:
            self.is_mixed = True
            chunk = self.whole(chunk, self.text.offset + self.text.size)
        return read_chunk(self.text, chunk, final)
    except BaseException:
        self.chunks = None
        raise
    finally:
        self.text.busy = False
