"""Pairs of tokens: how often each occurs and where, and the next one to merge (_pairs.pyx)."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, realloc
from libc.string cimport memcpy

from ...headers cimport bp_watch
from ._learned_tokens cimport LearnedTokens, out_of_memory, too_large

cdef extern from "<stdint.h>" nogil:
    const uint64_t EMPTY "UINT64_MAX"     # the key of no pair

cdef enum:
    LEAST_LIST = 8         # numbers for which an array has room at first


cdef struct pair_entry:    # 32 bytes, two to a cache line
    uint64_t key           # left id << 32 | right id; EMPTY where the slot was never used
    int64_t count
    uint64_t items         # up to two numbers of strips in which it begins, else a pointer to an array of them
    uint32_t length
    uint32_t room          # of the array; 0: inline


cdef struct heap_entry:
    int64_t count          # never below the pair's present count
    uint64_t key


cdef inline uint32_t* pair_items(pair_entry* entry) noexcept nogil:
    return <uint32_t*> &entry.items if entry.room == 0 else <uint32_t*> entry.items


cdef inline int append_item(pair_entry* entry, uint32_t number) except -1 nogil:
    """Note that a pair begins in a strip, once if the same strip comes several times in a row."""
    cdef uint32_t* items = pair_items(entry)
    cdef uint32_t length = entry.length
    if length and items[length - 1] == number:
        return 0
    if length == (entry.room if entry.room else 2):
        if length > 0x7FFFFFFF:
            return too_large()
        if entry.room:
            items = <uint32_t*> realloc(items, 2 * length * sizeof(uint32_t))
        else:
            items = <uint32_t*> malloc(LEAST_LIST * sizeof(uint32_t))
            if items != NULL:
                memcpy(items, &entry.items, 8)
        if items == NULL:
            return out_of_memory()
        entry.items = <uint64_t> items
        entry.room = 2 * length if entry.room else LEAST_LIST
    items[length] = number
    entry.length = length + 1
    return 0


@cython.final
cdef class PairTable:
    cdef LearnedTokens tokens
    cdef pair_entry* entries
    cdef uint64_t mask             # slots - 1
    cdef int shift                 # a key belongs into slot hash >> shift
    cdef uint64_t used             # slots not EMPTY
    cdef heap_entry* heap
    cdef uint64_t heap_length
    cdef uint64_t heap_room
    cdef int64_t min_frequency     # at least 1
    cdef int64_t floor             # every pair that occurs at least this often, and may be learned, is in the heap
    cdef int64_t below             # none of the others occurs more often than this
    cdef uint64_t max_token_bytes
    cdef uint32_t max_words        # of a superword; 0 for no limit
    cdef bint ties_by_bytes
    cdef bint only_new             # a pair that gives an existing token is not learned

    # Count all pairs of pre-tokens in which nothing has been joined, and note their strips, numbered below `end`.
    cdef int count(self, const int32_t* symbols, uint32_t end, bp_watch* watch) except -1 nogil
    # The pair's entry, or the empty one where it would go.
    cdef pair_entry* find(self, uint64_t key) noexcept nogil
    cdef void prefetch(self, uint64_t key) noexcept nogil
    # Add the count and the strips of an entry outside the table, which keeps only its key and count.
    cdef int put(self, pair_entry* new) except -1 nogil
    # Subtract from the count of a pair, if it is in the table; at zero its strips are freed.
    cdef void subtract(self, uint64_t key, int64_t count) noexcept nogil
    # Queue a pair whose count has risen.
    cdef int queue(self, uint64_t key) except -1 nogil
    # OUT: the pair to merge next; False where none is left. It stays at the root of the heap.
    cdef bint best(self, uint64_t* key) except -1 nogil
