"""The tokens of a merger: internal id -> bytes and back (_learned_tokens.pyx)."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


# The errors of the room; each is raised.
cdef int out_of_memory() except -1 nogil
cdef int count_overflows() except -1 nogil
cdef int too_large() except -1 nogil


@cython.final
cdef class LearnedTokens:
    cdef uint8_t* data             # the bytes of all tokens in order of ids, then those that `lay_out` has put there
    cdef uint64_t data_room
    cdef uint64_t* start           # count + 1 of them
    cdef uint64_t start_room
    cdef uint32_t* width           # slots that a token takes in a pre-token
    cdef uint64_t width_room
    cdef uint32_t count
    cdef uint32_t* slots           # hash of bytes -> id + 1, 0 where empty; the 256 bytes are not in it
    cdef uint64_t mask             # slots - 1

    # Put the bytes of left + right after the last token. Returns their number.
    cdef int64_t lay_out(self, uint32_t left, uint32_t right) except -1 nogil
    # True where a token has the bytes of left + right.
    cdef bint has_joined(self, uint32_t left, uint32_t right) except -1 nogil
    # The token with the bytes of left + right, or with these bytes (at least two); made if there was none.
    cdef int64_t join(self, uint32_t left, uint32_t right) except -1 nogil
    cdef int64_t add(self, const uint8_t* data, uint64_t length) except -1 nogil
    # Below, equal to or above 0 as the bytes of `one` sort before, equal or after the bytes of `other`.
    cdef int compare(self, uint32_t one, uint32_t other) noexcept nogil


cdef inline uint64_t token_length(LearnedTokens tokens, uint32_t token) noexcept nogil:
    return tokens.start[token + 1] - tokens.start[token]
