"""BPE-dropout: merging that leaves out merges at random.

Each step drops every occurrence of a pair that has a rank with probability p, independently, and joins the best pair
that is left: the lowest rank first, among equals the leftmost. Without such a pair, merging ends. This is algorithm 1
of the paper; ``tests/support/oracles.py`` defines it by enumeration.

A coin for each candidate is not needed. In the order of rank and position, the number of candidates that are dropped
before the first survivor has a geometric distribution, so a step draws one number, k, and joins candidate k. The
candidates are in a heap, from which a step moves as many as it needs to a sorted array, where they stay: each leaves
the heap once. A step so moves some 1 / (1 - p) entries in that array.

The generator is SplitMix64 (Steele, Lea and Flood 2014). It starts anew for each pre-token, from the seed, the number
of the text in its batch, and the position of the pre-token, so neither threads nor the order of the work matter. A draw
compares 53 bits with powers of p, multiplied in a fixed order: the same on every machine.

Source: I. Provilkov, D. Emelianenko and E. Voita, "BPE-Dropout: Simple and Effective Subword Regularization", ACL 2020
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memmove

from .._merge cimport MergeTable, merge_node, merge_space
from ..headers cimport BP_NO_MERGE, bp_grow, bp_push, bp_sift_down, bp_watch, bp_work

from ..errors import check_integer, short_repr

cdef enum:
    STEPS = 1024               # of merging a long pre-token between two reports of work
    STEP_WORK = 64             # bytes that one such step counts for

cdef uint32_t NOWHERE = <uint32_t> -1
cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15


cdef Dropout chosen_dropout(object dropout, object seed, dict kept):
    cdef Dropout chosen
    cdef int i
    if dropout is None or dropout is False:
        if seed is not None:
            raise ValueError("seed is for dropout, and no dropout is given")
        return None
    if dropout is True:
        dropout = kept.get("dropout")
        if dropout is None:
            raise ValueError("dropout=True asks for the dropout of the tokenizer, which has none: give a probability, "
                             "such as dropout=0.1")
    try:
        if isinstance(dropout, (str, bytes)):
            raise TypeError()
        probability = float(dropout)
    except TypeError:
        raise TypeError(f"dropout is a probability, True or None, not {short_repr(dropout)}") from None
    if not 0 <= probability <= 1:
        raise ValueError(f"dropout must be 0 to 1, not {short_repr(dropout)}")
    if seed is None:
        from os import urandom
        seed = int.from_bytes(urandom(8), "little")
    else:
        seed = check_integer("seed", seed, 0, most=0xFFFFFFFFFFFFFFFF, kind="an int or None")
    if probability == 0:
        return None
    chosen = Dropout.__new__(Dropout)
    chosen.probability = probability
    chosen.seed = seed
    for i in range(POWERS):
        chosen.powers[i] = probability
        probability *= probability
    return chosen


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    x = (x ^ x >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ x >> 27) * <uint64_t> 0x94D049BB133111EB
    return x ^ x >> 31


cdef class Dropout:
    """The probability with which merges are left out, and the seed."""

    cdef Py_ssize_t merge(self, MergeTable merges, merge_space* space, Py_ssize_t n, uint64_t text, uint64_t position,
                          bp_watch* watch) noexcept nogil:
        cdef uint64_t state
        if merges.size == 0 or n < 2:
            return n
        state = mix(mix(mix(self.seed + GOLDEN) + text + GOLDEN) + position + GOLDEN)
        return merge_by_heap(self, merges, space, n, state, watch)


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


cdef Py_ssize_t merge_by_heap(Dropout dropout, MergeTable merges, merge_space* space, Py_ssize_t n, uint64_t state,
                              bp_watch* watch) noexcept nogil:
    cdef merge_node* nodes
    cdef candidates pairs
    cdef uint32_t at, other
    cdef Py_ssize_t i, k, left = 0, steps = 0
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
        if i % STEPS == 0 and bp_work(watch, STEP_WORK * STEPS):
            return -1
    while pairs.size:
        steps += 1
        if steps % STEPS == 0 and bp_work(watch, STEP_WORK * STEPS):
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
