"""Pairs of tokens: how often each occurs and where, and the next one to merge.

- One open-addressing table, 32 bytes a pair, the first two strips it occurs in inline (most pairs never have more).
  Pairs that are gone stay as tombstones with the count 0 until the table is next rebuilt.
- The best pair comes from a binary heap in which counts may be too high: a pair's count only falls, except in the merge
  that makes one of its parts, after which it is queued again. An entry that surfaces with an old count is sifted down.
- The heap holds only the pairs that occur `floor` times or more. When it runs empty it is filled from the table again,
  with a lower floor: about a dozen passes over the table in all. Most pairs are rare and never enter the heap.
"""
cimport cython
from libc.stdint cimport INT64_MAX, UINT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from ...headers cimport BP_PREFETCH, bp_free, bp_grow, bp_mix, bp_resize, bp_secret, bp_watch, bp_work, draw_secret
from ..counting._count_table cimport bp_add_overflows
from ._learned_tokens cimport LearnedTokens, count_overflows, out_of_memory, token_length
from ._pretokens cimport STRIP, STRIP_WORK, read_strip, strip, strip_after

cdef bp_secret secret = draw_secret()


@cython.final
cdef class PairTable:
    """Empty at first; `Merger` documents the arguments."""

    def __cinit__(self, LearnedTokens tokens not None, int64_t min_frequency, bint ties_by_bytes,
                  uint64_t max_token_bytes, uint32_t max_words):
        self.tokens = tokens
        self.min_frequency = min_frequency
        self.floor = INT64_MAX
        self.ties_by_bytes = ties_by_bytes
        self.max_token_bytes = max_token_bytes if max_token_bytes else UINT32_MAX
        self.max_words = max_words
        self.mask = 4095
        self.shift = 52
        self.entries = new_entries(self.mask)

    def __dealloc__(self):
        cdef uint64_t at
        if self.entries != NULL:
            for at in range(self.mask + 1):
                if self.entries[at].key != EMPTY:
                    drop_items(&self.entries[at])
            bp_free(self.entries)
        free(self.heap)

    cdef int count(self, const int32_t* symbols, uint32_t end, bp_watch* watch) except -1 nogil:
        cdef uint64_t keys[2 * STRIP]            # of several strips, so that their entries have been fetched
        cdef pair_entry* entries[2 * STRIP]
        cdef uint32_t numbers[2 * STRIP]
        cdef int64_t weights[2 * STRIP]
        cdef uint32_t i, number = 0, noted = 0
        cdef uint64_t at
        cdef strip one
        while number < end:
            if bp_work(watch, STRIP_WORK):
                return -1
            one = read_strip(symbols, number)
            for at in range(one.start, one.start + one.size):
                if symbols[at + 1] >= 0:           # else the end of the pre-token
                    keys[noted] = <uint64_t> symbols[at] << 32 | <uint64_t> symbols[at + 1]
                    numbers[noted] = number
                    weights[noted] = one.weight
                    self.prefetch(keys[noted])
                    noted += 1
            number = strip_after(symbols, number)
            if noted < STRIP and number < end:
                continue
            while (self.used + noted) * 4 > self.mask * 3:
                grow(self)
            for i in range(noted):
                entries[i] = make(self, keys[i])   # there is room, so no entry moves
                if entries[i].length:
                    BP_PREFETCH(pair_items(entries[i]) + entries[i].length - 1)
            for i in range(noted):
                if bp_add_overflows(&entries[i].count, weights[i]):
                    return count_overflows()
                append_item(entries[i], numbers[i])
            noted = 0
        return 0

    cdef pair_entry* find(self, uint64_t key) noexcept nogil:
        cdef uint64_t slot = bp_mix(&secret, key) >> self.shift
        while self.entries[slot].key != key and self.entries[slot].key != EMPTY:
            slot = (slot + 1) & self.mask
        return &self.entries[slot]

    cdef void prefetch(self, uint64_t key) noexcept nogil:
        BP_PREFETCH(&self.entries[bp_mix(&secret, key) >> self.shift])

    cdef int put(self, pair_entry* new) except -1 nogil:
        cdef uint32_t* items
        cdef uint32_t i
        cdef pair_entry* entry
        if (self.used + 1) * 4 > self.mask * 3:
            grow(self)
        entry = make(self, new.key)
        if bp_add_overflows(&entry.count, new.count):
            return count_overflows()
        if entry.length == 0:
            entry.items = new.items
            entry.length = new.length
            entry.room = new.room
            new.room = new.length = 0
        else:                                      # only where a merge gives a token that existed before
            items = pair_items(new)
            for i in range(new.length):
                append_item(entry, items[i])
            drop_items(new)
        return 0

    cdef void subtract(self, uint64_t key, int64_t count) noexcept nogil:
        cdef pair_entry* entry = self.find(key)
        if entry.key != EMPTY:
            entry.count -= count
            if entry.count == 0:
                drop_items(entry)

    cdef int queue(self, uint64_t key) except -1 nogil:
        cdef pair_entry* entry = self.find(key)
        return push(self, key, entry.count) if entry.key == key and entry.count else 0

    cdef bint best(self, uint64_t* key) except -1 nogil:
        cdef heap_entry top
        cdef pair_entry* entry
        cdef int64_t count
        cdef bint known
        while self.heap_length or refill(self):
            top = self.heap[0]
            entry = self.find(top.key)
            count = entry.count if entry.key == top.key else 0
            known = False
            if count == top.count:
                if self.only_new:                  # asked here, as most pairs that are queued never come up
                    known = self.tokens.has_joined(<uint32_t> (top.key >> 32), <uint32_t> top.key)
                if not known:
                    key[0] = top.key
                    return True
            if known or count < self.floor:
                if not known:
                    self.below = max(self.below, count)
                self.heap_length -= 1
                if self.heap_length:
                    sift_down(self, self.heap[self.heap_length])
            else:
                top.count = count
                sift_down(self, top)
        return False


cdef void drop_items(pair_entry* entry) noexcept nogil:
    if entry.room:
        free(<void*> entry.items)
    entry.room = 0
    entry.length = 0


cdef inline pair_entry* make(PairTable self, uint64_t key) noexcept nogil:
    """The pair's entry, made if there was none. IN: there is room."""
    cdef pair_entry* entry = self.find(key)
    if entry.key == EMPTY:
        self.used += 1
        entry.key = key
        entry.count = 0
        entry.items = 0
        entry.length = 0
        entry.room = 0
    return entry


cdef pair_entry* new_entries(uint64_t mask) except NULL nogil:
    cdef size_t size = (mask + 1) * sizeof(pair_entry)
    cdef void* entries = bp_resize(NULL, size)
    if entries == NULL:
        out_of_memory()
        return NULL
    memset(entries, 0xFF, size)
    return <pair_entry*> entries


cdef int grow(PairTable self) except -1 nogil:
    """Leave out pairs that are gone; double the table if it is still half full."""
    cdef pair_entry* old = self.entries
    cdef uint64_t old_mask = self.mask
    cdef uint64_t live = 0
    cdef uint64_t at
    cdef uint64_t mask = old_mask
    cdef int shift = self.shift
    for at in range(old_mask + 1):
        if old[at].key != EMPTY and old[at].count:
            live += 1
    if live * 2 > old_mask:
        mask = mask * 2 + 1
        shift -= 1
    self.entries = new_entries(mask)
    self.mask = mask
    self.shift = shift
    self.used = live
    for at in range(old_mask + 1):
        if old[at].key == EMPTY:
            continue
        if old[at].count:
            self.find(old[at].key)[0] = old[at]
        else:
            drop_items(&old[at])
    bp_free(old)
    return 0


cdef bint before(PairTable self, heap_entry* one, heap_entry* other) noexcept nogil:
    """True where `one` is merged first."""
    cdef int order
    if one.count != other.count:
        return one.count > other.count
    if not self.ties_by_bytes:
        return one.key < other.key
    order = self.tokens.compare(<uint32_t> (one.key >> 32), <uint32_t> (other.key >> 32))
    if order == 0:
        order = self.tokens.compare(<uint32_t> one.key, <uint32_t> other.key)
    return order > 0


cdef int push(PairTable self, uint64_t key, int64_t count) except -1 nogil:
    cdef heap_entry entry
    cdef uint64_t at = self.heap_length
    cdef uint64_t parent
    if count < self.floor:
        self.below = max(self.below, count)
        return 0
    if not fits(self, <uint32_t> (key >> 32), <uint32_t> key):
        return 0
    if bp_grow(<void**> &self.heap, &self.heap_room, at + 1, sizeof(heap_entry)) < 0:
        return out_of_memory()
    entry.count = count
    entry.key = key
    self.heap_length += 1
    while at:
        parent = (at - 1) >> 1
        if not before(self, &entry, &self.heap[parent]):
            break
        self.heap[at] = self.heap[parent]
        at = parent
    self.heap[at] = entry
    return 0


cdef void sift_down(PairTable self, heap_entry entry) noexcept nogil:
    """Put the entry into the hole at the root."""
    cdef uint64_t at = 0
    cdef uint64_t child = 1
    while child < self.heap_length:
        if child + 1 < self.heap_length and before(self, &self.heap[child + 1], &self.heap[child]):
            child += 1
        if not before(self, &self.heap[child], &entry):
            break
        self.heap[at] = self.heap[child]
        at = child
        child = 2 * at + 1
    self.heap[at] = entry


cdef bint refill(PairTable self) except -1 nogil:
    """Lower the floor and queue all pairs from there up; False when none is frequent enough to be learned."""
    cdef uint64_t at
    cdef int64_t below = -1
    cdef pair_entry* entry
    while self.heap_length == 0:
        if self.floor == INT64_MAX:
            for at in range(self.mask + 1):        # the most frequent pair, learned or not
                self.below = max(self.below, self.entries[at].count)
        if self.below < self.min_frequency:
            return False
        self.floor = self.below // 4 if self.below >= 64 else (self.below + 1) // 2
        self.floor = max(self.floor, self.min_frequency)
        below = -1
        for at in range(self.mask + 1):
            entry = &self.entries[at]
            if entry.count < self.floor:           # -1 where the slot was never used
                below = max(below, entry.count)
            else:
                push(self, entry.key, entry.count)
        self.below = below
    return True


cdef bint fits(PairTable self, uint32_t left, uint32_t right) except -1 nogil:
    """True where the token that the pair would give is short enough, and a superword if those are wanted."""
    cdef int64_t length = token_length(self.tokens, left) + token_length(self.tokens, right)
    cdef int64_t at
    cdef uint32_t words = 0
    cdef unsigned char last = b" "
    cdef unsigned char* data
    if <uint64_t> length > self.max_token_bytes:
        return False
    if self.max_words == 0:
        return True
    self.tokens.lay_out(left, right)
    data = self.tokens.data + self.tokens.start[self.tokens.count]
    for at in range(length):
        if data[at] == b" ":
            if last == b":":
                return False
        elif last == b" ":
            words += 1
        last = data[at]
    return words <= self.max_words
