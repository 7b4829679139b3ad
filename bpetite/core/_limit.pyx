"""A text that is encoded only as far as a limit of tokens asks for.

It is read a part at a time, each about as long as the tokens that are missing take at the rate so far; a part begins
where the ids of the one before were certain. Only a compiled scanner says what is certain, so any other tokenizer
encodes the whole text.
"""
from cpython.array cimport array, clone
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t

from ..headers cimport token_t
from ..vocabulary._tokens cimport TokenTable, size_at
from ._encode cimport Encoder, check, encode_utf8
from ._special cimport Specials, refuse
from ._text cimport text_view, utf8_window, view_text, window_drop, window_extend
from ._worker cimport Worker

from array import array as new_array

from ..errors import not_a_text

cdef enum:
    SHORTEST = 64              # characters of a part, or bytes
    FIRST = 256                # of the first one: it tells the rate
    LONGEST = 1 << 16
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter parts

cdef array INT64 = new_array("q")


cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint keep):
    cdef _Parts parts
    if not isinstance(text, (str, bytes)):
        raise not_a_text(text)
    if not (encoder.compiled or _is_plain(encoder, text)):
        if refused is not None:
            refuse(refused, text)
        encoder.encode(worker, text, specials)
        return str.encode(text, "utf-8") if keep else None
    parts = _Parts(encoder, worker, text, keep)
    try:
        parts.encode(specials, limit)
    except ValueError:
        worker.used = 0
        encoder.encode(worker, text, specials)     # this raises it with the offset in all of the text
        raise
    if refused is not None:
        refuse(refused, text if parts.final else text[:parts.read])
    return parts.utf8[:parts.filled] if keep else None


cdef bint _is_plain(Encoder encoder, object text):
    """Whether a compiled scanner alone cuts this text: normalization leaves ASCII as it is."""
    return (encoder._pipeline is None and encoder.core.scanner is not None
            and isinstance(text, str) and text.isascii())


cdef class _Parts:
    """A text that is read a part at a time."""
    cdef Worker worker
    cdef object text
    cdef bint keep             # what is in UTF-8 stays in the window
    cdef text_view view
    cdef const uint8_t* utf8   # the text from its beginning on, or from the last id that is certain
    cdef Py_ssize_t filled     # bytes of it that have been read
    cdef Py_ssize_t done       # up to where it has been encoded
    cdef Py_ssize_t read       # characters, or bytes where the text is bytes
    cdef Py_ssize_t length
    cdef bint final

    def __cinit__(self, Encoder encoder, Worker worker, object text, bint keep):
        self.worker, self.text, self.keep, self.length = worker, text, keep, len(text)
        self.final = False
        if isinstance(text, bytes):
            self.utf8 = <const uint8_t*> PyBytes_AS_STRING(text)
        else:
            view_text(text, &self.view)
            self.utf8 = self.view.utf8
        worker.window.filled = worker.window.read = 0

    cdef int encode(self, Specials specials, Py_ssize_t limit) except -1:
        cdef Worker worker = self.worker
        cdef Py_ssize_t size = FIRST, done, total = 0
        cdef int status
        while not self.final and worker.used <= limit:
            self.extend(size)
            done = 0
            if self.filled - self.done > KEEP_LOCK:
                with nogil:
                    status = self.encode_part(specials, &done)
            else:
                status = self.encode_part(specials, &done)
            check(status, self.text, 0)
            self.done += done
            total += done
            if done == 0:
                size *= 2                          # one pre-token, which is not closed in it
            elif worker.used:
                size = SHORTEST + min(limit + 1 - worker.used, <Py_ssize_t> LONGEST) * total // worker.used
                size = min(size, <Py_ssize_t> LONGEST)
            if self.view.units != NULL and not self.keep:
                window_drop(&worker.window, self.done)
                self.filled -= self.done
                self.done = 0
        return 0

    cdef int encode_part(self, Specials specials, Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t size = self.filled - self.done
        return encode_utf8(self.worker, specials, self.utf8 + self.done, size, size, self.final, done)

    cdef int extend(self, Py_ssize_t size) except -1:
        """Read some characters more, or bytes."""
        cdef utf8_window* window = &self.worker.window
        cdef Py_ssize_t end = min(self.read + size, self.length)
        cdef text_view view
        if self.view.units != NULL:
            check(window_extend(window, &self.view, end), self.text, 0)
            self.utf8, self.filled, self.read = window.bytes, window.filled, window.read
        elif isinstance(self.text, bytes):
            while end < self.length and self.utf8[end] & 0xC0 == 0x80:
                end += 1
            view_text(self.text[self.read:end], &view)       # raises where it is no UTF-8
            self.filled = self.read = end
        else:
            self.filled = min(self.filled + size, self.view.length)
            while self.filled < self.view.length and self.utf8[self.filled] & 0xC0 == 0x80:
                self.filled += 1
            self.read = end
        self.final = self.read == self.length and (self.view.utf8 == NULL or self.filled == self.view.length)
        return 0


cdef array token_ends(TokenTable tokens, const token_t[::1] ids):
    cdef array ends = clone(INT64, ids.shape[0], False)
    cdef int64_t* to = <int64_t*> ends.data.as_longlongs
    cdef Py_ssize_t i, total = 0
    cdef bint dense = tokens.size and tokens.ids[tokens.size - 1] == tokens.size - 1   # ids are slots
    with nogil:
        for i in range(ids.shape[0]):
            total += size_at(tokens.sizes, tokens.starts, <Py_ssize_t> ids[i] if dense else tokens.slot(ids[i]))
            to[i] = total
    return ends
