"""The characters or bytes that merges begin from."""
from libc.stdint cimport uint8_t, uint32_t

from ..headers cimport token_t

cdef class AlphabetTable:
    # Nothing changes after construction.
    cdef token_t* ids                  # code point or byte -> id + 1 of its token, 0 for none
    cdef token_t* last_ids             # the same for the last one of a pre-token, which carries a mark
    cdef readonly bint of_bytes
    cdef token_t byte_ids[256]         # byte -> id + 1 of its token, for characters without a token; 0 for none
    cdef token_t unknown               # id + 1 for the other characters without a token, or 0
    cdef bint fuse                     # neighbours of these give one id,
    cdef bint gathers                  # and there are such characters
    cdef readonly bint lacking         # a character may have neither a token nor tokens of its bytes,
    cdef readonly bint drops           # and then gives nothing
    cdef uint32_t space                # the character that stands for a space, or a space

    # OUT: ids, the first ids of a pre-token text[0:n], n at most; sizes (or NULL), the bytes that each of them stands
    # for, a byte as in its printable form. Returns the number of ids, or -1 where a character has none: *bad is its
    # offset then. Bytes that are not UTF-8 are characters of their own.
    cdef Py_ssize_t begin(self, const uint8_t* text, Py_ssize_t n, token_t* ids, uint32_t* sizes,
                          Py_ssize_t* bad) noexcept nogil
    cdef void add(self, token_t* ids, const uint8_t* symbol, Py_ssize_t size, token_t token_id) noexcept
    cdef bint falls_back(self, const uint8_t* character, Py_ssize_t size) noexcept nogil
    cdef bint complete(self) noexcept nogil
    # True for a character that may become the same id as its neighbours.
    cdef inline bint is_gathered(self, uint32_t character) noexcept nogil:
        return self.gathers and self.ids[character] == 0
