"""A text that is encoded only as far as a limit of tokens asks for.

It is read a part at a time, each about as long as the tokens that are missing take at the rate so far; a part begins
where the ids of the one before were certain. Only a compiled scanner says what is certain, so any other tokenizer
encodes the whole text.
"""
from cpython.array cimport array, clone
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t

from ..headers.types cimport token_t
from ..headers.utf8 cimport bp_utf8_count
from ..vocabulary._tokens cimport TokenTable, size_at
from ._encode cimport Encoder, check, encode_utf8, view_utf8
from ._special cimport Specials, refuse
from ._text cimport DONE, text_view, view_text
from ._worker cimport Worker

from array import array as new_array

from ..errors import not_a_text

cdef enum:
    SHORTEST = 64              # characters of a part, or bytes
    FIRST = 256                # of the first one at most: it tells the rate
    LONGEST = 1 << 16
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter parts

cdef array INT64 = new_array("q")


cdef int encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                      Py_ssize_t limit) except -1:
    cdef Py_ssize_t at = 0, size = min(SHORTEST + 8 * min(limit, <Py_ssize_t> FIRST), <Py_ssize_t> FIRST), done
    cdef bint final = False
    if not isinstance(text, (str, bytes)):
        raise not_a_text(text)
    if not (encoder.compiled or _is_plain(encoder, text)):
        if refused is not None:
            refuse(refused, text)
        return encoder.encode(worker, text, specials)
    while not final and worker.used <= limit:
        try:
            done = _encode_part(encoder, worker, text, specials, at, size, &final)
        except ValueError:
            if at:                                 # this raises it with the offset in all of the text
                worker.used = 0
                encoder.encode(worker, text, specials)
            raise
        at += done
        if done == 0:
            size *= 2                              # one pre-token, which is not closed in it
        elif worker.used:
            size = SHORTEST + min(limit + 1 - worker.used, <Py_ssize_t> LONGEST) * at // worker.used
            size = min(size, <Py_ssize_t> LONGEST)
    if refused is not None:
        refuse(refused, text if final else text[:at])
    return 0


cdef bint _is_plain(Encoder encoder, object text):
    """Whether a compiled scanner alone cuts this text: normalization leaves ASCII as it is."""
    return (encoder._pipeline is None and encoder.core.scanner is not None
            and isinstance(text, str) and text.isascii())


cdef Py_ssize_t _encode_part(Encoder encoder, Worker worker, object text, Specials specials, Py_ssize_t at,
                             Py_ssize_t size, bint* final) except -1:
    """Encode some characters, or bytes, from `at` on; returns how many are certain. OUT: whether that is all of it."""
    cdef Py_ssize_t length = len(text), end = min(at + size, length), done = 0
    cdef const uint8_t* data
    cdef text_view view
    cdef int status
    if isinstance(text, bytes):
        data = <const uint8_t*> PyBytes_AS_STRING(text)
        while end < length and data[end] & 0xC0 == 0x80:
            end += 1
        part = text[at:end]
        view_text(part, &view)
    else:
        part = text[at:end]
        view_utf8(worker, part, &view)
    final[0] = end == length
    if view.length > KEEP_LOCK:
        with nogil:
            status = encode_utf8(worker, specials, view.utf8, view.length, view.length, final[0], &done)
    else:
        status = encode_utf8(worker, specials, view.utf8, view.length, view.length, final[0], &done)
    check(status, part, done)
    return done if view.length == len(part) else bp_utf8_count(view.utf8, done)


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
