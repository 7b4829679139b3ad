"""The texts of JSON lines, found and copied without an object for anything else in them (json_lines.h).

A parser makes a dict, its keys and a str for each line, which is encoded to bytes again. This reads the bytes once,
with the interpreter lock released, and makes the bytes objects afterwards.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr

from ...headers cimport bp_grow

cdef enum:
    BLANK = -1

cdef extern from "corpus/reading/json_lines.h" nogil:
    enum:
        BP_JSON_SLACK
    int bp_json_line(const uint8_t* line, const uint8_t* end, const uint8_t* key, Py_ssize_t key_size,
                     uint8_t** out) noexcept


cdef class _Texts:
    """The texts of lines, one after another, and where that of each line ends; blank lines have none.

    Args:
        size: Bytes of the lines.
    """
    cdef uint8_t* texts
    cdef Py_ssize_t* ends
    cdef uint64_t capacity
    cdef Py_ssize_t lines, read

    def __cinit__(self, Py_ssize_t size):
        self.texts = <uint8_t*> malloc(<size_t> size + BP_JSON_SLACK)
        if self.texts == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.texts)
        free(self.ends)

    cdef int find(self, const uint8_t* p, const uint8_t* end, const uint8_t* key, Py_ssize_t key_size) except -1 nogil:
        """Find the texts of lines up to the first that is not plain."""
        cdef uint8_t* out = self.texts
        cdef const uint8_t* stop
        cdef int found
        while p < end:
            if bp_grow(<void**> &self.ends, &self.capacity, <uint64_t> self.lines + 1, sizeof(Py_ssize_t)):
                with gil:
                    raise MemoryError()
            stop = <const uint8_t*> memchr(p, c"\n", end - p)
            if stop == NULL:
                stop = end
            found = bp_json_line(p, stop, key, key_size, &out)
            if found < 0:
                break
            self.ends[self.lines] = out - self.texts if found else BLANK
            self.lines += 1
            self.read += stop + 1 - p if stop < end else end - p
            p = stop + 1
        return 0


def plain_texts(bytes data not None, Py_ssize_t start, Py_ssize_t end, bytes key not None, list texts not None):
    """Append the texts of lines up to the first that is not a JSON object with a string at a key, or is unusual in any
    other way, such as one with that key twice.

    Args:
        data: JSON lines.
        start, end: Where they start and end in it.
        key: In UTF-8.
        texts: Takes the texts, in UTF-8; blank lines have none.

    Returns:
        The number of lines that were read, and where the next one starts.
    """
    cdef const uint8_t* bytes_ = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef const uint8_t* name = <const uint8_t*> PyBytes_AS_STRING(key)
    cdef Py_ssize_t key_size = PyBytes_GET_SIZE(key), line, at = 0
    end = max(0, min(end, PyBytes_GET_SIZE(data)))
    start = max(0, min(start, end))
    cdef _Texts found = _Texts(end - start)
    with nogil:
        found.find(bytes_ + start, bytes_ + end, name, key_size)
    for line in range(found.lines):
        if found.ends[line] != BLANK:
            texts.append(PyBytes_FromStringAndSize(<const char*> found.texts + at, found.ends[line] - at))
            at = found.ends[line]
    return found.lines, start + found.read
