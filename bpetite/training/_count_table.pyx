"""The table of different pre-tokens and how often each occurs.

- One open-addressing table, 32 bytes a slot. Nearly all pre-tokens have at most 15 bytes: those are held in the slot
  itself with their length and compared as two words, so equality never rests on a hash. Longer ones lie in chunks.
- A block of pre-tokens is counted in two steps: load keys, hash, prefetch the slots; then compare and count. By the
  second step the cache lines are on their way, which is worth more than any cleverer table.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcmp, memcpy

from ..headers.arithmetic cimport bp_add_overflows
from ..headers.bytes cimport (
    BP_KEY_BYTES, BP_KEY_READ, BP_PREFETCH, bp_key, bp_load_key, bp_load_last_key,
)
from ..headers.hashing cimport bp_hash_bytes, bp_hash_key, bp_hash_long, bp_secret, draw_secret
from ..headers.memory cimport bp_free_table, bp_grow, bp_new_table
from ..headers.watch cimport bp_watch, bp_watch_begin, bp_watch_check, bp_work

cdef enum:
    CHUNK = 1 << 16             # bytes of long pre-tokens allocated at a time

cdef uint64_t LONG = 0xFF00000000000000U
# For checksums, the same on every machine: the digits of pi and of e.
cdef bp_secret* CHECKS = [
    bp_secret([0x243F6A8885A308D3U, 0x13198A2E03707344U, 0xA4093822299F31D0U, 0x082EFA98EC4E6C89U], [1, 1]),
    bp_secret([0xB7E151628AED2A6AU, 0xBF7158809CF4F3C7U, 0x62E7160F38B4DA56U, 0xA784D9045190CFEFU], [1, 1]),
]
cdef bp_secret secret = draw_secret()     # one for all tables: `absorb` takes the hashes of another


cdef int check(int result) except -1:
    if result == NO_MEMORY:
        raise MemoryError("out of memory while counting pre-tokens")
    if result == OVERFLOW:
        raise OverflowError("a pre-token's count is past 2^63 - 1")
    return 0


cdef const uint8_t* slot_bytes(count_slot* slot, Py_ssize_t* length) noexcept nogil:
    if slot.key.high >= LONG:
        length[0] = <Py_ssize_t> (slot.key.high & ~LONG)
        return <const uint8_t*> <uintptr_t> slot.key.low
    length[0] = (<const uint8_t*> &slot.key)[BP_KEY_BYTES]
    return <const uint8_t*> &slot.key


cdef int by_bytes(const void* one, const void* other) noexcept nogil:
    cdef Py_ssize_t n, m
    cdef const uint8_t* a = slot_bytes((<count_slot**> one)[0], &n)
    cdef const uint8_t* b = slot_bytes((<count_slot**> other)[0], &m)
    cdef int order = memcmp(a, b, n if n < m else m)
    return order if order else (n > m) - (n < m)


@cython.final
cdef class CountTable:
    """pre-token bytes -> 64-bit count. Not safe to change from two threads at once."""

    def __cinit__(self):
        self.mask = 4095
        self.shift = 52
        self.slots = <count_slot*> bp_new_table((self.mask + 1) * sizeof(count_slot), 0)
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef uint64_t i
        for i in range(self.chunk_count):
            free(self.chunks[i])
        free(self.chunks)
        bp_free_table(self.slots, (self.mask + 1) * sizeof(count_slot))

    cdef int reserve(self, uint64_t more) noexcept nogil:
        """Make room for `more` new pre-tokens: at most 5 of 8 slots are taken."""
        cdef uint64_t mask = self.mask
        cdef int shift = self.shift
        cdef int doublings
        cdef uint64_t i, at
        cdef count_slot* slots
        while (self.used + more) * 8 > mask * 5:
            doublings = 2 if mask < 1 << 16 else 1
            mask = ((mask + 1) << doublings) - 1
            shift -= doublings
        if mask == self.mask:
            return OK
        slots = <count_slot*> bp_new_table((mask + 1) * sizeof(count_slot), 0)
        if slots == NULL:
            return NO_MEMORY
        for i in range(self.mask + 1):
            if self.slots[i].key.high:
                at = self.slots[i].hash >> shift
                while slots[at].key.high:
                    at = (at + 1) & mask
                slots[at] = self.slots[i]
        bp_free_table(self.slots, (self.mask + 1) * sizeof(count_slot))
        self.slots = slots
        self.mask = mask
        self.shift = shift
        return OK

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

    cdef int fill(self, count_slot* slot, bp_key key, uint64_t hash) noexcept nogil:
        """Put a new pre-token into an empty slot with the count 0; the bytes of a long one are copied."""
        cdef size_t length, room
        if key.high >= LONG:
            length = key.high & ~LONG
            if length > self.chunk_room:
                room = CHUNK if length < CHUNK else length
                if bp_grow(<void**> &self.chunks, &self.chunk_capacity, self.chunk_count + 1, sizeof(void*)) < 0:
                    return NO_MEMORY
                self.chunk_next = <uint8_t*> malloc(room)
                if self.chunk_next == NULL:
                    self.chunk_room = 0
                    return NO_MEMORY
                self.chunks[self.chunk_count] = self.chunk_next
                self.chunk_count += 1
                self.chunk_room = room
            memcpy(self.chunk_next, <const void*> <uintptr_t> key.low, length)
            key.low = <uintptr_t> self.chunk_next
            self.chunk_next += length
            self.chunk_room -= length
        slot.key = key
        slot.hash = hash
        slot.count = 0
        self.used += 1
        return OK

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
                         Py_ssize_t readable, int64_t weight) noexcept nogil:
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
        if self.reserve(number) < 0:
            return NO_MEMORY
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
                slot.count += weight
                continue
            slot = self.find(keys[i], hashes[i])
            if slot.key.high == 0 and self.fill(slot, keys[i], hashes[i]) < 0:
                return NO_MEMORY
            slot.count += weight
        return OK

    cdef int absorb(self, CountTable other, bp_watch* watch) noexcept nogil:
        cdef uint64_t i
        cdef count_slot* slot
        cdef count_slot* mine
        # The other's pre-tokens come in the order of their hashes: in a much smaller table they would all pile up at
        # its beginning, and each would pass all before it.
        if self.reserve(other.used - self.used if other.used > self.used else 0) < 0:
            return NO_MEMORY
        for i in range(other.mask + 1):
            slot = &other.slots[i]
            if bp_work(watch, sizeof(count_slot)):
                return OK                          # the caller sees the watch
            if slot.key.high == 0 or slot.count == 0:
                continue
            if self.reserve(1) < 0:
                return NO_MEMORY
            mine = self.find(slot.key, slot.hash)
            if mine.key.high == 0 and self.fill(mine, slot.key, slot.hash) < 0:
                return NO_MEMORY
            if bp_add_overflows(&mine.count, slot.count):
                return OVERFLOW
        return OK

    # ---- from Python ----------------------------------------------------------------------------------------------

    def update(self, CountTable other not None):
        """Add another table's counts. After an OverflowError (past 2^63 - 1) or a signal some have been added."""
        cdef int result
        cdef bp_watch watch
        bp_watch_begin(&watch, NULL)
        with nogil:
            result = self.absorb(other, &watch)
        bp_watch_check(&watch)
        check(result)

    def add(self, bytes pretoken not None, int64_t count):
        """Add to one pre-token's count."""
        cdef bp_key key
        cdef uint64_t hash
        cdef count_slot* slot
        if not pretoken:
            raise ValueError("a pre-token must not be empty")
        check(self.reserve(1))
        slot = self.find_bytes(<const uint8_t*> PyBytes_AS_STRING(pretoken), PyBytes_GET_SIZE(pretoken), &key, &hash)
        if slot.key.high == 0:
            check(self.fill(slot, key, hash))
        if bp_add_overflows(&slot.count, count):
            check(OVERFLOW)

    def get(self, bytes pretoken not None):
        """A pre-token's count, 0 where it never occurred."""
        cdef bp_key key
        cdef uint64_t hash
        if not pretoken:
            return 0
        return self.find_bytes(
            <const uint8_t*> PyBytes_AS_STRING(pretoken), PyBytes_GET_SIZE(pretoken), &key, &hash).count

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

    def checksum(self):
        """32 hex digits: the sums of two hashes of each pre-token with its count. Equal for equal counts, on every
        little-endian machine; no protection against someone who looks for other counts with the same sums."""
        cdef uint64_t i
        cdef uint64_t sums[2]
        cdef int which
        cdef Py_ssize_t length
        cdef const uint8_t* data
        sums[0] = sums[1] = 0
        with nogil:
            for i in range(self.mask + 1):
                if self.slots[i].key.high and self.slots[i].count:
                    data = slot_bytes(&self.slots[i], &length)
                    for which in range(2):
                        sums[which] += bp_hash_key(&CHECKS[which], bp_hash_bytes(&CHECKS[which], data, length),
                                                   <uint64_t> self.slots[i].count)
        return f"{sums[0]:016x}{sums[1]:016x}"

    def sorted(self):
        """Iterate over (bytes, count), bytes ascending, zero counts left out. The table must not change meanwhile."""
        cdef bytes order = PyBytes_FromStringAndSize(NULL, self.used * sizeof(void*))
        cdef count_slot** slots = <count_slot**> PyBytes_AS_STRING(order)
        cdef uint64_t i
        cdef uint64_t number = 0
        cdef Py_ssize_t length
        cdef const uint8_t* data
        with nogil:
            for i in range(self.mask + 1):
                if self.slots[i].key.high and self.slots[i].count:
                    slots[number] = &self.slots[i]
                    number += 1
            qsort(slots, number, sizeof(void*), by_bytes)
        for i in range(number):
            data = slot_bytes(slots[i], &length)
            yield PyBytes_FromStringAndSize(<const char*> data, length), slots[i].count
