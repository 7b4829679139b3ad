"""Joining a pair of tokens in all words, and keeping the counts of the pairs around it.

The shape, and why.

- A merge first notes the neighbours of all its occurrences, one entry for each different one, and then updates the
  table of pairs once for each: a frequent pair has far fewer neighbours than occurrences.
- Segments are searched many at a time, without a branch on what is in them: while one is on its way from memory, the
  search of others goes on. In a third of them the pair is gone; only the others are gone through one by one.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from ..headers cimport BP_PREFETCH, bp_lowest_bit, bp_watch, bp_work
from ._learned_tokens cimport INTERRUPTED, NO_MEMORY, OK, LearnedTokens
from ._pair_table cimport SEGMENT_WORK, PairTable, Sides, bp_free_list, note_side, pair_entry
from ._segments cimport SEGMENT, SENTINEL, head_of, read_segment, segment, segment_at
from ._words cimport Words
from .tables cimport bp_filter_has

cdef extern from "training/pair_search.h" nogil:
    uint64_t bp_find_pairs(const int32_t* first, const int32_t* second, int32_t left, int32_t right,
                           uint64_t n) noexcept

cdef enum:
    LOOK_AHEAD = 16             # segments, or pairs
    NO_NEIGHBOUR = ~SENTINEL    # no id

cdef uint64_t EMPTY = 0xFFFFFFFFFFFFFFFFU
cdef uint64_t ANY = 0xFFFFFFFFFFFFFFFFU            # a filter that any pair passes
cdef int SHIFT_OF_ANY = 58


cdef int by_number(const void* one, const void* other) noexcept nogil:
    cdef uint32_t a = (<uint32_t*> one)[0]
    cdef uint32_t b = (<uint32_t*> other)[0]
    return (a > b) - (a < b)


cdef inline uint64_t replaced(uint64_t side, uint64_t left, uint64_t right) noexcept nogil:
    """The pair that a noted pair replaces."""
    return right << 32 | side >> 1 if side & 1 else side >> 1 << 32 | left


cdef inline void fetch(const int32_t* symbols, uint32_t number) noexcept nogil:
    """The head and about a dozen slots of a segment."""
    BP_PREFETCH(symbols + head_of(number))
    BP_PREFETCH(symbols + head_of(number) + 16)


@cython.final
cdef class Joiner:
    """Joins pairs in words, whose pairs are counted.

    Args:
        known: The tokens.
        sides: Those of the mergers that share the tokens.
    """

    def __cinit__(self, LearnedTokens known not None, Words words not None, PairTable pairs not None,
                  Sides sides not None):
        self.known = known
        self.words = words
        self.pairs = pairs
        self.sides = sides

    cdef int apply(self, uint32_t left, uint32_t right, uint32_t merged, bp_watch* watch) noexcept nogil:
        cdef uint64_t key = <uint64_t> left << 32 | right
        cdef pair_entry* entry = self.pairs.find(key)
        cdef uint32_t inline_items[2]
        cdef uint32_t* items
        cdef uint32_t length, room, searched, i
        cdef int result = OK
        cdef int64_t count = entry.count
        self.joined = 0
        if entry.key != key or count == 0:
            return OK
        if self.sides.reserve(self.known.count) < 0:
            return NO_MEMORY
        # The entry moves when the table grows, so its list is taken out first.
        room = entry.capacity
        length = entry.length
        if room:
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
        for i in range(min(length, <uint32_t> LOOK_AHEAD)):
            fetch(self.words.symbols, items[i])
        i = 0
        while i < length and result == OK and self.joined < count:     # then the rest had the pair once
            result = self.join(left, right, merged, self.search(left, right, items, i, length))
            searched = min(<uint32_t> FOUND, length - i)
            i += searched
            self.work += searched
            if result == OK and bp_work(watch, SEGMENT_WORK * searched):
                result = INTERRUPTED
        if room:
            bp_free_list(&self.pairs.lists, items, room)
        return self.settle(left, right, merged) if result == OK else result

    cdef int search(self, uint32_t left, uint32_t right, const uint32_t* items, uint32_t at,
                    uint32_t end) noexcept nogil:
        """Find the segments in which the pair begins, of the next FOUND of a list. Returns how many there are."""
        cdef int32_t* symbols = self.words.symbols
        cdef uint64_t left_length = self.known.width[left]
        cdef segment_found* one
        cdef segment searched
        cdef uint32_t i
        cdef int number = 0
        for i in range(at, min(at + FOUND, end)):
            if i + LOOK_AHEAD < end:
                fetch(symbols, items[i + LOOK_AHEAD])
            searched = read_segment(symbols, items[i])
            one = &self.found[number]
            one.number = items[i]
            one.start = searched.start
            one.weight = searched.weight
            one.places = bp_find_pairs(symbols + searched.start, symbols + searched.start + left_length,
                                       <int32_t> left, <int32_t> right, searched.size)
            number += one.places != 0
        return number

    cdef int join(self, uint32_t left, uint32_t right, uint32_t merged, int segments) noexcept nogil:
        """Join the pair in the segments that `search` has found and note the neighbours that may be frequent."""
        cdef int32_t* symbols = self.words.symbols
        cdef const uint32_t* width = self.known.width
        cdef const uint64_t* frequent = &ANY if self.pairs.frequent == NULL else self.pairs.frequent
        cdef int shift = SHIFT_OF_ANY if self.pairs.frequent == NULL else self.pairs.frequent_shift
        cdef uint64_t left_length = width[left]
        cdef uint64_t length = left_length + width[right]
        cdef uint64_t at, places
        cdef uint32_t beside
        cdef bint there
        cdef int64_t joined = 0
        cdef int i, result, number = 0
        cdef segment_found* one
        cdef neighbour* side
        for i in range(segments):
            one = &self.found[i]
            if number + 2 * SEGMENT > NOTED:
                result = self.note(merged, number)
                if result < 0:
                    return result
                number = 0
            places = one.places
            while places:
                at = one.start + bp_lowest_bit(places)
                places &= places - 1
                # The second of three equal tokens, or the segment before has had a part of it.
                if symbols[at] != <int32_t> left or symbols[at + left_length] != <int32_t> right:
                    continue
                # Without a branch: whether there is a neighbour, and a frequent one, would often be predicted wrongly.
                beside = <uint32_t> (symbols[at - 1] ^ symbols[at - 1] >> 31)
                there = beside != NO_NEIGHBOUR
                beside = beside if there else 0
                side = &self.noted[number]
                side.side = <uint64_t> beside * 2
                side.weight = one.weight
                side.where = segment_at(symbols, one.number, at - width[beside])
                # beside the new token there was `right`
                number += there & bp_filter_has(frequent, shift, &self.pairs.secret,
                                                (right if beside == merged else <uint64_t> beside) << 32 | left)
                there = symbols[at + length] != SENTINEL
                beside = <uint32_t> symbols[at + length] if there else 0
                side = &self.noted[number]
                side.side = <uint64_t> beside * 2 + 1
                side.weight = one.weight
                side.where = one.number
                number += there & bp_filter_has(frequent, shift, &self.pairs.secret, <uint64_t> right << 32 | beside)
                joined += one.weight
                symbols[at + left_length] = ~(<int32_t> merged)
                symbols[at + length - 1] = ~(<int32_t> merged)
                symbols[at] = <int32_t> merged
        self.joined += joined
        return self.note(merged, number)

    cdef int note(self, uint32_t merged, int number) noexcept nogil:
        """Count pairs with the new token."""
        cdef int i, result
        cdef neighbour* one
        cdef uint64_t key
        for i in range(number):
            BP_PREFETCH(&self.sides.entries[self.noted[i].side])
        for i in range(number):
            one = &self.noted[i]
            key = <uint64_t> merged << 32 | one.side >> 1 if one.side & 1 else one.side >> 1 << 32 | merged
            result = note_side(self.sides, &self.pairs.lists, one.side, key, one.weight, one.where)
            if result < 0:
                return result
        return OK

    cdef int settle(self, uint32_t left, uint32_t right, uint32_t merged) noexcept nogil:
        """Add the noted pairs to the table, subtract the pairs they replace, and queue them.

        Wherever x now comes before the new token, x came before `left`. A pair that appeared and disappeared within the
        merge (x being the new token) is added before it is subtracted.
        """
        cdef uint64_t key = <uint64_t> left << 32 | right
        cdef uint64_t i, old
        cdef pair_entry* side
        cdef int result
        for i in range(self.sides.touched_length):
            if i + LOOK_AHEAD < self.sides.touched_length:
                self.pairs.prefetch(self.sides.entries[self.sides.touched[i + LOOK_AHEAD]].key)
            result = self.pairs.put(&self.sides.entries[self.sides.touched[i]])
            if result < 0:
                return result
        for i in range(self.sides.touched_length):
            if i + LOOK_AHEAD < self.sides.touched_length:
                self.pairs.prefetch(replaced(self.sides.touched[i + LOOK_AHEAD], left, right))
            old = replaced(self.sides.touched[i], left, right)
            if old != key:
                self.pairs.take(old, self.sides.entries[self.sides.touched[i]].count)
        for i in range(self.sides.touched_length):
            side = &self.sides.entries[self.sides.touched[i]]
            if not self.pairs.is_rare(side) and self.pairs.queue(side.key) < 0:
                return NO_MEMORY
            side.key = EMPTY
        self.sides.touched_length = 0
        return OK
