"""UTF-8: checking it, making it from the code units of a str and them from it, counting in it (utf8.h)."""
from libc.stdint cimport uint8_t

cdef extern from "headers/utf8.h" nogil:
    enum:
        BP_UTF8_SLACK
    Py_ssize_t bp_utf8_valid(const uint8_t* p, Py_ssize_t n) noexcept
    Py_ssize_t bp_utf8_count(const uint8_t* p, Py_ssize_t n) noexcept
    Py_ssize_t bp_utf8_from_units(int kind, const void* units, Py_ssize_t start, Py_ssize_t end, uint8_t* out,
                                  Py_ssize_t* bad) noexcept
    Py_ssize_t bp_units_from_utf8(int kind, const uint8_t* p, Py_ssize_t n, void* units) noexcept
