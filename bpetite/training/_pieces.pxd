"""Pieces of phrases, as tokens, and how often each occurs (_pieces.pyx)."""
cimport cython
from libc.stdint cimport int64_t, uint64_t

from ..headers cimport bp_watch, token_t
from ._words cimport Words


cdef enum:
    WAITING = 128          # pieces that wait for their slots to be fetched


cdef struct waiting_piece:
    const token_t* tokens
    uint64_t size
    int64_t count
    uint64_t hash


@cython.final
cdef class PieceTable:
    cdef Words words                   # the pieces, in the order in which they came up
    cdef uint64_t number               # of them
    cdef uint64_t used                 # tokens of them
    cdef uint64_t* slots               # the upper half of a hash, then a piece's segment + 1; 0 where empty
    cdef uint64_t mask                 # slots - 1
    cdef int shift                     # a piece belongs into slot hash >> shift
    cdef waiting_piece waiting[WAITING]
    cdef int waits                     # how many

    # Forget all pieces.
    cdef int clear(self) except -1
    # Count a piece of two tokens or more, once there are enough for `settle`, which comes after the last, and before
    # the tokens change.
    cdef int add(self, const token_t* tokens, uint64_t size, int64_t count) noexcept nogil
    cdef int settle(self) noexcept nogil
    cdef int put(self, const waiting_piece* one) noexcept nogil
    cdef int grow(self) noexcept nogil
    cdef int absorb(self, PieceTable other, bp_watch* watch) noexcept nogil
