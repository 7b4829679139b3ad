"""Token ids to bytes and text.

Two passes: the sizes of all tokens give the length, then one allocation and one copy (ByteTable). Where all tokens of a
call are ASCII, the str is written directly; other text is joined first and read as UTF-8 then, since a character may
span tokens.
"""
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM
from cpython.ref cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from .._merge cimport ByteTable
from ..headers.join cimport bp_join, bp_join_size
from ..headers.pyobject cimport PyUnicode_DATA, PyUnicode_New, bp_token_value
from ..vocabulary._tokens cimport TokenTable

cdef enum:
    KEEP_LOCK = 512        # ids; the interpreter lock is kept for fewer, handing it over costs more
    NOT_A_POSITION = 0xFFFFFFFF

ctypedef fused integer:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    int64_t
    uint64_t


cdef Py_ssize_t _widen(const integer* values, Py_ssize_t n, uint32_t* positions) noexcept nogil:
    """Copy to uint32; returns the index of the first value outside 0..2^32-1, n where there is none."""
    cdef Py_ssize_t i
    for i in range(n):
        if integer is int64_t or integer is uint64_t:
            if <uint64_t> values[i] >> 32:
                return i
        elif integer is int8_t or integer is int16_t or integer is int32_t:
            if values[i] < 0:
                return i
        positions[i] = <uint32_t> values[i]
    return n


cdef class Decoder:
    """Joins the bytes of token ids."""

    def __cinit__(self):
        self.table = ByteTable()

    cdef int set_up(self, TokenTable tokens, str errors) except -1:
        cdef bint direct = tokens.slot_of != NULL
        self.table.fill(tokens, tokens.blob, tokens.starts, tokens.slot_of, tokens.ids if direct else NULL,
                        tokens.size, tokens.direct if direct else tokens.size)
        self.errors = errors
        self.tokens = tokens
        return 0

    cdef bytes decode_bytes(self, object ids):
        cdef id_view view
        cdef Py_buffer buffer
        cdef unsigned not_ascii = 0
        cdef int64_t total
        cdef bytes joined
        cdef uint8_t* out
        self.read_ids(ids, &view, &buffer)
        try:
            total = self.size(&view, &not_ascii)
            if total < 0:
                raise self.unknown(ids, -1 - total)
            joined = PyBytes_FromStringAndSize(NULL, total)
            out = <uint8_t*> PyBytes_AS_STRING(joined)
            self.join(&view, out, total)
            return joined
        finally:
            _release(&view, &buffer)

    cdef str decode(self, object ids, str errors):
        cdef id_view view
        cdef Py_buffer buffer
        cdef unsigned not_ascii = 0
        cdef int64_t total
        cdef str text
        cdef uint8_t* out = NULL
        cdef bytes handler
        self.read_ids(ids, &view, &buffer)
        try:
            total = self.size(&view, &not_ascii)
            if total < 0:
                raise self.unknown(ids, -1 - total)
            if total == 0:
                return ""
            if not not_ascii:
                text = PyUnicode_New(total, 127)
                self.join(&view, <uint8_t*> PyUnicode_DATA(text), total)
                return text
            out = <uint8_t*> malloc(total)
            if out == NULL:
                raise MemoryError()
            self.join(&view, out, total)
            handler = (self.errors if errors is None else errors).encode()
            return PyUnicode_DecodeUTF8(<char*> out, total, handler)
        finally:
            free(out)
            _release(&view, &buffer)

    cdef list char_spans(self, list ids, bytes text):
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t at = 0, started = 0, first, end, i, slot, n = len(ids)
        cdef list spans = [None] * n
        if self.tokens is None:
            raise TypeError("this tokenizer has not been set up")
        for i in range(n):
            slot = self.tokens.slot(ids[i])
            if slot < 0:
                raise KeyError(ids[i])
            end = at + <Py_ssize_t> (self.tokens.starts[slot + 1] - self.tokens.starts[slot])
            if end > len(text):
                raise ValueError(f"token {i} reaches past the text")
            first = started - (data[at] & 0xC0 == 0x80)
            while at < end:
                started += data[at] & 0xC0 != 0x80
                at += 1
            spans[i] = (first, started)
        return spans

    cdef int64_t size(self, const id_view* view, unsigned* not_ascii) noexcept:
        if view.n <= KEEP_LOCK:
            return bp_join_size(&self.table.joiner, view.positions, view.n, not_ascii)
        with nogil:
            return bp_join_size(&self.table.joiner, view.positions, view.n, not_ascii)

    cdef void join(self, const id_view* view, uint8_t* out, int64_t total) noexcept:
        if view.n <= KEEP_LOCK:
            bp_join(&self.table.joiner, view.positions, view.n, out, total)
            return
        with nogil:
            bp_join(&self.table.joiner, view.positions, view.n, out, total)

    cdef int read_ids(self, object ids, id_view* view, Py_buffer* buffer) except -1:
        if self.tokens is None:
            raise TypeError("this tokenizer has not been set up")
        memset(view, 0, sizeof(id_view))
        if isinstance(ids, (list, tuple)):
            return self.read_sequence(ids, view)
        if isinstance(ids, str):
            raise TypeError("token ids are ints, not str")
        if not PyObject_CheckBuffer(ids) or isinstance(ids, bytes):
            return self.read_sequence(list(ids), view)
        try:
            PyObject_GetBuffer(ids, buffer, PyBUF_FORMAT | PyBUF_ND)
        except (BufferError, ValueError):              # not contiguous
            import numpy                               # not at the top: lists do without it
            ids = numpy.ascontiguousarray(ids)
            PyObject_GetBuffer(ids, buffer, PyBUF_FORMAT | PyBUF_ND)
        view.held = True
        try:
            return self.read_array(ids, view, buffer)
        except BaseException:
            _release(view, buffer)
            raise

    cdef int read_array(self, object ids, id_view* view, Py_buffer* buffer) except -1:
        cdef char code = _format(buffer)
        cdef Py_ssize_t n, wrong
        if buffer.ndim != 1 or (code == 0 and (buffer.len or buffer.itemsize == 0)):
            raise TypeError(f"token ids are a one-dimensional array of integers, not {ids!r:.60}")
        n = buffer.len // buffer.itemsize
        view.n = n
        if self.table.joiner.slot_of != NULL and code == b"I":
            view.positions = <const uint32_t*> buffer.buf
            return 0
        view.owned = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        if view.owned == NULL:
            raise MemoryError()
        wrong = _copy_array(buffer, code, n, view.owned)
        if wrong < n:
            raise KeyError(int(ids[wrong]))
        self.to_positions(view.owned, n)
        view.positions = view.owned
        view.held = False
        PyBuffer_Release(buffer)
        return 0

    cdef int read_sequence(self, object ids, id_view* view) except -1:
        cdef Py_ssize_t n = len(ids), i
        cdef bint is_list = isinstance(ids, list)
        cdef PyObject* item
        cdef int64_t value = 0
        cdef uint32_t* positions = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        if positions == NULL:
            raise MemoryError()
        for i in range(n):
            item = <PyObject*> (PyList_GET_ITEM(ids, i) if is_list else PyTuple_GET_ITEM(ids, i))
            value = bp_token_value(<object> item)
            if value < 0:
                break
            positions[i] = <uint32_t> value
        if value < 0:
            free(positions)
            if value == -1:
                raise KeyError(ids[i])
            # not an int: numpy integers and others with __index__ are
            return self.read_sequence([_index(each) for each in ids], view)
        self.to_positions(positions, n)
        view.owned = positions
        view.positions = positions
        view.n = n
        return 0

    cdef void to_positions(self, uint32_t* positions, Py_ssize_t n) noexcept:
        cdef Py_ssize_t i, slot
        if self.table.joiner.slot_of == NULL:
            for i in range(n):
                slot = self.tokens.slot(positions[i])
                positions[i] = <uint32_t> slot if slot >= 0 else <uint32_t> NOT_A_POSITION

    cdef object unknown(self, object ids, Py_ssize_t index):
        try:
            return KeyError(int(ids[index]))
        except TypeError:                          # a set, a generator: only its list had an order
            return KeyError("a token id is not in the vocabulary")


cdef void _release(id_view* view, Py_buffer* buffer) noexcept:
    free(view.owned)
    view.owned = NULL
    if view.held:
        view.held = False
        PyBuffer_Release(buffer)


cdef object _index(object value):
    if isinstance(value, int):
        return value
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError(f"token ids are ints, not {type(value).__name__}: {value!r:.60}") from None


cdef char _format(Py_buffer* buffer) noexcept:
    """The kind of integer in a buffer by its size: one of b B h H i I q Q, or 0."""
    cdef const char* format = buffer.format
    cdef char code
    if format == NULL:
        return b"B"
    code = format[0]
    if code == b"@" or code == b"=" or code == b"<":
        code = format[1]
        if code == 0 or format[2] != 0:
            return 0
    elif format[1] != 0:
        return 0
    if code == b"b" or code == b"h" or code == b"i" or code == b"l" or code == b"q" or code == b"n":
        return (b"b" if buffer.itemsize == 1 else b"h" if buffer.itemsize == 2 else b"i" if buffer.itemsize == 4
                else b"q" if buffer.itemsize == 8 else 0)
    if code == b"B" or code == b"H" or code == b"I" or code == b"L" or code == b"Q" or code == b"N":
        return (b"B" if buffer.itemsize == 1 else b"H" if buffer.itemsize == 2 else b"I" if buffer.itemsize == 4
                else b"Q" if buffer.itemsize == 8 else 0)
    return 0


cdef Py_ssize_t _copy_array(Py_buffer* buffer, char code, Py_ssize_t n, uint32_t* positions) noexcept:
    if code == b"I":
        memcpy(positions, buffer.buf, n * sizeof(uint32_t))
        return n
    if code == b"i":
        return _widen(<const int32_t*> buffer.buf, n, positions)
    if code == b"q":
        return _widen(<const int64_t*> buffer.buf, n, positions)
    if code == b"Q":
        return _widen(<const uint64_t*> buffer.buf, n, positions)
    if code == b"h":
        return _widen(<const int16_t*> buffer.buf, n, positions)
    if code == b"H":
        return _widen(<const uint16_t*> buffer.buf, n, positions)
    if code == b"b":
        return _widen(<const int8_t*> buffer.buf, n, positions)
    return _widen(<const uint8_t*> buffer.buf, n, positions)
