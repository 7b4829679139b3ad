"""CPython's objects in C, and the reading of UTF-8; apart, since few modules need vector instructions."""
from libc.stdint cimport int64_t, uint8_t

from ..headers.python cimport PyObject

cdef extern from "headers/pyobject.h":
    void* BP_LOAD(void** place) noexcept
    void BP_STORE(void** place, void* value) noexcept
    const char* bp_known_utf8(object text, Py_ssize_t* length) noexcept
    object bp_str_of_utf8(const uint8_t* p, Py_ssize_t n)
    int64_t bp_token_value(object value) noexcept
    PyObject** PySequence_Fast_ITEMS(object sequence) noexcept
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void* PyUnicode_DATA(object text) noexcept
    int PyUnicode_KIND(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    bint PyUnicode_IS_ASCII(object text) noexcept
    object bp_tuple_of_three "bp_tuple_of"(type kind, object a, object b, object c, PyObject* d)
    object bp_tuple_of_four "bp_tuple_of"(type kind, object a, object b, object c, object d)

cdef extern from "headers/utf8_read.h" nogil:
    Py_ssize_t bp_utf8_valid(const uint8_t* p, Py_ssize_t n) noexcept
    Py_ssize_t bp_utf8_count(const uint8_t* p, Py_ssize_t n) noexcept
