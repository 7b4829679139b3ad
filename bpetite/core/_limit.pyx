"""Encoding of a text only as far as a limit of tokens demands.

The text is encoded in parts, each about as long as the missing tokens take at the rate so far. Only a compiled scanner
knows the certain part of a text, so any other tokenizer encodes the whole text.
"""
from cpython.array cimport array, clone
from libc.stdint cimport int64_t, uint8_t

from ..headers.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from ..headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ..vocabulary._tokens cimport TokenTable, size_at
from ._encode cimport Encoder, encode_checked
from ._special cimport Specials
from ._text cimport text_stretch, text_view, view_text
from ._worker cimport Worker

from array import array as new_array

cdef enum:
    SHORTEST = 64              # characters of a part, or bytes
    FIRST = 256                # of the first one: it tells the rate
    LONGEST = 1 << 16

cdef array INT64 = new_array("q")


cdef bint has_more(Encoder encoder, object text, Py_ssize_t limit):
    if not encoder.compiled or not isinstance(text, (str, bytes)):
        return False
    if encoder.core.letters is not None and (encoder.core.letters.gathers or not text.isascii()):
        return False                           # a token may stand for any number of characters, or for longer ones
    return len(text) // max(encoder.core.tokens.longest, encoder.specials.every.longest, 1) > limit


cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint wanted):
    cdef text_view view
    cdef text_stretch part
    cdef Py_ssize_t size = FIRST, missing
    view_text(text, &view)
    if not (encoder.compiled or _is_plain(encoder, text)):
        if refused is not None:
            refused.refuse(text)
        encoder.encode(worker, text, specials)
        return str.encode(text, "utf-8") if wanted else None
    part.end, part.behind = 0, view.length
    while part.end < view.length and worker.used <= limit:
        part.start, part.stop = part.end, min(part.end + size, view.length)
        encode_checked(worker, specials, text, &view, &part)
        missing = min(limit + 1 - worker.used, <Py_ssize_t> LONGEST)
        if worker.used:
            size = min(SHORTEST + missing * part.end // worker.used, <Py_ssize_t> LONGEST)
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


cdef bint _is_plain(Encoder encoder, object text):
    """True if a compiled scanner alone cuts this text; normalization does not change ASCII."""
    return (encoder._pipeline is None and encoder.core.scanner is not None
            and isinstance(text, str) and text.isascii())


cdef object token_ends(Worker worker):
    cdef TokenTable tokens = worker.core.tokens
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
