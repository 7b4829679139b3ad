"""The ids of a text that is appended to, in one pass up to where they are certain.

edges.py finds the same places in two, the ends of pre-tokens first, which it needs to look for a given one. A turn of a
chat is encoded in some microseconds, so what is done around that is compiled, too.
"""
from cpython.array cimport array, clone
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_Substring
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from ..engine._encode cimport Encoder, check, encode_utf8
from ..engine._special cimport Specials
from ..engine._text cimport DONE
from ..engine._worker cimport Worker
from ..headers.types cimport token_t

from array import array as new_array


cdef array UINT32 = new_array("I")


def append(tokenizer, str text not None, Specials specials not None, Py_ssize_t block, tuple opened not None,
           list blocks not None, array chars not None, array tokens not None, array reach not None):
    """Put a text behind those that a :class:`bpetite.serving.growing_text.GrowingText` holds.

    Args:
        tokenizer: One whose text goes through a compiled scanner alone.
        text: The text, without lone surrogates.
        specials: The special tokens to recognise.
        block: Bytes that are read at a time.
        opened: The text behind the last edge, and its ids, an array of uint32.
        blocks: The texts between edges, and their ids, likewise.
        chars, tokens, reach: Of each edge, see that class.

    Returns:
        What is behind the last edge now; and the change: where it begins, how many ids are gone, and the new ones,
        likewise. No list is made of these: that would take longer than all the rest.
    """
    cdef Encoder encoder = tokenizer._encoder
    cdef str whole = (<str> opened[0]) + text
    cdef bytes data = PyUnicode_AsUTF8String(whole)
    cdef const uint8_t* utf8 = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(data), at = 0, size = block, end, done = 0, used = 0, same = 0, left = 0
    cdef Py_ssize_t most, cut = 0, before_cut = 0, start = tokens.data.as_longlongs[len(tokens) - 1]
    cdef array old = opened[1]
    cdef int status
    cdef list pieces = []
    cdef Worker worker
    if length <= 4 * block:                        # a turn of a chat is one block
        size = length
    worker = encoder.take()
    try:
        while at < length:
            end = min(at + size, length)
            while end < length and utf8[end] & 0xC0 == 0x80:
                end += 1
            with nogil:
                status = encode_utf8(worker, specials, utf8 + at, end - at, length - at, False, &done)
            if status != DONE:
                check(status, data, at + done)
            if done:
                before_cut = cut
                cut += _characters(utf8, at, at + done)
                pieces.append((PyUnicode_Substring(whole, before_cut, cut), _ids(worker.out + used, worker.used - used),
                               _characters(utf8, at + done, end)))
                at += done
                used = worker.used
                size = block
            else:
                size *= 2
            if end == length:
                break
        with nogil:
            status = encode_utf8(worker, specials, utf8 + at, length - at, length - at, True, &done)
        if status != DONE:
            check(status, data, at + done)
        most = min(len(old), worker.used)
        while same < most and old.data.as_uints[same] == worker.out[same]:
            same += 1
        while left < most - same and old.data.as_uints[len(old) - 1 - left] == worker.out[worker.used - 1 - left]:
            left += 1
        ids = _ids(worker.out + same, worker.used - same - left)
        opened = PyUnicode_Substring(whole, cut, len(whole)), _ids(worker.out + used, worker.used - used)
    finally:
        encoder.give(worker)
    for piece, its_ids, behind in pieces:
        if blocks and len(<str> (<tuple> blocks[len(blocks) - 1])[0]) + len(<str> piece) <= block:
            before, ids_before = blocks.pop()
            piece, its_ids = before + piece, ids_before + its_ids
            chars.pop()
            tokens.pop()
            reach.pop()
        blocks.append((piece, its_ids))
        end = chars.data.as_longlongs[len(chars) - 1] + len(<str> piece)
        chars.append(end)
        tokens.append(tokens.data.as_longlongs[len(tokens) - 1] + len(<array> its_ids))
        reach.append(end + behind)
    return opened, start + same, len(old) - same - left, ids


cdef array _ids(const token_t* ids, Py_ssize_t n):
    cdef array copied = clone(UINT32, n, False)
    if n:
        memcpy(copied.data.as_uints, ids, n * sizeof(token_t))
    return copied


cdef Py_ssize_t _characters(const uint8_t* text, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t i, n = 0
    for i in range(start, end):
        n += text[i] & 0xC0 != 0x80
    return n
