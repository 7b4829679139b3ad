"""BPE-dropout: merging that leaves out merges at random.

Each step of merging drops every occurrence of a pair that has a rank with probability p, independently, and joins the
best that is left, the lowest rank first, the leftmost of equals first; where none is left, merging ends. This is
algorithm 1 of the paper; ``reference.dropout_distribution`` is its definition by enumeration.

A coin for each candidate is not needed. In the order of rank and position, the number of candidates that are dropped
before the first that is not has a geometric distribution, so a step draws one number, k, and joins candidate k. Few
tokens are scanned for it. For many, the candidates are in a search tree by rank and position that knows the sizes of
its subtrees (a treap: a heap by random priorities at the same time), which finds, inserts and removes in O(log n)
whatever p is. A heap would have to set k candidates aside in every step, quadratic where p is near 1.

The generator is SplitMix64 (Steele, Lea and Flood 2014). It starts anew for each pre-token, from the seed, the number
of the text in its batch, and the position of the pre-token, so neither threads nor the order of the work matter. A draw
is 53 bits compared with powers of p, multiplied in a fixed order: the same on every machine.

Source: I. Provilkov, D. Emelianenko and E. Voita, "BPE-Dropout: Simple and Effective Subword Regularization", ACL 2020
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from .._merge cimport MergeTable, merge_space
from ..headers cimport bp_mix, bp_secret, bp_watch, bp_work, draw_secret, token_t

from operator import index

from ..errors import show

cdef enum:
    STEPS = 1024               # of merging a long pre-token between two reports of work
    STEP_WORK = 64             # bytes that a step of it counts for

cdef uint32_t NO_MERGE = <uint32_t> -1
cdef uint32_t NOWHERE = <uint32_t> -1
cdef uint64_t GOLDEN = <uint64_t> 0x9E3779B97F4A7C15
cdef bp_secret secret = draw_secret()


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
        raise TypeError(f"dropout is a probability, True or None, not {show(dropout)}") from None
    if not 0 <= probability <= 1:
        raise ValueError(f"dropout must be 0 to 1, not {show(dropout)}")
    if seed is None:
        from os import urandom
        seed = int.from_bytes(urandom(8), "little")
    else:
        try:
            if isinstance(seed, bool):
                raise TypeError()
            seed = index(seed)
        except TypeError:
            raise TypeError(f"seed is an int or None, not {show(seed)}") from None
        if not 0 <= seed < 1 << 64:
            raise ValueError(f"seed must be 0 to 2**64 - 1, not {seed}")
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
        if n <= DROPOUT_SCAN:
            return self._by_scan(merges, space.ids, n, state)
        return self._by_tree(merges, space.ids, n, state, watch)

    cdef Py_ssize_t _dropped(self, uint64_t* state, Py_ssize_t candidates) noexcept nogil:
        cdef double drawn, bound = 1, next_bound
        cdef Py_ssize_t k = 0
        cdef int i, top = 0
        state[0] += GOLDEN
        drawn = <double> (mix(state[0]) >> 11) * (1.0 / 9007199254740992.0)
        if drawn >= self.probability:
            return 0
        while (<Py_ssize_t> 1 << top) < candidates:
            top += 1
        for i in range(top, -1, -1):               # the largest k with drawn < probability ** k
            next_bound = bound * self.powers[i]
            if drawn < next_bound:
                bound = next_bound
                k += <Py_ssize_t> 1 << i
                if k >= candidates:
                    return candidates
        return k

    cdef Py_ssize_t _by_scan(self, MergeTable merges, token_t* ids, Py_ssize_t n, uint64_t state) noexcept nogil:
        cdef uint32_t ranks[DROPOUT_SCAN]
        cdef Py_ssize_t candidates = 0, i, at, k
        cdef uint64_t key, lowest, above
        for i in range(n - 1):
            ranks[i] = merges.find(ids[i], ids[i + 1])
            candidates += ranks[i] != NO_MERGE
        while candidates:
            k = self._dropped(&state, candidates)
            if k >= candidates:
                break
            lowest = 0
            while True:                            # the lowest key, then the lowest above it, and so on
                above = lowest
                lowest = <uint64_t> -1
                for i in range(n - 1):
                    key = <uint64_t> ranks[i] << 32 | <uint64_t> (i + 1)   # above 0
                    if above < key < lowest:
                        lowest = key
                if k == 0:
                    break
                k -= 1
            at = <Py_ssize_t> <uint32_t> lowest - 1
            ids[at] = merges.pairs.joined[ranks[at]]
            n -= 1
            candidates -= 1
            if at < n - 1:                         # the pair of the next token is gone, and there is a new one
                candidates -= ranks[at + 1] != NO_MERGE
                for i in range(at + 1, n - 1):
                    ids[i] = ids[i + 1]
                    ranks[i] = ranks[i + 1]
                ids[n - 1] = ids[n]
                ranks[at] = merges.find(ids[at], ids[at + 1])
                candidates += ranks[at] != NO_MERGE
            if at > 0:
                candidates -= ranks[at - 1] != NO_MERGE
                ranks[at - 1] = merges.find(ids[at - 1], ids[at])
                candidates += ranks[at - 1] != NO_MERGE
        return n

    cdef Py_ssize_t _by_tree(self, MergeTable merges, token_t* ids, Py_ssize_t n, uint64_t state,
                             bp_watch* watch) noexcept nogil:
        cdef drop_node* nodes
        cdef uint32_t root = NOWHERE, at, other
        cdef Py_ssize_t i, k, left = 0, steps = 0
        if n >= <Py_ssize_t> NOWHERE:
            return -1
        nodes = <drop_node*> malloc(n * sizeof(drop_node))
        if nodes == NULL:
            return -1
        for i in range(n):
            nodes[i] = drop_node(NO_MERGE, ids[i], <uint32_t> (i - 1) if i else NOWHERE,
                                 <uint32_t> (i + 1) if i + 1 < n else NOWHERE, NOWHERE, NOWHERE, 1,
                                 <uint32_t> bp_mix(&secret, i))
        for i in range(n - 1):
            root = tree_rank(nodes, root, <uint32_t> i, merges)
            if i % STEPS == 0 and bp_work(watch, STEP_WORK * STEPS):
                free(nodes)
                return -1
        while root != NOWHERE:
            steps += 1
            if steps % STEPS == 0 and bp_work(watch, STEP_WORK * STEPS):
                free(nodes)
                return -1
            k = self._dropped(&state, nodes[root].size)
            if k >= nodes[root].size:
                break
            at = tree_find(nodes, root, k)
            other = nodes[at].next
            nodes[at].id = merges.pairs.joined[nodes[at].rank]
            root = tree_remove(nodes, root, at)
            root = tree_remove(nodes, root, other)
            nodes[at].next = nodes[other].next
            if nodes[at].next != NOWHERE:
                nodes[nodes[at].next].previous = at
                root = tree_rank(nodes, root, at, merges)
            other = nodes[at].previous
            if other != NOWHERE:
                root = tree_remove(nodes, root, other)
                root = tree_rank(nodes, root, other, merges)
        at = 0
        while at != NOWHERE:
            ids[left] = nodes[at].id
            left += 1
            at = nodes[at].next
        free(nodes)
        return left


# ---- the tree of the pairs that have a rank, by rank and position; each function returns the root of what it has made

cdef inline bint before(const drop_node* nodes, uint32_t a, uint32_t b) noexcept nogil:
    return nodes[a].rank < nodes[b].rank or (nodes[a].rank == nodes[b].rank and a < b)


cdef inline uint32_t tree_size(const drop_node* nodes, uint32_t root) noexcept nogil:
    return nodes[root].size if root != NOWHERE else 0


cdef inline void tree_count(drop_node* nodes, uint32_t root) noexcept nogil:
    nodes[root].size = 1 + tree_size(nodes, nodes[root].left) + tree_size(nodes, nodes[root].right)


cdef uint32_t tree_find(const drop_node* nodes, uint32_t root, Py_ssize_t k) noexcept nogil:
    cdef Py_ssize_t left
    while True:
        left = tree_size(nodes, nodes[root].left)
        if k == left:
            return root
        if k < left:
            root = nodes[root].left
        else:
            k -= left + 1
            root = nodes[root].right


cdef void tree_split(drop_node* nodes, uint32_t root, uint32_t at, uint32_t* left, uint32_t* right) noexcept nogil:
    # OUT: *left, what is before `at`, and *right, what is after it.
    if root == NOWHERE:
        left[0] = right[0] = NOWHERE
        return
    if before(nodes, root, at):
        tree_split(nodes, nodes[root].right, at, &nodes[root].right, right)
        left[0] = root
    else:
        tree_split(nodes, nodes[root].left, at, left, &nodes[root].left)
        right[0] = root
    tree_count(nodes, root)


cdef uint32_t tree_join(drop_node* nodes, uint32_t left, uint32_t right) noexcept nogil:
    # All of `left` is before all of `right`.
    if left == NOWHERE or right == NOWHERE:
        return left if right == NOWHERE else right
    if nodes[left].priority > nodes[right].priority:
        nodes[left].right = tree_join(nodes, nodes[left].right, right)
        tree_count(nodes, left)
        return left
    nodes[right].left = tree_join(nodes, left, nodes[right].left)
    tree_count(nodes, right)
    return right


cdef uint32_t tree_insert(drop_node* nodes, uint32_t root, uint32_t at) noexcept nogil:
    if root == NOWHERE or nodes[root].priority < nodes[at].priority:
        tree_split(nodes, root, at, &nodes[at].left, &nodes[at].right)
        tree_count(nodes, at)
        return at
    if before(nodes, at, root):
        nodes[root].left = tree_insert(nodes, nodes[root].left, at)
    else:
        nodes[root].right = tree_insert(nodes, nodes[root].right, at)
    nodes[root].size += 1
    return root


cdef uint32_t tree_remove(drop_node* nodes, uint32_t root, uint32_t at) noexcept nogil:
    # A token that starts no pair with a rank is not in the tree. One that is removed starts none.
    cdef uint32_t* link = &root
    if nodes[at].rank == NO_MERGE:
        return root
    while link[0] != at:
        nodes[link[0]].size -= 1
        link = &nodes[link[0]].left if before(nodes, at, link[0]) else &nodes[link[0]].right
    link[0] = tree_join(nodes, nodes[at].left, nodes[at].right)
    nodes[at].rank = NO_MERGE
    return root


cdef uint32_t tree_rank(drop_node* nodes, uint32_t root, uint32_t at, MergeTable merges) noexcept nogil:
    # Look up the pair that a token starts, which is not in the tree, and put it there if it has a rank.
    nodes[at].rank = merges.find(nodes[at].id, nodes[nodes[at].next].id)
    return root if nodes[at].rank == NO_MERGE else tree_insert(nodes, root, at)
