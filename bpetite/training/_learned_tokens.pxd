"""The tokens a merger knows: internal id -> bytes and back (_learned_tokens.pyx)."""
cimport cython
from libc.stdint cimport uint32_t, uint64_t


cdef enum train_status:
    OK = 0
    DONE = 1                    # there was such a token already; nothing is left to merge
    MORE = 2                    # the work limit was reached first
    NO_MEMORY = -1
    OVERFLOW = -2
    TOO_LARGE = -3
    INTERRUPTED = -4


@cython.final
cdef class LearnedTokens:
    cdef unsigned char* data       # the bytes of all tokens in order of ids, then those that are looked for
    cdef uint64_t used
    cdef uint64_t capacity
    cdef uint64_t* start           # count + 1 of them
    cdef uint32_t* width           # places that a token takes in a word: its bytes, or what `count_as_one` says
    cdef uint32_t count
    cdef uint32_t room
    cdef uint32_t* slots           # hash of bytes -> id + 1, 0 where empty; the 256 bytes are not in it
    cdef uint64_t mask

    cdef int join(self, uint32_t left, uint32_t right, uint32_t* token) noexcept nogil
    cdef int has_joined(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int lay_out(self, uint32_t left, uint32_t right, uint64_t* length) noexcept nogil
    cdef uint64_t slot_of(self, uint64_t length) noexcept nogil
    cdef int add(self, const unsigned char* data, uint64_t length, uint32_t* token) noexcept nogil
    cdef int token_of(self, uint64_t length, uint32_t width, uint32_t* token) noexcept nogil
    cdef void count_as_one(self) noexcept nogil
    cdef int grow_slots(self) noexcept nogil
    cdef int compare(self, uint32_t one, uint32_t other) noexcept nogil


cdef inline uint64_t token_length(LearnedTokens tokens, uint32_t token) noexcept nogil:
    return tokens.start[token + 1] - tokens.start[token]
