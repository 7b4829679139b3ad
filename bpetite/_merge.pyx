"""Merging of token ids by a merge table, and the join of their bytes that decoding asks for.

Merging. Of all neighbours that have a rank, the pair of lowest rank becomes one token, the leftmost such pair first,
until none has a rank. Three ways do it:

- Few tokens: keep the rank of each pair of neighbours in an array and scan it for the lowest. It is quadratic, but
  needs no bookkeeping, and pre-tokens are short.
- Many: passes over the array, each joining all pairs of the lowest rank from left to right. A pass is worth it only
  while it makes the array shorter by a fixed share, as it does in long runs of few letters, so all passes together are
  linear. They end where a joined pair has a lower rank than the pass, which merge lists not made by training allow.
- What is left then goes to a linked list and a heap of (rank, position), whose entries are checked when they are
  popped: n log n for any text.

Rejected: the method that takes the longest token and checks compatible neighbours. It is linear, but exact only for
vocabularies in which every token is reached by merges of earlier ones, and those that people bring are not always so.

The table is one open-addressing hash table, pair -> rank, and an array rank -> resulting id; a dict of tuples would
need the interpreter lock and three allocations per pair. It does not fit into the processor's caches beside everything
else, so most look-ups never reach it: pairs of ids below 256, the single bytes in most vocabularies, have a small table
of their own, and a Bloom filter with one hash function answers for most pairs that have no rank. Together they save a
quarter of the time that the new words of a text take.

The module knows ids and bytes, not vocabularies: bpetite.vocabulary fills the merge table and the byte table.
"""
cimport cython
from cpython.array cimport array, clone
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .headers.bytes cimport bp_mix
from .headers.heap cimport bp_push, bp_sift_down
from .headers.join cimport BP_HEAD, BP_LONG_TOKEN, BP_NOT_ASCII, bp_head
from .headers.memory cimport bp_grow
from .headers.types cimport token_t

from array import array as new_array

cdef uint32_t NO_MERGE = <uint32_t> -1
cdef uint32_t NOWHERE = <uint32_t> -1


cdef bint space_reserve(merge_space* space, Py_ssize_t n) noexcept nogil:
    cdef uint64_t of_ids = space.capacity, of_ranks = space.capacity
    if <uint64_t> n <= space.capacity:
        return True
    if (bp_grow(<void**> &space.ids, &of_ids, n, sizeof(token_t)) < 0
            or bp_grow(<void**> &space.ranks, &of_ranks, n, sizeof(uint32_t)) < 0):
        return False
    space.capacity = of_ranks
    return True


cdef void space_free(merge_space* space) noexcept nogil:
    free(space.ids)
    free(space.ranks)
    free(space.nodes)
    free(space.heap)
    memset(space, 0, sizeof(merge_space))


@cython.final
cdef class MergeTable:
    """Pair of token ids -> (rank, id of the token that the pair becomes); immutable once it is filled.

    ``MergeTable()`` has no merges; :mod:`bpetite.vocabulary._merge_builder` fills one from a merge list or from ranks.

    >>> from bpetite import Tokenizer
    >>> table = Tokenizer.train("ab ab ab", 258).to_vocab().merge_table
    >>> table.get(97, 98)
    (0, 256)
    """

    def __dealloc__(self):
        free(self.entries)
        free(self.low_pairs)
        free(self.filter)
        free(self.joined)

    def __len__(self):
        return self.size

    def get(self, token_t left, token_t right):
        """(rank, resulting id) of a pair, or None."""
        cdef uint32_t rank = self.find(left, right) if self.size else NO_MERGE
        return None if rank == NO_MERGE else (rank, self.joined[rank])

    def results(self):
        """uint32 ids as an ``array('I')``: what each merge gives, in rank order; for a table made of a list."""
        cdef array made = clone(new_array("I"), self.ranks, False)
        if self.ranks:
            memcpy(made.data.as_voidptr, self.joined, self.ranks * sizeof(token_t))
        return made

    def apply(self, const uint32_t[::1] ids not None):
        """Merge token ids: the lowest rank first, the leftmost first, until no pair has a rank.

        Args:
            ids: uint32[n], an ``array('I')`` or a NumPy array; n is less than 2^32 - 1.

        Returns:
            The ids that are left, as an ``array('I')``.

        >>> from array import array
        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).to_vocab().merge_table.apply(array("I", list(b"ab ab")))
        array('I', [256, 257])
        """
        cdef merge_space space
        cdef Py_ssize_t n = ids.shape[0]
        cdef array merged
        memset(&space, 0, sizeof(merge_space))
        try:
            with nogil:
                if not space_reserve(&space, n):
                    n = -1
                elif n:
                    memcpy(space.ids, &ids[0], n * sizeof(token_t))
                    n = self.merge(&space, n)
            if n < 0:
                raise MemoryError("no memory for merging")
            merged = clone(new_array("I"), n, False)
            if n:
                memcpy(merged.data.as_voidptr, space.ids, n * sizeof(token_t))
            return merged
        finally:
            space_free(&space)

    cdef int reserve(self, Py_ssize_t pairs, Py_ssize_t ranks) except -1:
        cdef uint64_t capacity = 16, i
        if self.entries != NULL:
            raise TypeError("a merge table is filled once")
        while capacity < 2 * <uint64_t> pairs:
            capacity *= 2
        self.entries = <merge_entry*> malloc(capacity * sizeof(merge_entry))
        self.joined = <token_t*> malloc((ranks + 1) * sizeof(token_t))
        self.low_pairs = <uint32_t*> malloc(LOW_IDS * LOW_IDS * sizeof(uint32_t))
        self.filter = <uint64_t*> calloc(capacity // 16, sizeof(uint64_t))
        self.filter_mask = 4 * capacity - 1
        if self.entries == NULL or self.joined == NULL or self.low_pairs == NULL or self.filter == NULL:
            raise MemoryError()
        memset(self.low_pairs, 0xFF, LOW_IDS * LOW_IDS * sizeof(uint32_t))
        self.mask = capacity - 1
        self.ranks = ranks
        for i in range(capacity):
            self.entries[i].pair = 0
            self.entries[i].rank = NO_MERGE
        return 0

    cdef bint add(self, token_t left, token_t right, uint32_t rank, token_t joined) noexcept nogil:
        cdef uint64_t pair = <uint64_t> left << 32 | right
        cdef uint64_t at = bp_mix(pair) >> 24
        self.joined[rank] = joined
        while self.entries[at & self.mask].rank != NO_MERGE:
            if self.entries[at & self.mask].pair == pair:
                return False
            at += 1
        self.entries[at & self.mask].pair = pair
        self.entries[at & self.mask].rank = rank
        at = bp_mix(pair) & self.filter_mask
        self.filter[at >> 6] |= <uint64_t> 1 << (at & 63)
        if left < LOW_IDS and right < LOW_IDS:
            self.low_pairs[left * LOW_IDS + right] = rank
        self.size += 1
        return True

    cdef uint32_t find(self, token_t left, token_t right) noexcept nogil:
        cdef uint64_t pair = <uint64_t> left << 32 | right
        cdef uint64_t at
        cdef merge_entry* entry
        if left < LOW_IDS and right < LOW_IDS:
            return self.low_pairs[left * LOW_IDS + right]
        at = bp_mix(pair)
        if not self.filter[(at & self.filter_mask) >> 6] >> (at & 63) & 1:
            return NO_MERGE
        at >>= 24
        while True:
            entry = self.entries + (at & self.mask)
            if entry.pair == pair or entry.rank == NO_MERGE:
                return entry.rank
            at += 1

    cdef Py_ssize_t merge(self, merge_space* space, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        cdef token_t* ids = space.ids
        cdef uint32_t lowest = NO_MERGE, rank = NO_MERGE
        if self.size == 0:
            return n
        for i in range(n - 1):
            if i == 0 or ids[i] != ids[i - 1] or ids[i] != ids[i + 1]:   # not inside a run of one token
                rank = self.find(ids[i], ids[i + 1])
            space.ranks[i] = rank
            lowest = min(lowest, rank)
        if n > SCAN_LIMIT:
            n = self._merge_by_passes(ids, space.ranks, n, &lowest)
        if lowest == NO_MERGE:
            return n
        if n <= SCAN_LIMIT:
            return self._merge_by_scan(ids, space.ranks, n)
        return self._merge_by_heap(space, n)

    # All three take ids and the ranks of their n - 1 pairs, and return how many ids are left.

    cdef Py_ssize_t _merge_by_passes(self, token_t* ids, uint32_t* ranks, Py_ssize_t n,
                                     uint32_t* lowest) noexcept nogil:
        # INOUT: *lowest, the lowest rank there is.
        cdef merge_pass step = merge_pass(lowest[0], 0, True)
        cdef Py_ssize_t i
        for i in range(n - 1):
            step.pairs += ranks[i] == step.rank
        # Of pairs that overlap (x x x) only half are joined, so a pass removes at least pairs / 2 ids.
        while step.ordered and n > SCAN_LIMIT and step.rank != NO_MERGE and step.pairs * PASS_SHARE >= n:
            n = self._join_pass(ids, ranks, n, &step)
        lowest[0] = step.rank
        return n

    cdef Py_ssize_t _join_pass(self, token_t* ids, uint32_t* ranks, Py_ssize_t n, merge_pass* step) noexcept nogil:
        """Join all pairs of one rank from left to right, in place.

        Invariant: ids[0:kept] and ranks[0:kept] are final but for the last rank; ids[i:n] and ranks[i:n] are unread.
        INOUT: *step, the pass to do, then the one to do next.
        """
        cdef Py_ssize_t i = 0, kept = 0
        cdef uint32_t rank = step.rank
        cdef token_t joined = self.joined[rank]
        cdef known_pair left = known_pair(0, NO_MERGE), right = known_pair(0, NO_MERGE)
        step.rank = NO_MERGE
        step.pairs = 0
        ranks[n - 1] = NO_MERGE
        while i < n:
            if ranks[i] == rank and step.ordered:
                ids[kept] = joined
                if kept > 0:
                    ranks[kept - 1] = self._find_again(ids[kept - 1], joined, &left)
                    step.ordered = ranks[kept - 1] > rank
                ranks[kept] = NO_MERGE
                if i + 2 < n:
                    ranks[kept] = self._find_again(joined, ids[i + 2], &right)
                    step.ordered = step.ordered and ranks[kept] > rank
                i += 2
            else:
                ids[kept] = ids[i]
                ranks[kept] = ranks[i]
                i += 1
            if kept > 0 and ranks[kept - 1] <= step.rank:   # nothing in this pass changes it any more
                step.pairs = step.pairs + 1 if ranks[kept - 1] == step.rank else 1
                step.rank = ranks[kept - 1]
            kept += 1
        return kept

    cdef inline uint32_t _find_again(self, token_t left, token_t right, known_pair* known) noexcept nogil:
        """`find`, with the pair asked for last remembered: in a run of few letters it is nearly always the same."""
        cdef uint64_t pair = <uint64_t> left << 32 | right
        if pair != known.pair or pair == 0:
            known.pair = pair
            known.rank = self.find(left, right)
        return known.rank

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

    cdef Py_ssize_t _merge_by_heap(self, merge_space* space, Py_ssize_t n) noexcept nogil:
        cdef merge_node* nodes
        cdef merge_node* node
        cdef merge_node* other
        cdef uint64_t* heap
        cdef Py_ssize_t size = 0, i, kept = 0
        cdef uint64_t top
        cdef uint32_t at
        if (n >= <Py_ssize_t> NOWHERE
                or bp_grow(<void**> &space.nodes, &space.node_capacity, n, sizeof(merge_node)) < 0
                or bp_grow(<void**> &space.heap, &space.heap_capacity, n + 2, sizeof(uint64_t)) < 0):
            return -1
        nodes = space.nodes
        heap = space.heap
        for i in range(n):
            nodes[i].id = space.ids[i]
            nodes[i].rank = space.ranks[i] if i + 1 < n else NO_MERGE
            nodes[i].previous = <uint32_t> (i - 1) if i else NOWHERE
            nodes[i].next = <uint32_t> (i + 1) if i + 1 < n else NOWHERE
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
                continue                       # the pair that was here is gone
            other = nodes + node.next
            node.id = self.joined[node.rank]
            other.rank = NO_MERGE              # it is joined to its left: no pair starts with it any more
            node.next = other.next
            node.rank = NO_MERGE
            if bp_grow(<void**> &space.heap, &space.heap_capacity, size + 2, sizeof(uint64_t)) < 0:
                return -1
            heap = space.heap
            if node.next != NOWHERE:
                other = nodes + node.next
                other.previous = at
                node.rank = self.find(node.id, other.id)
                size = bp_push(heap, size, node.rank, at)
            if node.previous != NOWHERE:
                other = nodes + node.previous
                other.rank = self.find(other.id, node.id)
                size = bp_push(heap, size, other.rank, node.previous)
        at = 0
        while at != NOWHERE:
            space.ids[kept] = nodes[at].id
            kept += 1
            at = nodes[at].next
        return kept


@cython.final
cdef class ByteTable:
    """The bytes of tokens laid out for joining, by the position of each token in the table.

    The first sixteen bytes of each token lie in an array of their own, beside one of two bytes each with the size and
    whether the token is ASCII: nearly all tokens are copied as sixteen bytes at once, whatever their size.
    """

    def __dealloc__(self):
        free(self.heads)
        free(self.sizes)

    cdef int fill(self, object owner, const uint8_t* blob, const uint64_t* starts, const uint32_t* slot_of,
                  const token_t* positions, Py_ssize_t tokens, size_t size) except -1:
        cdef Py_ssize_t slot, position
        cdef uint64_t length, i
        cdef const uint8_t* token
        cdef uint16_t not_ascii
        if self.heads != NULL:
            raise TypeError("a byte table is filled once")
        self.heads = <bp_head*> calloc(size + 1, sizeof(bp_head))
        self.sizes = <uint16_t*> calloc(size + 1, sizeof(uint16_t))
        if self.heads == NULL or self.sizes == NULL:
            raise MemoryError()
        self.owner = owner
        self.joiner.heads = self.heads
        self.joiner.sizes = self.sizes
        self.joiner.starts = starts
        self.joiner.blob = blob
        self.joiner.slot_of = slot_of
        self.joiner.size = size
        for slot in range(tokens):
            position = slot if positions == NULL else positions[slot]
            token = blob + starts[slot]
            length = starts[slot + 1] - starts[slot]
            memcpy(self.heads[position].bytes, token, min(length, <uint64_t> BP_HEAD))
            not_ascii = 0
            for i in range(length):
                if token[i] >= 0x80:
                    not_ascii = BP_NOT_ASCII
                    break
            self.sizes[position] = <uint16_t> min(length, <uint64_t> BP_LONG_TOKEN) | not_ascii
        return 0
