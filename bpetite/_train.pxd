"""The merging half of training: what `train.py` drives, and the layout others may rely on (nothing yet)."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef struct segment:
    uint64_t start         # first slot in the symbol array
    int64_t weight         # how often the pre-token occurs


cdef struct pair_entry:    # 32 bytes, two to a cache line
    uint64_t key           # left id << 32 | right id; EMPTY where the slot was never used
    int64_t count
    uint64_t items         # where it occurs: up to two segment numbers inline, else a pointer to an array of them
    uint32_t length
    uint32_t capacity      # 0: inline


cdef struct heap_entry:
    int64_t count          # never below the pair's present count
    uint64_t key


@cython.final
cdef class Merger:
    # The pre-tokens, one slot a byte (see the notes in the .pyx).
    cdef int32_t* symbols
    cdef uint64_t symbol_count
    cdef uint64_t symbol_capacity
    cdef segment* segments
    cdef uint64_t segment_count
    cdef uint64_t segment_capacity
    # Tokens by internal id.
    cdef unsigned char* token_bytes
    cdef uint64_t bytes_used
    cdef uint64_t bytes_capacity
    cdef uint64_t* token_start
    cdef uint32_t token_count
    cdef uint32_t token_capacity
    cdef uint32_t* token_slots          # bytes -> id, open addressing; id + 1, 0 where empty
    cdef uint64_t token_mask
    # Pairs.
    cdef pair_entry* pairs
    cdef uint64_t pair_mask
    cdef uint64_t pair_used
    cdef heap_entry* heap
    cdef uint64_t heap_length
    cdef uint64_t heap_capacity
    # The pairs of the token just made: sides[2 * x] is (x, token), sides[2 * x + 1] is (token, x); EMPTY when unused.
    cdef pair_entry* sides
    cdef uint64_t side_capacity
    cdef uint64_t* touched             # which of them are used
    cdef uint64_t touched_length
    cdef uint64_t touched_capacity
    # What was learned: left, right, result.
    cdef uint32_t* learned
    cdef uint64_t learned_count
    cdef uint64_t learned_capacity
    cdef int64_t min_frequency
    cdef uint64_t max_token_bytes
    cdef bint ties_by_bytes
    cdef bint counted
    cdef uint64_t work
    cdef object error

    cdef int reserve_words(self, uint64_t symbols, uint64_t segments) noexcept nogil
    cdef int push_word(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil
    cdef uint64_t token_length(self, uint32_t token) noexcept nogil
    cdef int join(self, uint32_t left, uint32_t right, uint32_t* token) noexcept nogil
    cdef int token_of(self, uint64_t length, uint32_t* token) noexcept nogil
    cdef int grow_tokens(self) noexcept nogil
    cdef pair_entry* find_pair(self, uint64_t key) noexcept nogil
    cdef int new_pair(self, uint64_t key, pair_entry** made) noexcept nogil
    cdef int grow_pairs(self) noexcept nogil
    cdef int count_pairs(self) noexcept nogil
    cdef int count_byte_pairs(self, int64_t* counts, uint32_t* lengths, uint32_t* last,
                              uint32_t** lists) noexcept nogil
    cdef bint before(self, heap_entry* one, heap_entry* other) noexcept nogil
    cdef int compare_tokens(self, uint32_t one, uint32_t other) noexcept nogil
    cdef int push_heap(self, uint64_t key, int64_t count) noexcept nogil
    cdef void sift_down(self, heap_entry entry) noexcept nogil
    cdef int best(self, uint64_t* key) noexcept nogil
    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef int apply_in(self, uint32_t number, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef int make_sides(self) noexcept nogil
    cdef int note(self, uint64_t number, uint64_t key, int64_t weight, uint32_t where) noexcept nogil
    cdef int settle(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef int put(self, pair_entry* side) noexcept nogil
    cdef uint32_t segment_before(self, uint32_t number, uint64_t at, int32_t token) noexcept nogil
    cdef bint interrupted(self) noexcept nogil
    cdef int record(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil
    cdef int run(self, uint32_t token_limit, uint64_t work_limit) noexcept nogil
    cdef int begin(self) except -1
    cdef int check(self, int result) except -1
