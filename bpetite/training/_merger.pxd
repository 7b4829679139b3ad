"""The merging half of training: what `train.py` drives, and the layout others may rely on (nothing yet)."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ._token_table cimport TokenTable
from ._pair_table cimport PairTable, pair_entry


cdef struct segment:
    uint64_t start         # first slot in the symbol array
    int64_t weight         # how often the pre-token occurs


@cython.final
cdef class Merger:
    # The pre-tokens, one slot a byte (see the notes in the .pyx).
    cdef int32_t* symbols
    cdef uint64_t symbol_count
    cdef uint64_t symbol_capacity
    cdef segment* segments
    cdef uint64_t segment_count
    cdef uint64_t segment_capacity
    cdef TokenTable known
    cdef PairTable pairs
    # The pairs of the token just made: sides[2 * x] is (x, token), sides[2 * x + 1] is (token, x); EMPTY when unused.
    cdef pair_entry* sides
    cdef uint64_t side_capacity
    cdef uint64_t* touched             # which of them are used
    cdef uint64_t touched_length
    cdef uint64_t touched_capacity
    # What was learned: left, right, left, right, ...
    cdef uint32_t* learned
    cdef uint64_t learned_count
    cdef uint64_t learned_capacity
    cdef bint counted
    cdef uint64_t work
    cdef object error

    cdef void drop_words(self) noexcept nogil
    cdef int reserve_words(self, uint64_t symbols, uint64_t segments) noexcept nogil
    cdef int push_word(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil
    cdef int count_pairs(self) noexcept nogil
    cdef int count_byte_pairs(self, int64_t* counts, uint32_t* lengths, uint32_t* last,
                              uint32_t** lists) noexcept nogil
    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef int apply_in(self, uint32_t number, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef int make_sides(self) noexcept nogil
    cdef int note(self, uint64_t number, uint64_t key, int64_t weight, uint32_t where) noexcept nogil
    cdef int settle(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef uint32_t segment_before(self, uint32_t number, uint64_t at, int32_t token) noexcept nogil
    cdef bint interrupted(self) noexcept nogil
    cdef int record(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int run(self, uint32_t token_limit, uint64_t work_limit) noexcept nogil
    cdef int begin(self) except -1
    cdef int check(self, int result) except -1
