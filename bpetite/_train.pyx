"""Merging: different pre-tokens with their counts in, merges in order out.

The shape, and why.

- One slot of `symbols` for each byte of each pre-token, SENTINEL between pre-tokens. A token of n bytes that begins at
  slot p has its id at p and ~id at p + n - 1; what lies between is negative and never looked at. So the token after a
  pair is `symbols[p + n]`, the one before is read off `symbols[p - 1]`, a merge writes three slots, nothing moves, and
  no links are stored. (Words as lists that shrink were as fast on short pre-tokens and quadratic on one long one, which
  is what a corpus without a split pattern is.)
- A pre-token is cut into segments of at most SEGMENT slots, and a pair remembers the segments it begins in, each once
  and in rising order: four bytes an occurrence, dropped when the pair is gone. A segment is searched for the pair by
  comparing all its slots at once, which costs less than one missed cache line; long pre-tokens stay linear because
  their segments are short too.
- Pairs live in one open-addressing table, 32 bytes each, the first two segments inline (most pairs never have more).
- The best pair comes from a binary heap in which counts may be too high: a pair's count only falls, except in the merge
  that makes one of its parts, after which it is pushed. What surfaces with an old count is sifted down again.
- Ids here are internal: byte b is b, learned tokens follow from 256 in the order they were learned. `train.py` turns
  them into the ids of the vocabulary, so where special tokens go cannot change what is learned.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport INT32_MIN, UINT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcmp, memcpy, memmove, memset

from ._count cimport CountTable, slot_bytes

cdef extern from "_train.h" nogil:
    void BP_TRAIN_PREFETCH(const void* address) noexcept
    int bp_add_overflows(int64_t* total, int64_t x) noexcept
    void* bp_new_table(size_t size, int fill) noexcept
    enum:
        BP_OVERREAD
    uint64_t bp_find_pairs(const int32_t* first, const int32_t* second, int32_t left, int32_t right,
                           uint64_t n) noexcept
    int bp_lowest_bit(uint64_t x) noexcept

cdef enum:
    SEGMENT = 64
    LOOK_AHEAD = 8
    FIRST_LEARNED = 256
    MAX_TOKENS = 0x7FFFFFFE     # ids and their complements share an int32 with SENTINEL
    SIGNAL_MASK = 0xFFFFF       # look for Ctrl-C once in so many occurrences

cdef enum status:
    OK = 0
    DONE = 1                    # nothing left to learn
    MORE = 2                    # the work limit was reached first
    NO_MEMORY = -1
    OVERFLOW = -2
    TOO_LARGE = -3
    INTERRUPTED = -4

cdef uint64_t EMPTY = 0xFFFFFFFFFFFFFFFFU
cdef int32_t SENTINEL = INT32_MIN


cdef inline uint64_t mix(uint64_t key) noexcept nogil:
    key = key * 0x9E3779B97F4A7C15U
    key ^= key >> 32
    return key * 0xD6E8FEB86659FD93U


cdef inline uint64_t pair_hash(uint64_t key) noexcept nogil:
    return mix(key) >> 20


cdef inline uint32_t* pair_items(pair_entry* entry) noexcept nogil:
    return <uint32_t*> &entry.items if entry.capacity == 0 else <uint32_t*> entry.items


cdef inline void drop_items(pair_entry* entry) noexcept nogil:
    if entry.capacity:
        PyMem_RawFree(<void*> entry.items)
    entry.capacity = 0
    entry.length = 0


cdef inline int append_item(pair_entry* entry, uint32_t where) noexcept nogil:
    """Note that a pair begins in a segment, once if the same segment comes several times in a row."""
    cdef uint32_t* items = pair_items(entry)
    cdef uint32_t length = entry.length
    if length and items[length - 1] == where:
        return OK
    if entry.capacity == 0 and length == 2:
        items = <uint32_t*> PyMem_RawMalloc(8 * sizeof(uint32_t))
        if items == NULL:
            return NO_MEMORY
        memcpy(items, &entry.items, 8)
        entry.items = <uint64_t> items
        entry.capacity = 8
    elif entry.capacity and length == entry.capacity:
        if length > 0x7FFFFFFF:
            return TOO_LARGE
        items = <uint32_t*> PyMem_RawRealloc(items, <uint64_t> length * 2 * sizeof(uint32_t))
        if items == NULL:
            return NO_MEMORY
        entry.items = <uint64_t> items
        entry.capacity = length * 2
    items[length] = where
    entry.length = length + 1
    return OK


cdef inline uint64_t bytes_hash(const unsigned char* data, uint64_t length) noexcept nogil:
    cdef uint64_t h = length
    cdef uint64_t word
    while length >= 8:
        memcpy(&word, data, 8)
        h = mix(h ^ word)
        data += 8
        length -= 8
    word = 0
    memcpy(&word, data, length)
    return mix(h ^ word) >> 20


cdef int by_number(const void* one, const void* other) noexcept nogil:
    cdef uint32_t a = (<uint32_t*> one)[0]
    cdef uint32_t b = (<uint32_t*> other)[0]
    return (a > b) - (a < b)


cdef int grow(void** array, uint64_t* capacity, uint64_t needed, size_t item) noexcept nogil:
    """Make room for `needed` items of `item` bytes, half as much again as before; the array stays valid on failure."""
    cdef uint64_t wanted
    cdef void* larger
    if needed <= capacity[0]:
        return OK
    wanted = capacity[0] + capacity[0] // 2 + 64
    if wanted < needed:
        wanted = needed
    larger = PyMem_RawRealloc(array[0], wanted * item)
    if larger == NULL:
        return NO_MEMORY
    array[0] = larger
    capacity[0] = wanted
    return OK


@cython.final
cdef class Merger:
    """Learns merges from pre-tokens and their counts.

    Add the pre-tokens, replay the merges of an earlier tokenizer if there are any, then call :meth:`learn` until it
    says there is nothing left. After an error or an interrupt the object is of no further use.

    Args:
        min_frequency: Pairs that occur less often are not learned; at least 1.
        ties_by_bytes: Among equally frequent pairs take the greatest (left bytes, right bytes) instead of the smallest
            (left id, right id).
        max_token_bytes: Pairs that would give a longer token are not learned; 0 for no limit.
    """

    def __cinit__(self, int64_t min_frequency=1, bint ties_by_bytes=False, uint64_t max_token_bytes=0):
        cdef uint32_t byte
        self.min_frequency = min_frequency
        self.ties_by_bytes = ties_by_bytes
        self.max_token_bytes = max_token_bytes if max_token_bytes else UINT32_MAX
        if (grow(<void**> &self.token_bytes, &self.bytes_capacity, 4096, 1) < 0
                or grow(<void**> &self.symbols, &self.symbol_capacity, 64, sizeof(int32_t)) < 0):
            raise MemoryError
        self.token_mask = 1023
        self.token_slots = <uint32_t*> PyMem_RawCalloc(self.token_mask + 1, sizeof(uint32_t))
        self.token_capacity = 512
        self.token_start = <uint64_t*> PyMem_RawMalloc((self.token_capacity + 1) * sizeof(uint64_t))
        self.pair_mask = 4095
        self.pairs = <pair_entry*> bp_new_table((self.pair_mask + 1) * sizeof(pair_entry), 0xFF)
        if self.token_slots == NULL or self.token_start == NULL or self.pairs == NULL:
            raise MemoryError
        for byte in range(256):
            self.token_bytes[byte] = <unsigned char> byte
            self.token_start[byte] = byte
        self.token_start[256] = 256
        self.bytes_used = 256
        self.token_count = 256
        self.symbols[0] = SENTINEL
        self.symbol_count = 1

    def __dealloc__(self):
        cdef uint64_t at
        if self.pairs != NULL:
            for at in range(self.pair_mask + 1):
                if self.pairs[at].key != EMPTY:
                    drop_items(&self.pairs[at])
        for at in range(self.side_capacity):
            if self.sides[at].key != EMPTY:
                drop_items(&self.sides[at])
        PyMem_RawFree(self.sides)
        free(self.pairs)
        PyMem_RawFree(self.symbols)
        PyMem_RawFree(self.segments)
        PyMem_RawFree(self.token_bytes)
        PyMem_RawFree(self.token_start)
        PyMem_RawFree(self.token_slots)
        PyMem_RawFree(self.heap)
        PyMem_RawFree(self.touched)
        PyMem_RawFree(self.learned)

    # ---- words in -------------------------------------------------------------------------------------------------

    def add_word(self, bytes word not None, int64_t count):
        """Add a pre-token that occurs `count` times (at least 1)."""
        cdef int result
        if self.counted:
            raise RuntimeError("words come before merges")
        if count < 1:
            raise ValueError(f"the count of {word!r} must be at least 1, not {count}")
        result = self.reserve_words(len(word) + 1, len(word) // SEGMENT + 1)
        if result == OK:
            result = self.push_word(<const unsigned char*> word, len(word), count)
        self.check(result)

    def add_table(self, CountTable table not None):
        """Add every pre-token of a table; those that occur 0 times are left out."""
        cdef int result
        cdef uint64_t i
        cdef uint64_t symbols = 0
        cdef uint64_t segments = 0
        cdef Py_ssize_t length
        cdef const unsigned char* data
        if self.counted:
            raise RuntimeError("words come before merges")
        with nogil:
            for i in range(table.mask + 1):
                if table.slots[i].key.high and table.slots[i].count:
                    data = slot_bytes(&table.slots[i], &length)
                    symbols += length + 1
                    segments += length // SEGMENT + 1
            result = self.reserve_words(symbols, segments)
            if result == OK:
                for i in range(table.mask + 1):
                    if table.slots[i].key.high and table.slots[i].count:
                        data = slot_bytes(&table.slots[i], &length)
                        self.push_word(data, length, table.slots[i].count)
        self.check(result)

    cdef int reserve_words(self, uint64_t symbols, uint64_t segments) noexcept nogil:
        """Make room for so many more symbols (bytes and one for each word) and segments."""
        if self.segment_count + segments + 1 > UINT32_MAX:
            return TOO_LARGE
        if grow(<void**> &self.symbols, &self.symbol_capacity, self.symbol_count + symbols + SEGMENT + BP_OVERREAD,
                sizeof(int32_t)) < 0:
            return NO_MEMORY
        # One more: where the last segment ends is where the next one would begin.
        return grow(<void**> &self.segments, &self.segment_capacity, self.segment_count + segments + 1, sizeof(segment))

    cdef int push_word(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil:
        """Room has been made. A word of less than two bytes holds no pair and is left out."""
        cdef uint64_t at = self.symbol_count
        cdef uint64_t i = 0
        if length < 2:
            return OK
        for i in range(length):
            self.symbols[at + i] = word[i]
        self.symbols[at + length] = SENTINEL
        i = 0
        while i < length:
            self.segments[self.segment_count].start = at + i
            self.segments[self.segment_count].weight = count
            self.segment_count += 1
            i += SEGMENT
        self.symbol_count = at + length + 1
        self.segments[self.segment_count].start = self.symbol_count
        return OK

    # ---- tokens ---------------------------------------------------------------------------------------------------

    cdef uint64_t token_length(self, uint32_t token) noexcept nogil:
        return self.token_start[token + 1] - self.token_start[token]

    cdef int join(self, uint32_t left, uint32_t right, uint32_t* token) noexcept nogil:
        """The token with the bytes of left + right: DONE where there was one, OK where it is new."""
        cdef uint64_t left_length = self.token_length(left)
        cdef uint64_t right_length = self.token_length(right)
        if left_length + right_length > UINT32_MAX:
            return TOO_LARGE
        if grow(<void**> &self.token_bytes, &self.bytes_capacity,
                self.bytes_used + left_length + right_length, 1) < 0:
            return NO_MEMORY
        memcpy(self.token_bytes + self.bytes_used, self.token_bytes + self.token_start[left], left_length)
        memcpy(self.token_bytes + self.bytes_used + left_length, self.token_bytes + self.token_start[right],
               right_length)
        return self.token_of(left_length + right_length, token)

    cdef int token_of(self, uint64_t length, uint32_t* token) noexcept nogil:
        """The token with the `length` bytes behind the last one's: DONE where there was one, OK where it is new."""
        cdef unsigned char* data = self.token_bytes + self.bytes_used
        cdef uint64_t* starts
        cdef uint64_t slot
        cdef uint32_t known
        if <uint64_t> self.token_count * 2 > self.token_mask and self.grow_tokens() < 0:
            return NO_MEMORY
        slot = bytes_hash(data, length) & self.token_mask
        while self.token_slots[slot]:
            known = self.token_slots[slot] - 1
            if (self.token_length(known) == length
                    and memcmp(self.token_bytes + self.token_start[known], data, length) == 0):
                token[0] = known
                return DONE
            slot = (slot + 1) & self.token_mask
        if self.token_count >= MAX_TOKENS:
            return TOO_LARGE
        if self.token_count == self.token_capacity:
            starts = <uint64_t*> PyMem_RawRealloc(
                self.token_start, (<uint64_t> self.token_capacity * 2 + 1) * sizeof(uint64_t))
            if starts == NULL:
                return NO_MEMORY
            self.token_start = starts
            self.token_capacity *= 2
        token[0] = self.token_count
        self.token_count += 1
        self.token_slots[slot] = self.token_count
        self.bytes_used += length
        self.token_start[self.token_count] = self.bytes_used
        return OK

    cdef int grow_tokens(self) noexcept nogil:
        cdef uint64_t mask = self.token_mask * 4 + 3
        cdef uint32_t* slots = <uint32_t*> PyMem_RawCalloc(mask + 1, sizeof(uint32_t))
        cdef uint64_t slot
        cdef uint32_t token
        if slots == NULL:
            return NO_MEMORY
        for token in range(FIRST_LEARNED, self.token_count):
            slot = bytes_hash(self.token_bytes + self.token_start[token], self.token_length(token)) & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = token + 1
        PyMem_RawFree(self.token_slots)
        self.token_slots = slots
        self.token_mask = mask
        return OK

    # ---- pairs ----------------------------------------------------------------------------------------------------

    cdef pair_entry* find_pair(self, uint64_t key) noexcept nogil:
        """The pair's entry, or the empty one where it would go."""
        cdef uint64_t slot = pair_hash(key) & self.pair_mask
        while self.pairs[slot].key != key and self.pairs[slot].key != EMPTY:
            slot = (slot + 1) & self.pair_mask
        return &self.pairs[slot]

    cdef int new_pair(self, uint64_t key, pair_entry** made) noexcept nogil:
        """The pair's entry, made if there was none. Entries move when the table grows."""
        cdef pair_entry* entry = self.find_pair(key)
        if entry.key == EMPTY:
            if (self.pair_used + 1) * 3 > self.pair_mask * 2:
                if self.grow_pairs() < 0:
                    return NO_MEMORY
                entry = self.find_pair(key)
            self.pair_used += 1
            entry.key = key
            entry.count = 0
            entry.items = 0
            entry.length = 0
            entry.capacity = 0
        made[0] = entry
        return OK

    cdef int grow_pairs(self) noexcept nogil:
        """Leave out pairs that are gone; double the table if it is still more than a third full."""
        cdef pair_entry* old = self.pairs
        cdef uint64_t old_mask = self.pair_mask
        cdef uint64_t live = 0
        cdef uint64_t at
        cdef uint64_t mask = old_mask
        cdef pair_entry* table
        for at in range(old_mask + 1):
            if old[at].key != EMPTY and old[at].count:
                live += 1
        if live * 3 > old_mask:
            mask = mask * 2 + 1
        table = <pair_entry*> bp_new_table((mask + 1) * sizeof(pair_entry), 0xFF)
        if table == NULL:
            return NO_MEMORY
        self.pairs = table
        self.pair_mask = mask
        self.pair_used = live
        for at in range(old_mask + 1):
            if old[at].key == EMPTY:
                continue
            if old[at].count:
                self.find_pair(old[at].key)[0] = old[at]
            else:
                drop_items(&old[at])
        free(old)
        return OK

    cdef int count_pairs(self) noexcept nogil:
        """Count every pair of bytes and note its segments, in two passes so that each list has its size."""
        cdef int64_t* counts = <int64_t*> PyMem_RawCalloc(65536, sizeof(int64_t))
        cdef uint32_t* lengths = <uint32_t*> PyMem_RawCalloc(65536, sizeof(uint32_t))
        cdef uint32_t* last = <uint32_t*> PyMem_RawCalloc(65536, sizeof(uint32_t))
        cdef uint32_t** lists = <uint32_t**> PyMem_RawCalloc(65536, sizeof(void*))
        cdef int result = OK
        if counts == NULL or lengths == NULL or last == NULL or lists == NULL:
            result = NO_MEMORY
        else:
            result = self.count_byte_pairs(counts, lengths, last, lists)
        PyMem_RawFree(counts)
        PyMem_RawFree(lengths)
        PyMem_RawFree(last)
        PyMem_RawFree(lists)
        return result

    cdef int count_byte_pairs(self, int64_t* counts, uint32_t* lengths, uint32_t* last,
                              uint32_t** lists) noexcept nogil:
        cdef uint32_t number
        cdef uint64_t at
        cdef int32_t left, right
        cdef uint32_t pair
        cdef pair_entry* entry
        cdef int pass_
        for pass_ in range(2):
            for number in range(<uint32_t> self.segment_count):
                for at in range(self.segments[number].start, self.segments[number + 1].start):
                    left = self.symbols[at]
                    right = self.symbols[at + 1] if left >= 0 else -1
                    if right < 0:
                        continue
                    pair = <uint32_t> (left << 8 | right)
                    if pass_ == 0:
                        if bp_add_overflows(&counts[pair], self.segments[number].weight):
                            return OVERFLOW
                        if last[pair] != number + 1:
                            last[pair] = number + 1
                            lengths[pair] += 1
                    elif lists[pair][last[pair]] != number:
                        last[pair] += 1
                        lists[pair][last[pair]] = number
            if pass_ == 1:
                break
            for pair in range(65536):
                if counts[pair] == 0:
                    continue
                if self.new_pair(<uint64_t> (pair >> 8) << 32 | pair & 0xFF, &entry) < 0:
                    return NO_MEMORY
                entry.count = counts[pair]
                # One item at the front for the comparison with the item before; moved down below.
                lists[pair] = <uint32_t*> PyMem_RawMalloc((<uint64_t> lengths[pair] + 1) * sizeof(uint32_t))
                if lists[pair] == NULL:
                    return NO_MEMORY
                entry.items = <uint64_t> lists[pair]
                entry.capacity = lengths[pair] + 1
                lists[pair][0] = UINT32_MAX
                last[pair] = 0
                if self.push_heap(entry.key, entry.count) < 0:
                    return NO_MEMORY
        for pair in range(65536):
            if counts[pair]:
                entry = self.find_pair(<uint64_t> (pair >> 8) << 32 | pair & 0xFF)
                entry.length = lengths[pair]
                memmove(lists[pair], lists[pair] + 1, <uint64_t> lengths[pair] * sizeof(uint32_t))
        return OK

    # ---- the best pair --------------------------------------------------------------------------------------------

    cdef bint before(self, heap_entry* one, heap_entry* other) noexcept nogil:
        """Whether `one` is to be merged first."""
        cdef int order
        if one.count != other.count:
            return one.count > other.count
        if not self.ties_by_bytes:
            return one.key < other.key
        order = self.compare_tokens(<uint32_t> (one.key >> 32), <uint32_t> (other.key >> 32))
        if order == 0:
            order = self.compare_tokens(<uint32_t> one.key, <uint32_t> other.key)
        return order > 0

    cdef int compare_tokens(self, uint32_t one, uint32_t other) noexcept nogil:
        cdef uint64_t one_length, other_length
        cdef int order
        if one == other:
            return 0
        one_length = self.token_length(one)
        other_length = self.token_length(other)
        order = memcmp(self.token_bytes + self.token_start[one], self.token_bytes + self.token_start[other],
                       one_length if one_length < other_length else other_length)
        if order == 0:
            order = (one_length > other_length) - (one_length < other_length)
        return order

    cdef int push_heap(self, uint64_t key, int64_t count) noexcept nogil:
        cdef heap_entry entry
        cdef uint64_t at = self.heap_length
        cdef uint64_t parent
        if count < self.min_frequency:
            return OK
        if self.token_length(<uint32_t> (key >> 32)) + self.token_length(<uint32_t> key) > self.max_token_bytes:
            return OK
        if grow(<void**> &self.heap, &self.heap_capacity, at + 1, sizeof(heap_entry)) < 0:
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
        """The pair to merge next, or DONE. It stays at the root; when its count is 0, that entry goes like any other."""
        cdef heap_entry top
        cdef pair_entry* entry
        cdef int64_t count
        while self.heap_length:
            top = self.heap[0]
            entry = self.find_pair(top.key)
            count = entry.count if entry.key == top.key else 0
            if count == top.count:
                key[0] = top.key
                return OK
            if count < self.min_frequency:
                self.heap_length -= 1
                if self.heap_length:
                    self.sift_down(self.heap[self.heap_length])
            else:
                top.count = count
                self.sift_down(top)
        return DONE

    # ---- merging --------------------------------------------------------------------------------------------------

    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
        """Join the pair everywhere and bring the counts of its neighbours up to date."""
        cdef uint64_t key = <uint64_t> left << 32 | right
        cdef pair_entry* entry = self.find_pair(key)
        cdef uint32_t inline_items[2]
        cdef uint32_t* items
        cdef uint32_t length, i
        cdef bint owned
        cdef int result = OK
        if entry.key != key or entry.count == 0:
            return OK
        if self.make_sides() < 0:
            return NO_MEMORY
        # The entry moves when the table grows, so its list is taken out first.
        owned = entry.capacity != 0
        length = entry.length
        if owned:
            items = <uint32_t*> entry.items
        else:
            memcpy(inline_items, &entry.items, 8)
            items = inline_items
        entry.count = 0
        entry.length = 0
        entry.capacity = 0
        # A pair of two equal tokens must be joined from the left also where segments of one word meet.
        if left == right:
            for i in range(1, length):
                if items[i - 1] >= items[i]:
                    qsort(items, length, sizeof(uint32_t), by_number)
                    break
        for i in range(length):
            if i + 2 * LOOK_AHEAD < length:
                BP_TRAIN_PREFETCH(&self.segments[items[i + 2 * LOOK_AHEAD]])
            if i + LOOK_AHEAD < length:
                BP_TRAIN_PREFETCH(&self.symbols[self.segments[items[i + LOOK_AHEAD]].start])
            result = self.apply_in(items[i], left, right, merged)
            if result < 0:
                break
            self.work += 1
            if self.work & SIGNAL_MASK == 0 and self.interrupted():
                result = INTERRUPTED
                break
        if owned:
            PyMem_RawFree(items)
        return self.settle(left, right, merged) if result == OK else result

    cdef int apply_in(self, uint32_t number, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
        """Join the pair wherever it begins in one segment and note the neighbours."""
        cdef int32_t* symbols = self.symbols
        cdef uint64_t start = self.segments[number].start
        cdef uint64_t slots = self.segments[number + 1].start - start
        cdef int64_t weight = self.segments[number].weight
        cdef uint64_t left_length = self.token_length(left)
        cdef uint64_t length = left_length + self.token_length(right)
        cdef uint64_t found = bp_find_pairs(symbols + start, symbols + start + left_length, <int32_t> left,
                                            <int32_t> right, slots if slots < SEGMENT else SEGMENT)
        cdef uint64_t at
        cdef uint64_t open = 0
        cdef int32_t neighbour
        cdef int result
        while found:
            at = start + bp_lowest_bit(found)
            found &= found - 1
            if at < open:       # the second of three equal tokens
                continue
            open = at + length
            neighbour = symbols[at - 1]
            if neighbour != SENTINEL:
                if neighbour < 0:
                    neighbour = ~neighbour
                result = self.note(<uint64_t> neighbour * 2, <uint64_t> neighbour << 32 | merged, weight,
                                   self.segment_before(number, at, neighbour))
                if result < 0:
                    return result
            neighbour = symbols[at + length]
            if neighbour != SENTINEL:
                result = self.note(<uint64_t> neighbour * 2 + 1, <uint64_t> merged << 32 | <uint64_t> neighbour, weight,
                                   number)
                if result < 0:
                    return result
            symbols[at + left_length] = ~(<int32_t> merged)
            symbols[at + length - 1] = ~(<int32_t> merged)
            symbols[at] = <int32_t> merged
        return OK

    cdef int make_sides(self) noexcept nogil:
        """Two entries for each token there is: the pair it forms before and behind the token just made."""
        cdef uint64_t known = self.side_capacity
        if grow(<void**> &self.sides, &self.side_capacity, <uint64_t> self.token_count * 2, sizeof(pair_entry)) < 0:
            return NO_MEMORY
        memset(self.sides + known, 0xFF, (self.side_capacity - known) * sizeof(pair_entry))
        return OK

    cdef int note(self, uint64_t number, uint64_t key, int64_t weight, uint32_t where) noexcept nogil:
        """A pair with the new token has come up in a segment that weighs so much."""
        cdef pair_entry* side = &self.sides[number]
        if side.key != key:
            if grow(<void**> &self.touched, &self.touched_capacity, self.touched_length + 1, sizeof(uint64_t)) < 0:
                return NO_MEMORY
            self.touched[self.touched_length] = number
            self.touched_length += 1
            side.key = key
            side.count = 0
            side.length = 0
            side.capacity = 0
        if bp_add_overflows(&side.count, weight):
            return OVERFLOW
        return append_item(side, where)

    cdef int settle(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
        """Put the noted pairs into the table, take what they replace out of it, and queue them.

        As often as x now stands before the new token, x stood before `left`; a pair that came up and went again within
        the merge (x being the new token) is added before it is taken away.
        """
        cdef uint64_t key = <uint64_t> left << 32 | right
        cdef uint64_t i, neighbour, old
        cdef pair_entry* side
        cdef pair_entry* entry
        cdef int result
        for i in range(self.touched_length):
            if i + LOOK_AHEAD < self.touched_length:
                side = &self.sides[self.touched[i + LOOK_AHEAD]]
                BP_TRAIN_PREFETCH(&self.pairs[pair_hash(side.key) & self.pair_mask])
            result = self.put(&self.sides[self.touched[i]])
            if result < 0:
                return result
        for i in range(self.touched_length):
            neighbour = self.touched[i] >> 1
            old = <uint64_t> right << 32 | neighbour if self.touched[i] & 1 else neighbour << 32 | left
            if old == key:
                continue
            entry = self.find_pair(old)
            entry.count -= self.sides[self.touched[i]].count
            if entry.count == 0:
                drop_items(entry)
        for i in range(self.touched_length):
            side = &self.sides[self.touched[i]]
            entry = self.find_pair(side.key)
            side.key = EMPTY
            if entry.count and self.push_heap(entry.key, entry.count) < 0:
                return NO_MEMORY
        self.touched_length = 0
        return OK

    cdef int put(self, pair_entry* side) noexcept nogil:
        """Move what was noted into the table; the side keeps its key and count."""
        cdef pair_entry* entry
        cdef uint32_t* items
        cdef uint32_t i
        cdef int result
        if self.new_pair(side.key, &entry) < 0:
            return NO_MEMORY
        if bp_add_overflows(&entry.count, side.count):
            return OVERFLOW
        if entry.length == 0:
            entry.items = side.items
            entry.length = side.length
            entry.capacity = side.capacity
        else:
            # Only where a merge gives a token that was there before.
            items = pair_items(side)
            for i in range(side.length):
                result = append_item(entry, items[i])
                if result < 0:
                    return result
            drop_items(side)
        side.capacity = 0
        side.length = 0
        return OK

    cdef uint32_t segment_before(self, uint32_t number, uint64_t at, int32_t token) noexcept nogil:
        """The segment in which `token`, which ends where slot `at` begins, begins."""
        cdef uint64_t start = self.segments[number].start
        at -= self.token_length(<uint32_t> token)
        return number if start <= at else number - <uint32_t> ((start - at + SEGMENT - 1) // SEGMENT)

    cdef bint interrupted(self) noexcept nogil:
        """Whether a signal handler (Ctrl-C) raised something, which is kept for `check`."""
        with gil:
            try:
                PyErr_CheckSignals()
            except BaseException as error:
                self.error = error
                return True
        return False

    cdef int record(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
        if grow(<void**> &self.learned, &self.learned_capacity, self.learned_count + 3, sizeof(uint32_t)) < 0:
            return NO_MEMORY
        self.learned[self.learned_count] = left
        self.learned[self.learned_count + 1] = right
        self.learned[self.learned_count + 2] = merged
        self.learned_count += 3
        return OK

    cdef int run(self, uint32_t token_limit, uint64_t work_limit) noexcept nogil:
        """Merge until there are `token_limit` tokens, or nothing to merge (DONE), or enough work is done (MORE)."""
        cdef uint64_t stop = self.work + work_limit
        cdef uint64_t key
        cdef uint32_t merged
        cdef int result
        while self.token_count < token_limit:
            if self.work >= stop:
                return MORE
            if self.best(&key) == DONE:
                return DONE
            result = self.join(<uint32_t> (key >> 32), <uint32_t> key, &merged)
            if result < 0:
                return result
            result = self.record(<uint32_t> (key >> 32), <uint32_t> key, merged)
            if result == OK:
                result = self.apply(<uint32_t> (key >> 32), <uint32_t> key, merged)
            if result < 0:
                return result
            self.work += 1
        return DONE

    # ---- from Python ----------------------------------------------------------------------------------------------

    def replay(self, uint32_t left, uint32_t right):
        """Join a pair of an earlier tokenizer everywhere, as `learn` would, and return the internal id it gives."""
        cdef uint32_t merged
        cdef int result
        self.begin()
        if left >= self.token_count or right >= self.token_count:
            raise ValueError(f"no token has the internal id {max(left, right)}")
        with nogil:
            result = self.join(left, right, &merged)
            if result >= 0:
                result = self.apply(left, right, merged)
        self.check(result)
        return merged

    def add_token(self, bytes token not None):
        """Reserve an internal id for bytes that are a token but that no merge gives; returns the id."""
        cdef uint32_t made
        cdef int result = grow(<void**> &self.token_bytes, &self.bytes_capacity, self.bytes_used + len(token), 1)
        if len(token) < 2:
            raise ValueError(f"{token!r} must have at least two bytes")
        if result == OK:
            memcpy(self.token_bytes + self.bytes_used, <const unsigned char*> token, len(token))
            result = self.token_of(len(token), &made)
        self.check(result)
        return made

    def learn(self, uint32_t token_limit, uint64_t work_limit):
        """Merge until there are `token_limit` tokens or nothing is left; False when `work_limit` came first.

        Args:
            token_limit: Tokens to end with, the 256 bytes included.
            work_limit: Return early after so many segments were searched (a few nanoseconds each).

        Raises:
            OverflowError: A pair occurs more than 2^63 - 1 times.
            MemoryError: Memory has run out.
        """
        cdef int result
        self.begin()
        with nogil:
            result = self.run(token_limit, work_limit)
        self.check(result)
        return result != MORE

    @property
    def tokens(self):
        """How many tokens there are, the 256 bytes included."""
        return self.token_count

    def token(self, uint32_t token):
        """The bytes of a token by internal id."""
        if token >= self.token_count:
            raise IndexError(f"no token has the internal id {token}")
        return (<char*> self.token_bytes)[self.token_start[token]:self.token_start[token + 1]]

    def merges(self):
        """What was learned, in order: (left, right, result), all internal ids."""
        cdef uint64_t at
        return [(self.learned[at], self.learned[at + 1], self.learned[at + 2])
                for at in range(0, self.learned_count, 3)]

    cdef int begin(self) except -1:
        cdef int result
        if not self.counted:
            self.counted = True
            with nogil:
                result = self.count_pairs()
            self.check(result)
        return 0

    cdef int check(self, int result) except -1:
        if result >= 0:
            return 0
        if result == NO_MEMORY:
            raise MemoryError("out of memory while learning merges")
        if result == OVERFLOW:
            raise OverflowError("a pair occurs more than 2^63 - 1 times: divide the counts by a common factor")
        if result == TOO_LARGE:
            raise OverflowError("too many tokens or pre-tokens: at most 2^31 - 2 tokens and 2^32 - 2 segments of words")
        error, self.error = self.error, None
        raise error
