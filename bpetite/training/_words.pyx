"""The words that merges are learned from, as tokens in flat memory.

The shape, and why.

- One slot of `symbols` for each byte of each pre-token, or for each token of a piece that is encoded already, SENTINEL
  around words. A token of n slots that begins at slot p has its id at p and ~id at p + n - 1; the slots between are
  negative and never looked at. So the token after a pair is `symbols[p + n]`, the one before is read off
  `symbols[p - 1]`, a merge writes three slots, nothing moves, and no links are stored. (Words as lists that shrink were
  as fast on short pre-tokens and quadratic on one long one, which is what a corpus without a split pattern is.)
- A pre-token is cut into segments of at most SEGMENT slots, and a pair remembers the segments it begins in, each once
  and in ascending order: four bytes an occurrence, freed when the pair is gone. A segment is searched for the pair by
  comparing all its slots at once, which costs less than one cache miss; long pre-tokens stay linear because their
  segments are short too.
"""
cimport cython
from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .._merge cimport MergeTable, space_reserve
from ..core._id_memory cimport ids_free, ids_grow
from ..core._text cimport DONE as ENCODED
from ..core._worker cimport Core, Worker
from ..headers cimport bp_watch, bp_work, token_t
from ..vocabulary._tokens cimport TokenTable
from ..vocabulary._word_merges cimport WordMerges
from ._count_records cimport RECORD, RecordReader, record_stream
from ._count_table cimport CountTable, slot_bytes
from ._learned_tokens cimport INTERRUPTED, NO_MEMORY, OK, TOO_LARGE, LearnedTokens
from ._segments cimport HEAD, NEXT_HEAD, SEGMENT, SENTINEL, even, head_of, symbols_of

cdef enum:
    PHRASE = 32                 # bytes of a pre-token that is encoded word by word, at least
    CACHE = 8 << 20             # bytes for words that a phrase is made of

cdef extern from "training/pair_search.h" nogil:
    enum:
        BP_OVERREAD


@cython.final
cdef class WordEncoder:
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
        self.worker = Worker(Core(tokens, merges, (), None, False, cuts=WordMerges(tokens, merges)), CACHE)
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

    cdef Py_ssize_t encode(self, const uint8_t* data, Py_ssize_t length, bp_watch* watch) noexcept nogil:
        cdef Py_ssize_t slot = self.tokens.find(data, length) if self.whole else -1
        cdef Py_ssize_t at, size, offset = 0
        cdef token_t* ids
        if length < 2 or slot >= 0 and self.by_slot[slot] != NO_ID:
            return 0
        if length < PHRASE:                        # comes once: it is not looked for among the words
            if not space_reserve(&self.worker.space, length):
                return -1
            ids = self.worker.space.ids
            for at in range(length):
                ids[at] = self.worker.core.byte_ids[data[at]]
            size = self.worker.core.merges.merge(&self.worker.space, length, watch)
        else:
            self.worker.used = 0
            if self.worker.encode_cut(data, 0, length, &offset) != ENCODED:
                return -1
            ids = self.worker.out
            size = self.worker.used
        for at in range(size):
            ids[at] = self.by_slot[self.tokens.slot(ids[at])]
        self.ids = ids
        return size


@cython.final
cdef class Words:
    """The words that merges are learned from, as tokens; none at first."""

    def __cinit__(self, LearnedTokens known not None):
        cdef uint32_t number
        self.known = known
        for number in range(256):
            self.id_of_byte[known.data[number]] = <uint8_t> number
        self.symbols = <int32_t*> ids_grow(NULL, 0, &self.symbol_capacity, 64)
        if self.symbols == NULL:
            raise MemoryError
        self.symbols[0] = SENTINEL

    def __dealloc__(self):
        ids_free(<uint32_t*> self.symbols, self.symbol_capacity)

    cdef int add_word(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil:
        cdef int result = self.reserve(1, length)
        if result == OK:
            self.push(word, length, count)
        return result

    cdef int reserve_table(self, CountTable table, bp_watch* watch) noexcept nogil:
        """Make room for all words of a table, a symbol for each byte."""
        cdef uint64_t i
        cdef uint64_t words = 0
        cdef uint64_t slots = 0
        cdef Py_ssize_t length
        for i in range(table.mask + 1):
            if bp_work(watch, SLOT_WORK):
                return INTERRUPTED
            if table.slots[i].key.high and table.slots[i].count:
                slot_bytes(&table.slots[i], &length)
                words += 1
                slots += length
        return self.reserve(words, slots)

    cdef int add_encoded(self, const uint8_t* data, Py_ssize_t length, int64_t count, WordEncoder encoder,
                         bp_watch* watch) noexcept nogil:
        cdef Py_ssize_t size = encoder.encode(data, length, watch)
        cdef int result
        if size < 0:
            return INTERRUPTED if watch.interrupted or encoder.worker.watch.interrupted else NO_MEMORY
        if size < 2:
            return OK
        result = self.reserve(1, size)
        if result == OK:
            memcpy(self.open(), encoder.ids, size * sizeof(int32_t))
            self.close(size, count)
        return result

    cdef int add_encoded_table(self, CountTable table, WordEncoder encoder, bp_watch* watch) noexcept nogil:
        cdef uint64_t i
        cdef Py_ssize_t length
        cdef const uint8_t* data
        cdef int result = OK
        for i in range(table.mask + 1):
            if bp_work(watch, SLOT_WORK):
                return INTERRUPTED
            if table.slots[i].key.high and table.slots[i].count:
                data = slot_bytes(&table.slots[i], &length)
                if bp_work(watch, length):
                    return INTERRUPTED
                result = self.add_encoded(data, length, table.slots[i].count, encoder, watch)
                if result != OK:
                    break
        return result

    cdef int add_encoded_records(self, RecordReader records, int64_t least, WordEncoder encoder,
                                 bp_watch* watch) except? -1:
        cdef int result = OK
        cdef record_stream* stream = &records.stream
        while result == OK and records.advance() == RECORD:
            if stream.count >= least:
                result = self.add_encoded(stream.data, stream.length, stream.count, encoder, watch)
        return result

    cdef int add_table(self, CountTable table, bp_watch* watch) noexcept nogil:
        cdef uint64_t i
        cdef Py_ssize_t length
        cdef const unsigned char* data
        cdef int result = self.reserve_table(table, watch)
        if result != OK:
            return result
        for i in range(table.mask + 1):
            if bp_work(watch, SLOT_WORK):
                return INTERRUPTED
            if table.slots[i].key.high and table.slots[i].count:
                data = slot_bytes(&table.slots[i], &length)
                self.push(data, length, table.slots[i].count)
        return OK

    cdef int add_records(self, RecordReader records, int64_t least) except? -1:
        cdef int result = OK
        cdef record_stream* stream = &records.stream
        while result == OK and records.advance() == RECORD:
            if stream.count >= least:
                result = self.add_word(stream.data, stream.length, stream.count)
        return result

    cdef int reserve(self, uint64_t words, uint64_t slots) noexcept nogil:
        """Make room for more words and their slots (one for each place)."""
        cdef uint64_t symbols = symbols_of(words, slots)
        cdef uint32_t* grown
        if self.symbol_count + symbols > head_of(UINT32_MAX):
            return TOO_LARGE
        symbols += self.symbol_count + SEGMENT + BP_OVERREAD
        if symbols > <uint64_t> self.symbol_capacity:
            grown = ids_grow(<uint32_t*> self.symbols, self.symbol_count + 1, &self.symbol_capacity,
                             symbols + self.symbol_count // 2)
            if grown == NULL:
                return NO_MEMORY
            self.symbols = <int32_t*> grown
        return OK

    cdef void push(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil:
        """IN: room has been made. A word of less than two bytes holds no pair and is left out."""
        cdef int32_t* slots = self.open()
        cdef uint64_t i
        if length < 2:
            return
        for i in range(length):
            slots[i] = self.id_of_byte[word[i]]
        self.close(length, count)

    cdef int32_t* open(self) noexcept nogil:
        """Where the slots of the next word go."""
        return self.symbols + self.symbol_count + HEAD

    cdef void close(self, uint64_t size, int64_t count) noexcept nogil:
        """End the word of so many slots, and cut it into segments."""
        cdef uint64_t word = self.symbol_count
        cdef uint64_t start = word + HEAD
        cdef uint64_t end = start + size
        cdef int32_t* head = self.symbols + word
        head[0] = head[4] = SENTINEL
        head[1] = <int32_t> min(size, <uint64_t> SEGMENT)
        memcpy(head + 2, &count, sizeof(int64_t))
        self.symbols[end] = SENTINEL
        self.symbol_count = even(end)
        while end - start > SEGMENT:
            start += SEGMENT
            head = self.symbols + self.symbol_count
            head[0] = SENTINEL
            head[1] = head[4] = 0
            memcpy(head + 2, &count, sizeof(int64_t))
            head[5] = <int32_t> min(end - start, <uint64_t> SEGMENT)
            memcpy(head + 6, &start, sizeof(uint64_t))
            memcpy(head + 8, &word, sizeof(uint64_t))
            self.symbol_count += NEXT_HEAD
        self.symbols[self.symbol_count] = SENTINEL
