"""The merges of a vocabulary in flat memory."""
from libc.stdint cimport uint8_t, uint64_t

from ..headers cimport token_t
from ._tokens cimport TokenTable


cdef class MergeList:
    cdef readonly Py_ssize_t size
    cdef token_t* pairs            # the ids of each merge, 2 * size
    cdef uint64_t capacity         # of pairs
    cdef TokenTable table          # whose ids these are, where a reader knows which tokens the merges give; else None
    cdef token_t* joined           # their ids
    cdef uint64_t joined_capacity

    cdef bint add(self, token_t left, token_t right) noexcept nogil    # false without memory


# The slot of the token with these bytes, -1 for none; `last` is that of the merge before. `hidden`: slot -> 1 where a
# token is not found by its bytes; NULL where tokens with equal bytes are found.
cdef inline Py_ssize_t slot_joined(TokenTable tokens, const uint8_t* bytes, Py_ssize_t n, Py_ssize_t last,
                                   const uint8_t* hidden) noexcept nogil:
    # Most lists have the merges of one token after those of another, in the order of the ids.
    if hidden != NULL and last >= 0 and tokens.holds(last, bytes, n):
        return last
    if hidden != NULL and last + 1 < tokens.size and not hidden[last + 1] and tokens.holds(last + 1, bytes, n):
        return last + 1
    return tokens.find(bytes, n)
