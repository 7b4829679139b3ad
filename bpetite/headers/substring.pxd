"""Parts of a str (substring.h)."""
from libc.stdint cimport uint8_t

cdef extern from "headers/substring.h":
    str bp_substring(str text, Py_ssize_t start, Py_ssize_t end, const uint8_t* utf8, Py_ssize_t bytes)
