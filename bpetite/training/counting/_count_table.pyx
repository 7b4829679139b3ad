"""The table of different pre-tokens and how often each occurs.

- One open-addressing table, 32 bytes a slot. Nearly all pre-tokens have at most 15 bytes: those are held in the slot
  itself with their length and compared as two words, so equality never rests on a hash. Longer ones lie in chunks.
- A block of pre-tokens is counted in two steps: load keys, hash, prefetch the slots; then compare and count. By the
  second step the cache lines are on their way, which is worth more than any cleverer table.
"""
cimport cython
from libc.stdint cimport INT64_MAX, UINT64_MAX, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcmp, memcpy, memset

from ...headers cimport (
    BP_KEY_BYTES, BP_KEY_READ, BP_PREFETCH, bp_free, bp_grow, bp_hash_key, bp_hash_long, bp_key, bp_load_key,
    bp_load_last_key, bp_resize, bp_secret, bp_watch, bp_watch_begin, bp_work, bp_zeros, draw_secret,
)
from ...headers.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

cdef extern from "training/counting/count_records.h" nogil:
    enum:
        BP_RECORD_HEAD
        BP_PARTITION_SHIFT
    uint8_t* bp_put_record(uint8_t* p, const uint8_t* data, size_t length, int64_t count) noexcept
    uint64_t bp_stable_hash(const uint8_t* p, size_t length) noexcept

cdef enum:
    CHUNK = 1 << 16             # bytes of long pre-tokens allocated at a time, at least
    LARGEST_CHUNK = 1 << 22
    LEAST_SLOTS = 1 << 12
    SLOT_MEMORY = 48            # bytes of a slot while the table grows from half its size, or is sorted
    AHEAD = 8                   # pre-tokens between a prefetch and the reading

PARTITIONS = 1 << 64 - BP_PARTITION_SHIFT     # of count files

cdef uint64_t LONG = 0xFF00000000000000U
cdef bp_secret secret = draw_secret()     # one for all tables: `absorb` takes the hashes of another


cdef int out_of_memory() except -1 nogil:
    with gil:
        raise MemoryError("out of memory while counting pre-tokens")


cdef inline int add_count(count_slot* slot, int64_t count) except -1 nogil:
    if bp_add_overflows(&slot.count, count):
        with gil:
            raise OverflowError("a pre-token's count is past 2^63 - 1")
    return 0


cdef const uint8_t* slot_bytes(count_slot* slot, Py_ssize_t* length) noexcept nogil:
    if slot.key.high >= LONG:
        length[0] = <Py_ssize_t> (slot.key.high & ~LONG)
        return <const uint8_t*> <uintptr_t> slot.key.low
    length[0] = (<const uint8_t*> &slot.key)[BP_KEY_BYTES]
    return <const uint8_t*> &slot.key


cdef struct sort_item:
    uint64_t hash              # see bp_stable_hash
    count_slot* slot


cdef int by_hash(const void* one, const void* other) noexcept nogil:
    cdef const sort_item* first = <const sort_item*> one
    cdef const sort_item* second = <const sort_item*> other
    cdef Py_ssize_t n, m
    cdef const uint8_t* a
    cdef const uint8_t* b
    cdef int order
    if first.hash != second.hash:
        return 1 if first.hash > second.hash else -1
    a = slot_bytes(first.slot, &n)
    b = slot_bytes(second.slot, &m)
    order = memcmp(a, b, min(n, m))
    return order if order else (n > m) - (n < m)


@cython.final
cdef class CountTable:
    """pre-token bytes -> 64-bit count. Not safe to change from two threads at once.

    Args:
        memory: Bytes after which it is `full`; 0 for no bound. It goes on growing then.
    """

    def __cinit__(self, uint64_t memory=0):
        self.memory = memory if memory else <uint64_t> INT64_MAX
        self.most = LEAST_SLOTS
        while self.most <= self.memory // (2 * SLOT_MEMORY):
            self.most *= 2
        self.mask = LEAST_SLOTS - 1
        self.shift = 52
        self.slots = <count_slot*> bp_zeros((self.mask + 1) * sizeof(count_slot))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        self.drop_chunks()
        free(self.chunks)
        bp_free(self.slots)

    cdef void drop_chunks(self) noexcept nogil:
        cdef uint64_t i
        for i in range(self.chunk_count):
            bp_free(self.chunks[i])
        self.chunk_count = self.chunk_bytes = self.chunk_room = 0

    cdef int reserve(self, uint64_t more) except -1 nogil:
        """Make room for `more` new pre-tokens: at most 5 of 8 slots are taken, of a full table 7."""
        cdef uint64_t mask = self.mask
        cdef int shift = self.shift
        cdef int doublings
        cdef uint64_t i, at
        cdef count_slot* slots
        while (self.used + more) * 8 > mask * 5:
            if mask + 1 >= self.most and (self.used + more) * 8 <= mask * 7:
                break
            doublings = 2 if mask < 1 << 16 and (mask + 1) * 4 <= self.most else 1
            mask = ((mask + 1) << doublings) - 1
            shift -= doublings
        if mask == self.mask:
            return 0
        slots = <count_slot*> bp_zeros((mask + 1) * sizeof(count_slot))
        if slots == NULL:
            return out_of_memory()
        for i in range(self.mask + 1):
            if self.slots[i].key.high:
                at = self.slots[i].hash >> shift
                while slots[at].key.high:
                    at = (at + 1) & mask
                slots[at] = self.slots[i]
        bp_free(self.slots)
        self.slots = slots
        self.mask = mask
        self.shift = shift
        return 0

    cdef count_slot* find(self, bp_key key, uint64_t hash) noexcept nogil:
        """The slot of a pre-token, or the empty one where it goes."""
        cdef uint64_t at = hash >> self.shift
        cdef count_slot* slot
        while True:
            slot = &self.slots[at]
            if slot.key.high == key.high:
                if slot.key.low == key.low:
                    return slot
                if key.high >= LONG and slot.hash == hash and memcmp(
                        <const void*> <uintptr_t> slot.key.low, <const void*> <uintptr_t> key.low,
                        key.high & ~LONG) == 0:
                    return slot
            if slot.key.high == 0:
                return slot
            at = (at + 1) & self.mask

    cdef int fill(self, count_slot* slot, bp_key key, uint64_t hash) except -1 nogil:
        """Put a new pre-token into an empty slot with the count 0; the bytes of a long one are copied."""
        cdef size_t length, room
        if key.high >= LONG:
            length = key.high & ~LONG
            if length > self.chunk_room:
                # Large chunks are in large pages; those of a table with a bound stay small beside it.
                room = min(self.chunk_bytes // 2, self.memory // 64)
                room = min(max(room, <size_t> CHUNK), <size_t> LARGEST_CHUNK)
                if room < length:
                    room = length
                if bp_grow(<void**> &self.chunks, &self.chunk_capacity, self.chunk_count + 1, sizeof(void*)) < 0:
                    return out_of_memory()
                self.chunk_next = <uint8_t*> bp_resize(NULL, room)
                if self.chunk_next == NULL:
                    self.chunk_room = 0
                    return out_of_memory()
                self.chunks[self.chunk_count] = self.chunk_next
                self.chunk_count += 1
                self.chunk_bytes += room
                self.chunk_room = room
            memcpy(self.chunk_next, <const void*> <uintptr_t> key.low, length)
            key.low = <uintptr_t> self.chunk_next
            self.chunk_next += length
            self.chunk_room -= length
        slot.key = key
        slot.hash = hash
        slot.count = 0
        self.used += 1
        return 0

    cdef count_slot* find_bytes(self, const uint8_t* data, Py_ssize_t length, bp_key* key,
                                uint64_t* hash) noexcept nogil:
        """`find` for bytes of any length above 0."""
        if length <= BP_KEY_BYTES:
            key[0] = bp_load_last_key(data, length)
            hash[0] = bp_hash_key(&secret, key.low, key.high)
        else:
            key.low = <uintptr_t> data
            key.high = LONG | <uint64_t> length
            hash[0] = bp_hash_long(&secret, data, length)
        return self.find(key[0], hash[0])

    cdef int count_block(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t number,
                         Py_ssize_t readable) except -1 nogil:
        """Count pre-tokens of `text`: the first begins at `start`, each of the others where the one before ended.

        IN: at most BLOCK ends; text[0:readable] may be read. Counts of text cannot overflow: it would have to be
        longer than memory.
        """
        cdef bp_key keys[BLOCK]
        cdef uint64_t hashes[BLOCK]
        cdef count_slot* slot
        cdef count_slot* slots
        cdef int shift
        cdef Py_ssize_t i, length
        self.reserve(number)
        slots = self.slots
        shift = self.shift
        for i in range(number):
            length = ends[i] - start
            if length > BP_KEY_BYTES:
                keys[i].low = <uintptr_t> (text + start)
                keys[i].high = LONG | <uint64_t> length
                hashes[i] = bp_hash_long(&secret, text + start, length)
            else:
                if start + BP_KEY_READ <= readable:
                    keys[i] = bp_load_key(text + start, length)
                else:
                    keys[i] = bp_load_last_key(text + start, length)
                hashes[i] = bp_hash_key(&secret, keys[i].low, keys[i].high)
            BP_PREFETCH(&slots[hashes[i] >> shift])
            start = ends[i]
        for i in range(number):
            slot = &slots[hashes[i] >> shift]
            if slot.key.low == keys[i].low and slot.key.high == keys[i].high:
                slot.count += 1
                continue
            slot = self.find(keys[i], hashes[i])
            if slot.key.high == 0:
                self.fill(slot, keys[i], hashes[i])
            slot.count += 1
        return 0

    cdef int absorb(self, CountTable other, bp_watch* watch) except -1 nogil:
        cdef uint64_t i
        cdef count_slot* slot
        cdef count_slot* mine
        # The other's pre-tokens come in the order of their hashes: in a much smaller table they would all pile up at
        # its beginning, and each would pass all before it.
        self.reserve(other.used - self.used if other.used > self.used else 0)
        for i in range(other.mask + 1):
            slot = &other.slots[i]
            if bp_work(watch, sizeof(count_slot)):
                return -1
            if slot.key.high == 0 or slot.count == 0:
                continue
            self.reserve(1)
            mine = self.find(slot.key, slot.hash)
            if mine.key.high == 0:
                self.fill(mine, slot.key, slot.hash)
            add_count(mine, slot.count)
        return 0

    # ---- from Python ----------------------------------------------------------------------------------------------

    def update(self, CountTable other not None):
        """Add another table's counts. After an OverflowError (past 2^63 - 1) or a signal some have been added."""
        cdef bp_watch watch
        bp_watch_begin(&watch, NULL)
        with nogil:
            self.absorb(other, &watch)

    def add(self, bytes pretoken not None, int64_t count):
        """Add to one pre-token's count."""
        cdef bp_key key
        cdef uint64_t hash
        cdef count_slot* slot
        if not pretoken:
            raise ValueError("a pre-token must not be empty")
        self.reserve(1)
        slot = self.find_bytes(
            <const uint8_t*> PyBytes_AS_STRING(pretoken), PyBytes_GET_SIZE(pretoken), &key, &hash)
        if slot.key.high == 0:
            self.fill(slot, key, hash)
        add_count(slot, count)

    def add_all(self, PretokenReader pretokens not None, uint64_t low=0, uint64_t last=UINT64_MAX):
        """Add the pre-tokens whose stable hash is from `low` to `last`.

        Returns:
            False where the table became full before the end, unless all have one hash: then it goes on growing.
        """
        cdef bp_watch watch
        cdef bint ended
        bp_watch_begin(&watch, NULL)
        with nogil:
            ended = self.add_range(pretokens, low, last, &watch)
        return ended

    cdef bint add_range(self, PretokenReader pretokens, uint64_t low, uint64_t last,
                        bp_watch* watch) except -1 nogil:
        cdef bp_key key
        cdef uint64_t hash
        cdef count_slot* slot
        cdef bint some = low > 0 or last < UINT64_MAX
        while pretokens.advance():
            if bp_work(watch, sizeof(count_slot)):
                return -1
            if some and not low <= bp_stable_hash(pretokens.data, pretokens.length) <= last:
                continue
            self.reserve(1)
            slot = self.find_bytes(pretokens.data, pretokens.length, &key, &hash)
            if slot.key.high == 0:
                if low < last and self.is_full():
                    return False
                self.fill(slot, key, hash)
            add_count(slot, pretokens.count)
        return True

    def drop_below(self, int64_t least):
        """Forget the pre-tokens that occur less often."""
        cdef uint64_t i
        for i in range(self.mask + 1):
            if self.slots[i].count < least:
                self.slots[i].count = 0

    def get(self, bytes pretoken not None):
        """A pre-token's count, 0 where it never occurred."""
        cdef bp_key key
        cdef uint64_t hash
        if not pretoken:
            return 0
        return self.find_bytes(
            <const uint8_t*> PyBytes_AS_STRING(pretoken), PyBytes_GET_SIZE(pretoken), &key, &hash).count

    def pretokens(self):
        """A reader of the pre-tokens that occur, in no order; the table must not change while it reads."""
        return TableReader(self)

    def totals(self):
        """(different pre-tokens, their bytes, pre-tokens in all); the last is an int of any size."""
        cdef uint64_t i
        cdef uint64_t different = 0
        cdef uint64_t size = 0
        cdef uint64_t low = 0
        cdef uint64_t high = 0
        cdef Py_ssize_t length
        with nogil:
            for i in range(self.mask + 1):
                if self.slots[i].key.high and self.slots[i].count:
                    different += 1
                    slot_bytes(&self.slots[i], &length)
                    size += length
                    low += <uint64_t> self.slots[i].count & 0xFFFFFFFFU
                    high += <uint64_t> self.slots[i].count >> 32
        return different, size, (int(high) << 32) + low

    @property
    def allocated(self):
        """The bytes of memory that it takes."""
        return (self.mask + 1) * SLOT_MEMORY + self.chunk_bytes

    @property
    def full(self):
        """True if it is not empty, and more pre-tokens would not stay within its memory."""
        return self.is_full()

    cdef bint is_full(self) noexcept nogil:
        if self.used == 0:
            return False
        return ((self.mask + 1) * SLOT_MEMORY + self.chunk_bytes > self.memory
                or self.mask + 1 >= self.most and self.used * 8 > self.mask * 5)

    def clear(self):
        """Forget all pre-tokens; the slots stay allocated."""
        with nogil:
            self.drop_chunks()
            memset(self.slots, 0, (self.mask + 1) * sizeof(count_slot))
            self.used = 0

    cdef bytes order(self, uint64_t* number):
        """The slots in the order of files, an array of `sort_item`. OUT: number: items; counts of 0 are left out."""
        cdef bytes made = PyBytes_FromStringAndSize(NULL, self.used * sizeof(sort_item))
        cdef sort_item* items = <sort_item*> PyBytes_AS_STRING(made)
        cdef uint64_t i
        cdef Py_ssize_t length
        cdef const uint8_t* data
        with nogil:
            number[0] = 0
            for i in range(self.mask + 1):
                if self.slots[i].key.high and self.slots[i].count:
                    data = slot_bytes(&self.slots[i], &length)
                    items[number[0]].hash = bp_stable_hash(data, length)
                    items[number[0]].slot = &self.slots[i]
                    number[0] += 1
            qsort(items, number[0], sizeof(sort_item), by_hash)
        return made

    def blocks(self, uint64_t size):
        """The counts as records (count_records.h), in the order of files.

        Yields:
            (partition, bytes): whole records of one partition, about `size` bytes or fewer.
        """
        cdef uint64_t number = 0
        cdef bytes order = self.order(&number)
        cdef sort_item* items = <sort_item*> PyBytes_AS_STRING(order)
        cdef uint64_t first = 0
        cdef uint64_t last = 0
        cdef uint64_t room, partition, i
        cdef Py_ssize_t length
        cdef const uint8_t* data
        cdef uint8_t* out
        cdef bytes block
        while first < number:
            partition = items[first].hash >> BP_PARTITION_SHIFT
            with nogil:
                room = 0
                while last < number and room < size and items[last].hash >> BP_PARTITION_SHIFT == partition:
                    if last + AHEAD < number:
                        BP_PREFETCH(items[last + AHEAD].slot)
                    slot_bytes(items[last].slot, &length)
                    room += BP_RECORD_HEAD + length
                    last += 1
            block = PyBytes_FromStringAndSize(NULL, room)
            out = <uint8_t*> PyBytes_AS_STRING(block)
            with nogil:
                for i in range(first, last):
                    data = slot_bytes(items[i].slot, &length)
                    out = bp_put_record(out, data, length, items[i].slot.count)
            first = last
            yield partition, block


# ---- readers --------------------------------------------------------------------------------------------------------

cdef class PretokenReader:
    cdef bint advance(self) except -1 nogil:
        with gil:
            raise NotImplementedError

    def __iter__(self):
        """(bytes, count) of each pre-token that is left."""
        while self.advance():
            yield PyBytes_FromStringAndSize(<const char*> self.data, self.length), self.count


@cython.final
cdef class TableReader(PretokenReader):
    """Reads the pre-tokens of a table."""
    cdef CountTable table
    cdef uint64_t at

    def __cinit__(self, CountTable table not None):
        self.table = table

    cdef bint advance(self) except -1 nogil:
        cdef count_slot* slot
        while self.at <= self.table.mask:
            slot = &self.table.slots[self.at]
            self.at += 1
            if slot.key.high and slot.count:
                self.data = slot_bytes(slot, &self.length)
                self.count = slot.count
                return True
        return False
