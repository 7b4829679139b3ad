"""Token ids to bytes and text.

Two passes: the sizes of all tokens give the length, then one allocation and one copy, of sixteen bytes at a time for
tokens that are not longer, which nearly all are. Their first sixteen bytes lie in a table of their own, one cache line
for a token, beside a table of two bytes each with the size and whether the token is ASCII. Where all tokens of a call
are, the str is written directly; other text is joined first and read as UTF-8 then, since a character may span tokens.
"""
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM
from cpython.ref cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from ..headers.pyobject cimport PyUnicode_DATA, PyUnicode_New, bp_token_value
from ..vocabulary._tokens cimport TokenTable

import codecs

cdef enum:
    KEEP_LOCK = 512        # ids; giving the interpreter lock back and forth costs more than so many of them
    NOT_A_PLACE = 0xFFFFFFFF

ctypedef fused integer:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    int64_t
    uint64_t


cdef Py_ssize_t _widen(const integer* values, Py_ssize_t n, uint32_t* places) noexcept nogil:
    """Copy to uint32; returns the index of the first value outside 0..2^32-1, n where there is none."""
    cdef Py_ssize_t i
    for i in range(n):
        if integer is int64_t or integer is uint64_t:
            if <uint64_t> values[i] >> 32:
                return i
        elif integer is int8_t or integer is int16_t or integer is int32_t:
            if values[i] < 0:
                return i
        places[i] = <uint32_t> values[i]
    return n


cdef class Decoder:
    """Token ids to bytes and text.

    Args:
        tokens: id -> bytes, special tokens included.
        errors: What :meth:`decode` makes of bytes that are not UTF-8.
    """

    def __init__(self, dict tokens not None, str errors not None="strict"):
        self._set_tokens(TokenTable(tokens), errors)

    def _char_spans(self, list ids not None, const uint8_t[::1] text not None):
        """(start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined."""
        cdef Py_ssize_t at = 0, started = 0, first, end, i, slot, n = len(ids)
        cdef list spans = [None] * n
        for i in range(n):
            slot = self._tokens.slot(ids[i])
            end = at + <Py_ssize_t> (self._tokens.starts[slot + 1] - self._tokens.starts[slot])
            if slot < 0 or end > text.shape[0]:
                raise ValueError(f"token {i} reaches past the text")
            first = started - (text[at] & 0xC0 == 0x80)
            while at < end:
                started += text[at] & 0xC0 != 0x80
                at += 1
            spans[i] = (first, started)
        return spans

    cdef int _set_tokens(self, TokenTable tokens, str errors) except -1:
        cdef Py_ssize_t slot, place
        cdef uint64_t size, i
        cdef bint ascii
        cdef const uint8_t* token
        if self.pieces != NULL:
            raise TypeError("a tokenizer is immutable: it is set up once")
        self.joiner.places = tokens.direct if tokens.slot_of != NULL else tokens.size
        self.pieces = <bp_piece*> calloc(self.joiner.places + 1, sizeof(bp_piece))
        self.sizes = <uint16_t*> calloc(self.joiner.places + 1, sizeof(uint16_t))
        if self.pieces == NULL or self.sizes == NULL:
            raise MemoryError()
        self._tokens = tokens
        self._errors = errors
        self.joiner.pieces = self.pieces
        self.joiner.sizes = self.sizes
        self.joiner.starts = tokens.starts
        self.joiner.blob = tokens.blob
        self.joiner.slot_of = tokens.slot_of
        for slot in range(tokens.size):
            place = tokens.ids[slot] if tokens.slot_of != NULL else slot
            token = tokens.blob + tokens.starts[slot]
            size = tokens.starts[slot + 1] - tokens.starts[slot]
            memcpy(self.pieces[place].bytes, token, min(size, <uint64_t> 16))
            ascii = True
            for i in range(size):
                if token[i] >= 0x80:
                    ascii = False
                    break
            self.sizes[place] = <uint16_t> (min(size, <uint64_t> BP_LONG_TOKEN) | (0 if ascii else BP_NOT_ASCII))
        return 0

    def __dealloc__(self):
        free(self.pieces)
        free(self.sizes)

    def decode_bytes(self, ids):
        """The bytes of token ids, joined; special tokens give their literals.

        Args:
            ids: A list or other sequence of ints, or a one-dimensional integer array.

        Raises:
            KeyError: An id is not in the vocabulary; the argument is the id.
            TypeError: Something in ids is no int.
        """
        cdef id_view view
        cdef Py_buffer buffer
        cdef unsigned not_ascii = 0
        cdef int64_t total
        cdef bytes joined
        cdef uint8_t* out
        self._read_ids(ids, &view, &buffer)
        try:
            if view.n > KEEP_LOCK:
                with nogil:
                    total = bp_join_size(&self.joiner, view.places, view.n, &not_ascii)
            else:
                total = bp_join_size(&self.joiner, view.places, view.n, &not_ascii)
            if total < 0:
                raise self._unknown(ids, -1 - total)
            joined = PyBytes_FromStringAndSize(NULL, total)
            out = <uint8_t*> PyBytes_AS_STRING(joined)
            if view.n > KEEP_LOCK:
                with nogil:
                    bp_join(&self.joiner, view.places, view.n, out, total)
            else:
                bp_join(&self.joiner, view.places, view.n, out, total)
            return joined
        finally:
            _release(&view, &buffer)

    def decode(self, ids, *, str errors=None):
        """The text of token ids; special tokens give their literals.

        Args:
            ids: A list or other sequence of ints, or a one-dimensional integer array.
            errors: What becomes of bytes that are not UTF-8, as for ``bytes.decode``; the tokenizer's own setting
                (by default "strict") when None.

        Raises:
            KeyError: An id is not in the vocabulary; the argument is the id.
            UnicodeDecodeError: The joined bytes are not UTF-8 and errors is "strict".
        """
        cdef id_view view
        cdef Py_buffer buffer
        cdef unsigned not_ascii = 0
        cdef int64_t total
        cdef object text
        cdef uint8_t* out = NULL
        cdef bytes handler
        self._read_ids(ids, &view, &buffer)
        try:
            with nogil:
                total = bp_join_size(&self.joiner, view.places, view.n, &not_ascii)
            if total < 0:
                raise self._unknown(ids, -1 - total)
            if total == 0:
                return ""
            if not not_ascii:
                text = PyUnicode_New(total, 127)
                out = <uint8_t*> PyUnicode_DATA(text)
                with nogil:
                    bp_join(&self.joiner, view.places, view.n, out, total)
                return text
            out = <uint8_t*> malloc(total)
            if out == NULL:
                raise MemoryError()
            try:
                with nogil:
                    bp_join(&self.joiner, view.places, view.n, out, total)
                handler = (self._errors if errors is None else errors).encode()
                return PyUnicode_DecodeUTF8(<char*> out, total, handler)
            finally:
                free(out)
        finally:
            _release(&view, &buffer)

    def decode_batch(self, batch, *, str errors=None):
        """The texts of several sequences of token ids, in order; see :meth:`decode`."""
        return [self.decode(ids, errors=errors) for ids in batch]

    def decode_iterable(self, ids, *, str errors=None):
        """Yield the text of token ids piece by piece: whole characters, as soon as they are complete.

        The pieces joined are :meth:`decode` of all ids. What the last ids leave incomplete is treated as ``errors``
        says, so "strict" raises UnicodeDecodeError at the end.

        Args:
            ids: An iterable of ints; it may be endless.
            errors: As for :meth:`decode`.

        Raises:
            KeyError: An id is not in the vocabulary; the argument is the id.
            UnicodeDecodeError: The bytes are not UTF-8 and errors is "strict".
        """
        decoder = codecs.getincrementaldecoder("utf-8")(self._errors if errors is None else errors)
        for token_id in ids:
            text = decoder.decode(self.decode_bytes((token_id,)))
            if text:
                yield text
        text = decoder.decode(b"", True)
        if text:
            yield text

    cdef int _read_ids(self, object ids, id_view* view, Py_buffer* buffer) except -1:
        # OUT: the places of all ids; those of an array of uint32 are read where they are.
        cdef Py_ssize_t i, n, wrong
        cdef int64_t value = 0
        cdef PyObject* item
        cdef bint is_list = isinstance(ids, list)
        cdef uint32_t* places
        cdef char code
        if self._tokens is None:
            raise TypeError("this tokenizer has not been set up")
        view.owned = NULL
        view.places = NULL
        view.n = 0
        view.held = False
        if not is_list and not isinstance(ids, tuple):
            if isinstance(ids, str):
                raise TypeError("token ids are ints, not str")
            if PyObject_CheckBuffer(ids) and not isinstance(ids, bytes):
                try:
                    PyObject_GetBuffer(ids, buffer, PyBUF_FORMAT | PyBUF_ND)
                except (BufferError, ValueError):      # not contiguous
                    import numpy                       # not at the top: lists do without it
                    ids = numpy.ascontiguousarray(ids)
                    PyObject_GetBuffer(ids, buffer, PyBUF_FORMAT | PyBUF_ND)
                view.held = True
                try:
                    code = _format(buffer)
                    n = buffer.len // buffer.itemsize
                    if buffer.ndim != 1 or (code == 0 and n):
                        raise TypeError(f"token ids are a one-dimensional array of integers, not {ids!r:.60}")
                    if self.joiner.slot_of != NULL and code == b"I":
                        view.places = <const uint32_t*> buffer.buf
                        view.n = n
                        return 0
                    places = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
                    if places == NULL:
                        raise MemoryError()
                    view.owned = places
                    view.places = places
                    view.n = n
                    wrong = _copy_array(buffer, code, n, places)
                    if wrong < n:
                        raise KeyError(int(ids[wrong]))
                    self._to_places(places, n)
                except BaseException:
                    _release(view, buffer)
                    raise
                view.held = False
                PyBuffer_Release(buffer)
                return 0
            ids = list(ids)
            is_list = True
        n = len(ids)
        places = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        if places == NULL:
            raise MemoryError()
        for i in range(n):
            item = <PyObject*> (PyList_GET_ITEM(ids, i) if is_list else PyTuple_GET_ITEM(ids, i))
            value = bp_token_value(<object> item)
            if value < 0:
                break
            places[i] = <uint32_t> value
        if value < 0:
            free(places)
            if value == -1:
                raise KeyError(ids[i])
            # not an int: numpy integers and others with __index__ are
            return self._read_ids([_index(each) for each in ids], view, buffer)
        self._to_places(places, n)
        view.owned = places
        view.places = places
        view.n = n
        return 0

    cdef void _to_places(self, uint32_t* places, Py_ssize_t n) noexcept:
        cdef Py_ssize_t i, slot
        if self.joiner.slot_of == NULL:
            for i in range(n):
                slot = self._tokens.slot(places[i])
                places[i] = <uint32_t> slot if slot >= 0 else <uint32_t> NOT_A_PLACE

    cdef object _unknown(self, object ids, Py_ssize_t index):
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


cdef Py_ssize_t _copy_array(Py_buffer* buffer, char code, Py_ssize_t n, uint32_t* places) noexcept:
    if code == b"I":
        memcpy(places, buffer.buf, n * sizeof(uint32_t))
        return n
    if code == b"i":
        return _widen(<const int32_t*> buffer.buf, n, places)
    if code == b"q":
        return _widen(<const int64_t*> buffer.buf, n, places)
    if code == b"Q":
        return _widen(<const uint64_t*> buffer.buf, n, places)
    if code == b"h":
        return _widen(<const int16_t*> buffer.buf, n, places)
    if code == b"H":
        return _widen(<const uint16_t*> buffer.buf, n, places)
    if code == b"b":
        return _widen(<const int8_t*> buffer.buf, n, places)
    return _widen(<const uint8_t*> buffer.buf, n, places)
