"""The texts of JSON lines, found and copied without an object for anything else in them (json_lines.h).

A parser makes a dict, its keys and a str for each line, which is encoded to bytes again. This reads the bytes once,
with the interpreter lock released, and makes the bytes objects afterwards.
"""
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
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


cdef class _Texts:
    """The texts of lines, one after another, and where that of each line ends; blank lines have none.

    Args:
        size: Bytes of the lines.
    """
    cdef uint8_t* texts
    cdef Py_ssize_t ends[LINES]
    cdef int lines
    cdef bint stopped

    def __cinit__(self, Py_ssize_t size):
        self.texts = <uint8_t*> malloc(<size_t> size + BP_JSON_SLACK)
        if self.texts == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.texts)

    cdef const uint8_t* find(self, const uint8_t* p, const uint8_t* end, const uint8_t* key,
                             Py_ssize_t key_size) noexcept nogil:
        """Find the texts of the next lines, up to the first that is not plain; returns where to go on."""
        cdef uint8_t* out = self.texts
        cdef const uint8_t* stop
        cdef int found
        self.lines = 0
        while p < end and self.lines < LINES:
            stop = <const uint8_t*> memchr(p, c"\n", end - p)
            if stop == NULL:
                stop = end
            found = bp_json_line(p, stop, key, key_size, &out)
            if found < 0:
                self.stopped = True
                break
            self.ends[self.lines] = out - self.texts if found else BLANK
            self.lines += 1
            p = stop + 1 if stop < end else end
        return p


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
    cdef Py_ssize_t key_size = PyBytes_GET_SIZE(key), at
    cdef int line
    cdef _Texts found = _Texts(PyBytes_GET_SIZE(data))
    while p < end and not found.stopped:
        with nogil:
            p = found.find(p, end, name, key_size)
        at = 0
        for line in range(found.lines):
            if found.ends[line] != BLANK:
                texts.append(PyBytes_FromStringAndSize(<const char*> found.texts + at, found.ends[line] - at))
                at = found.ends[line]
    return p - start
