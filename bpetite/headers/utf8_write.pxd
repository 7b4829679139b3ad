"""UTF-8 from the code units of a str; apart, since few modules need it and its header takes long to compile."""
from libc.stdint cimport uint8_t

cdef extern from "headers/utf8_write.h" nogil:
    enum:
        BP_UTF8_SLACK
    Py_ssize_t bp_utf8_from_units(int width, const void* units, Py_ssize_t start, Py_ssize_t end, uint8_t* out,
                                  Py_ssize_t* bad) noexcept
