"""UTF-8 in, token ids out: the tables of a tokenizer and what one thread writes to while it encodes.

Core is read only and shared. A Worker holds everything that encoding writes: word cache, merging room, output. It is
taken from a pool for the time of a call, so two threads never touch a writable line of the same worker, and no lock is
held or waited for while text is read.

The loop goes by blocks of pre-tokens: the scanner gives their ends, bp_prepare loads and hashes their bytes and
prefetches, bp_emit puts out the ids of those the cache knows, the rest are merged and remembered (see word_cache.h).

The cache begins empty. Filling it at first use with the tokens that are whole words was measured: 8 ms for those of
GPT-2 and 6 ms for those of cl100k, which need no merging. A first text of 2,000 characters then takes 0.02 ms less, one
of 100,000 0.1 to 0.5 ms, one of a megabyte 0 to 2 ms, and one of 10 MB about as much less as the filling took. A text
brings the words that it needs itself.
"""
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

from .._merge cimport MergeTable, room_free, room_reserve
from ..headers.memory cimport bp_allocate
from ..headers.types cimport token_t
from ..splitting._scan cimport scan_cursor
from ..vocabulary._tokens cimport TokenTable

cdef enum:
    LARGE = 1 << 23            # ids; malloc gets memory for more from the system each time, page by page


cdef class Core:
    """The tables that encoding reads.

    Args:
        tokens: All tokens, special ones included.
        merges: Pairs of ids in rank order, or None for the ranks kind.
        special_ids: Ids that ordinary text never gives by looking up bytes; one-byte tokens are exempt.
        scanner: A compiled split pattern, or None.
        ignore_merges: With a merge list, a pre-token that is a token is taken whole.
    """

    def __cinit__(self, TokenTable tokens not None, merges, special_ids, scanner, bint ignore_merges):
        cdef Py_ssize_t slot
        cdef int value
        cdef uint8_t byte
        self.tokens = tokens
        self.merges = MergeTable(self.tokens, merges, special_ids)
        self.scanner = scanner
        self.whole = merges is None or ignore_merges
        self.barred = <uint8_t*> calloc(self.tokens.size + 1, 1)
        if self.barred == NULL:
            raise MemoryError()
        for token_id in special_ids:
            slot = self.tokens.slot(token_id)
            if slot >= 0:
                self.barred[slot] = self.tokens.starts[slot + 1] - self.tokens.starts[slot] > 1
        for value in range(256):
            byte = <uint8_t> value
            slot = self.tokens.find(&byte, 1)
            self.byte_known[value] = slot >= 0
            self.byte_ids[value] = self.tokens.ids[slot] if slot >= 0 else 0

    def __dealloc__(self):
        free(self.barred)


cdef class Worker:
    """What one thread writes to while it encodes.

    Args:
        core: The tables.
        cache_bytes: Bound of the word cache; 0 for none.
    """

    def __cinit__(self, Core core not None, size_t cache_bytes):
        self.core = core
        if not bp_cache_init(&self.cache, cache_bytes):
            raise MemoryError()

    def __dealloc__(self):
        bp_cache_free(&self.cache)
        room_free(&self.room)
        free(self.out)
        free(self.piece)

    cdef bint reserve(self, Py_ssize_t more) noexcept nogil:
        cdef void* grown
        cdef Py_ssize_t capacity
        if self.used + more <= self.capacity:
            return True
        capacity = self.used + more + self.used // 4 + 256
        if self.used or capacity < LARGE:
            grown = realloc(self.out, capacity * sizeof(token_t))
        else:
            free(self.out)                         # nothing to keep
            self.out = NULL
            self.capacity = 0
            grown = bp_allocate(capacity * sizeof(token_t))
        if grown == NULL:
            return False
        self.out = <token_t*> grown
        self.capacity = capacity
        return True

    cdef bint reserve_piece(self, Py_ssize_t bytes) noexcept nogil:
        cdef void* grown
        if bytes <= self.piece_capacity:
            return True
        grown = realloc(self.piece, bytes)
        if grown == NULL:
            return False
        self.piece = <uint8_t*> grown
        self.piece_capacity = bytes
        return True

    cdef token_t* give_out(self) noexcept nogil:
        cdef token_t* ids = <token_t*> realloc(self.out, (self.used + 1) * sizeof(token_t))
        if ids != NULL:
            self.out = NULL
            self.capacity = 0
        return ids

    cdef int put(self, token_t token_id) noexcept nogil:
        if not self.reserve(1):
            return NO_MEMORY
        self.out[self.used] = token_id
        self.used += 1
        return DONE

    cdef int encode(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
                    Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef Py_ssize_t start = 0, n
        cdef int status = DONE
        self.core.scanner.begin(&cursor, text, length, final)
        while status == DONE:
            n = self.core.scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                break
            status = self.encode_block(text, start, ends, n, readable)
            start = ends[n - 1]
        done[0] = start
        return status

    cdef int encode_block(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                          Py_ssize_t readable) noexcept nogil:
        cdef bp_keys keys
        cdef Py_ssize_t i = 0
        cdef int status
        cdef bint starved, moved = False
        bp_prepare(&self.cache, text, start, ends, n, readable, &keys)
        while True:
            if not self.reserve(BP_INLINE_IDS * (n - i) + BP_SLACK + BP_LONGEST):
                return NO_MEMORY
            i = bp_emit(&self.cache, &keys, text, start, ends, i, n, self.out, self.capacity, &self.used, &starved)
            if i == n:
                return DONE
            if not starved:
                status = self._encode_unknown(text, ends[i - 1] if i else start, ends[i], keys.bytes[i], &moved)
                if status != DONE:
                    return status
                if moved:
                    bp_prepare(&self.cache, text, start, ends, n, readable, &keys)
                i += 1
                if i == n:
                    return DONE

    cdef int _encode_unknown(self, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
                             const uint64_t* key, bint* moved) noexcept nogil:
        cdef Py_ssize_t n = end - start, i, slot
        cdef token_t* ids
        if not room_reserve(&self.room, n):
            return NO_MEMORY
        ids = self.room.ids
        slot = self.core.tokens.find(text + start, n) if self.core.whole else -1
        if slot >= 0 and not self.core.barred[slot]:
            ids[0] = self.core.tokens.ids[slot]
            i = 1
        else:
            for i in range(n):
                if not self.core.byte_known[text[start + i]]:
                    self.bad = start + i
                    self.bad_value = text[start + i]
                    return NO_TOKEN
                ids[i] = self.core.byte_ids[text[start + i]]
            i = self.core.merges.merge(&self.room, n)
            if i < 0 or not self.reserve(i):
                return NO_MEMORY
        if not self.reserve(i):
            return NO_MEMORY
        memcpy(self.out + self.used, ids, i * sizeof(token_t))
        self.used += i
        moved[0] = bp_remember(&self.cache, key, text + start, n, ids, i)
        return DONE
