"""Vocabularies in GPT-2's printable form, read straight from the bytes of a file: vocab.json, merges.txt, and the same
two as parts of another JSON file.

The way through `json` makes a str of every token, a pair and a dict entry of it, then bytes of the str; merges become
lines, parts and look-ups. Here a token goes from the file to its bytes in one step, and a merge to its two ids.

Only what is right is read. Whatever else stands there (an id twice or that is no uint32, a character that stands for no
byte, a merge of what is no token, a bracket too many) gives None, and the caller takes the way through `json`, which
accepts the rare case or says what is wrong and where. So this module has no errors of its own to raise, and what it
accepts must be what that way accepts, with the same result.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_SetItem
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_READ
from libc.stdint cimport int16_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from ..headers.pyobject cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from ._tokens cimport TokenTable

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject* value) noexcept

cdef enum:
    CHARACTERS = 0x144         # the characters of the printable form are below
    LONGEST_ID = 10            # digits

cdef int16_t BYTE_OF[CHARACTERS]   # character -> the byte it stands for, -1 for none; bytelevel.py explains the form


cdef int _fill() noexcept:
    cdef int byte, moved = 0x100
    for byte in range(CHARACTERS):
        BYTE_OF[byte] = -1
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte:
            BYTE_OF[byte] = <int16_t> byte
        else:
            BYTE_OF[moved] = <int16_t> byte
            moved += 1
    return 0


_fill()


cdef inline const uint8_t* _blanks(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Past JSON's white space."""
    while p < end and (p[0] == c" " or p[0] == c"\n" or p[0] == c"\r" or p[0] == c"\t"):
        p += 1
    return p


cdef inline int _hex(uint8_t digit) noexcept nogil:
    if c"0" <= digit <= c"9":
        return digit - c"0"
    digit |= 0x20
    return digit - c"a" + 10 if c"a" <= digit <= c"f" else -1


cdef const uint8_t* _escape(const uint8_t* p, const uint8_t* end, uint32_t* character) noexcept nogil:
    """OUT: the character of a JSON escape at p, of those that could be in a token; NULL for others."""
    cdef int digit, i
    if end - p < 2:
        return NULL
    if p[1] == c'"' or p[1] == c"\\" or p[1] == c"/":
        character[0] = p[1]
        return p + 2
    if p[1] != c"u" or end - p < 6:
        return NULL
    character[0] = 0
    for i in range(2, 6):
        digit = _hex(p[i])
        if digit < 0:
            return NULL
        character[0] = character[0] << 4 | <uint32_t> digit
    return p + 6


cdef const uint8_t* _token(const uint8_t* p, const uint8_t* end, bint escapes, uint8_t* out, Py_ssize_t* length
                           ) noexcept nogil:
    """Read a token up to the first character that is ASCII and in none: a space, a quote, a newline.

    OUT: its bytes, no more than it has in the file. Returns where that character is, NULL where another stands that
    stands for no byte.
    """
    cdef uint32_t character
    cdef Py_ssize_t n = 0
    while p < end:
        character = p[0]
        if character == c'"' and escapes:
            break
        if character == c"\\" and escapes:
            p = _escape(p, end, &character)
            if p == NULL or character >= CHARACTERS or BYTE_OF[character] < 0:
                return NULL
        elif character < 0x80:
            if BYTE_OF[character] < 0:
                break
            p += 1
        else:
            # two bytes of UTF-8, not one more than is needed
            if not 0xC2 <= character <= 0xC5 or end - p < 2 or p[1] & 0xC0 != 0x80:
                return NULL
            character = (character & 0x1F) << 6 | (p[1] & 0x3F)
            if character >= CHARACTERS or BYTE_OF[character] < 0:
                return NULL
            p += 2
        out[n] = <uint8_t> BYTE_OF[character]
        n += 1
    length[0] = n
    return p


cdef const uint8_t* _id(const uint8_t* p, const uint8_t* end, uint64_t* value) noexcept nogil:
    """Read an id as JSON writes integers, 0..2^32-1; NULL for anything else."""
    cdef const uint8_t* start = p
    value[0] = 0
    while p < end and c"0" <= p[0] <= c"9" and p - start <= LONGEST_ID:
        value[0] = 10 * value[0] + (p[0] - c"0")
        p += 1
    if p == start or (start[0] == c"0" and p - start > 1) or value[0] > 0xFFFFFFFFu:
        return NULL
    return p


def members(bytes data not None):
    """Where the values of a JSON object stand.

    Args:
        data: The file. Brackets and quotes are what is looked at; who reads a value or the rest finds other damage.

    Returns:
        key -> (start, stop) of its value, or None: no object, a key twice or one with an escape, or damage.

    >>> members(b'{"a": {"b": []}, "c": 5}')
    {'a': (6, 15), 'c': (22, 23)}
    """
    cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* end = start + PyBytes_GET_SIZE(data)
    cdef const uint8_t* p = start
    cdef const uint8_t* key
    cdef const uint8_t* value
    cdef dict found = {}
    cdef Py_ssize_t depth, count = 0
    if end - p >= 3 and memcmp(p, b"\xef\xbb\xbf", 3) == 0:
        p += 3
    p = _blanks(p, end)
    if p == end or p[0] != c"{":
        return None
    while True:
        p = _blanks(p + 1, end)                    # past the brace or the comma
        if p == end or p[0] != c'"':
            return None
        key = p + 1
        p = <const uint8_t*> memchr(key, c'"', end - key)
        if p == NULL or memchr(key, c"\\", p - key) != NULL:
            return None
        name = key[:p - key]
        p = _blanks(p + 1, end)
        if p == end or p[0] != c":":
            return None
        p = _blanks(p + 1, end)
        value = p
        depth = 0
        while p < end and (depth or (p[0] != c"," and p[0] != c"}")):
            if p[0] == c"{" or p[0] == c"[":
                depth += 1
            elif p[0] == c"}" or p[0] == c"]":
                depth -= 1
                if depth < 0:
                    return None
            elif p[0] == c'"':
                p += 1
                while p < end and p[0] != c'"':
                    p += 2 if p[0] == c"\\" else 1
                if p >= end:
                    return None
            p += 1
        if p >= end:
            return None
        try:
            found[name.decode("ascii")] = (value - start, p - start)
        except UnicodeDecodeError:
            return None
        count += 1
        if p[0] == c"}":
            break
    return found if len(found) == count and _blanks(p + 1, end) == end else None


def read_tokens(bytes data not None, Py_ssize_t start=0, Py_ssize_t stop=-1):
    """The tokens in a JSON object: printable form -> id.

    Args:
        data: The file.
        start: Where the object begins in it; white space may stand before it, and a byte-order mark before that.
        stop: Where it ends; white space may stand there. -1 for the end of the file.

    Returns:
        id -> bytes, in the order of the file; None where it is not all as it should be. That no two have the same
        bytes is for the caller to see to.

    >>> read_tokens('{"Ġa": 5, "\\\\u0120": 3}'.encode())
    {5: b' a', 3: b' '}
    """
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(data) + start
    cdef const uint8_t* end = <const uint8_t*> PyBytes_AS_STRING(data) + (
        PyBytes_GET_SIZE(data) if stop < 0 else stop)
    cdef dict tokens = {}
    cdef Py_ssize_t length = 0, count = 0
    cdef uint64_t token_id = 0
    cdef uint8_t* buffer
    if start < 0 or start > PyBytes_GET_SIZE(data) or stop > PyBytes_GET_SIZE(data) or end < p:
        raise ValueError(f"the object is to stand from {start} to {stop} of {len(data)} bytes")
    if start == 0 and end - p >= 3 and memcmp(p, b"\xef\xbb\xbf", 3) == 0:
        p += 3
    p = _blanks(p, end)
    if p == end or p[0] != c"{":
        return None
    if _blanks(p + 1, end) < end and _blanks(p + 1, end)[0] == c"}":
        return tokens if _blanks(_blanks(p + 1, end) + 1, end) == end else None
    buffer = <uint8_t*> malloc(end - p)
    if buffer == NULL:
        raise MemoryError()
    try:
        while True:
            p = _blanks(p + 1, end)                # past the brace or the comma
            if p == end or p[0] != c'"':
                return None
            p = _token(p + 1, end, True, buffer, &length)
            if p == NULL or p == end or p[0] != c'"':
                return None
            p = _blanks(p + 1, end)
            if p == end or p[0] != c":":
                return None
            p = _id(_blanks(p + 1, end), end, &token_id)
            if p == NULL:
                return None
            PyDict_SetItem(tokens, token_id, PyBytes_FromStringAndSize(<const char*> buffer, length))
            count += 1
            p = _blanks(p, end)
            if p == end:
                return None
            if p[0] == c"}":
                break
            if p[0] != c",":
                return None
    finally:
        free(buffer)
    return tokens if len(tokens) == count and _blanks(p + 1, end) == end else None


cdef const uint8_t* _merge(const uint8_t* p, const uint8_t* end, bint escapes, uint8_t* buffer, TokenTable table,
                           list pairs) except? NULL:
    """Read two tokens with a space between and append their ids; NULL, with no exception set, if they are not that."""
    cdef Py_ssize_t length = 0, left, right
    p = _token(p, end, escapes, buffer, &length)
    if p == NULL or p == end or p[0] != c" ":
        return NULL
    left = table.find(buffer, length)
    p = _token(p + 1, end, escapes, buffer, &length)
    if p == NULL or p == end:
        return NULL
    right = table.find(buffer, length)
    if left < 0 or right < 0:
        return NULL
    left_id, right_id = table.order[left], table.order[right]
    pair = PyTuple_New(2)
    Py_INCREF(left_id)
    PyTuple_SET_ITEM(pair, 0, left_id)
    Py_INCREF(right_id)
    PyTuple_SET_ITEM(pair, 1, right_id)
    PyObject_GC_UnTrack(<PyObject*> pair)          # two ints: no garbage collection has to find that out
    pairs.append(pair)
    return p


def read_merges(bytes data not None, TokenTable table not None):
    """The merges in a merges.txt: two tokens a line, after an optional first line that begins with ``#version``.

    Args:
        data: The file.
        table: The vocabulary. Of two tokens with the same bytes the one of the lower id is meant.

    Returns:
        Pairs of ids; None where it is not all as it should be.
    """
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* end = p + PyBytes_GET_SIZE(data)
    cdef uint8_t* buffer
    cdef list pairs = []
    if end - p >= 3 and memcmp(p, b"\xef\xbb\xbf", 3) == 0:
        p += 3
    if end - p >= 8 and memcmp(p, b"#version", 8) == 0:
        try:
            (<bytes> data).partition(b"\n")[0].decode("utf-8")
        except UnicodeDecodeError:
            return None
        p = <const uint8_t*> memchr(p, c"\n", end - p)
        if p == NULL:
            return None
        p += 1
    buffer = <uint8_t*> malloc(end - p + 1)
    if buffer == NULL:
        raise MemoryError()
    try:
        while p < end:
            p = _merge(p, end, False, buffer, table, pairs)
            if p == NULL:
                return None
            if p[0] == c"\r" and end - p > 1:
                p += 1
            if p[0] != c"\n":
                return None
            p += 1
    finally:
        free(buffer)
    return tuple(pairs)


def read_merge_list(bytes data not None, Py_ssize_t start, Py_ssize_t stop, TokenTable table not None):
    """The merges in a JSON array of strings, each two tokens with a space between.

    Args:
        data: The file.
        start: Where the array begins.
        stop: Where it ends; white space may stand there.
        table: As for :func:`read_merges`, and so is what is returned.
    """
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(data) + start
    cdef const uint8_t* end = <const uint8_t*> PyBytes_AS_STRING(data) + stop
    cdef uint8_t* buffer
    cdef list pairs = []
    if not 0 <= start <= stop <= PyBytes_GET_SIZE(data):
        raise ValueError(f"the array is to stand from {start} to {stop} of {len(data)} bytes")
    if p == end or p[0] != c"[":
        return None
    if _blanks(p + 1, end) < end and _blanks(p + 1, end)[0] == c"]":
        return () if _blanks(_blanks(p + 1, end) + 1, end) == end else None
    buffer = <uint8_t*> malloc(end - p + 1)
    if buffer == NULL:
        raise MemoryError()
    try:
        while True:
            p = _blanks(p + 1, end)                # past the bracket or the comma
            if p == end or p[0] != c'"':
                return None
            p = _merge(p + 1, end, True, buffer, table, pairs)
            if p == NULL or p[0] != c'"':
                return None
            p = _blanks(p + 1, end)
            if p == end:
                return None
            if p[0] == c"]":
                break
            if p[0] != c",":
                return None
    finally:
        free(buffer)
    return tuple(pairs) if _blanks(p + 1, end) == end else None


def decode_tokens(printables):
    """The bytes of printable forms, as :func:`bpetite.bytelevel.decode_token_bytes` gives them; None where it raises.

    Args:
        printables: An iterable of str.
    """
    cdef list made = []
    cdef Py_ssize_t i, n, capacity = 0
    cdef uint8_t* buffer = NULL
    cdef uint32_t character
    cdef int kind
    cdef void* units
    try:
        for printable in printables:
            if not isinstance(printable, str):
                return None
            n = PyUnicode_GET_LENGTH(printable)
            if n > capacity:
                free(buffer)
                capacity = 2 * n
                buffer = <uint8_t*> malloc(capacity)
                if buffer == NULL:
                    raise MemoryError()
            kind = PyUnicode_KIND(printable)
            units = PyUnicode_DATA(printable)
            for i in range(n):
                character = PyUnicode_READ(kind, units, i)
                if character >= CHARACTERS or BYTE_OF[character] < 0:
                    return None
                buffer[i] = <uint8_t> BYTE_OF[character]
            made.append(PyBytes_FromStringAndSize(<const char*> buffer, n))
        return made
    finally:
        free(buffer)
