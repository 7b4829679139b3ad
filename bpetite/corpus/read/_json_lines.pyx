"""The texts of JSON lines, found and copied without an object for anything in them (json_lines.h).

A parser makes a dict, its keys and a str for each line, which is encoded to bytes again. This reads the bytes once, and
puts the texts one behind another, with the interpreter lock released.
"""
from libc.stdint cimport uint8_t
from libc.string cimport memchr, memcpy

from ...headers.python cimport Py_DECREF, PyBytes_AS_STRING, PyBytes_GET_SIZE, PyObject

cdef extern from "Python.h":
    PyObject* new_bytes "PyBytes_FromStringAndSize"(const char* data, Py_ssize_t size) except NULL
    int _PyBytes_Resize(PyObject** value, Py_ssize_t size) except -1

cdef extern from "corpus/read/json_lines.h" nogil:
    enum:
        BP_JSON_SLACK
    int bp_json_line(const uint8_t* line, const uint8_t* end, const uint8_t* key, Py_ssize_t key_size,
                     uint8_t** out) noexcept


def plain_texts(bytes data not None, bytes key not None, bytes separator not None):
    """The texts of lines up to the first that is not a JSON object with a string at a key, or is unusual in any other
    way, such as one with that key twice.

    Args:
        data: JSON lines.
        key: In UTF-8.
        separator: What to put behind each text.

    Returns:
        (the texts, in UTF-8; their number, blank lines have none; where the next line starts).
    """
    cdef const uint8_t* start = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* name = <const uint8_t*> PyBytes_AS_STRING(key)
    cdef const uint8_t* behind = <const uint8_t*> PyBytes_AS_STRING(separator)
    cdef const uint8_t* end = start + PyBytes_GET_SIZE(data)
    cdef const uint8_t* p = start
    cdef const uint8_t* stop
    cdef Py_ssize_t key_size = PyBytes_GET_SIZE(key), added = PyBytes_GET_SIZE(separator), number = 0
    cdef Py_ssize_t around = key_size + 7              # {"":""} takes no less of a line
    cdef PyObject* texts = new_bytes(
        NULL, PyBytes_GET_SIZE(data) + max(0, added - around) * (PyBytes_GET_SIZE(data) // around) + BP_JSON_SLACK
    )
    cdef uint8_t* first = <uint8_t*> PyBytes_AS_STRING(<object> texts)
    cdef uint8_t* out = first                          # a line that is left to others may have moved it
    cdef uint8_t* used = first
    cdef int found
    with nogil:
        while p < end:
            stop = <const uint8_t*> memchr(p, c"\n", end - p)
            if stop == NULL:
                stop = end
            found = bp_json_line(p, stop, name, key_size, &out)
            if found < 0:
                break
            if found:
                memcpy(out, behind, added)
                out += added
                used = out
                number += 1
            p = stop + 1 if stop < end else end
    _PyBytes_Resize(&texts, used - first)
    joined = <bytes> texts
    Py_DECREF(joined)
    return joined, number, p - start
