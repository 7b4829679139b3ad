"""Base64 of tokens."""
from libc.stdint cimport uint8_t


# Decode canonical base64: the number of bytes, -1 for anything else. IN: room for n bytes.
cdef Py_ssize_t decode_base64(const uint8_t* text, Py_ssize_t n, uint8_t* out) noexcept nogil
