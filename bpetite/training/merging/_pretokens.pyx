"""The pre-tokens that merges are learned from, as tokens in flat memory.

- Each byte of a pre-token, or each token of one that is encoded already, has one slot of `symbols`; SENTINEL stands
  around pre-tokens. A token of n slots that begins at slot p has its id at p and ~id at p + n - 1; the slots between
  are negative and never looked at. So the token after a pair is `symbols[p + n]`, the one before is read off
  `symbols[p - 1]`, a merge writes three slots, nothing moves, and no links are stored. (Lists that shrink were as fast
  on short pre-tokens and quadratic on one long one, which is a corpus without a split pattern.)
- A pre-token is cut into strips of at most STRIP slots. A pair remembers the strips that it begins in, each once and
  in ascending order: four bytes an occurrence, freed when the pair is gone. A strip is searched for the pair by
  comparing all its slots at once, which costs less than one cache miss; long pre-tokens stay linear because their
  strips are short too.
"""
cimport cython
from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ..._merge cimport MergeTable, space_reserve
from ...core._encode cimport DONE as ENCODED, EncodingTables, Worker
from ...headers cimport bp_free, bp_resize, bp_watch, bp_watch_begin, bp_work
from ...vocabulary._tokens cimport TokenTable
from ..counting._count_table cimport PretokenReader
from ._learned_tokens cimport LearnedTokens, out_of_memory, too_large

from ...vocabulary._word_cuts import word_cuts

cdef extern from "training/merging/pair_search.h" nogil:
    enum:
        BP_OVERREAD

cdef enum:
    NO_ID = 0x7FFFFFFF
    PRETOKEN_WORK = 32          # work of adding a pre-token as bp_watch counts it, in bytes of text
    LONG = 32                   # bytes of a pre-token that is encoded through the word cache, at least
    CACHE = 8 << 20             # bytes of that cache


@cython.final
cdef class PretokenEncoder:
    """Pre-tokens as the tokens that a vocabulary makes of them, by their internal ids.

    Args:
        tokens, merges: Of the vocabulary.
        ids: uint32[n], n at least 256: internal id -> the vocabulary's.
        whole: A pre-token that is a token is taken whole; nothing is learned from it.
        known: The tokens by internal id.
    """

    def __cinit__(self, TokenTable tokens not None, MergeTable merges not None, const uint32_t[::1] ids not None,
                  bint whole, LearnedTokens known not None):
        cdef Py_ssize_t at, slot
        if not 256 <= ids.shape[0] <= known.count:
            raise ValueError(f"there are {known.count} tokens, 256 of them bytes, and ids of {ids.shape[0]}")
        self.tokens = tokens
        self.worker = Worker(EncodingTables(tokens, merges, (), word_cuts(tokens, merges), False), CACHE)
        bp_watch_begin(&self.worker.watch, NULL)
        self.whole = whole
        self.by_slot = <uint32_t*> malloc((tokens.size + 1) * sizeof(uint32_t))
        if self.by_slot == NULL:
            raise MemoryError
        for slot in range(tokens.size):
            self.by_slot[slot] = NO_ID
        for at in range(ids.shape[0]):
            slot = tokens.slot(ids[at])
            if slot < 0:
                raise ValueError(f"no token has the id {ids[at]}")
            self.by_slot[slot] = <uint32_t> at

    def __dealloc__(self):
        free(self.by_slot)


cdef Py_ssize_t encode(PretokenEncoder self, const uint8_t* data, Py_ssize_t length) except -1 nogil:
    """Put the internal ids of a pre-token's tokens into self.ids. Returns their number, 0 where nothing is learned."""
    cdef Py_ssize_t slot = self.tokens.find(data, length) if self.whole else -1
    cdef Py_ssize_t at, size = -1, offset = 0
    if length < 2 or slot >= 0 and self.by_slot[slot] != NO_ID:
        return 0
    if length < LONG:                              # each pre-token comes once, so a cache of short ones is not hit
        if space_reserve(&self.worker.space, length):
            self.ids = self.worker.space.ids
            for at in range(length):
                self.ids[at] = self.worker.tables.byte_ids[data[at]]
            size = self.worker.tables.merges.merge(&self.worker.space, length, &self.worker.watch)
    else:
        self.worker.used = 0
        if self.worker.encode_span(data, length, &offset) == ENCODED:
            self.ids = self.worker.out
            size = self.worker.used
    if size < 0:
        return -1 if self.worker.watch.interrupted else out_of_memory()
    for at in range(size):
        self.ids[at] = self.by_slot[self.tokens.slot(self.ids[at])]
    return size


@cython.final
cdef class Pretokens:
    """The pre-tokens that merges are learned from, as tokens; empty at first."""

    def __cinit__(self, LearnedTokens known not None):
        cdef uint32_t number
        for number in range(256):
            self.id_of_byte[known.data[number]] = <uint8_t> number
        self.symbols = <int32_t*> bp_resize(NULL, sizeof(int32_t))
        if self.symbols == NULL:
            raise MemoryError
        self.symbols[0] = SENTINEL

    def __dealloc__(self):
        bp_free(self.symbols)

    cdef int add(self, PretokenReader pretokens, PretokenEncoder encoder, bp_watch* watch) except -1 nogil:
        cdef Py_ssize_t at, size
        cdef int32_t* slots
        while pretokens.advance():
            if bp_work(watch, PRETOKEN_WORK):
                return -1
            size = pretokens.length if encoder is None else encode(encoder, pretokens.data, pretokens.length)
            if size < 2:                           # holds no pair
                continue
            reserve(self, size)
            slots = self.symbols + self.count + HEAD
            if encoder is None:
                for at in range(size):
                    slots[at] = self.id_of_byte[pretokens.data[at]]
            else:
                memcpy(slots, encoder.ids, size * sizeof(int32_t))
            close(self, size, pretokens.count)
        return 0


cdef int reserve(Pretokens self, uint64_t slots) except -1 nogil:
    """Make room for one more pre-token, and for what a search reads after it."""
    cdef uint64_t count = self.count + HEAD + 2 + slots + slots // STRIP * NEXT_HEAD
    cdef int32_t* grown
    if count > head_of(UINT32_MAX):
        return too_large()
    count += STRIP + BP_OVERREAD
    if count > self.room:
        count += self.count // 2
        grown = <int32_t*> bp_resize(self.symbols, count * sizeof(int32_t))
        if grown == NULL:
            return out_of_memory()
        self.symbols, self.room = grown, count
    return 0


cdef void close(Pretokens self, uint64_t size, int64_t count) noexcept nogil:
    """End the pre-token of so many slots, and cut it into strips."""
    cdef uint64_t pretoken = self.count
    cdef uint64_t start = pretoken + HEAD
    cdef uint64_t end = start + size
    cdef int32_t* head = self.symbols + pretoken
    head[0] = head[HEAD - 1] = SENTINEL
    head[FIRST_SIZE] = <int32_t> min(size, <uint64_t> STRIP)
    memcpy(head + WEIGHT, &count, sizeof(int64_t))
    self.symbols[end] = SENTINEL
    self.count = even(end)
    while end - start > STRIP:
        start += STRIP
        head = self.symbols + self.count
        head[0] = SENTINEL
        head[FIRST_SIZE] = head[HEAD - 1] = 0
        memcpy(head + WEIGHT, &count, sizeof(int64_t))
        head[NEXT_SIZE] = <int32_t> min(end - start, <uint64_t> STRIP)
        memcpy(head + NEXT_START, &start, sizeof(uint64_t))
        memcpy(head + NEXT_PRETOKEN, &pretoken, sizeof(uint64_t))
        self.count += NEXT_HEAD
    self.symbols[self.count] = SENTINEL
