"""Ranks as tiktoken's files have them, read straight from the bytes of a file into flat memory.

Only correct input is read: for any other the functions return None, and the caller finds the fault.
"""
from libc.stdint cimport int8_t, uint8_t, uint32_t, uint64_t

from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ..vocabulary._tokens cimport TokenList, table_of

cdef int8_t SEXTET[256]        # character -> its value in base64, -1 for none


cdef int _fill() noexcept:
    cdef bytes alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    cdef int i
    for i in range(256):
        SEXTET[i] = -1
    for i in range(64):
        SEXTET[<uint8_t> alphabet[i]] = <int8_t> i
    return 0


_fill()


cdef Py_ssize_t decode_base64(const uint8_t* text, Py_ssize_t n, uint8_t* out) noexcept nogil:
    """Decode canonical base64: the number of bytes, -1 for anything else. IN: room for n bytes."""
    cdef Py_ssize_t padding = 0, i, size
    cdef uint32_t bits = 0
    cdef int8_t value
    if n == 0 or n % 4:
        return -1
    while padding < 2 and text[n - 1 - padding] == c"=":
        padding += 1
    size = n // 4 * 3 - padding
    for i in range(n):
        value = SEXTET[text[i]] if i < n - padding else <int8_t> 0
        if value < 0:
            return -1
        bits = bits << 6 | <uint32_t> value
        if i % 4 == 3:
            out[0] = <uint8_t> (bits >> 16)
            out[1] = <uint8_t> (bits >> 8)
            out[2] = <uint8_t> bits
            out += 3
    # what the last character has beyond the last byte is zero
    return size if padding == 0 or bits & ((1 << 8 * padding) - 1) == 0 else -1


def read_ranks(bytes data not None):
    """The tokens in a file of lines: a token in base64, a space, its rank. A token ``=`` has no bytes.

    Returns:
        A TokenTable, None for any fault and for no token. Tokens with equal bytes are none.

    >>> dict(read_ranks(b"YQ== 0\\nYWI= 1\\n"))
    {0: b'a', 1: b'ab'}
    """
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(data)
    cdef const uint8_t* start
    cdef uint8_t* room
    cdef TokenList tokens = TokenList()
    cdef Py_ssize_t length
    cdef uint64_t rank
    while p < end:
        if p[0] == c"\n" or p[0] == c"\r":
            p += 1
            continue
        start = p
        while p < end and p[0] != c" ":
            p += 1
        room = tokens.room(p - start)
        if room == NULL:
            raise MemoryError()
        length = 0 if p == start + 1 and start[0] == c"=" else decode_base64(start, p - start, room)
        if length < 0 or p == end:
            return None
        start = p = p + 1
        rank = 0
        while p < end and c"0" <= p[0] <= c"9" and p - start < 11:
            rank = 10 * rank + (p[0] - c"0")
            p += 1
        if not 0 < p - start <= 10 or rank > 0xFFFFFFFFu or (p < end and p[0] != c"\n" and p[0] != c"\r"):
            return None
        if not tokens.add(<uint32_t> rank, length):
            raise MemoryError()
    return table_of(tokens, ()) if tokens.size else None
