"""The merges of a vocabulary in flat memory: pairs of ids in rank order, and the tokens that they give.

A list of tuples would hold three objects for each merge, most of the objects of a vocabulary.
"""
from cpython.array cimport array, clone, resize
from cython cimport final
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from ..headers cimport bp_grow, token_t
from ..headers.vectors cimport bp_token_value
from ._tokens cimport TokenTable

from array import array as new_array
from collections.abc import Sequence

cdef uint64_t ALL = <uint64_t> -1


cdef class MergeList:
    """The merges of a vocabulary: a sequence of pairs of ids in rank order, which never changes.

    Args:
        pairs: An iterable of tuples of two ids.

    Raises:
        TypeError: A merge is no tuple of two.
        ValueError: A part of a merge is no id that a token can have.

    >>> merges = MergeList([(0, 1), (2, 1)])
    >>> merges[1], len(merges), merges == ((0, 1), (2, 1))
    ((2, 1), 2, True)
    """

    def __cinit__(self, pairs=()):
        cdef int64_t left, right
        if isinstance(pairs, MergeList):
            pairs = (<MergeList> pairs).flat()
        if isinstance(pairs, array) and (<array> pairs).typecode == "I":
            if len(pairs) % 2:
                raise ValueError(f"{len(pairs)} ids are no pairs")
            self.size = len(pairs) // 2
            if bp_grow(<void**> &self.pairs, &self.capacity, 2 * self.size, sizeof(token_t)) < 0:
                raise MemoryError()
            if self.size:
                memcpy(self.pairs, (<array> pairs).data.as_voidptr, 2 * self.size * sizeof(token_t))
            return
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(f"merge {self.size} must be a pair of token ids, not {pair!r}")
            left, right = bp_token_value(pair[0]), bp_token_value(pair[1])
            if left < 0 or right < 0:
                raise ValueError(f"merge {self.size} {pair!r}: no token has the id {pair[0 if left < 0 else 1]}")
            if not self.add(<token_t> left, <token_t> right):
                raise MemoryError()

    def __dealloc__(self):
        free(self.pairs)

    cdef bint add(self, token_t left, token_t right) noexcept nogil:
        if bp_grow(<void**> &self.pairs, &self.capacity, 2 * self.size + 2, sizeof(token_t)) < 0:
            return False
        self.pairs[2 * self.size] = left
        self.pairs[2 * self.size + 1] = right
        self.size += 1
        return True

    def flat(self):
        """The ids of all pairs, one after the other, an ``array('I')``; the class takes it."""
        cdef array made = clone(new_array("I"), 2 * self.size, False)
        if self.size:
            memcpy(made.data.as_voidptr, self.pairs, 2 * self.size * sizeof(token_t))
        return made

    def results(self, TokenTable tokens not None, unreachable=frozenset()):
        """The id of the token that each merge gives, an ``array('I')``. ValueError with the rank of the first merge of
        an unknown or `unreachable` token, of bytes that are no token, or that is listed twice."""
        cdef Results found = self.found
        cdef Py_ssize_t rank
        if found is None or found.tokens is not tokens:
            found = Results(tokens, unreachable, self.size)
            for rank in range(self.size):
                found.add(tokens, tokens.slot(self.pairs[2 * rank]), tokens.slot(self.pairs[2 * rank + 1]))
        if found.repeated:
            refuse_repeated(self, tokens, found)
        if self.parts_among(unreachable):
            for rank in range(found.size):
                refuse_unreachable(self, tokens, rank, unreachable)
        if found.size < self.size:
            refuse(self, tokens, found.size, unreachable)
        if len(found.ids) > self.size:
            resize(found.ids, self.size)
        if not found.repeated:
            found.lengths = None               # nobody reads them again
        self.found = found                     # a vocabulary with other settings asks for the same ones
        return found.ids

    def parts_among(self, ids not None):
        """The set of those ids that are part of a merge."""
        cdef bytearray marks = bytearray(0x10000)      # the last 16 bits of an id -> 1 where it may be among them
        cdef uint8_t* marked = <uint8_t*> <char*> marks
        cdef set found = set()
        cdef Py_ssize_t i
        for token_id in ids:
            marks[token_id & 0xFFFF] = 1
        for i in range(2 * self.size if ids else 0):
            if marked[self.pairs[i] & 0xFFFF] and self.pairs[i] in ids:
                found.add(self.pairs[i])
        return found

    def __len__(self):
        return self.size

    def __getitem__(self, at):
        if isinstance(at, slice):
            return tuple(self)[at]
        at = range(self.size)[at]
        return self.pairs[2 * <Py_ssize_t> at], self.pairs[2 * <Py_ssize_t> at + 1]

    def __iter__(self):
        return map(self.__getitem__, range(self.size))

    def __eq__(self, other):
        cdef MergeList merges
        if isinstance(other, MergeList):
            merges = other
            if self.size == 0 or self.size != merges.size:  # no memory of no merges is a null pointer
                return self.size == merges.size
            return memcmp(self.pairs, merges.pairs, 2 * self.size * sizeof(token_t)) == 0
        return tuple(self) == tuple(other) if isinstance(other, (tuple, list)) else NotImplemented

    def __repr__(self):
        return repr(tuple(self))

    def __reduce__(self):
        return MergeList, (self.flat(),)


Sequence.register(MergeList)


@final
cdef class Results:
    """The tokens that the merges of a list give, at most so many. No merge has an unreachable token as a part."""

    def __cinit__(self, TokenTable tokens not None, unreachable, Py_ssize_t most):
        self.tokens, self.ids = tokens, clone(new_array("I"), most, False)
        self.lengths = clone(new_array("Q"), tokens.size + 1, True)        # an empty one has no memory to clear
        self.room = bytearray(2 * tokens.longest)
        self.buffer = <uint8_t*> <char*> self.room

    cdef void add(self, TokenTable tokens, Py_ssize_t left, Py_ssize_t right) noexcept nogil:
        cdef Py_ssize_t slot, n, m
        cdef uint64_t length
        if self.failed or left < 0 or right < 0:
            self.failed = True
            return
        n = tokens.starts[left + 1] - tokens.starts[left]
        m = tokens.starts[right + 1] - tokens.starts[right]
        memcpy(self.buffer, tokens.blob + tokens.starts[left], n)
        memcpy(self.buffer + n, tokens.blob + tokens.starts[right], m)
        slot = tokens.find(self.buffer, n + m)
        self.failed = slot < 0
        if slot >= 0:
            self.ids.data.as_uints[self.size] = tokens.ids[slot]
            self.size += 1
            length = <uint64_t> 1 << (n & 63)
            if self.lengths.data.as_ulonglongs[slot] & length:
                self.repeated, length = True, ALL
            self.lengths.data.as_ulonglongs[slot] |= length


cdef refuse_repeated(MergeList merges, TokenTable tokens, Results found):
    """Raise for the first merge that is listed twice."""
    cdef dict first = {}
    cdef Py_ssize_t rank
    for rank in range(found.size):
        if found.lengths.data.as_ulonglongs[tokens.slot(found.ids.data.as_uints[rank])] == ALL:
            pair = merges[rank]
            if first.setdefault(pair, rank) != rank:
                raise ValueError(f"merges {first[pair]} and {rank} are the same pair "
                                 f"{(tokens[pair[0]], tokens[pair[1]])}")


cdef refuse_unreachable(MergeList merges, TokenTable tokens, Py_ssize_t rank, unreachable):
    for part in merges[rank]:
        if part in unreachable:
            raise ValueError(f"merge {rank} {merges[rank]!r}: token {part} {tokens[part]!r} is unreachable")


cdef refuse(MergeList merges, TokenTable tokens, Py_ssize_t rank, unreachable):
    """Raise for a merge that gives no token."""
    cdef tuple pair = merges[rank]
    for part in pair:
        if part not in tokens:
            raise ValueError(f"merge {rank} {pair!r}: no token has the id {part}")
        refuse_unreachable(merges, tokens, rank, unreachable)
    left, right = tokens[pair[0]], tokens[pair[1]]
    raise ValueError(f"merge {rank} {(left, right)} gives {left + right!r}, which is no token")
