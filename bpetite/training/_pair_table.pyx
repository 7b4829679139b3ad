"""Pairs of tokens: how often each occurs and where, and which one is next.

- One open-addressing table, 32 bytes a pair, the first two segments it occurs in inline (most pairs never have more).
  Pairs that are gone stay as tombstones with the count 0 until the table is next rebuilt.
- The best pair comes from a binary heap in which counts may be too high: a pair's count only falls, except in the merge
  that makes one of its parts, after which it is queued again. An entry that surfaces with an old count is sifted down.
- Of the pairs that a merge makes beside the new token, few are frequent enough to be learned. Where rare ones need not
  be known, a filter that fits the caches tells most of them from the pair that they replace.
- The heap holds only the pairs that occur `floor` times or more. When it runs empty it is filled from the table again,
  with a lower floor: about a dozen passes over the table in all. Most pairs are rare and never enter the heap.
"""
cimport cython
from libc.stdint cimport INT64_MAX, UINT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from ..headers cimport BP_PREFETCH, bp_grow, bp_mix, bp_secret, bp_watch, bp_work, draw_secret
from ._learned_tokens cimport DONE, INTERRUPTED, NO_MEMORY, OK, OVERFLOW, LearnedTokens, token_length
from ._segments cimport SEGMENT, read_segment, segment, segment_after
from .tables cimport bp_add_overflows, bp_filter_add, bp_free_table, bp_new_table

cdef enum:
    BITS_A_PAIR = 16       # of the filter

cdef uint64_t EMPTY = 0xFFFFFFFFFFFFFFFFU
cdef bp_secret secret = draw_secret()


@cython.final
cdef class Sides:
    """None are used at first."""

    def __dealloc__(self):
        self.drop()

    cdef int reserve(self, uint64_t tokens) noexcept nogil:
        """Two entries for each token: its pairs before and after the token just made."""
        cdef uint64_t known = self.capacity
        if bp_grow(<void**> &self.entries, &self.capacity, tokens * 2, sizeof(pair_entry)) < 0:
            return NO_MEMORY
        memset(self.entries + known, 0xFF, (self.capacity - known) * sizeof(pair_entry))
        return OK

    cdef void drop(self) noexcept nogil:
        cdef uint64_t at
        for at in range(self.capacity):
            if self.entries[at].key != EMPTY and self.entries[at].capacity > BP_SHORT_LIST:
                free(<void*> self.entries[at].items)
        free(self.entries)
        free(self.touched)
        self.entries = NULL
        self.touched = NULL
        self.capacity = self.touched_length = self.touched_capacity = 0


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
        self.secret = secret
        self.mask = 4095
        self.shift = 52
        self.entries = <pair_entry*> bp_new_table((self.mask + 1) * sizeof(pair_entry), 0xFF)
        if self.entries == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef uint64_t at
        if self.entries != NULL:
            for at in range(self.mask + 1 if self.lists.long_lists else 0):
                if self.entries[at].key != EMPTY and self.entries[at].capacity > BP_SHORT_LIST:
                    drop_items(&self.lists, &self.entries[at])
            bp_free_table(self.entries, (self.mask + 1) * sizeof(pair_entry))
        bp_free_list_memory(&self.lists)
        free(self.frequent)
        free(self.heap)

    cdef pair_entry* find(self, uint64_t key) noexcept nogil:
        """The pair's entry, or the empty one where it would go."""
        cdef uint64_t slot = bp_mix(&secret, key) >> self.shift
        while self.entries[slot].key != key and self.entries[slot].key != EMPTY:
            slot = (slot + 1) & self.mask
        return &self.entries[slot]

    cdef void prefetch(self, uint64_t key) noexcept nogil:
        BP_PREFETCH(&self.entries[bp_mix(&secret, key) >> self.shift])

    cdef int count_bytes(self, const int32_t* symbols, uint32_t end, bp_watch* watch) noexcept nogil:
        """Count every pair of bytes and note its segments, in two passes so that each list has its final size.

        IN: symbols are ids of bytes, with SENTINEL between pre-tokens; segments have numbers below `end`.
        """
        cdef byte_pair* found = <byte_pair*> calloc(65536, sizeof(byte_pair))
        cdef byte_pair* pair
        cdef uint32_t number = 0
        cdef uint64_t at
        cdef segment one
        cdef int result = OK if found != NULL else NO_MEMORY
        while result == OK and number < end:
            one = read_segment(symbols, number)
            for at in range(one.start, one.start + one.size):
                if symbols[at + 1] < 0:
                    continue
                pair = &found[symbols[at] << 8 | symbols[at + 1]]
                if bp_add_overflows(&pair.count, one.weight):
                    result = OVERFLOW
                if pair.last != number + 1:
                    pair.last = number + 1
                    pair.segments += 1
            number = segment_after(symbols, number)
            if bp_work(watch, SEGMENT_WORK):
                result = INTERRUPTED
        if result == OK:
            result = self.make_byte_pairs(found)
        number = 0
        while result == OK and number < end:
            one = read_segment(symbols, number)
            for at in range(one.start, one.start + one.size):
                if symbols[at + 1] >= 0:
                    append_item(&self.lists, found[symbols[at] << 8 | symbols[at + 1]].entry, number)
            number = segment_after(symbols, number)
            if bp_work(watch, SEGMENT_WORK):
                result = INTERRUPTED
        free(found)
        return result

    cdef int count_tokens(self, const int32_t* symbols, uint32_t end, bp_watch* watch) noexcept nogil:
        """Count every pair of tokens and note its segments.

        IN: symbols are tokens of one slot, with SENTINEL between words; segments have numbers below `end`.
        """
        cdef uint64_t keys[2 * SEGMENT]            # of several segments, so that their entries have been fetched
        cdef pair_entry* entries[2 * SEGMENT]
        cdef uint32_t found_in[2 * SEGMENT]
        cdef int64_t weights[2 * SEGMENT]
        cdef uint32_t j, number = 0, found = 0
        cdef uint64_t at
        cdef segment one
        cdef int result
        while number < end:
            if bp_work(watch, SEGMENT_WORK):
                return INTERRUPTED
            one = read_segment(symbols, number)
            for at in range(one.start, one.start + one.size):
                if symbols[at + 1] >= 0:           # else the end of the word
                    keys[found] = <uint64_t> symbols[at] << 32 | <uint64_t> symbols[at + 1]
                    found_in[found] = number
                    weights[found] = one.weight
                    self.prefetch(keys[found])
                    found += 1
            number = segment_after(symbols, number)
            if found < SEGMENT and number < end:
                continue
            while (self.used + found) * 4 > self.mask * 3:
                if self.grow() < 0:
                    return NO_MEMORY
            for j in range(found):
                self.make(keys[j], &entries[j])    # there is room, so no entry moves
                if entries[j].length:
                    BP_PREFETCH(pair_items(entries[j]) + entries[j].length - 1)
            for j in range(found):
                if bp_add_overflows(&entries[j].count, weights[j]):
                    return OVERFLOW
                result = append_item(&self.lists, entries[j], found_in[j])
                if result < 0:
                    return result
            found = 0
        return self.filter()

    cdef int filter(self) noexcept nogil:
        """Note which pairs are frequent enough to be learned; where no token is made twice, the others never will be.

        A bit that another pair has set says no more than that the table has to be asked.
        """
        cdef uint64_t at
        cdef uint64_t bits = 64
        if not self.only_new or self.min_frequency == 1:
            return OK
        if self.frequent == NULL:
            self.frequent_shift = 58
            while bits < self.used * BITS_A_PAIR:
                bits *= 2
                self.frequent_shift -= 1
            self.frequent = <uint64_t*> malloc(bits // 8)
            if self.frequent == NULL:
                return NO_MEMORY
        memset(self.frequent, 0, (<uint64_t> 1 << (64 - self.frequent_shift)) // 8)
        for at in range(self.mask + 1):
            if self.entries[at].count >= self.min_frequency:
                self.set_frequent(self.entries[at].key)
        return OK

    cdef inline void set_frequent(self, uint64_t key) noexcept nogil:
        if self.frequent != NULL:
            bp_filter_add(self.frequent, self.frequent_shift, &self.secret, key)

    cdef int make_byte_pairs(self, byte_pair* found) noexcept nogil:
        """Make the entries of the pairs found, with room for their segments."""
        cdef uint64_t pair
        cdef uint32_t room
        cdef pair_entry* entry
        for pair in range(65536):
            if found[pair].count:
                if self.make(pair >> 8 << 32 | pair & 0xFF, &entry) < 0:
                    return NO_MEMORY
                entry.count = found[pair].count
        for pair in range(65536):      # again, as entries move when the table grows
            if found[pair].count == 0:
                continue
            entry = self.find(pair >> 8 << 32 | pair & 0xFF)
            if found[pair].segments > 2:
                room = bp_list_room(found[pair].segments)
                entry.items = <uint64_t> bp_new_list(&self.lists, room)
                if entry.items == 0:
                    return NO_MEMORY
                entry.capacity = room
            found[pair].entry = entry
        return OK

    cdef int make(self, uint64_t key, pair_entry** made) noexcept nogil:
        """The pair's entry, made if there was none. Entries move when the table grows."""
        cdef pair_entry* entry = self.find(key)
        if entry.key == EMPTY:
            if (self.used + 1) * 4 > self.mask * 3:
                if self.grow() < 0:
                    return NO_MEMORY
                entry = self.find(key)
            self.used += 1
            entry.key = key
            entry.count = 0
            entry.items = 0
            entry.length = 0
            entry.capacity = 0
        made[0] = entry
        return OK

    cdef int grow(self) noexcept nogil:
        """Leave out pairs that are gone; double the table if it is still half full."""
        cdef pair_entry* old = self.entries
        cdef uint64_t old_mask = self.mask
        cdef uint64_t live = 0
        cdef uint64_t at
        cdef uint64_t mask = old_mask
        cdef int shift = self.shift
        cdef pair_entry* table
        for at in range(old_mask + 1):
            if old[at].key != EMPTY and old[at].count:
                live += 1
        if live * 2 > old_mask:
            mask = mask * 2 + 1
            shift -= 1
        table = <pair_entry*> bp_new_table((mask + 1) * sizeof(pair_entry), 0xFF)
        if table == NULL:
            return NO_MEMORY
        self.entries = table
        self.mask = mask
        self.shift = shift
        self.used = live
        for at in range(old_mask + 1):
            if old[at].key == EMPTY:
                continue
            if old[at].count:
                self.find(old[at].key)[0] = old[at]
            else:
                drop_items(&self.lists, &old[at])
        bp_free_table(old, (old_mask + 1) * sizeof(pair_entry))
        return OK

    cdef bint is_rare(self, pair_entry* side) noexcept nogil:
        """Whether a pair is never learned: where no token is made twice, no later merge adds to its count."""
        return self.only_new and side.count < self.min_frequency

    cdef int put(self, pair_entry* side) noexcept nogil:
        """Add a pair's noted count and segments to the table; the side keeps its key and count."""
        cdef pair_entry* entry
        cdef uint32_t* items
        cdef uint32_t i
        cdef int result
        if self.is_rare(side):
            drop_items(&self.lists, side)
            return OK
        if self.make(side.key, &entry) < 0:
            return NO_MEMORY
        self.set_frequent(side.key)
        if bp_add_overflows(&entry.count, side.count):
            return OVERFLOW
        if entry.length == 0:
            entry.items = side.items
            entry.length = side.length
            entry.capacity = side.capacity
        else:
            # Only where a merge gives a token that existed before.
            items = pair_items(side)
            for i in range(side.length):
                result = append_item(&self.lists, entry, items[i])
                if result < 0:
                    return result
            drop_items(&self.lists, side)
        side.capacity = 0
        side.length = 0
        return OK

    cdef void take(self, uint64_t key, int64_t count) noexcept nogil:
        """Subtract from the count of a pair, if it is in the table; at zero its segments are freed."""
        cdef pair_entry* entry = self.find(key)
        if entry.key == EMPTY:
            return
        entry.count -= count
        if entry.count == 0:
            drop_items(&self.lists, entry)

    cdef int queue(self, uint64_t key) noexcept nogil:
        """Queue a pair whose count has risen."""
        cdef pair_entry* entry = self.find(key)
        return self.push(key, entry.count) if entry.key == key and entry.count else OK

    cdef bint before(self, heap_entry* one, heap_entry* other) noexcept nogil:
        """Whether `one` is to be merged first."""
        cdef int order
        if one.count != other.count:
            return one.count > other.count
        if not self.ties_by_bytes:
            return one.key < other.key
        order = self.tokens.compare(<uint32_t> (one.key >> 32), <uint32_t> (other.key >> 32))
        if order == 0:
            order = self.tokens.compare(<uint32_t> one.key, <uint32_t> other.key)
        return order > 0

    cdef int push(self, uint64_t key, int64_t count) noexcept nogil:
        cdef heap_entry entry
        cdef uint64_t at = self.heap_length
        cdef uint64_t parent
        cdef int fits
        if count < self.floor:
            self.below = max(self.below, count)
            return OK
        fits = self.fits(key)
        if fits <= 0:
            return fits
        if bp_grow(<void**> &self.heap, &self.heap_capacity, at + 1, sizeof(heap_entry)) < 0:
            return NO_MEMORY
        entry.count = count
        entry.key = key
        self.heap_length += 1
        while at:
            parent = (at - 1) >> 1
            if not self.before(&entry, &self.heap[parent]):
                break
            self.heap[at] = self.heap[parent]
            at = parent
        self.heap[at] = entry
        return OK

    cdef void sift_down(self, heap_entry entry) noexcept nogil:
        """Put the entry into the hole at the root."""
        cdef uint64_t at = 0
        cdef uint64_t child = 1
        while child < self.heap_length:
            if child + 1 < self.heap_length and self.before(&self.heap[child + 1], &self.heap[child]):
                child += 1
            if not self.before(&self.heap[child], &entry):
                break
            self.heap[at] = self.heap[child]
            at = child
            child = 2 * at + 1
        self.heap[at] = entry

    cdef int best(self, uint64_t* key) noexcept nogil:
        """The pair to merge next, or DONE. It stays at the root, and goes when it surfaces with the count 0."""
        cdef heap_entry top
        cdef pair_entry* entry
        cdef int64_t count
        cdef int result
        cdef int known
        while True:
            while self.heap_length:
                top = self.heap[0]
                entry = self.find(top.key)
                count = entry.count if entry.key == top.key else 0
                known = 0
                if count == top.count:
                    if self.only_new:              # asked here, as most pairs that are queued never come up
                        known = self.tokens.has_joined(<uint32_t> (top.key >> 32), <uint32_t> top.key)
                    if known <= 0:
                        key[0] = top.key
                        return known
                if known or count < self.floor:
                    if not known:
                        self.below = max(self.below, count)
                    self.heap_length -= 1
                    if self.heap_length:
                        self.sift_down(self.heap[self.heap_length])
                else:
                    top.count = count
                    self.sift_down(top)
            result = self.refill()
            if result != OK:
                return result

    cdef int refill(self) noexcept nogil:
        """Lower the floor and queue all pairs from there up; DONE when none is frequent enough to be learned."""
        cdef uint64_t at
        cdef int64_t below = -1
        cdef pair_entry* entry
        if self.floor == INT64_MAX:
            self.below = self.most_frequent()
        if self.below < self.min_frequency:
            return DONE
        self.floor = self.below // 4 if self.below >= 64 else (self.below + 1) // 2
        if self.floor < self.min_frequency:
            self.floor = self.min_frequency
        for at in range(self.mask + 1):
            entry = &self.entries[at]
            if entry.count < self.floor:           # -1 where the slot was never used
                below = max(below, entry.count)
            elif self.push(entry.key, entry.count) < 0:
                return NO_MEMORY
        self.below = below
        return self.filter()

    cdef int64_t most_frequent(self) noexcept nogil:
        """How often the pair occurs that occurs most often, learned or not."""
        cdef uint64_t at
        cdef int64_t most = 0
        for at in range(self.mask + 1):
            most = max(most, self.entries[at].count)
        return most

    cdef int fits(self, uint64_t key) noexcept nogil:
        """1 where the token that the pair would give is short enough and has few enough words, 0 where not."""
        cdef uint32_t left = <uint32_t> (key >> 32)
        cdef uint32_t right = <uint32_t> key
        if token_length(self.tokens, left) + token_length(self.tokens, right) > self.max_token_bytes:
            return 0
        return self.is_superword(left, right) if self.max_words else 1

    cdef int is_superword(self, uint32_t left, uint32_t right) noexcept nogil:
        """1 where the bytes of left + right have few enough words and no ": ", 0 where not."""
        cdef uint64_t length, at
        cdef uint32_t words = 0
        cdef unsigned char before = b" "
        cdef unsigned char* data
        cdef int result = self.tokens.lay_out(left, right, &length)
        if result != OK:
            return result
        data = self.tokens.data + self.tokens.used
        for at in range(length):
            if data[at] == b" ":
                if before == b":":
                    return 0
            elif before == b" ":
                words += 1
            before = data[at]
        return words <= self.max_words
