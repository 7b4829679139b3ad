"""The merge table of a vocabulary, and merging of token ids by it.

The rule: of all neighbours that have a rank, the pair of lowest rank becomes one token, the leftmost such pair first,
until none has a rank. Three ways do it. Few tokens: keep the rank of each neighbouring pair in an array and scan it for
the lowest; quadratic, but without any bookkeeping, and pre-tokens are short. Many: passes over the array, each joining
all pairs of the lowest rank from left to right; a pass is worth it only while it makes the array shorter by a fixed
share, which long runs of few letters do, so all passes together are linear. It stops where a joined pair has a lower
rank than the pass, as merge lists not made by training allow. What is left then goes to a linked list and a heap of
(rank, place), whose entries are checked when they surface: n log n whatever the text is.

Rejected: the method that takes the longest token and checks compatible neighbours. It is linear, but exact only for
vocabularies in which every token is reached by merges of earlier ones, and those that people bring are not always so.

The table is one open-addressing hash table, pair -> rank, and an array rank -> resulting id; a dict of tuples
would need the interpreter lock and three allocations per pair. It is too large to stay in the processor's cache beside
all else, so most questions are kept from it: pairs of ids below 256, which are the single bytes in most vocabularies
and the first to be asked for in any word, have a small table of their own, and for each pair in the large one a bit is
set in a sieve, which most pairs without a rank do not pass. So the new words of a text take a quarter less time.
"""
cimport cython
from cpython.array cimport array, clone
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from .headers.bytes cimport bp_mix
from .headers.heap cimport bp_push, bp_sift_down
from .headers.types cimport token_t
from .vocabulary._tokens cimport TokenTable

from array import array as new_array

cdef uint32_t NO_MERGE = <uint32_t> -1
cdef uint32_t NOWHERE = <uint32_t> -1


cdef bint room_reserve(merge_room* room, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t capacity
    cdef void* grown
    if n <= room.capacity:
        return True
    capacity = n + n // 2 + 256
    grown = realloc(room.ids, capacity * sizeof(token_t))
    if grown == NULL:
        return False
    room.ids = <token_t*> grown
    grown = realloc(room.ranks, capacity * sizeof(uint32_t))
    if grown == NULL:
        return False
    room.ranks = <uint32_t*> grown
    room.capacity = capacity
    return True


cdef void room_free(merge_room* room) noexcept nogil:
    free(room.ids)
    free(room.ranks)
    free(room.nodes)
    free(room.heap)
    room.ids = NULL
    room.ranks = NULL
    room.heap = NULL
    room.nodes = NULL
    room.capacity = room.linked = room.heap_capacity = 0


cdef bint _reserve_nodes(merge_room* room, Py_ssize_t n) noexcept nogil:
    cdef void* grown
    if n <= room.linked:
        return True
    grown = realloc(room.nodes, n * sizeof(merge_node))
    if grown == NULL:
        return False
    room.nodes = <merge_node*> grown
    room.linked = n
    return True


cdef bint _reserve_heap(merge_room* room, Py_ssize_t n) noexcept nogil:
    cdef void* grown
    if n <= room.heap_capacity:
        return True
    n += n // 2 + 256
    grown = realloc(room.heap, n * sizeof(uint64_t))
    if grown == NULL:
        return False
    room.heap = <uint64_t*> grown
    room.heap_capacity = n
    return True


@cython.final
cdef class MergeTable:
    """Pair of token ids -> (rank, id of the token the pair becomes).

    Args:
        tokens: The vocabulary.
        merges: Pairs of ids in rank order; the resulting token is the one whose bytes are the two joined. None for
            the ranks kind: every split of a token into two tokens is a pair, and ids in ascending order are ranks. Or
            a table made of the same arguments: tables never change, and this one reads the memory of that one.
        excluded: Ids that no merge of the ranks kind may give (special tokens).

    Raises:
        ValueError: A merge names an unknown id or gives bytes that are no token.
        MemoryError: No memory for the table.
    """

    def __cinit__(self, TokenTable tokens not None, merges, excluded=frozenset()):
        cdef MergeTable made
        if merges is None:
            self._from_ranks(tokens, excluded)
        elif isinstance(merges, MergeTable):
            made = merges
            self.owner = made
            self.borrowed = True
            self.entries, self.joined, self.mask = made.entries, made.joined, made.mask
            self.low_pairs, self.sieve, self.sieve_mask = made.low_pairs, made.sieve, made.sieve_mask
            self.size, self.ranks = made.size, made.ranks
        else:
            self._from_list(tokens, merges)

    def __dealloc__(self):
        if not self.borrowed:
            free(self.entries)
            free(self.low_pairs)
            free(self.sieve)
            free(self.joined)

    def __len__(self):
        return self.size

    def get(self, token_t left, token_t right):
        """(rank, resulting id) of a pair, or None."""
        cdef uint32_t rank = self.find(left, right)
        return None if rank == NO_MERGE else (rank, self.joined[rank])

    def results(self):
        """What each merge gives, in rank order, as an ``array('I')``; for a table made of a list."""
        cdef array made = clone(new_array("I"), self.ranks, False)
        if self.ranks:
            memcpy(made.data.as_voidptr, self.joined, self.ranks * sizeof(token_t))
        return made

    def apply(self, ids):
        """Merge a sequence of token ids: the lowest rank first, the leftmost first, until no pair has a rank.

        Args:
            ids: Token ids, each 0..2^32-1, fewer than 2^32 - 1 of them.

        Returns:
            The ids that are left.
        """
        cdef merge_room room = merge_room(NULL, NULL, NULL, NULL, 0, 0, 0)
        cdef Py_ssize_t n = len(ids), i
        try:
            if not room_reserve(&room, n):
                raise MemoryError()
            for i in range(n):
                room.ids[i] = ids[i]
            with nogil:
                n = self.merge(&room, n)
            if n < 0:
                raise MemoryError()
            return [room.ids[i] for i in range(n)]
        finally:
            room_free(&room)

    cdef int _reserve(self, Py_ssize_t pairs, Py_ssize_t ranks) except -1:
        cdef uint64_t capacity = 16, i
        while capacity < 2 * <uint64_t> pairs:
            capacity *= 2
        self.entries = <merge_entry*> malloc(capacity * sizeof(merge_entry))
        self.joined = <token_t*> malloc((ranks + 1) * sizeof(token_t))
        self.low_pairs = <uint32_t*> malloc(LOW_IDS * LOW_IDS * sizeof(uint32_t))
        self.sieve = <uint64_t*> calloc(capacity // 16, sizeof(uint64_t))
        self.sieve_mask = 4 * capacity - 1
        if self.entries == NULL or self.joined == NULL or self.low_pairs == NULL or self.sieve == NULL:
            raise MemoryError()
        memset(self.low_pairs, 0xFF, LOW_IDS * LOW_IDS * sizeof(uint32_t))
        self.mask = capacity - 1
        self.ranks = ranks
        for i in range(capacity):
            self.entries[i].pair = 0
            self.entries[i].rank = NO_MERGE
        return 0

    cdef bint _add(self, token_t left, token_t right, uint32_t rank, token_t joined) noexcept nogil:
        # False where the pair is there already: the first rank stays.
        cdef uint64_t pair = <uint64_t> left << 32 | right
        cdef uint64_t at = bp_mix(pair) >> 24
        self.joined[rank] = joined
        while self.entries[at & self.mask].rank != NO_MERGE:
            if self.entries[at & self.mask].pair == pair:
                return False
            at += 1
        self.entries[at & self.mask].pair = pair
        self.entries[at & self.mask].rank = rank
        at = bp_mix(pair) & self.sieve_mask
        self.sieve[at >> 6] |= <uint64_t> 1 << (at & 63)
        if left < LOW_IDS and right < LOW_IDS:
            self.low_pairs[left * LOW_IDS + right] = rank
        self.size += 1
        return True

    cdef int _from_list(self, TokenTable tokens, object merges) except -1:
        cdef Py_ssize_t rank = 0, left, right, joined = -1
        cdef uint64_t left_length, right_length
        cdef uint8_t* buffer = NULL
        cdef uint64_t capacity = 0
        cdef void* grown
        cdef token_t left_id, right_id
        self._reserve(len(merges), len(merges))
        try:
            for pair in merges:
                if not isinstance(pair, tuple):
                    raise TypeError(f"merge {rank} must be a pair of token ids, not {pair!r}")
                left_id, right_id = pair
                left = tokens.slot(left_id)
                right = tokens.slot(right_id)
                if left < 0 or right < 0:
                    raise ValueError(f"merge {rank} {tuple(pair)!r}: no token has the id {pair[0 if left < 0 else 1]}")
                left_length = tokens.starts[left + 1] - tokens.starts[left]
                right_length = tokens.starts[right + 1] - tokens.starts[right]
                if left_length + right_length > capacity:
                    capacity = 2 * (left_length + right_length)
                    grown = realloc(buffer, capacity)
                    if grown == NULL:
                        raise MemoryError()
                    buffer = <uint8_t*> grown
                memcpy(buffer, tokens.blob + tokens.starts[left], left_length)
                memcpy(buffer + left_length, tokens.blob + tokens.starts[right], right_length)
                # Trained merges give one token after the other, so this is often the one behind the last.
                joined += 1
                if tokens.repeated or joined >= tokens.size or not tokens.holds(joined, buffer,
                                                                                left_length + right_length):
                    joined = tokens.find(buffer, left_length + right_length)
                if joined < 0:
                    raise ValueError(f"merge {rank} {tuple(pair)!r} gives {buffer[:left_length + right_length]!r}, "
                                     f"which is no token")
                self._add(left_id, right_id, <uint32_t> rank, tokens.ids[joined])
                rank += 1
        finally:
            free(buffer)
        return 0

    cdef int _from_ranks(self, TokenTable tokens, object excluded) except -1:
        # Every split of every token, in time linear in its length: hashes of all prefixes and suffixes come from
        # prefix sums of one polynomial, and only a split whose two halves are found by hash is compared byte by byte.
        cdef Py_ssize_t pairs = 0, longest = 0, slot, cut, left, right, length, turn
        cdef uint64_t capacity = 16, multiplier = 0x9E3779B97F4A7C15u, suffix
        cdef uint64_t* prefixes = NULL
        cdef uint64_t* powers = NULL
        cdef uint64_t* hashes = NULL
        cdef uint32_t* table = NULL
        cdef uint8_t* barred = NULL
        cdef const uint8_t* token
        for slot in range(tokens.size):
            longest = max(longest, <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot]))
        while capacity < 2 * <uint64_t> tokens.size:
            capacity *= 2
        prefixes = <uint64_t*> malloc((longest + 1) * sizeof(uint64_t))
        powers = <uint64_t*> malloc((longest + 1) * sizeof(uint64_t))
        hashes = <uint64_t*> malloc((tokens.size + 1) * sizeof(uint64_t))
        table = <uint32_t*> calloc(capacity, sizeof(uint32_t))
        barred = <uint8_t*> calloc(tokens.size + 1, 1)
        try:
            if prefixes == NULL or powers == NULL or hashes == NULL or table == NULL or barred == NULL:
                raise MemoryError()
            for token_id in excluded:
                slot = tokens.slot(token_id)
                if slot >= 0:
                    barred[slot] = 1
            with nogil:
                powers[0] = 1
                for cut in range(longest):
                    powers[cut + 1] = powers[cut] * multiplier
                prefixes[0] = 0
                for slot in range(tokens.size):
                    token = tokens.blob + tokens.starts[slot]
                    length = <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot])
                    hashes[slot] = _polynomial(token, length, multiplier)
                    _place(table, capacity - 1, hashes[slot], slot)
            # First counts, then fills a table of the right size.
            for turn in range(2):
                if turn == 1:
                    self._reserve(pairs, tokens.size)
                with nogil:
                    for slot in range(tokens.size):
                        token = tokens.blob + tokens.starts[slot]
                        length = <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot])
                        if barred[slot] or length < 2:
                            continue
                        for cut in range(length):
                            prefixes[cut + 1] = prefixes[cut] * multiplier + token[cut] + 1
                        for cut in range(1, length):
                            left = _look(table, capacity - 1, hashes, prefixes[cut], tokens, token, cut)
                            if left < 0 or (barred[left] and cut > 1):
                                continue
                            suffix = prefixes[length] - prefixes[cut] * powers[length - cut]
                            right = _look(table, capacity - 1, hashes, suffix, tokens, token + cut, length - cut)
                            if right < 0 or (barred[right] and length - cut > 1):
                                continue
                            if turn == 0:
                                pairs += 1
                            else:
                                self._add(tokens.ids[left], tokens.ids[right], <uint32_t> slot, tokens.ids[slot])
        finally:
            free(prefixes)
            free(powers)
            free(hashes)
            free(table)
            free(barred)
        return 0

    cdef uint32_t find(self, token_t left, token_t right) noexcept nogil:
        cdef uint64_t pair = <uint64_t> left << 32 | right
        cdef uint64_t at
        cdef merge_entry* entry
        if left < LOW_IDS and right < LOW_IDS:
            return self.low_pairs[left * LOW_IDS + right]
        at = bp_mix(pair)
        if not self.sieve[(at & self.sieve_mask) >> 6] >> (at & 63) & 1:
            return NO_MERGE
        at >>= 24
        while True:
            entry = self.entries + (at & self.mask)
            if entry.pair == pair or entry.rank == NO_MERGE:
                return entry.rank
            at += 1

    cdef Py_ssize_t merge(self, merge_room* room, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        cdef token_t* ids = room.ids
        cdef uint32_t lowest = NO_MERGE, rank = NO_MERGE
        for i in range(n - 1):
            if i == 0 or ids[i] != ids[i - 1] or ids[i] != ids[i + 1]:   # not inside a run of one token
                rank = self.find(ids[i], ids[i + 1])
            room.ranks[i] = rank
            lowest = min(lowest, rank)
        if n > SCAN_LIMIT:
            n = self._merge_by_passes(ids, room.ranks, n, &lowest)
        if lowest == NO_MERGE:
            return n
        if n <= SCAN_LIMIT:
            return self._merge_by_scan(ids, room.ranks, n)
        return self._merge_by_heap(room, n)

    # All three take ids and the ranks of their n - 1 pairs.

    cdef Py_ssize_t _merge_by_passes(self, token_t* ids, uint32_t* ranks, Py_ssize_t n,
                                     uint32_t* lowest) noexcept nogil:
        # INOUT: *lowest, the lowest rank there is.
        cdef Py_ssize_t i, kept, found = 0
        cdef uint64_t left_pair, right_pair, pair
        cdef uint32_t left_rank, right_rank, this, following
        cdef token_t joined
        cdef bint ordered = True
        this = lowest[0]
        for i in range(n - 1):
            found += ranks[i] == this
        # Of pairs that overlap (x x x) only half are joined.
        while ordered and n > SCAN_LIMIT and this != NO_MERGE and found * PASS_SHARE >= n:
            joined = self.joined[this]
            left_pair = right_pair = 0
            left_rank = right_rank = NO_MERGE
            following = NO_MERGE
            found = i = kept = 0
            ranks[n - 1] = NO_MERGE
            while i < n:
                if ranks[i] == this and ordered:
                    ids[kept] = joined
                    if kept > 0:
                        pair = <uint64_t> ids[kept - 1] << 32 | joined
                        if pair != left_pair or left_pair == 0:
                            left_pair = pair
                            left_rank = self.find(ids[kept - 1], joined)
                        ranks[kept - 1] = left_rank
                        ordered = left_rank > this
                    ranks[kept] = NO_MERGE
                    if i + 2 < n:
                        pair = <uint64_t> joined << 32 | ids[i + 2]
                        if pair != right_pair or right_pair == 0:
                            right_pair = pair
                            right_rank = self.find(joined, ids[i + 2])
                        ranks[kept] = right_rank
                        ordered = ordered and right_rank > this
                    i += 2
                else:
                    ids[kept] = ids[i]
                    ranks[kept] = ranks[i]
                    i += 1
                if kept > 0 and ranks[kept - 1] <= following:   # nothing changes it any more in this pass
                    found = found + 1 if ranks[kept - 1] == following else 1
                    following = ranks[kept - 1]
                kept += 1
            n = kept
            this = following
        lowest[0] = this
        return n

    cdef Py_ssize_t _merge_by_scan(self, token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i, best
        cdef uint32_t lowest
        while n > 1:
            lowest = NO_MERGE
            best = 0
            for i in range(n - 1):
                if ranks[i] < lowest:
                    lowest = ranks[i]
                    best = i
            if lowest == NO_MERGE:
                break
            n -= 1
            ids[best] = self.joined[lowest]
            for i in range(best + 1, n):
                ids[i] = ids[i + 1]
            for i in range(best + 1, n - 1):
                ranks[i] = ranks[i + 1]
            if best + 1 < n:
                ranks[best] = self.find(ids[best], ids[best + 1])
            if best > 0:
                ranks[best - 1] = self.find(ids[best - 1], ids[best])
        return n

    cdef Py_ssize_t _merge_by_heap(self, merge_room* room, Py_ssize_t n) noexcept nogil:
        cdef merge_node* nodes
        cdef merge_node* node
        cdef merge_node* other
        cdef uint64_t* heap
        cdef Py_ssize_t size = 0, i, kept = 0
        cdef uint64_t top
        cdef uint32_t at
        if n >= <Py_ssize_t> NOWHERE or not _reserve_nodes(room, n) or not _reserve_heap(room, n + 2):
            return -1
        nodes = room.nodes
        heap = room.heap
        for i in range(n):
            nodes[i].id = room.ids[i]
            nodes[i].rank = room.ranks[i] if i + 1 < n else NO_MERGE
            nodes[i].before = <uint32_t> (i - 1) if i else NOWHERE
            nodes[i].behind = <uint32_t> (i + 1) if i + 1 < n else NOWHERE
            if nodes[i].rank != NO_MERGE:
                heap[size] = <uint64_t> nodes[i].rank << 32 | <uint64_t> i
                size += 1
        for i in range(size // 2 - 1, -1, -1):
            bp_sift_down(heap, size, i)
        while size:
            top = heap[0]
            size -= 1
            if size:
                heap[0] = heap[size]
                bp_sift_down(heap, size, 0)
            at = <uint32_t> top
            node = nodes + at
            if node.rank == NO_MERGE or node.rank != top >> 32:
                continue                       # the pair that stood here is gone
            other = nodes + node.behind
            node.id = self.joined[node.rank]
            other.rank = NO_MERGE            # joined to its left: no pair starts there any more
            node.behind = other.behind
            node.rank = NO_MERGE
            if not _reserve_heap(room, size + 2):
                return -1
            heap = room.heap
            if node.behind != NOWHERE:
                other = nodes + node.behind
                other.before = at
                node.rank = self.find(node.id, other.id)
                size = bp_push(heap, size, node.rank, at)
            if node.before != NOWHERE:
                other = nodes + node.before
                other.rank = self.find(other.id, node.id)
                size = bp_push(heap, size, other.rank, node.before)
        at = 0
        while at != NOWHERE:
            room.ids[kept] = nodes[at].id
            kept += 1
            at = nodes[at].behind
        return kept


cdef uint64_t _polynomial(const uint8_t* data, Py_ssize_t length, uint64_t multiplier) noexcept nogil:
    cdef uint64_t value = 0
    cdef Py_ssize_t i
    for i in range(length):
        value = value * multiplier + data[i] + 1
    return value


cdef void _place(uint32_t* table, uint64_t mask, uint64_t hashed, Py_ssize_t slot) noexcept nogil:
    cdef uint64_t at = bp_mix(hashed) >> 24
    while table[at & mask]:
        at += 1
    table[at & mask] = <uint32_t> (slot + 1)


cdef Py_ssize_t _look(uint32_t* table, uint64_t mask, uint64_t* hashes, uint64_t hashed, TokenTable tokens,
                      const uint8_t* data, Py_ssize_t length) noexcept nogil:
    cdef uint64_t at = bp_mix(hashed) >> 24
    cdef Py_ssize_t slot
    while True:
        slot = <Py_ssize_t> table[at & mask] - 1
        if slot < 0:
            return -1
        if (hashes[slot] == hashed and <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot]) == length
                and memcmp(tokens.blob + tokens.starts[slot], data, length) == 0):
            return slot
        at += 1
