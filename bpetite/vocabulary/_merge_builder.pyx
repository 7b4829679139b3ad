"""The merge table of a vocabulary: of a merge list, or of ranks.

Ranks name no pairs: every split of a token into two tokens is one. The tokens that a token begins with are its longest
one, the longest that this one begins with, and so on; so one look-up for each token, mostly, finds all left halves, and
another all right ones. Only lengths that tokens have are tried. A vocabulary of n bytes has at most sqrt(2 n) different
lengths, so this hashes fewer than n sqrt(2 n) bytes, whatever the tokens are; tokens made to take long are refused.
"""
from cpython.array cimport array
from cython cimport final
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from .._merge cimport MergeTable, merge_space, space_free, space_reserve
from ..headers cimport (
    BP_PREFETCH, bp_grow, bp_pair_hash, bp_watch, bp_watch_begin, bp_watch_check, bp_work,
    bp_utf8_character, token_t,
)
from ._merge_list cimport MergeList
from ._tokens cimport BP_FOUND_AT_ONCE, TokenTable


cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    #define bp_trim() malloc_trim(0)
    #else
    #define bp_trim() 0
    #endif
    """
    int bp_trim() noexcept

cdef enum:
    WORTH_A_TRIM = 1 << 16     # tokens; it looks through the whole heap


def build_merge_table(TokenTable tokens not None, merges, never_merged=frozenset(), array results=None):
    """The merge table of a list, whose :meth:`MergeList.results` may be given, or of the ranks kind, where `merges` is
    None: then every split of a token into two tokens is a pair, and its rank is the place of the joined token in the
    order of the ids.

    No merge gives a `never_merged` id: a merge of a list that would give one keeps its rank and is never applied. In
    the ranks kind these ids take no part in merges at all; an empty token never does.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> table = build_merge_table(TokenTable({0: b"a", 1: b"b", 2: b"ab"}), [(0, 1)])
    >>> table.get(0, 1)
    (0, 2)
    """
    cdef MergeTable table = MergeTable()
    if merges is None:
        _add_ranks(table, tokens, never_merged)
    else:
        listed = merges if isinstance(merges, MergeList) else MergeList(merges)
        _add_list(table, tokens, listed, listed.results(tokens) if results is None else results, never_merged)
    if tokens.size >= WORTH_A_TRIM:    # the arrays of the way here are as large as the tables: back to the system
        bp_trim()
    return table


cdef int _add_list(MergeTable table, TokenTable tokens, MergeList merges, array results, never_merged) except -1:
    cdef Py_ssize_t rank
    cdef token_t joined
    cdef bint some = len(never_merged) > 0
    cdef bytearray marks = tokens.marks(never_merged)
    cdef const uint8_t* marked = <uint8_t*> <char*> marks
    table.reserve(merges.size, merges.size)
    for rank in range(merges.size):
        fetch(table, merges.pairs + 2 * min(rank + LOOK_AHEAD, merges.size - 1))
        joined = results.data.as_uints[rank]
        if some and marked[tokens.slot(joined)]:
            table.pairs.joined[rank] = joined
        else:
            table.add(merges.pairs[2 * rank], merges.pairs[2 * rank + 1], <uint32_t> rank, joined)
    return 0


cdef inline void fetch(MergeTable table, const token_t* pair) noexcept nogil:
    """Fetch the entry of a pair that comes later."""
    cdef uint64_t hash = bp_pair_hash(&table.pairs, pair[0], pair[1])
    BP_PREFETCH(table.pairs.entries + (hash >> table.pairs.shift))
    BP_PREFETCH(table.pairs.filter + ((hash & table.pairs.filter_mask) >> 6))


cdef enum:
    LOOK_AHEAD = 16            # pairs whose entries are fetched in advance

cdef uint32_t NONE = <uint32_t> -1
cdef uint64_t MOST_HASHED = <uint64_t> 1 << 31     # bytes: a second; o200k_base has 2^24 at most


cdef struct split:
    uint32_t left, right, joined   # slots


@final
cdef class _Splits:
    """The splits of tokens into two tokens, of ids that are not `left_out`."""
    cdef TokenTable tokens
    cdef bytearray marks           # the memory of `left_out`, and
    cdef bytearray more            # of `lengths`
    cdef uint8_t* left_out         # slot -> it takes no part
    cdef uint8_t* lengths          # length -> a token has it
    cdef uint32_t* shorter[2]      # slot -> slot of the longest token that it begins with, that it ends with, or NONE
    cdef uint32_t* rights          # of the token at hand: the slots of the tokens that it ends with, longest first
    cdef split* found
    cdef uint64_t count            # of them
    cdef uint64_t capacity

    def __cinit__(self, TokenTable tokens not None, left_out):
        cdef Py_ssize_t slot, most = 0, length
        self.tokens = tokens
        self.marks, self.more = tokens.marks(left_out), bytearray(tokens.longest + 1)
        self.left_out, self.lengths = <uint8_t*> <char*> self.marks, <uint8_t*> <char*> self.more
        for slot in range(tokens.size):
            self.lengths[length_of(tokens, slot)] = 1
        for length in range(tokens.longest + 1):
            most += self.lengths[length]
        self.check(most)
        self.shorter[0] = <uint32_t*> malloc((tokens.size + 1) * sizeof(uint32_t))
        self.shorter[1] = <uint32_t*> malloc((tokens.size + 1) * sizeof(uint32_t))
        self.rights = <uint32_t*> malloc(most * sizeof(uint32_t) + 1)
        if self.shorter[0] == NULL or self.shorter[1] == NULL or self.rights == NULL:
            raise MemoryError()
        with nogil:
            for slot in range((tokens.size + BP_FOUND_AT_ONCE - 1) // BP_FOUND_AT_ONCE):
                find_shorter(self, tokens, slot * BP_FOUND_AT_ONCE, False)
                find_shorter(self, tokens, slot * BP_FOUND_AT_ONCE, True)

    cdef int check(self, Py_ssize_t most) except -1:
        """Raise ValueError where the splits of the tokens, of so many different lengths, take long to find."""
        cdef Py_ssize_t slot, length
        cdef uint64_t hashed = 0
        for slot in range(self.tokens.size):
            length = length_of(self.tokens, slot)
            hashed += min(length, most) * length
        if hashed > MOST_HASHED:
            raise ValueError(f"ranks of {self.tokens.size} tokens with {most} different lengths, up to "
                             f"{self.tokens.longest} bytes: to find all their splits, {hashed} bytes would be hashed, "
                             f"and {MOST_HASHED} is the limit; a merge list has none")
        return 0

    def __dealloc__(self):
        free(self.shorter[0])
        free(self.shorter[1])
        free(self.rights)
        free(self.found)


cdef inline Py_ssize_t length_of(TokenTable tokens, Py_ssize_t slot) noexcept nogil:
    return <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot])


cdef void find_shorter(_Splits splits, TokenTable tokens, Py_ssize_t start, bint at_end) noexcept nogil:
    """OUT: shorter[at_end] of BP_FOUND_AT_ONCE slots: their look-ups wait for memory at the same time."""
    cdef uint32_t* shorter = splits.shorter[at_end]
    cdef const uint8_t* parts[BP_FOUND_AT_ONCE]
    cdef Py_ssize_t found[BP_FOUND_AT_ONCE]
    cdef Py_ssize_t slots[BP_FOUND_AT_ONCE]
    cdef Py_ssize_t sizes[BP_FOUND_AT_ONCE]
    cdef Py_ssize_t n = 0, left, i
    for i in range(start, min(start + BP_FOUND_AT_ONCE, tokens.size)):
        shorter[i] = NONE
        slots[n], sizes[n] = i, length_of(tokens, i)
        n += 1
    while n:
        left = 0
        for i in range(n):                     # the next shorter length that a token has
            sizes[i] -= 1
            while sizes[i] > 0 and not splits.lengths[sizes[i]]:
                sizes[i] -= 1
            if sizes[i] > 0:
                slots[left], sizes[left] = slots[i], sizes[i]
                parts[left] = tokens.blob + (tokens.starts[slots[i] + 1] - sizes[i] if at_end
                                             else tokens.starts[slots[i]])
                left += 1
        n = left
        tokens.find_many(parts, sizes, n, found)
        left = 0
        for i in range(n):
            if found[i] >= 0:
                shorter[slots[i]] = <uint32_t> found[i]
            else:
                slots[left], sizes[left] = slots[i], sizes[i]
                left += 1
        n = left


cdef bint split_token(_Splits splits, TokenTable tokens, Py_ssize_t slot) noexcept nogil:
    """Find all splits of a token; false where there is no memory."""
    cdef Py_ssize_t length = length_of(tokens, slot), n = 0, joined
    cdef uint32_t left = splits.shorter[0][slot], right = splits.shorter[1][slot]
    if splits.left_out[slot]:
        return True
    while right != NONE:
        splits.rights[n] = right
        n += 1
        right = splits.shorter[1][right]
    while left != NONE and n:                  # the longest left half with the shortest right one
        right = splits.rights[n - 1]
        joined = length_of(tokens, left) + length_of(tokens, right)
        if joined == length and not splits.left_out[left] and not splits.left_out[right]:
            if bp_grow(<void**> &splits.found, &splits.capacity, splits.count + 1, sizeof(split)) < 0:
                return False
            splits.found[splits.count] = split(left, right, <uint32_t> slot)
            splits.count += 1
        if joined >= length:
            left = splits.shorter[0][left]
        if joined <= length:
            n -= 1
    return True


cdef void add_split(MergeTable table, TokenTable tokens, split one) noexcept nogil:
    table.add(tokens.ids[one.left], tokens.ids[one.right], one.joined, tokens.ids[one.joined])


cdef int _add_ranks(MergeTable table, TokenTable tokens, never_merged) except -1:
    cdef _Splits splits = _Splits(tokens, never_merged)
    cdef bint done = True
    cdef Py_ssize_t slot
    cdef uint64_t i
    cdef token_t[2] pair
    cdef const split* ahead
    with nogil:
        for slot in range(tokens.size):
            done = done and split_token(splits, tokens, slot)
    if not done:
        raise MemoryError()
    table.reserve(splits.count, tokens.size)
    memcpy(table.pairs.joined, tokens.ids, tokens.size * sizeof(token_t))
    with nogil:
        for i in range(splits.count):
            ahead = &splits.found[min(i + LOOK_AHEAD, splits.count - 1)]
            pair[0], pair[1] = tokens.ids[ahead.left], tokens.ids[ahead.right]
            fetch(table, pair)
            add_split(table, tokens, splits.found[i])
    return 0


def last_steps(TokenTable tokens not None, not_looked_up=frozenset(), *, bint characters=False):
    """The last step of each token when its bytes, or `characters`, are merged by ranks, without tokens of its length:
    pairs of the ids that are joined last, in the order of the ids of the tokens that they make; and the number of
    tokens of two bytes or more that are not reached. Ids that are `not_looked_up`, and empty tokens, take no part.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> last_steps(TokenTable({0: b"a", 1: b"b", 2: b"ab", 3: b"abab", 4: b"bba"}))
    ([(0, 1), (2, 2)], 1)
    """
    cdef _Splits splits = _Splits(tokens, not_looked_up)
    cdef MergeTable table = MergeTable()
    cdef merge_space space
    cdef bp_watch watch
    cdef Py_ssize_t slot, n, unreached = 0
    cdef uint64_t at = 0
    cdef dict parts = {}           # slot -> the last two
    cdef list by_length = _by_length(tokens), pairs = []
    for slot in by_length:
        if not split_token(splits, tokens, slot):
            raise MemoryError()
    table.reserve(splits.count, tokens.size)
    memset(&space, 0, sizeof(merge_space))
    bp_watch_begin(&watch, NULL)
    try:
        for slot in by_length:
            n = length_of(tokens, slot)
            if n < 2 or splits.left_out[slot]:
                continue
            while at < splits.count and length_of(tokens, splits.found[at].joined) < n:
                add_split(table, tokens, splits.found[at])
                at += 1
            with nogil:
                n = _merge_token(splits, tokens, table, &space, slot, characters, &watch)
            bp_watch_check(&watch)
            if n < 0:
                raise MemoryError()
            if n == 2:
                parts[slot] = space.ids[0], space.ids[1]
            else:
                unreached += 1
    finally:
        space_free(&space)
    for slot in sorted(parts):
        pairs.append(parts[slot])
    return pairs, unreached


cdef list _by_length(TokenTable tokens):
    """The slots, short tokens first."""
    cdef list lengths = []
    cdef Py_ssize_t slot
    for slot in range(tokens.size):
        lengths.append(length_of(tokens, slot))
    return sorted(range(tokens.size), key=lengths.__getitem__)


cdef Py_ssize_t _merge_token(_Splits splits, TokenTable tokens, MergeTable table, merge_space* space, Py_ssize_t slot,
                             bint characters, bp_watch* watch) noexcept nogil:
    """The number of ids that the bytes, or characters, of a token become; 0 if one has none, -1 as MergeTable.merge.

    OUT: space.ids.
    """
    cdef const uint8_t* text = tokens.blob + tokens.starts[slot]
    cdef Py_ssize_t length = length_of(tokens, slot), at = 0, n = 0, size = 1, letter
    cdef uint32_t character
    if bp_work(watch, length) or not space_reserve(space, length):
        return -1
    while at < length:
        if characters:
            size = bp_utf8_character(text + at, length - at, &character)
        letter = tokens.find(text + at, size)
        if letter < 0 or splits.left_out[letter]:
            return 0
        space.ids[n] = tokens.ids[letter]
        at += size
        n += 1
    return table.merge(space, n, watch)
