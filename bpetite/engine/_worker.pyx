"""UTF-8 in, token ids out: the tables of a tokenizer and what one thread writes to while it encodes.

Core is read only and shared. A Worker holds everything that encoding writes: word cache, memory for merging, output. A
call takes one from a pool, so two threads never write to the same worker, and no lock is held or waited for while text
is read.

The loop goes by blocks of pre-tokens: the scanner gives their ends, bp_prepare loads and hashes their bytes and
prefetches, bp_emit puts out the ids of those that the cache knows, the rest are merged and remembered (word_cache.h).

The cache begins empty. Filling it at first use with the tokens that are whole words was measured: 8 ms for those of
GPT-2 and 6 ms for those of cl100k, which need no merging. A first text of 2,000 characters then takes 0.02 ms less, one
of 100,000 0.1 to 0.5 ms, one of a megabyte 0 to 2 ms, and one of 10 MB gains about what the filling took.
"""
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from .._merge cimport MergeTable, space_free, space_reserve
from ..headers.hashing cimport bp_secret, draw_secret
from ..headers.types cimport token_t
from ..headers.watch cimport bp_work
from ..splitting._byte_splits cimport ByteSplits, byte_cut
from ..splitting._scan cimport SCAN_SHORT, scan_cursor
from ..vocabulary._tokens cimport TokenTable
from ._id_memory cimport ids_free, ids_grow, ids_trim
from ._text cimport DONE, INTERRUPTED, NO_MEMORY, NO_TOKEN

cdef enum:
    KEEP_OUTPUT = 1 << 22      # ids whose memory a worker keeps for the next call
    KEEP_WINDOW = 1 << 20      # bytes of its window that it keeps
    KEEP_SPACE = 1 << 18       # ids, the capacity for merging that it keeps
    PARTS = 32                 # of a pre-token that are found at a time


cdef bp_secret secret = draw_secret()


cdef class Core:
    """The tables that encoding reads.

    Args:
        tokens: All tokens, special ones included.
        merges: The merge table.
        special_only: Ids that ordinary text never gives by looking up bytes.
        scanner: A compiled split pattern, or None.
        whole: A pre-token that is a token is taken whole.
        byte_splits: What cuts pre-tokens again, or None.
    """

    def __cinit__(self, TokenTable tokens not None, MergeTable merges not None, special_only, scanner, bint whole,
                  ByteSplits byte_splits=None):
        cdef Py_ssize_t slot
        cdef int value
        cdef uint8_t byte
        self.tokens = tokens
        self.merges = merges
        self.scanner = scanner
        self.whole = whole
        self.byte_splits = byte_splits
        self.excluded = <uint8_t*> calloc(tokens.size + 1, 1)
        if self.excluded == NULL:
            raise MemoryError()
        for token_id in special_only:
            slot = tokens.slot(token_id)
            if slot >= 0:
                self.excluded[slot] = 1
        for value in range(256):
            byte = <uint8_t> value
            slot = tokens.find(&byte, 1)
            self.byte_known[value] = slot >= 0 and not self.excluded[slot]
            self.byte_ids[value] = tokens.ids[slot] if slot >= 0 else 0

    def __dealloc__(self):
        free(self.excluded)


cdef class Worker:
    """What one thread writes to while it encodes.

    Args:
        core: The tables.
        cache_bytes: Bound of the word cache; 0 for none.
    """

    def __cinit__(self, Core core not None, size_t cache_bytes):
        self.core = core
        if not bp_cache_init(&self.cache, cache_bytes, &secret):
            raise MemoryError()

    def __dealloc__(self):
        bp_cache_free(&self.cache)
        space_free(&self.space)
        ids_free(self.out, self.capacity)
        free(self.window.bytes)

    cdef bint reserve(self, Py_ssize_t more) noexcept nogil:
        cdef token_t* grown
        if self.used + more <= self.capacity:
            return True
        grown = ids_grow(self.out, self.used, &self.capacity, self.used + more + self.used // 4 + 256)
        if grown == NULL:
            return False
        self.out = grown
        return True

    cdef token_t* give_out(self, Py_ssize_t* capacity) noexcept nogil:
        cdef token_t* ids = ids_trim(self.out, self.used, &self.capacity)
        capacity[0] = self.capacity
        self.out = NULL
        self.capacity = 0
        return ids

    cdef void shrink(self) noexcept nogil:
        if self.capacity > KEEP_OUTPUT:
            ids_free(self.out, self.capacity)
            self.out = NULL
            self.capacity = 0
        if self.window.capacity > KEEP_WINDOW:
            free(self.window.bytes)
            self.window.bytes = NULL
            self.window.capacity = 0
        if self.space.capacity > KEEP_SPACE:
            space_free(&self.space)

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
        cdef int status
        if final and 0 < length < SCAN_SHORT:
            n = self.core.scanner.short_ends(text, length, ends)
            if n:
                done[0] = length
                return self.encode_block(text, 0, ends, n, readable, done)
        self.core.scanner.begin(&cursor, text, length, final)
        while True:
            n = self.core.scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                done[0] = start
                return DONE
            status = self.encode_block(text, start, ends, n, readable, done)
            if status != DONE:
                return status
            start = ends[n - 1]
            if final and start == length:          # asking for further ends costs a short text a good part
                done[0] = start
                return DONE

    cdef int encode_block(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                          Py_ssize_t readable, Py_ssize_t* done) noexcept nogil:
        cdef bp_keys keys
        cdef Py_ssize_t i = 0
        cdef int status
        cdef bint starved, moved = False
        if bp_work(&self.watch, ends[n - 1] - start):
            return INTERRUPTED
        if self.dropout is not None:
            return self._encode_dropped(text, start, ends, n, done)
        bp_prepare(&self.cache, text, start, ends, n, readable, &keys)
        if self.counting:
            return self._count_block(text, start, ends, n, readable, &keys, done)
        while True:
            if not self.reserve(BP_INLINE_IDS * (n - i) + BP_SLACK + BP_LONGEST):
                return NO_MEMORY
            i = bp_emit(&self.cache, &keys, text, start, ends, i, n, self.out, self.capacity, &self.used, &starved)
            if i == n:
                return DONE
            if not starved:
                status = self._encode_unknown(text, ends[i - 1] if i else start, ends[i], keys.bytes[i], &moved, done)
                if status != DONE:
                    return status
                if moved:
                    bp_prepare(&self.cache, text, start, ends, n, readable, &keys)
                i += 1
                if i == n:
                    return DONE

    cdef int _encode_dropped(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                             Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        for i in range(n):
            status = self._encode_parts(text, start, ends[i], done)
            if status != DONE:
                return status
            start = ends[i]
        return DONE

    cdef int _count_block(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                          Py_ssize_t readable, bp_keys* keys, Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t i = 0, used = self.used
        cdef int status
        cdef bint moved = False
        while True:
            i = bp_tally(&self.cache, keys, text, start, ends, i, n, &self.counted)
            if i == n:
                return DONE
            status = self._encode_unknown(text, ends[i - 1] if i else start, ends[i], keys.bytes[i], &moved, done)
            if status != DONE:
                return status
            self.counted += self.used - used
            self.used = used
            if moved:
                bp_prepare(&self.cache, text, start, ends, n, readable, keys)
            i += 1

    cdef Py_ssize_t count(self) noexcept nogil:
        cdef Py_ssize_t n = self.used
        if self.counting:
            n += self.counted
            self.used = self.counted = 0
        return n

    cdef int _encode_unknown(self, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, const uint64_t* key,
                             bint* moved, Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t used = self.used
        cdef int status = self._encode_parts(text, start, end, done)
        if status != DONE:
            return status
        moved[0] = bp_remember(&self.cache, key, text + start, end - start, self.out + used, self.used - used)
        return DONE

    cdef int _encode_parts(self, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
                           Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t ends[PARTS]
        cdef Py_ssize_t at = start, i
        cdef byte_cut cut
        cdef int status
        if self.core.byte_splits is None:
            return self._encode_part(text, start, end, done)
        self.core.byte_splits.begin(&cut, start, end)
        while at < end:
            for i in range(self.core.byte_splits.next_ends(&cut, text, ends, PARTS)):
                status = self._encode_part(text, at, ends[i], done)
                if status != DONE:
                    return status
                at = ends[i]
        return DONE

    cdef int _encode_part(self, const uint8_t* text, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* done) noexcept nogil:
        cdef Py_ssize_t n = end - start, i, slot
        cdef token_t* ids
        if not space_reserve(&self.space, n):
            return NO_MEMORY
        ids = self.space.ids
        slot = self.core.tokens.find(text + start, n) if self.core.whole and self.dropout is None else -1
        if slot >= 0 and not self.core.excluded[slot]:
            ids[0] = self.core.tokens.ids[slot]
            n = 1
        else:
            for i in range(n):
                if not self.core.byte_known[text[start + i]]:
                    done[0] = start + i
                    return NO_TOKEN
                ids[i] = self.core.byte_ids[text[start + i]]
            if self.dropout is None:
                n = self.core.merges.merge(&self.space, n, &self.watch)
            else:
                n = self.dropout.merge(self.core.merges, &self.space, n, self.text_number, self.position, &self.watch)
                self.position += end - start
        if n < 0 or not self.reserve(n):
            return INTERRUPTED if self.watch.interrupted else NO_MEMORY
        memcpy(self.out + self.used, ids, n * sizeof(token_t))
        self.used += n
        return DONE
