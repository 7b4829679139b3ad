"""Finding special tokens in UTF-8: the leftmost, and of those that start at one place the longest.

A sieve on two bytes (see sieve.h) passes over ordinary text; where it stops, the literals, sorted by their bytes, are
narrowed byte by byte to those that the text goes on with. Loading sorts, nothing more, so 100,000 literals take a
fraction of a second. Rejected: one regular expression of all literals (seconds to compile, and slower by the number of
them); a trie of hash tables (fast too, but a hundred bytes for each byte of the literals).
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy

from ..headers.types cimport token_t


cdef class Specials:
    """Special tokens, ready to be found.

    Args:
        special_tokens: literal -> id; no literal is empty or holds a lone surrogate.
    """

    def __cinit__(self, special_tokens):
        cdef Py_ssize_t total = 0, i
        cdef bytes data
        cdef int byte, second, at = 0
        cdef list order = sorted((literal.encode("utf-8"), literal) for literal in special_tokens)
        self.size = len(order)
        self.literals = tuple([literal for _, literal in order])
        for data, _ in order:
            total += PyBytes_GET_SIZE(data)
            self.longest = max(self.longest, PyBytes_GET_SIZE(data))
        self.blob = <uint8_t*> malloc(total + 1)
        self.starts = <uint64_t*> malloc((self.size + 1) * sizeof(uint64_t))
        self.ids = <token_t*> malloc((self.size + 1) * sizeof(token_t))
        self.firsts = <uint32_t*> calloc(257, sizeof(uint32_t))
        self.sieve = <bp_sieve*> calloc(1, sizeof(bp_sieve))
        if (self.blob == NULL or self.starts == NULL or self.ids == NULL or self.firsts == NULL
                or self.sieve == NULL):
            raise MemoryError()
        total = 0
        for i in range(self.size):
            data = order[i][0]
            self.starts[i] = total
            self.ids[i] = special_tokens[order[i][1]]
            memcpy(self.blob + total, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
            byte = self.blob[total]
            while at <= byte:
                self.firsts[at] = <uint32_t> i
                at += 1
            if PyBytes_GET_SIZE(data) > 1:
                bp_sieve_add(self.sieve, <uint8_t> byte, self.blob[total + 1])
            else:
                for second in range(256):
                    bp_sieve_add(self.sieve, <uint8_t> byte, <uint8_t> second)
            total += PyBytes_GET_SIZE(data)
        self.starts[self.size] = total
        while at <= 256:
            self.firsts[at] = <uint32_t> self.size
            at += 1

    def __dealloc__(self):
        free(self.blob)
        free(self.starts)
        free(self.ids)
        free(self.firsts)
        free(self.sieve)

    def __len__(self):
        return self.size

    def cut(self, const uint8_t[::1] text not None):
        """[(start, end, id), ...] of the special tokens in a text, in bytes.

        >>> Specials({"<s>": 7}).cut(b"a<s><s")
        [(1, 4, 7)]
        """
        cdef Py_ssize_t at = 0, found, which = 0, length = text.shape[0]
        cdef const uint8_t* data = &text[0] if length else NULL
        cdef list pieces = []
        while True:
            found = self.find(data, at, length, &which)
            if found < 0:
                return pieces
            at = found + <Py_ssize_t> (self.starts[which + 1] - self.starts[which])
            pieces.append((found, at, self.ids[which]))

    cdef Py_ssize_t find(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t length, Py_ssize_t* which) noexcept nogil:
        if self.size == 0:
            return -1
        while True:
            at = bp_sieve_next(self.sieve, text, at, length)
            if at >= length:
                return -1
            which[0] = self._longest_at(text + at, length - at)
            if which[0] >= 0:
                return at
            at += 1

    cdef Py_ssize_t _longest_at(self, const uint8_t* text, Py_ssize_t length) noexcept nogil:
        # Literals low:high share the first `depth` bytes of the text; a literal that ends there is the first of them.
        cdef Py_ssize_t low = self.firsts[text[0]], high = self.firsts[text[0] + 1], depth = 1, found = -1
        cdef Py_ssize_t left, right, middle
        cdef uint8_t byte
        while low < high:
            if <Py_ssize_t> (self.starts[low + 1] - self.starts[low]) == depth:
                found = low
                low += 1
            if low >= high or depth >= length:
                break
            if low + 1 == high:
                left = <Py_ssize_t> (self.starts[low + 1] - self.starts[low])
                if left <= length and memcmp(self.blob + self.starts[low], text, left) == 0:
                    found = low
                break
            byte = text[depth]
            left, right = low, high
            while left < right:
                middle = (left + right) >> 1
                if self.blob[self.starts[middle] + depth] < byte:
                    left = middle + 1
                else:
                    right = middle
            low, right = left, high
            while left < right:
                middle = (left + right) >> 1
                if self.blob[self.starts[middle] + depth] <= byte:
                    left = middle + 1
                else:
                    right = middle
            high = left
            depth += 1
        return found
