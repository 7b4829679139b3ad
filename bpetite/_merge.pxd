"""The merge table of a vocabulary, and merging of token ids by it."""
cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .headers.types cimport token_t
from .vocabulary._tokens cimport TokenTable

cdef enum:
    SCAN_LIMIT = 96    # so many tokens or fewer are merged by scanning for the lowest rank
    LOW_IDS = 256      # pairs of ids below have a table of their own
    PASS_SHARE = 16    # more are merged by passes, while one of so many tokens goes with each pass


cdef struct merge_entry:
    uint64_t pair          # left id << 32 | right id
    uint32_t rank          # NO_MERGE in an empty place
    uint32_t unused


cdef struct merge_node:
    # A token in the linked list, all that a step touches side by side.
    uint32_t rank          # of the pair with its right neighbour, or NO_MERGE
    token_t id
    uint32_t before, behind


cdef struct merge_room:
    # Working memory of merge(); all zero at first, owned by one thread, freed by room_free.
    token_t* ids           # IN and OUT
    uint32_t* ranks        # of each token with its right neighbour, or NO_MERGE
    merge_node* nodes
    uint64_t* heap
    Py_ssize_t capacity    # of ids and ranks
    Py_ssize_t linked      # of nodes
    Py_ssize_t heap_capacity


# Room for n ids; false where there is no memory.
cdef bint room_reserve(merge_room* room, Py_ssize_t n) noexcept nogil
cdef void room_free(merge_room* room) noexcept nogil


@cython.final
cdef class MergeTable:
    cdef merge_entry* entries
    cdef uint32_t* low_pairs               # left * LOW_IDS + right -> rank or NO_MERGE, of ids below LOW_IDS
    cdef uint64_t* sieve                   # a bit for each pair, at its hash; most pairs that have no rank have no bit
    cdef uint64_t sieve_mask
    cdef token_t* joined                   # rank -> id of the token that a pair of this rank becomes
    cdef uint64_t mask
    cdef readonly Py_ssize_t size          # pairs
    cdef readonly Py_ssize_t ranks         # ranks: more than pairs where one is listed twice
    cdef MergeTable owner                  # of the memory, where that is borrowed
    cdef bint borrowed

    cdef int _reserve(self, Py_ssize_t pairs, Py_ssize_t ranks) except -1
    cdef bint _add(self, token_t left, token_t right, uint32_t rank, token_t joined) noexcept nogil
    cdef int _from_list(self, TokenTable tokens, object merges) except -1
    cdef int _from_ranks(self, TokenTable tokens, object excluded) except -1
    # The rank of a pair, NO_MERGE where it has none.
    cdef uint32_t find(self, token_t left, token_t right) noexcept nogil
    # Merge room.ids[0:n] until no pair has a rank; returns how many ids are left, -1 where there is no memory.
    cdef Py_ssize_t merge(self, merge_room* room, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _merge_by_scan(self, token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t _merge_by_passes(self, token_t* ids, uint32_t* ranks, Py_ssize_t n, uint32_t* lowest) noexcept nogil
    cdef Py_ssize_t _merge_by_heap(self, merge_room* room, Py_ssize_t n) noexcept nogil
