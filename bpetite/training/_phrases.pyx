"""Phrases, the pre-tokens of a pattern that does not cut at spaces, as tokens of the vocabulary learned before.

The shape, and why.

- Nearly every phrase of a text is there once, so a table of phrases is as large as the text. What superwords are
  learned from is smaller: a merge across the place between two tokens joins no more occurrences than the pair of these
  two tokens has. Where that pair is rarer than any merge that will be learned, the phrase can be cut and nothing
  changes. What is left, pieces of frequent pairs, is short and comes again and again.
- A phrase is encoded word by word, for the word cache: it is cut wherever no merge joins the bytes on both sides. With
  the usual patterns of a first stage that is in front of every space.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from ..engine._id_memory cimport ids_free, ids_grow
from ..engine._text cimport DONE as ENCODED
from ..engine._worker cimport Core, Worker
from ..headers.arithmetic cimport bp_add_overflows
from ..headers.bytes cimport BP_PREFETCH
from ..headers.hashing cimport bp_mix, bp_secret, draw_secret
from ..headers.memory cimport bp_free_table, bp_grow, bp_new_table
from ..headers.types cimport token_t
from ..headers.watch cimport bp_watch, bp_watch_begin, bp_watch_check, bp_work
from ..vocabulary._tokens cimport TokenTable
from ..vocabulary._word_merges cimport WordMerges
from ._count_table cimport NO_MEMORY, OK, OVERFLOW, CountTable, add_pair_checks, check, slot_bytes
from ._pieces cimport PieceTable

cdef enum:
    NOT_ENCODED = -101
    INTERRUPTED = -100          # an exception is set
    FEW = 1024                  # counts up to here are told apart when rare pairs are left out
    LEAST_ROOM = 1 << 12        # pairs; a table of fewer never leaves any out
    WAITING = 512               # pairs that wait to be counted
    LOOK_AHEAD = 32             # of them
    PHRASES_AHEAD = 8           # slots of a table of phrases
    HEAD = 3                    # tokens that the count of a kept phrase and the number of its tokens take
    MOST_TOLD = 1 << 16         # counts up to here are told apart when pairs are put in order
    PAIR_BITS = 32              # of the filter of frequent pairs, for each of them

cdef bp_secret secret = draw_secret()


cdef struct pair_count:
    uint64_t key
    int64_t count


cdef inline void fetch_ahead(CountTable phrases, uint64_t slot) noexcept nogil:
    """Fetch the beginning of a phrase that comes after the one in a slot."""
    cdef Py_ssize_t length
    cdef const uint8_t* text
    slot = min(slot + PHRASES_AHEAD, phrases.mask)
    if phrases.slots[slot].key.high:
        text = slot_bytes(&phrases.slots[slot], &length)
        BP_PREFETCH(text)
        BP_PREFETCH(text + 64)


@cython.final
cdef class PairCounts:
    """How often two tokens stand side by side: an open-addressing table with a bound.

    Where there would be more pairs than `most`, the rarest half is left out (lossy counting, Manku and Motwani 2002):
    no count is then too low by more than `error`.

    A slot of eight bytes holds a pair and its count, in the bits that are left. The few counts that are too large for
    them are in a list.

    Args:
        most: Pairs; a table of LEAST_ROOM never leaves any out.
        tokens: How many numbers of tokens there are, at most 2^31.
    """
    cdef uint64_t* slots               # key << count_bits | count; 0 where unused
    cdef uint64_t mask
    cdef int shift
    cdef int id_bits                   # of a token's number; a key is left << id_bits | right
    cdef int count_bits
    cdef uint64_t most_count           # that a slot can hold; then the pair is in `large`, with its whole count
    cdef pair_count* large
    cdef uint64_t large_used
    cdef uint64_t large_room
    cdef uint64_t used
    cdef uint64_t most
    cdef readonly int64_t error
    cdef pair_count waiting[WAITING]   # pairs to be added, so that the slot of one is fetched while others are added
    cdef uint32_t waits                # how many

    def __cinit__(self, uint64_t most, uint64_t tokens):
        if tokens > <uint64_t> 1 << 31:
            raise ValueError(f"there are {tokens} tokens, more than 2^31")
        self.id_bits = 1
        while tokens > <uint64_t> 1 << self.id_bits:
            self.id_bits += 1
        self.count_bits = 64 - 2 * self.id_bits
        self.most_count = (<uint64_t> 1 << self.count_bits) - 1
        self.most = most if most > LEAST_ROOM else LEAST_ROOM
        self.mask = 4095
        self.shift = 52
        self.slots = <uint64_t*> bp_new_table((self.mask + 1) * sizeof(uint64_t), 0)
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))
        free(self.large)

    def __len__(self):
        return self.used

    cdef inline uint64_t* find(self, uint64_t key) noexcept nogil:
        cdef uint64_t at = bp_mix(&secret, key) >> self.shift
        while self.slots[at] and self.slots[at] >> self.count_bits != key:
            at = (at + 1) & self.mask
        return &self.slots[at]

    cdef inline int64_t count_of(self, uint64_t slot) noexcept nogil:
        cdef uint64_t count = slot & self.most_count
        return self.large_count(slot >> self.count_bits) if count == self.most_count else <int64_t> count

    cdef int64_t large_count(self, uint64_t key) noexcept nogil:
        cdef uint64_t at
        for at in range(self.large_used):
            if self.large[at].key == key:
                return self.large[at].count
        return <int64_t> self.most_count

    cdef inline int put(self, uint64_t left, uint64_t right, int64_t count) noexcept nogil:
        """Add to a pair, once there are enough for `settle`, which comes after the last."""
        self.waiting[self.waits].key = left << self.id_bits | right
        self.waiting[self.waits].count = count
        self.waits += 1
        return self.settle() if self.waits == WAITING else OK

    cdef int settle(self) noexcept nogil:
        cdef uint32_t at
        cdef int result
        for at in range(self.waits):
            if at + LOOK_AHEAD < self.waits:
                BP_PREFETCH(&self.slots[bp_mix(&secret, self.waiting[at + LOOK_AHEAD].key) >> self.shift])
            result = self.add(self.waiting[at].key, self.waiting[at].count)
            if result < 0:
                return result
        self.waits = 0
        return OK

    cdef inline int add(self, uint64_t key, int64_t count) noexcept nogil:
        cdef uint64_t* slot = self.find(key)
        if slot[0] == 0:
            if (self.used + 1) * 8 > self.mask * 5 or self.used >= self.most:
                if self.make_room() < 0:
                    return NO_MEMORY
                slot = self.find(key)
            slot[0] = key << self.count_bits
            self.used += 1
        if <uint64_t> count > self.most_count - (slot[0] & self.most_count):
            return self.add_large(slot, count)
        slot[0] += count
        return OK

    cdef int add_large(self, uint64_t* slot, int64_t count) noexcept nogil:
        """Add to a count that becomes too large for its slot."""
        cdef uint64_t key = slot[0] >> self.count_bits
        cdef uint64_t at = 0
        while at < self.large_used and self.large[at].key != key:
            at += 1
        if at == self.large_used:
            if bp_grow(<void**> &self.large, &self.large_room, at + 1, sizeof(pair_count)) < 0:
                return NO_MEMORY
            self.large[at].key = key
            self.large[at].count = <int64_t> (slot[0] & self.most_count)
            self.large_used += 1
        slot[0] |= self.most_count
        return OVERFLOW if bp_add_overflows(&self.large[at].count, count) else OK

    cdef int make_room(self) noexcept nogil:
        """Twice the slots; the pairs that are too many are left out."""
        cdef uint64_t mask = self.mask
        cdef int shift = self.shift
        cdef int64_t least = 0
        cdef uint64_t at, to, used = 0
        cdef uint64_t* slots
        if self.used >= self.most:
            least = self.median()
        else:
            mask = mask * 2 + 1
            shift -= 1
        slots = <uint64_t*> bp_new_table((mask + 1) * sizeof(uint64_t), 0)
        if slots == NULL:
            return NO_MEMORY
        for at in range(self.mask + 1):
            if self.slots[at] and (least == 0 or self.count_of(self.slots[at]) > least):
                to = bp_mix(&secret, self.slots[at] >> self.count_bits) >> shift
                while slots[to]:
                    to = (to + 1) & mask
                slots[to] = self.slots[at]
                used += 1
        at = 0
        while at < self.large_used:
            if self.large[at].count <= least:
                self.large_used -= 1
                self.large[at] = self.large[self.large_used]
            else:
                at += 1
        bp_free_table(self.slots, (self.mask + 1) * sizeof(uint64_t))
        self.slots = slots
        self.mask = mask
        self.shift = shift
        self.used = used
        self.error += least
        return OK

    cdef int64_t median(self) noexcept nogil:
        """The least count that half of the pairs do not pass; where that is more than FEW, the least count that makes
        room for a pair."""
        cdef uint64_t number[FEW + 1]
        cdef uint64_t at
        cdef uint64_t below = 0
        cdef int64_t count
        cdef int64_t least = 0
        for count in range(FEW + 1):
            number[count] = 0
        for at in range(self.mask + 1):
            if self.slots[at]:
                count = self.count_of(self.slots[at])
                if count <= FEW:
                    number[count] += 1
                elif least == 0 or count < least:
                    least = count
        for count in range(FEW + 1):
            below += number[count]
            if below * 2 >= self.used:
                return count
        return least

    def update(self, PairCounts other not None):
        """Add the counts, and the error, of another table for as many tokens."""
        cdef uint64_t at
        cdef int result = OK
        cdef bp_watch watch
        if other.id_bits != self.id_bits:
            raise ValueError("the other table is not for as many tokens")
        bp_watch_begin(&watch, NULL)
        with nogil:
            for at in range(other.mask + 1):
                if bp_work(&watch, sizeof(pair_count)):
                    break
                if other.slots[at]:
                    result = self.add(other.slots[at] >> self.count_bits, other.count_of(other.slots[at]))
                    if result < 0:
                        break
        bp_watch_check(&watch)
        check(result)
        self.error += other.error

    def summary(self):
        """(the sum of all counts, 32 hex digits, equal for equal counts, see `CountTable.checksum`)."""
        cdef uint64_t at, key
        cdef int64_t count
        cdef uint64_t low = 0
        cdef uint64_t high = 0
        cdef uint64_t sums[2]
        cdef uint64_t ids = (<uint64_t> 1 << self.id_bits) - 1
        sums[0] = sums[1] = 0
        with nogil:
            for at in range(self.mask + 1):
                if self.slots[at]:
                    count = self.count_of(self.slots[at])
                    key = self.slots[at] >> self.count_bits
                    low += <uint64_t> count & 0xFFFFFFFFU
                    high += <uint64_t> count >> 32
                    add_pair_checks(sums, key >> self.id_bits << 32 | key & ids, count)
        return (int(high) << 32) + low, f"{sums[0]:016x}{sums[1]:016x}"

    def count_at(self, uint64_t place):
        """How often the pair at a place occurs, 1 for the most frequent, at most MOST_TOLD; 0 past the last."""
        cdef uint64_t* number = <uint64_t*> calloc(MOST_TOLD + 1, sizeof(uint64_t))
        cdef uint64_t at, above = 0
        cdef int64_t count = MOST_TOLD
        if number == NULL:
            raise MemoryError
        with nogil:
            for at in range(self.mask + 1):
                if self.slots[at]:
                    number[min(self.count_of(self.slots[at]), <int64_t> MOST_TOLD)] += 1
            while count > 0 and above + number[count] < place:
                above += number[count]
                count -= 1
        free(number)
        return count


@cython.final
cdef class FrequentPairs:
    """The pairs that may occur `floor` times: a Bloom filter with one hash function, which fits the caches."""
    cdef uint64_t* bits
    cdef int shift
    cdef int id_bits

    def __cinit__(self, PairCounts pairs not None, int64_t floor):
        cdef uint64_t at, hash, number = 0, size = 64
        # written for each pair, kept for the frequent ones: without a branch, which would often be predicted wrongly
        cdef uint64_t* found = <uint64_t*> malloc((pairs.used + 1) * sizeof(uint64_t))
        if found == NULL:
            raise MemoryError
        for at in range(pairs.mask + 1):
            found[number] = pairs.slots[at] >> pairs.count_bits
            number += pairs.slots[at] != 0 and pairs.count_of(pairs.slots[at]) + pairs.error >= floor
        self.id_bits = pairs.id_bits
        self.shift = 58
        while size < number * PAIR_BITS:
            size *= 2
            self.shift -= 1
        self.bits = <uint64_t*> calloc(size // 64, sizeof(uint64_t))
        if self.bits == NULL:
            free(found)
            raise MemoryError
        if pairs.error >= floor:                   # any pair may be
            memset(self.bits, 0xFF, size // 8)
        for at in range(number):
            hash = bp_mix(&secret, found[at]) >> self.shift
            self.bits[hash >> 6] |= <uint64_t> 1 << (hash & 63)
        free(found)

    def __dealloc__(self):
        free(self.bits)

    cdef inline bint holds(self, token_t left, token_t right) noexcept nogil:
        cdef uint64_t hash = bp_mix(&secret, <uint64_t> left << self.id_bits | right) >> self.shift
        return self.bits[hash >> 6] >> (hash & 63) & 1


@cython.final
cdef class PhraseReader:
    """Encodes phrases, and counts or cuts what they become. One thread at a time.

    Tokens are numbers here: their places in the order of the ids.

    Args:
        tokens, merges, special_only: Of the vocabulary, see `Core`; a list of merges, not ranks.
        most_kept: Tokens of phrases that are kept, so that these are not read again; four bytes each.
    """
    cdef Worker worker
    cdef token_t* tokens               # kept: for each phrase its count, how many tokens it has, and these
    cdef uint64_t tokens_used
    cdef Py_ssize_t tokens_room
    cdef uint64_t most_kept
    cdef readonly bint kept
    cdef bint numbered                 # the ids are these numbers
    cdef Py_ssize_t* cuts              # of the phrase at hand
    cdef uint64_t cuts_room

    def __cinit__(self, TokenTable tokens not None, merges, special_only, uint64_t most_kept):
        self.worker = Worker(Core(tokens, merges, special_only, None, False, cuts=WordMerges(tokens, merges)), 64 << 20)
        self.most_kept = most_kept
        self.kept = True
        self.numbered = tokens.size == 0 or tokens.ids[tokens.size - 1] == <uint64_t> tokens.size - 1

    def __dealloc__(self):
        ids_free(self.tokens, self.tokens_room)
        free(self.cuts)

    cdef int read(self, const uint8_t* text, Py_ssize_t length) noexcept nogil:
        """Encode a phrase. OUT: worker.out and worker.used, the numbers of its tokens."""
        cdef Py_ssize_t at, offset = 0
        self.worker.used = 0
        if self.worker.encode_cut(text, 0, length, &offset) != ENCODED:
            return NOT_ENCODED
        for at in range(0 if self.numbered else self.worker.used):
            self.worker.out[at] = <uint32_t> self.worker.core.tokens.slot(self.worker.out[at])
        return OK

    def count_pairs(self, CountTable phrases not None, PairCounts pairs not None, uint64_t part, uint64_t parts):
        """Count the pairs of tokens in one of several parts of a table of phrases, and keep the tokens while there is
        room; `kept` says whether all of them are."""
        cdef uint64_t i
        cdef Py_ssize_t length, at
        cdef const uint8_t* text
        cdef int result = OK
        cdef Worker worker = self.worker
        bp_watch_begin(&worker.watch, NULL)
        with nogil:
            for i in range((phrases.mask + 1) * part // parts, (phrases.mask + 1) * (part + 1) // parts):
                if phrases.slots[i].key.high == 0 or phrases.slots[i].count == 0:
                    continue
                fetch_ahead(phrases, i)
                text = slot_bytes(&phrases.slots[i], &length)
                result = self.read(text, length)
                if result == OK and bp_work(&worker.watch, length):
                    result = INTERRUPTED
                if result == OK:
                    result = self.keep(phrases.slots[i].count)
                for at in range(1, worker.used if result == OK else 0):
                    result = pairs.put(worker.out[at - 1], worker.out[at], phrases.slots[i].count)
                    if result < 0:
                        break
                if result < 0:
                    break
            if result == OK:
                result = pairs.settle()
        self.report(result)

    cdef int keep(self, int64_t count) noexcept nogil:
        """Note the phrase just read: its count, the number of its tokens, its tokens."""
        cdef uint64_t size = HEAD + self.worker.used
        cdef token_t* grown
        if not self.kept or self.worker.used < 2:
            return OK
        if self.tokens_used + size > self.most_kept:
            self.kept = False
            ids_free(self.tokens, self.tokens_room)
            self.tokens = NULL
            self.tokens_used = self.tokens_room = 0
            return OK
        if self.tokens_used + size > <uint64_t> self.tokens_room:
            grown = ids_grow(self.tokens, self.tokens_used, &self.tokens_room, 2 * (self.tokens_used + size))
            if grown == NULL:
                return NO_MEMORY
            self.tokens = grown
        memcpy(self.tokens + self.tokens_used, &count, sizeof(count))
        self.tokens[self.tokens_used + HEAD - 1] = <token_t> self.worker.used
        memcpy(self.tokens + self.tokens_used + HEAD, self.worker.out, self.worker.used * sizeof(token_t))
        self.tokens_used += size
        return OK

    def cut(self, CountTable phrases not None, FrequentPairs frequent not None, PieceTable pieces not None,
            uint64_t part, uint64_t parts):
        """Cut phrases between two tokens whose pair is certainly not frequent, and count the pieces of two and more."""
        cdef uint64_t i
        cdef Py_ssize_t length
        cdef const uint8_t* text
        cdef int result = OK
        bp_watch_begin(&self.worker.watch, NULL)
        with nogil:
            for i in range((phrases.mask + 1) * part // parts, (phrases.mask + 1) * (part + 1) // parts):
                if phrases.slots[i].key.high == 0 or phrases.slots[i].count == 0:
                    continue
                fetch_ahead(phrases, i)
                text = slot_bytes(&phrases.slots[i], &length)
                result = self.read(text, length)
                if result == OK and bp_work(&self.worker.watch, length):
                    result = INTERRUPTED
                if result == OK:
                    result = self.count_pieces(self.worker.out, self.worker.used, frequent, pieces,
                                               phrases.slots[i].count)
                if result == OK:
                    result = pieces.settle()       # the tokens are overwritten
                if result < 0:
                    break
        self.report(result)

    def cut_kept(self, FrequentPairs frequent not None, PieceTable pieces not None):
        """:meth:`cut` for the phrases that were kept."""
        cdef uint64_t at = 0
        cdef Py_ssize_t size
        cdef int64_t count
        cdef int result = OK
        bp_watch_begin(&self.worker.watch, NULL)
        with nogil:
            while at < self.tokens_used and result == OK:
                memcpy(&count, self.tokens + at, sizeof(count))
                size = self.tokens[at + HEAD - 1]
                result = self.count_pieces(self.tokens + at + HEAD, size, frequent, pieces, count)
                if result == OK and bp_work(&self.worker.watch, 4 * size):
                    result = INTERRUPTED
                at += HEAD + size
            if result == OK:
                result = pieces.settle()
        self.report(result)

    cdef int count_pieces(self, const token_t* tokens, Py_ssize_t size, FrequentPairs frequent, PieceTable pieces,
                          int64_t count) noexcept nogil:
        cdef Py_ssize_t at, i, cuts = 0, start = 0
        cdef int result
        if bp_grow(<void**> &self.cuts, &self.cuts_room, size + 1, sizeof(Py_ssize_t)) < 0:
            return NO_MEMORY
        for at in range(1, size):                  # without a branch, which would often be predicted wrongly
            self.cuts[cuts] = at
            cuts += not frequent.holds(tokens[at - 1], tokens[at])
        self.cuts[cuts] = size
        for i in range(cuts + 1):
            if self.cuts[i] - start > 1:
                result = pieces.add(tokens + start, self.cuts[i] - start, count)
                if result < 0:
                    return result
            start = self.cuts[i]
        return OK

    cdef int report(self, int result) except -1:
        bp_watch_check(&self.worker.watch)
        if result == NOT_ENCODED:
            raise MemoryError("no memory for encoding a phrase")
        return check(result)
