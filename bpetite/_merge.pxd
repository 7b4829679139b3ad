"""BPE on arrays: merging of token ids, and the join of their bytes."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from .headers cimport bp_grow, bp_pairs, bp_watch, token_t

cdef extern from "headers/words.h" nogil:
    enum:
        BP_WORDS
        BP_WORD_IDS
        BP_WORD_WIDTHS
    ctypedef struct bp_word:
        uint32_t size
        uint32_t ids[1]            # declared short: the header has its size
    ctypedef struct bp_words:
        size_t counts[BP_WORD_WIDTHS]

cdef extern from "headers/join.h" nogil:
    enum: BP_NOT_ASCII
    ctypedef struct bp_head:
        pass
    ctypedef struct bp_joiner:
        bp_head* heads
        uint16_t* sizes
        const uint64_t* starts
        const uint8_t* blob
        const uint32_t* slot_of
        size_t size

cdef enum:
    POWERS = 40            # of the probability of dropout: at most 2 ** 32 candidates


cdef struct merge_node:
    # A token in the linked list, with all data that a step reads.
    uint32_t rank          # of the pair with the next token, or BP_NO_MERGE
    token_t id
    uint32_t previous, next


cdef struct merge_space:
    # Working memory of merge(); all zero at first, owned by one thread, freed by space_free.
    token_t* ids           # IN and OUT
    uint32_t* ranks        # of each token with the next, or BP_NO_MERGE
    merge_node* nodes
    uint64_t* heap
    uint64_t capacity      # of ids
    uint64_t rank_capacity
    uint64_t node_capacity
    uint64_t heap_capacity


cdef inline bint space_reserve(merge_space* space, Py_ssize_t n) noexcept nogil:
    """Memory for n ids; false where there is none."""
    return bp_grow(<void**> &space.ids, &space.capacity, n, sizeof(token_t)) == 0


cdef inline void space_free(merge_space* space) noexcept nogil:
    free(space.ids)
    free(space.ranks)
    free(space.nodes)
    free(space.heap)
    memset(space, 0, sizeof(merge_space))


@cython.final
cdef class MergeTable:
    cdef bp_pairs pairs
    cdef readonly Py_ssize_t size          # pairs
    cdef readonly Py_ssize_t ranks         # ranks: more than pairs where one is listed twice

    # Filling: memory for that many pairs and ranks, once; then each pair. False for a pair that is known already, which
    # keeps its first rank.
    cdef int reserve(self, Py_ssize_t pairs, Py_ssize_t ranks) except -1
    cdef bint add(self, token_t left, token_t right, uint32_t rank, token_t joined) noexcept nogil
    # The rank of a pair, BP_NO_MERGE where it has none. The table has been filled.
    cdef uint32_t find(self, token_t left, token_t right) noexcept nogil
    # Merge space.ids[0:n] until no pair has a rank; returns the number of ids left, -1 without memory or after an
    # interruption of the watch.
    cdef Py_ssize_t merge(self, merge_space* space, Py_ssize_t n, bp_watch* watch) noexcept nogil
    # Add a word, with its ids, to those that merge_words takes: 1 to BP_WORD_IDS ids, BP_WORDS words.
    cdef void add_word(self, bp_words* words, bp_word* word, size_t size) noexcept nogil
    # Merge words in parallel, until none of their pairs has a rank. INOUT: their ids; `words` is empty afterwards.
    cdef void merge_words(self, bp_words* words) noexcept nogil


@cython.final
cdef class Dropout:
    cdef readonly double probability
    cdef readonly uint64_t seed
    cdef double powers[POWERS]             # probability ** 2 ** i


# MergeTable.merge with dropout. The draws depend on the seed, the number of the text and the position in it alone.
cdef Py_ssize_t merge_with_dropout(Dropout dropout, MergeTable merges, merge_space* space, Py_ssize_t n, uint64_t text,
                                   uint64_t position, bp_watch* watch) noexcept nogil


@cython.final
cdef class ByteJoin:
    cdef bp_joiner joiner

    # Set up once, from the tokens of a table: slot -> id, first byte in the blob. The arrays are not copied.
    cdef int fill(self, const token_t* ids, Py_ssize_t tokens, const uint64_t* starts, const uint8_t* blob,
                  const uint32_t* slot_of, size_t id_span) except -1
    # Bytes that n positions give, or -1 - the index of one without a token. OUT: *not_ascii is set where a byte is not
    # ASCII; *unknown, the position without a token.
    cdef int64_t count(self, const uint32_t* positions, Py_ssize_t n, unsigned* not_ascii,
                       uint32_t* unknown) noexcept nogil
    # Copy the bytes of n positions to `to`, up to `end`; returns where they end, NULL where they are not those counted.
    cdef uint8_t* join(self, const uint32_t* positions, Py_ssize_t n, uint8_t* to, uint8_t* end,
                       bint not_ascii) noexcept nogil
    # OUT: *token, the bytes of the token at a position. Returns their number, -1 where there is none.
    cdef Py_ssize_t token_at(self, uint32_t position, const uint8_t** token) noexcept nogil
