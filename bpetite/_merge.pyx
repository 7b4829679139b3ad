"""Merging of token ids by a merge table.

The neighbouring pair of lowest rank becomes one token, among equals the leftmost pair first, until no pair has a rank.

- Few tokens: keep the rank of each pair of neighbours in an array and scan it for the lowest. It is quadratic, but
  needs no bookkeeping, and pre-tokens are short.
- Many tokens are cut into sections, each merged as if it stood alone, with its data in the first caches. The first
  method is passes over the array: each joins all pairs of the lowest rank from left to right, as long as a pass makes
  the array shorter by a fixed share, as in runs of few letters; so all passes together are linear. They end when a
  joined pair has a lower rank than the pass, which merge lists not made by training allow. The second method is a
  linked list and a heap of (rank, position), whose entries are checked when they are popped.

Two neighbouring sections are right unless a merge of the whole text joins a token at the end of one with a token at the
start of the other. As long as none does, the merges of the whole text are those of the sections, in the order of the
highest rank joined in the section so far. So each section records the tokens that have been at either end of it, with
that rank when each came. Two such tokens that existed at the same time would be joined if their pair has a rank below
the one at which the left token is gone, and not above the one at which the right token is gone; at equal ranks the
leftmost is joined first. Without such a pair, nothing is joined across the cut (`apart`). Otherwise the first section
is merged again, longer. Its length grows by factors that grow themselves, so the worst text costs twice as much as one
heap over all of it: n log n.

Merging a few tokens around a place shows a cut that is likely to hold. In periodic text, such as a run of one letter,
it depends on the beginning of the run. There the section itself is merged, by the heap alone, which keeps positions, to
find the ends of its tokens, and the following sections have the length of the one whose cut has held.

Random letters with GPT-2's merges so take 0.08 us a byte; 16 MB of them take 0.43 us a byte with one heap over all.

Rejected: the method that takes the longest token and checks compatible neighbours. It is linear, but exact only if
merges of earlier tokens reach every token, and the vocabularies that people bring do not always have that property.

The table is C (pairs.h); a dict of tuples would need the interpreter lock and three allocations per pair. Its small
part and its filter save a quarter of the time of a new word that is merged alone. The new words of a text are merged in
parallel (merge_words.h), which saves up to half of that time.
"""
cimport cython
from cpython.array cimport array, clone
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset

from .headers cimport (
    BP_NO_MERGE, bp_close_gap, bp_grow, bp_pair_rank, bp_pairs_add, bp_pairs_free, bp_pairs_init, bp_push, bp_secret,
    bp_sift_down, bp_watch, bp_watch_begin, bp_watch_check, bp_work, draw_secret, token_t,
)

from array import array as new_array

cdef enum:
    PASS_SHARE = 16    # more tokens are merged by passes, while the pairs of a pass are at least one in PASS_SHARE
    SECTION = 2048     # tokens of a section: what merging them reads and writes stays in the first caches
    SECTION_GROWTH = 4  # a section that cannot be merged on its own becomes that many times longer
    HEAP_STEPS = 4096  # tokens taken from the heap of a long section between two reports of work
    CUT = 64           # tokens that are merged to see where a section should end
    ALIGN = 256        # tokens at the end of a section of periodic text that may be others than in the whole text
    PERIOD = 32        # ids; a longer period is none

cdef uint32_t NOWHERE = <uint32_t> -1
cdef bp_secret secret = draw_secret()


cdef struct merge_pass:
    uint32_t rank          # of the pairs that are joined
    Py_ssize_t pairs       # their number
    bint ordered           # no joined pair has had a lower rank


cdef struct known_pair:
    uint64_t pair
    uint32_t rank


@cython.final
cdef class MergeTable:
    """Pair of token ids -> (rank, id of the token that the pair becomes); immutable once it is filled.

    ``MergeTable()`` has no merges; :mod:`bpetite.vocabulary._merge_builder` fills one from a merge list or from ranks.

    >>> from bpetite import Tokenizer
    >>> table = Tokenizer.train("ab ab ab", 258).to_vocab().merge_table
    >>> table.get(97, 98)
    (0, 256)
    """

    def __cinit__(self):
        self.pairs.secret = secret

    def __dealloc__(self):
        bp_pairs_free(&self.pairs)

    def __len__(self):
        return self.size

    def get(self, token_t left, token_t right):
        """(rank, resulting id) of a pair, or None."""
        cdef uint32_t rank = self.find(left, right) if self.size else BP_NO_MERGE
        return None if rank == BP_NO_MERGE else (rank, self.pairs.joined[rank])

    def apply(self, const uint32_t[::1] ids not None, *, Py_ssize_t section=SECTION):
        """Merge token ids: the lowest rank first, the leftmost first, until no pair has a rank.

        Args:
            ids: uint32[n], an ``array('I')`` or a NumPy array; n is less than 2^32 - 1.
            section: Ids of a long array that are merged at a time, at least 1; the result does not depend on it.

        Returns:
            The remaining ids, as an ``array('I')``.

        >>> from array import array
        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).to_vocab().merge_table.apply(array("I", list(b"ab ab")))
        array('I', [256, 257])
        """
        cdef merge_space space
        cdef bp_watch watch
        cdef Py_ssize_t n = ids.shape[0]
        cdef array merged
        if section < 1:
            raise ValueError(f"section must be at least 1, not {section}")
        memset(&space, 0, sizeof(merge_space))
        bp_watch_begin(&watch, NULL)
        try:
            with nogil:
                if not space_reserve(&space, n):
                    n = -1
                elif n:
                    memcpy(space.ids, &ids[0], n * sizeof(token_t))
                    n = self.merge(&space, n, &watch, section)
            bp_watch_check(&watch)
            if n < 0:
                raise MemoryError("no memory for merging")
            merged = clone(new_array("I"), n, False)
            if n:
                memcpy(merged.data.as_voidptr, space.ids, n * sizeof(token_t))
            return merged
        finally:
            space_free(&space)

    cdef int reserve(self, Py_ssize_t pairs, Py_ssize_t ranks) except -1:
        cdef bp_secret own
        if self.pairs.entries != NULL:
            raise TypeError("a merge table is filled once")
        self.ranks = ranks
        own = self.pairs.secret                # filling begins with zeros
        if not bp_pairs_init(&self.pairs, &own, pairs, ranks):
            raise MemoryError()
        return 0

    cdef bint add(self, token_t left, token_t right, uint32_t rank, token_t joined) noexcept nogil:
        cdef bint new = bp_pairs_add(&self.pairs, left, right, rank, joined)
        self.size += new
        return new

    cdef uint32_t find(self, token_t left, token_t right) noexcept nogil:
        return bp_pair_rank(&self.pairs, left, right)

    cdef Py_ssize_t merge(self, merge_space* space, Py_ssize_t n, bp_watch* watch,
                          Py_ssize_t section=SECTION) noexcept nogil:
        if self.size == 0 or n < 2:
            return n
        if n > SCAN_LIMIT:
            return merge_by_sections(self, space, n, section, watch)
        if bp_grow(<void**> &space.ranks, &space.rank_capacity, n, sizeof(uint32_t)) < 0:
            return -1
        self.rank_pairs(space.ids, space.ranks, n)
        return self.merge_few(space.ids, space.ranks, n)

    cdef void rank_pairs(self, const token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n - 1):
            if i == 0 or ids[i] != ids[i - 1] or ids[i] != ids[i + 1]:
                ranks[i] = self.find(ids[i], ids[i + 1])
            else:                                  # inside a run of one token
                ranks[i] = ranks[i - 1]

    cdef Py_ssize_t merge_few(self, token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t i, best
        cdef uint64_t each, lowest             # a rank, and where it is: one comparison, without a branch
        while n > 1:
            lowest = <uint64_t> BP_NO_MERGE << 32
            for i in range(n - 1):
                each = <uint64_t> ranks[i] << 32 | <uint64_t> i
                lowest = each if each < lowest else lowest
            if lowest >> 32 == BP_NO_MERGE:
                break
            n -= 1
            best = <Py_ssize_t> <uint32_t> lowest
            ids[best] = self.pairs.joined[lowest >> 32]
            bp_close_gap(ids, ranks, best + 1, n)
            if best + 1 < n:
                ranks[best] = self.find(ids[best], ids[best + 1])
            if best > 0:
                ranks[best - 1] = self.find(ids[best - 1], ids[best])
        return n


cdef Py_ssize_t merge_by_sections(MergeTable table, merge_space* space, Py_ssize_t n, Py_ssize_t size,
                                  bp_watch* watch) noexcept nogil:
    # Invariant: space.ids[0:kept] holds the merged ids of space.ids[0:start], where start belongs to the first section;
    # space.ids[start:n] is unchanged.
    cdef merge_section* section = &space.sections[0]
    cdef merge_section* following = &space.sections[1]
    cdef Py_ssize_t kept = 0, growth = SECTION_GROWTH, stop = cut(table, space, section, size, n, watch)
    cdef bint aligned = False
    if stop < 0 or not merge_alone(table, space, section, 0, stop, n, True, watch):
        return -1
    while section.stop < n:
        stop = 2 * section.stop - section.start
        if (not aligned or stop + CUT > n
                or memcmp(space.ids + section.stop, space.ids + stop, CUT * sizeof(token_t))):
            stop = cut(table, space, following, section.stop + size, n, watch)
        if stop < 0 or not merge_alone(table, space, following, section.stop, stop, n, False, watch):
            return -1
        if apart(table, &section.last, &following.first):
            memcpy(space.ids + kept, section.ids, section.size * sizeof(token_t))
            kept += section.size
            section, following = following, section
            growth = SECTION_GROWTH
            continue
        stop = section.start + growth * (section.stop - section.start)
        aligned = growth == SECTION_GROWTH and periodic(space.ids + section.start, section.stop - section.start)
        if aligned:
            stop = align(table, space, section, n, watch)
            growth += 1                        # so that this is tried once
        else:
            stop = cut(table, space, section, stop, n, watch)
            growth *= growth
        if stop < 0 or not merge_alone(table, space, section, section.start, stop, n, True, watch):
            return -1
    memmove(space.ids + kept, section.ids, section.size * sizeof(token_t))
    return kept + section.size


cdef bint merge_alone(MergeTable table, merge_space* space, merge_section* section, Py_ssize_t start, Py_ssize_t stop,
                      Py_ssize_t n, bint certain, bp_watch* watch) noexcept nogil:
    """Merge ids from start, where a token starts if `certain`, up to stop, n at most.

    Returns False without memory, or after an interruption of the watch.
    """
    cdef uint32_t level = 0
    if bp_work(watch, stop - start) or not load(table, space, section, start, min(stop, n), certain and stop >= n):
        return False
    section.first.count = section.last.count = 0
    edge_put(&section.first, section.ids[0], 0)
    edge_put(&section.last, section.ids[section.size - 1], 0)
    return (merge_by_passes(table, section, space.ranks, &level, watch)
            and merge_by_heap(table, space, section, level, watch))


cdef Py_ssize_t cut(MergeTable table, merge_space* space, merge_section* section, Py_ssize_t stop, Py_ssize_t n,
                    bp_watch* watch) noexcept nogil:
    """A likely end of a token of the whole text after `stop`, found by merging a few ids from there on.

    OUT: section, overwritten but for start and stop. Returns n if stop is not below it, -1 as `merge_alone`.
    """
    cdef Py_ssize_t first = section.start, last = section.stop
    cdef uint32_t at = 0
    if stop >= n:
        return n
    if not (load(table, space, section, stop, min(stop + CUT, n), False)
            and merge_by_heap(table, space, section, 0, watch)):
        return -1
    while at != NOWHERE and at <= CUT // 2:
        at = space.nodes[at].next
    stop = stop + at if at != NOWHERE else section.stop
    section.start, section.stop = first, last
    return stop


cdef Py_ssize_t align(MergeTable table, merge_space* space, merge_section* section, Py_ssize_t n,
                      bp_watch* watch) noexcept nogil:
    """The end of a token, so far from the section's end that earlier tokens are tokens of the whole text.

    OUT: section, overwritten but for start and stop. Returns like `cut`.
    """
    cdef uint32_t at = 0, limit = <uint32_t> (section.stop - section.start) - ALIGN
    if not (load(table, space, section, section.start, section.stop, False)
            and merge_by_heap(table, space, section, 0, watch)):
        return -1
    while space.nodes[at].next < limit:
        at = space.nodes[at].next
    return section.start + at if at else cut(table, space, section, section.stop, n, watch)


cdef bint periodic(const token_t* ids, Py_ssize_t n) noexcept nogil:
    """True if the last ids repeat with a short period, and are enough to align a cut."""
    cdef Py_ssize_t period
    if n <= 2 * ALIGN:
        return False
    ids += n - ALIGN
    for period in range(1, PERIOD + 1):
        if memcmp(ids, ids + period, (ALIGN - period) * sizeof(token_t)) == 0:
            return True
    return False


cdef bint load(MergeTable table, merge_space* space, merge_section* section, Py_ssize_t start, Py_ssize_t stop,
               bint in_place) noexcept nogil:
    cdef Py_ssize_t n = stop - start
    if bp_grow(<void**> &space.ranks, &space.rank_capacity, n, sizeof(uint32_t)) < 0:
        return False
    section.start, section.stop, section.size = start, stop, n
    if in_place:
        section.ids = space.ids + start
    else:
        if bp_grow(<void**> &section.copy, &section.capacity, n, sizeof(token_t)) < 0:
            return False
        section.ids = section.copy
        memcpy(section.ids, space.ids + start, n * sizeof(token_t))
    table.rank_pairs(section.ids, space.ranks, n)
    return True


cdef bint apart(MergeTable table, const merge_edge* last, const merge_edge* first) noexcept nogil:
    """True if no token at the end of one section is ever joined with one at the start of the next."""
    cdef int i, j
    cdef uint32_t i_until, j_until, rank
    if last.count > EDGE_TOKENS or first.count > EDGE_TOKENS:
        return False
    for i in range(last.count):
        i_until = last.since[i + 1] if i + 1 < last.count else BP_NO_MERGE
        for j in range(first.count):
            j_until = first.since[j + 1] if j + 1 < first.count else BP_NO_MERGE
            if max(last.since[i], first.since[j]) <= min(i_until, j_until):
                rank = table.find(last.ids[i], first.ids[j])
                if rank < i_until and rank <= j_until:
                    return False
    return True


cdef bint merge_by_passes(MergeTable table, merge_section* section, uint32_t* ranks, uint32_t* level,
                          bp_watch* watch) noexcept nogil:
    """Join by passes while they are worth it. OUT: the highest rank joined, unchanged without a join."""
    cdef merge_pass step = merge_pass(BP_NO_MERGE, 0, True)
    cdef token_t* ids = section.ids
    cdef Py_ssize_t n = section.size, i
    cdef token_t first, last
    for i in range(n - 1):
        step.rank = min(step.rank, ranks[i])
    for i in range(n - 1):
        step.pairs += ranks[i] == step.rank
    # Overlapping pairs (x x x) lose half of their joins, so a pass removes at least pairs / 2 ids.
    while step.ordered and step.rank != BP_NO_MERGE and step.pairs * PASS_SHARE >= n:
        if bp_work(watch, n):
            return False
        level[0] = step.rank
        first, last = ids[0], ids[n - 1]
        n = join_pass(table, ids, ranks, n, &step)
        if ids[0] != first:
            edge_put(&section.first, ids[0], level[0])
        if ids[n - 1] != last:
            edge_put(&section.last, ids[n - 1], level[0])
    section.size = n
    return True


cdef Py_ssize_t join_pass(MergeTable table, token_t* ids, uint32_t* ranks, Py_ssize_t n,
                          merge_pass* step) noexcept nogil:
    """Join all pairs of one rank from left to right, in place.

    Invariant: ids[0:kept] and ranks[0:kept] are final but for the last rank; ids[i:n] and ranks[i:n] are unread.
    INOUT: *step, the pass to do, then the one to do next.
    """
    cdef Py_ssize_t i = 0, kept = 0
    cdef uint32_t rank = step.rank
    cdef token_t joined = table.pairs.joined[rank]
    cdef known_pair left = known_pair(0, BP_NO_MERGE), right = known_pair(0, BP_NO_MERGE)
    step.rank = BP_NO_MERGE
    step.pairs = 0
    ranks[n - 1] = BP_NO_MERGE
    while i < n:
        if ranks[i] == rank and step.ordered:
            ids[kept] = joined
            if kept > 0:
                ranks[kept - 1] = find_again(table, ids[kept - 1], joined, &left)
                step.ordered = ranks[kept - 1] > rank
            ranks[kept] = BP_NO_MERGE
            if i + 2 < n:
                ranks[kept] = find_again(table, joined, ids[i + 2], &right)
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


cdef inline uint32_t find_again(MergeTable table, token_t left, token_t right, known_pair* known) noexcept nogil:
    """`find`, with the pair asked for last remembered: in a run of few letters it is nearly always the same."""
    cdef uint64_t pair = <uint64_t> left << 32 | right
    if pair != known.pair or pair == 0:
        known.pair = pair
        known.rank = table.find(left, right)
    return known.rank


cdef Py_ssize_t fill_heap(merge_space* space, const merge_section* section) noexcept nogil:
    """Lay out the list and the heap of a section, and return the size of the heap; -1 without memory."""
    cdef Py_ssize_t n = section.size, size = 0, i
    cdef merge_node* nodes
    cdef uint64_t* heap
    cdef uint32_t rank
    if (n >= <Py_ssize_t> NOWHERE
            or bp_grow(<void**> &space.nodes, &space.node_capacity, n, sizeof(merge_node)) < 0
            or bp_grow(<void**> &space.heap, &space.heap_capacity, n + 2, sizeof(uint64_t)) < 0):
        return -1
    nodes, heap = space.nodes, space.heap
    for i in range(n):
        rank = space.ranks[i] if i + 1 < n else BP_NO_MERGE
        nodes[i] = merge_node(rank, section.ids[i], <uint32_t> (i - 1) if i else NOWHERE,
                              <uint32_t> (i + 1) if i + 1 < n else NOWHERE)
        heap[size] = <uint64_t> rank << 32 | <uint64_t> i
        size += rank != BP_NO_MERGE
    for i in range(size // 2 - 1, -1, -1):
        bp_sift_down(heap, size, i)
    return size


cdef bint merge_by_heap(MergeTable table, merge_space* space, merge_section* section, uint32_t level,
                        bp_watch* watch) noexcept nogil:
    """Join the lowest rank of a heap, until none is left. IN: level, the highest rank joined in the section so far."""
    cdef merge_node* nodes
    cdef merge_node* node
    cdef merge_node* other
    cdef uint64_t* heap
    cdef token_t* ids = section.ids
    cdef Py_ssize_t size = fill_heap(space, section), kept = 0, steps = 0
    cdef uint64_t top
    cdef uint32_t at
    nodes, heap = space.nodes, space.heap
    if size < 0:
        return False
    while size:
        steps += 1
        if steps & (HEAP_STEPS - 1) == 0 and bp_work(watch, 8 * HEAP_STEPS):
            return False
        top = heap[0]
        size -= 1
        if size:
            heap[0] = heap[size]
            bp_sift_down(heap, size, 0)
        at = <uint32_t> top
        node = nodes + at
        if node.rank == BP_NO_MERGE or node.rank != top >> 32:
            continue                       # the pair that was here is gone
        level = max(level, node.rank)
        other = nodes + node.next
        node.id = table.pairs.joined[node.rank]
        other.rank = BP_NO_MERGE           # it is joined to its left: no pair starts with it any more
        node.next = other.next
        node.rank = BP_NO_MERGE
        if bp_grow(<void**> &space.heap, &space.heap_capacity, size + 2, sizeof(uint64_t)) < 0:
            return False
        heap = space.heap
        if node.next != NOWHERE:
            other = nodes + node.next
            other.previous = at
            node.rank = table.find(node.id, other.id)
            size = bp_push(heap, size, node.rank, at)
        else:
            edge_put(&section.last, node.id, level)
        if node.previous != NOWHERE:
            other = nodes + node.previous
            other.rank = table.find(other.id, node.id)
            size = bp_push(heap, size, other.rank, node.previous)
        else:
            edge_put(&section.first, node.id, level)
    at = 0
    while at != NOWHERE:
        ids[kept] = nodes[at].id
        kept += 1
        at = nodes[at].next
    section.size = kept
    return True
