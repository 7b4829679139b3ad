"""Pairs of tokens: how often each occurs and where, and which one is next (_pair_table.pyx)."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..headers cimport bp_grow, bp_secret, bp_watch
from ._learned_tokens cimport NO_MEMORY, OK, OVERFLOW, TOO_LARGE, LearnedTokens
from .tables cimport bp_add_overflows

cdef extern from "training/list_memory.h" nogil:
    enum:
        BP_SHORT_LIST
    ctypedef struct bp_list_memory:
        uint64_t long_lists
    uint32_t bp_list_room(uint32_t needed) noexcept
    uint32_t* bp_new_list(bp_list_memory* memory, uint32_t room) noexcept
    void bp_free_list(bp_list_memory* memory, uint32_t* numbers, uint32_t room) noexcept
    uint32_t* bp_double_list(bp_list_memory* memory, uint32_t* numbers, uint32_t room) noexcept
    void bp_free_list_memory(bp_list_memory* memory) noexcept


cdef enum:
    SEGMENT_WORK = 64      # bytes of text whose encoding takes as long as a segment


cdef struct pair_entry:    # 32 bytes, two to a cache line
    uint64_t key           # left id << 32 | right id; EMPTY where the slot was never used
    int64_t count
    uint64_t items         # where it occurs: up to two segment numbers inline, else a pointer to an array of them
    uint32_t length
    uint32_t capacity      # of the array; 0: inline


cdef struct byte_pair:     # a pair of bytes while they are counted
    int64_t count
    uint32_t segments      # how many it begins in
    uint32_t last          # the last of them, plus 1
    pair_entry* entry


cdef struct heap_entry:
    int64_t count          # never below the pair's present count
    uint64_t key


cdef inline uint32_t* pair_items(pair_entry* entry) noexcept nogil:
    return <uint32_t*> &entry.items if entry.capacity == 0 else <uint32_t*> entry.items


cdef inline void drop_items(bp_list_memory* lists, pair_entry* entry) noexcept nogil:
    if entry.capacity:
        bp_free_list(lists, <uint32_t*> entry.items, entry.capacity)
    entry.capacity = 0
    entry.length = 0


cdef inline int append_item(bp_list_memory* lists, pair_entry* entry, uint32_t where) noexcept nogil:
    """Note that a pair begins in a segment, once if the same segment comes several times in a row."""
    cdef uint32_t* items = pair_items(entry)
    cdef uint32_t length = entry.length
    if length and items[length - 1] == where:
        return OK
    if entry.capacity == 0 and length == 2:
        items = bp_new_list(lists, bp_list_room(3))
        if items == NULL:
            return NO_MEMORY
        memcpy(items, &entry.items, 8)
        entry.items = <uint64_t> items
        entry.capacity = bp_list_room(3)
    elif entry.capacity and length == entry.capacity:
        if length > 0x7FFFFFFF:
            return TOO_LARGE
        items = bp_double_list(lists, items, length)
        if items == NULL:
            return NO_MEMORY
        entry.items = <uint64_t> items
        entry.capacity = length * 2
    items[length] = where
    entry.length = length + 1
    return OK


@cython.final
cdef class Sides:
    # The pairs of the token just made: entries[2 * x] is (x, token), entries[2 * x + 1] is (token, x); EMPTY when
    # unused, and all are between two merges, so that mergers which share their tokens share these. Lists of segments
    # are in the memory of the merger that merges.
    cdef pair_entry* entries
    cdef uint64_t capacity
    cdef uint64_t* touched             # which of them are used
    cdef uint64_t touched_length
    cdef uint64_t touched_capacity

    cdef int reserve(self, uint64_t tokens) noexcept nogil
    cdef void drop(self) noexcept nogil


cdef inline int note_side(Sides sides, bp_list_memory* lists, uint64_t number, uint64_t key, int64_t weight,
                          uint32_t where) noexcept nogil:
    """Count a pair with the new token that has come up in a segment of this weight."""
    cdef pair_entry* side = &sides.entries[number]
    if side.key != key:
        if bp_grow(<void**> &sides.touched, &sides.touched_capacity, sides.touched_length + 1, sizeof(uint64_t)) < 0:
            return NO_MEMORY
        sides.touched[sides.touched_length] = number
        sides.touched_length += 1
        side.key = key
        side.count = 0
        side.length = 0
        side.capacity = 0
    if bp_add_overflows(&side.count, weight):
        return OVERFLOW
    return append_item(lists, side, where)


@cython.final
cdef class PairTable:
    cdef LearnedTokens tokens
    cdef pair_entry* entries
    cdef uint64_t mask             # slots - 1
    cdef int shift                 # a key belongs into slot hash >> shift
    cdef uint64_t used             # slots not EMPTY
    cdef bp_list_memory lists      # of segments
    cdef heap_entry* heap
    cdef uint64_t heap_length
    cdef uint64_t heap_capacity
    cdef int64_t min_frequency     # at least 1
    cdef int64_t floor             # every pair that occurs at least this often, and may be learned, is in the heap
    cdef int64_t below             # none of the others occurs more often than this
    cdef uint64_t max_token_bytes
    cdef uint32_t max_words        # of a superword; 0 for no limit
    cdef bint ties_by_bytes
    cdef bint only_new             # pairs that give a token that there is are not learned
    cdef uint64_t* frequent        # a filter: the pairs that may occur `min_frequency` times; NULL where any may
    cdef int frequent_shift        # of the filter
    cdef bp_secret secret

    cdef pair_entry* find(self, uint64_t key) noexcept nogil
    cdef void prefetch(self, uint64_t key) noexcept nogil
    cdef int filter(self) noexcept nogil
    cdef void set_frequent(self, uint64_t key) noexcept nogil
    cdef int count_bytes(self, const int32_t* symbols, uint32_t end, bp_watch* watch) noexcept nogil
    cdef int count_tokens(self, const int32_t* symbols, uint32_t end, bp_watch* watch) noexcept nogil
    cdef int make_byte_pairs(self, byte_pair* found) noexcept nogil
    cdef int make(self, uint64_t key, pair_entry** made) noexcept nogil
    cdef int grow(self) noexcept nogil
    cdef bint is_rare(self, pair_entry* side) noexcept nogil
    cdef int put(self, pair_entry* side) noexcept nogil
    cdef void take(self, uint64_t key, int64_t count) noexcept nogil
    cdef int queue(self, uint64_t key) noexcept nogil
    cdef bint before(self, heap_entry* one, heap_entry* other) noexcept nogil
    cdef int push(self, uint64_t key, int64_t count) noexcept nogil
    cdef void sift_down(self, heap_entry entry) noexcept nogil
    cdef int best(self, uint64_t* key) noexcept nogil
    cdef int refill(self) noexcept nogil
    cdef int64_t most_frequent(self) noexcept nogil
    cdef int fits(self, uint64_t key) noexcept nogil
    cdef int is_superword(self, uint32_t left, uint32_t right) noexcept nogil
