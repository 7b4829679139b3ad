"""BPE on arrays: merging of token ids by a merge table, and the join of their bytes.

**Merging.** The neighbouring pair of lowest rank becomes one token, among equals the leftmost pair first, until no pair
has a rank. A text has been cut into words by then (core/_encode.pyx), and these are merged in one of three ways, in the
order of reading:

- `merge_words`: the new words of a text, of up to 63 ids, in parallel (merge_words.h), which saves up to half of the
  time, since the look-ups of one word need not wait for those of another.
- `merge_few`: one word, up to 96 ids. The rank of each pair of neighbours is in an array that is scanned for the
  lowest. It is quadratic, but needs no bookkeeping.
- `merge_by_passes`, then `merge_by_heap`: more ids. Each pass joins all pairs of the lowest rank from left to right, as
  long as a pass makes the array shorter by a fixed share, as in runs of few letters; so all passes together are linear.
  They end when a joined pair has a lower rank than the pass, which merge lists not made by training allow. What is left
  then is a linked list with a heap of (rank, position), whose entries are checked when they are popped: n log n for any
  text, 28 bytes of memory an id.

Rejected: the method that takes the longest token and checks compatible neighbours. It is linear, but exact only if
merges of earlier tokens reach every token, and the vocabularies that people bring do not always have that property.

**Dropout** (BPE-dropout): each step drops every occurrence of a pair that has a rank with probability p, independently,
and joins the best pair that is left; without such a pair, merging ends. This is algorithm 1 of the paper;
``tests/support/oracles.py`` defines it by enumeration. A coin for each candidate is not needed. In the order of rank
and position, the number of candidates that are dropped before the first survivor has a geometric distribution, so a
step draws one number, k, and joins candidate k. The candidates are in a heap, from which a step moves as many as it
needs to a sorted array, where they stay: each leaves the heap once. A step so moves some 1 / (1 - p) entries in that
array. The generator is SplitMix64 (Steele, Lea and Flood 2014). It starts anew for each pre-token, from the seed, the
number of the text in its batch, and the position of the pre-token, so neither threads nor the order of the work matter.
A draw compares 53 bits with powers of p, multiplied in a fixed order: the same on every machine.
Source: I. Provilkov, D. Emelianenko and E. Voita, "BPE-Dropout: Simple and Effective Subword Regularization", ACL 2020

The table is C (pairs.h); a dict of tuples would need the interpreter lock and three allocations per pair. Its small
part and its filter save a quarter of the time of a new word that is merged alone.

**Joining.** Decoding copies the bytes of tokens one after the other (join.h): their sizes give the length, then there
is one allocation and one copy.
"""
cimport cython
from cpython.array cimport array, clone
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from .headers cimport (
    BP_NO_MERGE, bp_close_gap, bp_grow, bp_pair_rank, bp_pairs, bp_pairs_add, bp_pairs_free, bp_pairs_init, bp_push,
    bp_secret, bp_sift_down, bp_watch, bp_watch_begin, bp_watch_check, bp_work, draw_secret, token_t,
)

cdef extern from "headers/merge_words.h" nogil:
    void bp_add_word(const bp_pairs* pairs, bp_words* all, bp_word* word, size_t size) noexcept
    void bp_merge_words(const bp_pairs* pairs, bp_words* all) noexcept

cdef extern from "headers/join.h" nogil:
    enum:
        BP_HEAD
        BP_LONG_TOKEN
    size_t bp_slot(const bp_joiner* joiner, uint32_t position) noexcept
    int64_t bp_join_size(const bp_joiner* joiner, const uint32_t* positions, Py_ssize_t n, unsigned* not_ascii,
                         uint32_t* unknown) noexcept
    uint8_t* bp_join(const bp_joiner* joiner, const uint32_t* positions, Py_ssize_t n, uint8_t* at, uint8_t* end,
                     unsigned not_ascii) noexcept

from array import array as new_array

cdef enum:
    SCAN_LIMIT = 96    # up to this many tokens are merged by scanning for the lowest rank
    PASS_SHARE = 16    # more tokens are merged by passes, while the pairs of a pass are at least one in PASS_SHARE
    HEAP_STEPS = 4096  # tokens taken from the heap between two reports of work
    DROPOUT_STEPS = 1024       # the same with dropout
    DROPOUT_WORK = 64          # bytes that one such step counts for

cdef uint32_t NOWHERE = <uint32_t> -1
cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15
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

    def apply(self, const uint32_t[::1] ids not None):
        """Merge token ids: the lowest rank first, the leftmost first, until no pair has a rank.

        Args:
            ids: uint32[n], an ``array('I')`` or a NumPy array; n is less than 2^32 - 1.

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
        memset(&space, 0, sizeof(merge_space))
        bp_watch_begin(&watch, NULL)
        try:
            with nogil:
                if not space_reserve(&space, n):
                    n = -1
                elif n:
                    memcpy(space.ids, &ids[0], n * sizeof(token_t))
                    n = self.merge(&space, n, &watch)
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

    cdef Py_ssize_t merge(self, merge_space* space, Py_ssize_t n, bp_watch* watch) noexcept nogil:
        if self.size == 0 or n < 2:
            return n
        if bp_grow(<void**> &space.ranks, &space.rank_capacity, n, sizeof(uint32_t)) < 0:
            return -1
        rank_pairs(self, space.ids, space.ranks, n)
        if n <= SCAN_LIMIT:
            return merge_few(self, space.ids, space.ranks, n)
        n = merge_by_passes(self, space.ids, space.ranks, n, watch)
        return n if n < 0 else merge_by_heap(self, space, n, watch)

    cdef void add_word(self, bp_words* words, bp_word* word, size_t size) noexcept nogil:
        bp_add_word(&self.pairs, words, word, size)

    cdef void merge_words(self, bp_words* words) noexcept nogil:
        bp_merge_words(&self.pairs, words)


cdef void rank_pairs(MergeTable table, const token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil:
    """OUT: the ranks of n - 1 pairs."""
    cdef Py_ssize_t i
    for i in range(n - 1):
        if i == 0 or ids[i] != ids[i - 1] or ids[i] != ids[i + 1]:
            ranks[i] = table.find(ids[i], ids[i + 1])
        else:                                  # inside a run of one token
            ranks[i] = ranks[i - 1]


cdef Py_ssize_t merge_few(MergeTable table, token_t* ids, uint32_t* ranks, Py_ssize_t n) noexcept nogil:
    """Merge up to SCAN_LIMIT ids. IN: the ranks of the n - 1 pairs; overwritten."""
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
        ids[best] = table.pairs.joined[lowest >> 32]
        bp_close_gap(ids, ranks, best + 1, n)
        if best + 1 < n:
            ranks[best] = table.find(ids[best], ids[best + 1])
        if best > 0:
            ranks[best - 1] = table.find(ids[best - 1], ids[best])
    return n


cdef Py_ssize_t merge_by_passes(MergeTable table, token_t* ids, uint32_t* ranks, Py_ssize_t n,
                                bp_watch* watch) noexcept nogil:
    """Join by passes while they are worth it. INOUT: ids and the ranks of their pairs; returns like `merge`."""
    cdef merge_pass step = merge_pass(BP_NO_MERGE, 0, True)
    cdef Py_ssize_t i
    for i in range(n - 1):
        step.rank = min(step.rank, ranks[i])
    for i in range(n - 1):
        step.pairs += ranks[i] == step.rank
    # Overlapping pairs (x x x) lose half of their joins, so a pass removes at least pairs / 2 ids.
    while step.ordered and step.rank != BP_NO_MERGE and step.pairs * PASS_SHARE >= n:
        if bp_work(watch, n):
            return -1
        n = join_pass(table, ids, ranks, n, &step)
    return n


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


cdef Py_ssize_t fill_heap(merge_space* space, Py_ssize_t n) noexcept nogil:
    """Lay out the list and the heap of the pairs of n ids, and return the size of the heap; -1 without memory."""
    cdef Py_ssize_t size = 0, i
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
        nodes[i] = merge_node(rank, space.ids[i], <uint32_t> (i - 1) if i else NOWHERE,
                              <uint32_t> (i + 1) if i + 1 < n else NOWHERE)
        heap[size] = <uint64_t> rank << 32 | <uint64_t> i
        size += rank != BP_NO_MERGE
    for i in range(size // 2 - 1, -1, -1):
        bp_sift_down(heap, size, i)
    return size


cdef Py_ssize_t merge_by_heap(MergeTable table, merge_space* space, Py_ssize_t n, bp_watch* watch) noexcept nogil:
    """Join the lowest rank of a heap, until none is left. INOUT: the ids of the space; returns like `merge`."""
    cdef merge_node* nodes
    cdef merge_node* node
    cdef merge_node* other
    cdef uint64_t* heap
    cdef Py_ssize_t size = fill_heap(space, n), kept = 0, steps = 0
    cdef uint64_t top
    cdef uint32_t at
    nodes, heap = space.nodes, space.heap
    if size < 0:
        return -1
    while size:
        steps += 1
        if steps & (HEAP_STEPS - 1) == 0 and bp_work(watch, 8 * HEAP_STEPS):
            return -1
        top = heap[0]
        size -= 1
        if size:
            heap[0] = heap[size]
            bp_sift_down(heap, size, 0)
        at = <uint32_t> top
        node = nodes + at
        if node.rank == BP_NO_MERGE or node.rank != top >> 32:
            continue                       # the pair that was here is gone
        other = nodes + node.next
        node.id = table.pairs.joined[node.rank]
        other.rank = BP_NO_MERGE           # it is joined to its left: no pair starts with it any more
        node.next = other.next
        node.rank = BP_NO_MERGE
        if bp_grow(<void**> &space.heap, &space.heap_capacity, size + 2, sizeof(uint64_t)) < 0:
            return -1
        heap = space.heap
        if node.next != NOWHERE:
            other = nodes + node.next
            other.previous = at
            node.rank = table.find(node.id, other.id)
            size = bp_push(heap, size, node.rank, at)
        if node.previous != NOWHERE:
            other = nodes + node.previous
            other.rank = table.find(other.id, node.id)
            size = bp_push(heap, size, other.rank, node.previous)
    at = 0
    while at != NOWHERE:
        space.ids[kept] = nodes[at].id
        kept += 1
        at = nodes[at].next
    return kept


@cython.final
cdef class ByteJoin:
    """Joins the bytes of tokens.

    One array holds the first sixteen bytes of each token, a second one its size and whether it is ASCII: nearly all
    tokens are copied as sixteen bytes at once, whatever their size. A token has the position of its id in these arrays,
    or of its slot where ids are too sparse for that.
    """

    def __dealloc__(self):
        free(self.joiner.heads)
        free(self.joiner.sizes)

    cdef int fill(self, const token_t* ids, Py_ssize_t tokens, const uint64_t* starts, const uint8_t* blob,
                  const uint32_t* slot_of, size_t id_span) except -1:
        cdef size_t size = id_span if slot_of != NULL else <size_t> tokens
        cdef Py_ssize_t slot, position
        cdef uint64_t length, i
        cdef const uint8_t* token
        cdef uint16_t not_ascii
        self.joiner = bp_joiner(<bp_head*> calloc(size + 1, BP_HEAD), <uint16_t*> calloc(size + 1, sizeof(uint16_t)),
                                starts, blob, slot_of, size)
        if self.joiner.heads == NULL or self.joiner.sizes == NULL:
            raise MemoryError()
        for slot in range(tokens):
            position = ids[slot] if slot_of != NULL else slot
            token = blob + starts[slot]
            length = starts[slot + 1] - starts[slot]
            memcpy(self.joiner.heads + position, token, min(length, <uint64_t> BP_HEAD))
            not_ascii = 0
            for i in range(length):
                if token[i] >= 0x80:
                    not_ascii = BP_NOT_ASCII
                    break
            if length == 0 or length > BP_LONG_TOKEN:
                length = BP_LONG_TOKEN                     # `starts` tells
            self.joiner.sizes[position] = <uint16_t> length | not_ascii
        return 0

    cdef int64_t count(self, const uint32_t* positions, Py_ssize_t n, unsigned* not_ascii,
                       uint32_t* unknown) noexcept nogil:
        return bp_join_size(&self.joiner, positions, n, not_ascii, unknown)

    cdef uint8_t* join(self, const uint32_t* positions, Py_ssize_t n, uint8_t* to, uint8_t* end,
                       bint not_ascii) noexcept nogil:
        return bp_join(&self.joiner, positions, n, to, end, not_ascii)

    cdef Py_ssize_t token_at(self, uint32_t position, const uint8_t** token) noexcept nogil:
        cdef size_t slot, size = self.joiner.sizes[position] & BP_LONG_TOKEN if position < self.joiner.size else 0
        if size == 0:
            return -1
        if size <= BP_HEAD:                        # one cache miss in place of three
            token[0] = <const uint8_t*> (self.joiner.heads + position)
            return size
        slot = bp_slot(&self.joiner, position)
        token[0] = self.joiner.blob + self.joiner.starts[slot]
        return <Py_ssize_t> (self.joiner.starts[slot + 1] - self.joiner.starts[slot])


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    x = (x ^ x >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ x >> 27) * <uint64_t> 0x94D049BB133111EB
    return x ^ x >> 31


@cython.final
cdef class Dropout:
    """BPE-dropout: the probability with which merges are left out, and the seed of the draws."""

    def __cinit__(self, double probability, uint64_t seed):
        cdef int i
        self.probability, self.seed = probability, seed
        for i in range(POWERS):
            self.powers[i] = probability
            probability *= probability


cdef Py_ssize_t count_dropped(Dropout dropout, uint64_t* state, Py_ssize_t candidates) noexcept nogil:
    """The number of candidates that a step drops before its first survivor; `candidates` if it drops them all."""
    cdef double drawn, bound = 1, next_bound
    cdef Py_ssize_t k = 0
    cdef int i, top = 0
    state[0] += GOLDEN
    drawn = <double> (mix(state[0]) >> 11) * (1.0 / 9007199254740992.0)
    if drawn >= dropout.probability:
        return 0
    while (<Py_ssize_t> 1 << top) < candidates:
        top += 1
    for i in range(top, -1, -1):               # the largest k with drawn < probability ** k
        next_bound = bound * dropout.powers[i]
        if drawn < next_bound:
            bound = next_bound
            k += <Py_ssize_t> 1 << i
            if k >= candidates:
                return candidates
    return k


cdef struct candidates:
    # The pairs that have a rank, each as rank << 32 | position of its first token.
    uint64_t* first        # the lowest ones, in order
    Py_ssize_t ordered     # their number
    uint64_t* heap         # the rest; stale pairs stay until they are taken, and none comes twice, since the bytes of
    Py_ssize_t heaped      # the pair at one position grow from step to step
    Py_ssize_t size        # pairs that are not stale


cdef Py_ssize_t merge_with_dropout(Dropout dropout, MergeTable merges, merge_space* space, Py_ssize_t n, uint64_t text,
                                   uint64_t position, bp_watch* watch) noexcept nogil:
    cdef uint64_t state = mix(mix(mix(dropout.seed + GOLDEN) + text + GOLDEN) + position + GOLDEN)
    cdef merge_node* nodes
    cdef candidates pairs
    cdef uint32_t at, other
    cdef Py_ssize_t i, k, left = 0, steps = 0
    if merges.size == 0 or n < 2:
        return n
    # At most n are in order. A step takes one away and adds two at most, so at most 2 n are in the heap.
    if (n >= <Py_ssize_t> NOWHERE or bp_grow(<void**> &space.nodes, &space.node_capacity, n, sizeof(merge_node))
            or bp_grow(<void**> &space.heap, &space.heap_capacity, 3 * n, sizeof(uint64_t))):
        return -1
    nodes = space.nodes
    pairs = candidates(space.heap, 0, space.heap + n, 0, 0)
    for i in range(n):
        nodes[i] = merge_node(BP_NO_MERGE, space.ids[i], <uint32_t> (i - 1) if i else NOWHERE,
                              <uint32_t> (i + 1) if i + 1 < n else NOWHERE)
    for i in range(n - 1):
        add_pair(&pairs, nodes, <uint32_t> i, merges)
        if i % DROPOUT_STEPS == 0 and bp_work(watch, DROPOUT_WORK * DROPOUT_STEPS):
            return -1
    while pairs.size:
        steps += 1
        if steps % DROPOUT_STEPS == 0 and bp_work(watch, DROPOUT_WORK * DROPOUT_STEPS):
            return -1
        k = count_dropped(dropout, &state, pairs.size)
        if k >= pairs.size:
            break
        at = find_pair(&pairs, nodes, k)
        other = nodes[at].next
        nodes[at].id = merges.pairs.joined[nodes[at].rank]
        remove_pair(&pairs, nodes, at)
        remove_pair(&pairs, nodes, other)
        nodes[at].next = nodes[other].next
        if nodes[at].next != NOWHERE:
            nodes[nodes[at].next].previous = at
            add_pair(&pairs, nodes, at, merges)
        other = nodes[at].previous
        if other != NOWHERE:
            remove_pair(&pairs, nodes, other)
            add_pair(&pairs, nodes, other, merges)
    at = 0
    while at != NOWHERE:
        space.ids[left] = nodes[at].id
        left += 1
        at = nodes[at].next
    return left


cdef uint32_t find_pair(candidates* pairs, const merge_node* nodes, Py_ssize_t k) noexcept nogil:
    """The position of pair k, which is below `size`."""
    cdef uint64_t pair
    while pairs.ordered <= k:
        pair = pairs.heap[0]
        pairs.heaped -= 1
        pairs.heap[0] = pairs.heap[pairs.heaped]
        bp_sift_down(pairs.heap, pairs.heaped, 0)
        if nodes[<uint32_t> pair].rank == pair >> 32:
            pairs.first[pairs.ordered] = pair
            pairs.ordered += 1
    return <uint32_t> pairs.first[k]


cdef inline Py_ssize_t place_of(const candidates* pairs, uint64_t pair) noexcept nogil:
    """The number of ordered pairs before a pair."""
    cdef Py_ssize_t low = 0, high = pairs.ordered, middle
    while low < high:
        middle = (low + high) >> 1
        if pairs.first[middle] < pair:
            low = middle + 1
        else:
            high = middle
    return low


cdef void add_pair(candidates* pairs, merge_node* nodes, uint32_t at, MergeTable merges) noexcept nogil:
    """Look up the pair that a token starts, and add it if it has a rank."""
    cdef uint32_t rank = merges.find(nodes[at].id, nodes[nodes[at].next].id)
    cdef uint64_t pair = <uint64_t> rank << 32 | at
    cdef Py_ssize_t i = place_of(pairs, pair)
    nodes[at].rank = rank
    pairs.size += rank != BP_NO_MERGE
    if i == pairs.ordered:
        pairs.heaped = bp_push(pairs.heap, pairs.heaped, rank, at)
        return
    memmove(pairs.first + i + 1, pairs.first + i, (pairs.ordered - i) * sizeof(uint64_t))
    pairs.first[i] = pair
    pairs.ordered += 1


cdef void remove_pair(candidates* pairs, merge_node* nodes, uint32_t at) noexcept nogil:
    """Remove the pair that a token starts, if it has a rank."""
    cdef uint64_t pair = <uint64_t> nodes[at].rank << 32 | at
    cdef Py_ssize_t i = place_of(pairs, pair)
    pairs.size -= nodes[at].rank != BP_NO_MERGE
    nodes[at].rank = BP_NO_MERGE
    if i < pairs.ordered and pairs.first[i] == pair:
        pairs.ordered -= 1
        memmove(pairs.first + i, pairs.first + i + 1, (pairs.ordered - i) * sizeof(uint64_t))
