"""The texts of JSON lines, found and copied without an object for anything else in them (json_lines.h).

A parser makes a dict, its keys and a str for each line, which is encoded to bytes again. This reads the bytes once,
with the interpreter lock released, and makes the bytes objects afterwards.
"""
from libc.stdint cimport uint8_t
from libc.string cimport memchr

from ...headers.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

cdef extern from "corpus/reading/json_lines.h" nogil:
    enum:
        BP_JSON_SLACK
    int bp_json_line(const uint8_t* line, const uint8_t* end, const uint8_t* key, Py_ssize_t key_size,
                     uint8_t** out) noexcept

cdef enum:
    BLANK = -1
    LINES = 4096  # whose texts are copied before objects are made of them


def plain_texts(bytes data not None, bytes key not None, list texts not None):
    """Append the texts of lines up to the first that is not a JSON object with a string at a key, or is unusual in any
    other way, such as one with that key twice.

    Args:
        data: JSON lines.
        key: In UTF-8.
        texts: Takes the texts, in UTF-8; blank lines have none.

    Returns:
        Where the next line starts.
    """
    cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* name = <const uint8_t*> PyBytes_AS_STRING(key)
    cdef const uint8_t* end = start + PyBytes_GET_SIZE(data)
    cdef const uint8_t* p = start
    cdef const uint8_t* stop
    cdef Py_ssize_t key_size = PyBytes_GET_SIZE(key), at
    cdef bytes copied = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(data) + BP_JSON_SLACK)
    cdef uint8_t* first = <uint8_t*> PyBytes_AS_STRING(copied)
    cdef uint8_t* out
    cdef Py_ssize_t ends[LINES]
    cdef int line, lines, found = 0
    while p < end and found >= 0:
        with nogil:
            out, lines = first, 0
            while p < end and lines < LINES:
                stop = <const uint8_t*> memchr(p, c"\n", end - p)
                if stop == NULL:
                    stop = end
                found = bp_json_line(p, stop, name, key_size, &out)
                if found < 0:
                    break
                ends[lines] = out - first if found else BLANK
                lines += 1
                p = stop + 1 if stop < end else end
        at = 0
        for line in range(lines):
            if ends[line] != BLANK:
                texts.append(PyBytes_FromStringAndSize(<const char*> first + at, ends[line] - at))
                at = ends[line]
    return p - start
