"""A vocabulary as text in one canonical form, from which its fingerprint is computed.

A token is a line ``id length``, its bytes and a newline, in the order of the ids; a merge is a line ``left right``, in
rank order. Formatting a hundred thousand lines in Python takes longer than reading the vocabulary.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ._tokens cimport TokenTable

cdef enum:
    DIGITS = 20            # of the largest uint64


cdef inline char* _decimal(char* at, uint64_t number) noexcept nogil:
    """Write a number; returns its end."""
    cdef char digits[DIGITS]
    cdef int count = 0
    while True:
        digits[count] = <char> (c"0" + number % 10)
        count += 1
        number //= 10
        if number == 0:
            break
    while count:
        count -= 1
        at[0] = digits[count]
        at += 1
    return at


def list_tokens(TokenTable table not None):
    """The tokens of a table.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> list_tokens(TokenTable({1: b" a", 0: b"\\n"}))
    b'0 1\\n\\n\\n1 2\\n a\\n'
    """
    cdef Py_ssize_t slot
    cdef uint64_t length
    cdef char* at
    # both numbers, a space, two newlines
    cdef bytes made = PyBytes_FromStringAndSize(NULL, table.starts[table.size] + table.size * (2 * DIGITS + 3))
    at = PyBytes_AS_STRING(made)
    for slot in range(table.size):
        length = table.starts[slot + 1] - table.starts[slot]
        at = _decimal(at, table.ids[slot])
        at[0] = c" "
        at = _decimal(at + 1, length)
        at[0] = c"\n"
        memcpy(at + 1, table.blob + table.starts[slot], length)
        at += 1 + length
        at[0] = c"\n"
        at += 1
    return made[: at - PyBytes_AS_STRING(made)]


def list_pairs(pairs):
    """Pairs of ids.

    >>> list_pairs(((10, 7), (256, 0)))
    b'10 7\\n256 0\\n'
    """
    cdef tuple held = tuple(pairs)
    cdef uint32_t left, right
    cdef char* first = <char*> malloc(len(held) * (2 * DIGITS + 2) + 1)
    cdef char* at = first
    if first == NULL:
        raise MemoryError()
    try:
        for left, right in held:
            at = _decimal(at, left)
            at[0] = c" "
            at = _decimal(at + 1, right)
            at[0] = c"\n"
            at += 1
        return PyBytes_FromStringAndSize(first, at - first)
    finally:
        free(first)
