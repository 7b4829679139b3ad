"""What the compiled modules need of CPython's objects and Cython does not declare (pyobject.h)."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef extern from "headers/pyobject.h":
    const char* bp_known_utf8(object text, Py_ssize_t* length) noexcept
    object bp_str_of_utf8(const uint8_t* p, Py_ssize_t n)
    int64_t bp_token_value(object value) noexcept
    Py_ssize_t bp_token_values(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept
    PyObject** PySequence_Fast_ITEMS(object sequence) noexcept
    object PyUnicode_FromKindAndData(int kind, const void* units, Py_ssize_t size)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void* PyUnicode_DATA(object text) noexcept
    int PyUnicode_KIND(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept
    bint PyUnicode_IS_ASCII(object text) noexcept
