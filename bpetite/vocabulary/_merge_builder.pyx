"""The merge table of a vocabulary: of a merge list, or of ranks.

Ranks name no pairs: every split of a token into two tokens is one. All of them are found in time linear in the bytes of
the vocabulary. Hashes of all prefixes and suffixes of a token come from prefix sums of one polynomial, and only a split
whose two halves are found by hash is compared byte by byte. The polynomial is taken modulo a prime, at a random base:
two strings of n bytes have the same value with a probability of n / 2^61. (Modulo 2^64 there are strings, such as those
of Thue and Morse, that have the same value at every odd base.)
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from .._merge cimport MergeTable, merge_space, space_free, space_reserve
from ..headers cimport (
    BP_PRIME, bp_grow, bp_mix, bp_multiply_modulo, bp_secret, bp_watch, bp_watch_begin, bp_watch_check, bp_work,
    draw_secret, token_t,
)
from ._tokens cimport TokenTable

cdef bp_secret secret = draw_secret()
cdef uint64_t BASE = secret.words[0] >> 4      # of the polynomial


def build_merge_table(TokenTable tokens not None, merges, excluded=frozenset()):
    """The merge table of a vocabulary.

    Args:
        tokens: The vocabulary.
        merges: Pairs of ids in rank order; the token that a pair becomes is the one whose bytes are the two joined.
            None for the ranks kind: every split of a token into two tokens is a pair, and the rank of a pair is the
            place of the joined token in the order of the ids.
        excluded: Ids that take no part in merges of the ranks kind; an empty token never does.

    Raises:
        TypeError: A merge is no tuple.
        ValueError: A merge names an unknown id, or gives bytes that are no token.
        MemoryError: No memory for the table.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> table = build_merge_table(TokenTable({0: b"a", 1: b"b", 2: b"ab"}), [(0, 1)])
    >>> table.get(0, 1)
    (0, 2)
    """
    cdef MergeTable table = MergeTable()
    if merges is None:
        _add_ranks(table, tokens, excluded)
    else:
        _add_list(table, tokens, tuple(merges))
    return table


cdef int _add_list(MergeTable table, TokenTable tokens, tuple merges) except -1:
    cdef Py_ssize_t rank = 0, left, right, joined = -1
    cdef uint64_t left_length, right_length, capacity = 0
    cdef uint8_t* buffer = NULL
    cdef void* grown
    cdef token_t left_id, right_id
    table.reserve(len(merges), len(merges))
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
            # Trained merges give one token after the other, so this is often the one after the last.
            joined += 1
            if (tokens.repeated or tokens.hidden or joined >= tokens.size
                    or not tokens.holds(joined, buffer, left_length + right_length)):
                joined = tokens.find(buffer, left_length + right_length)
            if joined < 0:
                raise ValueError(f"merge {rank} {tuple(pair)!r} gives {buffer[:left_length + right_length]!r}, "
                                 f"which is no token")
            table.add(left_id, right_id, <uint32_t> rank, tokens.ids[joined])
            rank += 1
    finally:
        free(buffer)
    return 0


cdef struct split:
    uint32_t left, right, joined   # slots


cdef class _Splits:
    """Finds all splits of the tokens of a vocabulary into two tokens."""
    cdef TokenTable tokens
    cdef uint64_t* hashes          # slot -> polynomial of the token's bytes
    cdef uint32_t* by_hash         # hash table of slot + 1, 0 for empty
    cdef uint64_t mask             # of by_hash: its size - 1
    cdef int shift                 # a hash belongs at hash >> shift
    cdef uint8_t* excluded         # slot -> it takes no part
    cdef uint64_t* prefixes        # of the token at hand: polynomial of its first i bytes
    cdef uint64_t* powers          # BASE ** i
    cdef split* found
    cdef uint64_t count            # of them
    cdef uint64_t capacity

    def __cinit__(self, TokenTable tokens not None, excluded):
        cdef Py_ssize_t longest = 0, slot, i
        cdef uint64_t capacity = 16
        self.tokens = tokens
        for slot in range(tokens.size):
            longest = max(longest, <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot]))
        self.shift = 60
        while capacity < 2 * <uint64_t> tokens.size:
            capacity *= 2
            self.shift -= 1
        self.mask = capacity - 1
        self.prefixes = <uint64_t*> malloc((longest + 1) * sizeof(uint64_t))
        self.powers = <uint64_t*> malloc((longest + 1) * sizeof(uint64_t))
        self.hashes = <uint64_t*> malloc((tokens.size + 1) * sizeof(uint64_t))
        self.by_hash = <uint32_t*> calloc(capacity, sizeof(uint32_t))
        self.excluded = <uint8_t*> calloc(tokens.size + 1, 1)
        if (self.prefixes == NULL or self.powers == NULL or self.hashes == NULL or self.by_hash == NULL
                or self.excluded == NULL):
            raise MemoryError()
        for token_id in excluded:
            slot = tokens.slot(token_id)
            if slot >= 0:
                self.excluded[slot] = 1
        self.powers[0] = 1
        for i in range(longest):
            self.powers[i + 1] = bp_multiply_modulo(self.powers[i], BASE, 0)
        with nogil:
            for slot in range(tokens.size):
                if not self.excluded[slot]:
                    self._enter(slot)

    def __dealloc__(self):
        free(self.prefixes)
        free(self.powers)
        free(self.hashes)
        free(self.by_hash)
        free(self.excluded)
        free(self.found)

    cdef void _enter(self, Py_ssize_t slot) noexcept nogil:
        cdef uint64_t value = 0, i, at
        for i in range(self.tokens.starts[slot], self.tokens.starts[slot + 1]):
            value = bp_multiply_modulo(value, BASE, self.tokens.blob[i] + 1)
        self.hashes[slot] = value
        at = bp_mix(&secret, value) >> self.shift
        while self.by_hash[at]:
            at = (at + 1) & self.mask
        self.by_hash[at] = <uint32_t> (slot + 1)

    cdef Py_ssize_t _find(self, uint64_t value, const uint8_t* data, Py_ssize_t length) noexcept nogil:
        # The slot of the token that takes part and has these bytes, whose polynomial is `value`, or -1.
        cdef uint64_t at = bp_mix(&secret, value) >> self.shift
        cdef Py_ssize_t slot
        while True:
            slot = <Py_ssize_t> self.by_hash[at] - 1
            if slot < 0:
                return -1
            if self.hashes[slot] == value and self.tokens.holds(slot, data, length):
                return slot
            at = (at + 1) & self.mask

    cdef bint add(self, Py_ssize_t slot) noexcept nogil:
        """Find all splits of a token; false where there is no memory."""
        cdef const uint8_t* token = self.tokens.blob + self.tokens.starts[slot]
        cdef Py_ssize_t length = <Py_ssize_t> (self.tokens.starts[slot + 1] - self.tokens.starts[slot])
        cdef Py_ssize_t cut, left, right
        cdef uint64_t suffix
        if self.excluded[slot] or length < 2:
            return True
        self.prefixes[0] = 0
        for cut in range(length):
            self.prefixes[cut + 1] = bp_multiply_modulo(self.prefixes[cut], BASE, token[cut] + 1)
        for cut in range(1, length):
            left = self._find(self.prefixes[cut], token, cut)
            if left < 0:
                continue
            suffix = bp_multiply_modulo(BP_PRIME - self.prefixes[cut], self.powers[length - cut], self.prefixes[length])
            right = self._find(suffix, token + cut, length - cut)
            if right < 0:
                continue
            if bp_grow(<void**> &self.found, &self.capacity, self.count + 1, sizeof(split)) < 0:
                return False
            self.found[self.count] = split(<uint32_t> left, <uint32_t> right, <uint32_t> slot)
            self.count += 1
        return True


cdef int _add_ranks(MergeTable table, TokenTable tokens, object excluded) except -1:
    cdef _Splits splits = _Splits(tokens, excluded)
    cdef bint done = True
    cdef Py_ssize_t slot
    cdef uint64_t i
    cdef split one
    with nogil:
        for slot in range(tokens.size):
            done = done and splits.add(slot)
    if not done:
        raise MemoryError()
    table.reserve(splits.count, tokens.size)
    with nogil:
        for i in range(splits.count):
            one = splits.found[i]
            table.add(tokens.ids[one.left], tokens.ids[one.right], one.joined, tokens.ids[one.joined])
    return 0


def last_steps(TokenTable tokens not None, excluded=frozenset()):
    """The last step of each token when its bytes are merged by ranks: what is left of them without the tokens as long.

    Args:
        tokens: The vocabulary.
        excluded: Ids that take no part; an empty token never does.

    Returns:
        Pairs of ids, the two parts that are joined last, in the order of the ids of the tokens that they make; and how
        many tokens of two bytes or more are not reached.

    Raises:
        MemoryError: No memory for the tables.

    >>> from bpetite.vocabulary._tokens import TokenTable
    >>> last_steps(TokenTable({0: b"a", 1: b"b", 2: b"ab", 3: b"abab", 4: b"bba"}))
    ([(0, 1), (2, 2)], 1)
    """
    cdef _Splits splits = _Splits(tokens, excluded)
    cdef _LastSteps steps = _LastSteps(tokens, splits)
    cdef bp_watch watch
    cdef bint done
    cdef Py_ssize_t slot, unreached = 0
    cdef list pairs = []
    bp_watch_begin(&watch, NULL)
    with nogil:
        done = steps.find_splits()
    if done:
        steps.table.reserve(splits.count, tokens.size)
        with nogil:
            done = steps.run(&watch)
    bp_watch_check(&watch)
    if not done:
        raise MemoryError()
    for slot in range(tokens.size):
        if steps.reached[slot]:
            pairs.append((steps.left[slot], steps.right[slot]))
        elif not splits.excluded[slot] and steps.length(slot) > 1:
            unreached += 1
    return pairs, unreached


cdef class _LastSteps:
    """Merges each token with a table that grows by the tokens of each length, which are no parts of one another."""
    cdef TokenTable tokens
    cdef _Splits splits
    cdef MergeTable table
    cdef merge_space space
    cdef uint32_t* by_length       # slots, those of short tokens first
    cdef uint8_t* reached          # slot -> it has a last step
    cdef token_t* left             # slot -> its parts
    cdef token_t* right

    def __cinit__(self, TokenTable tokens not None, _Splits splits not None):
        cdef Py_ssize_t i
        self.tokens = tokens
        self.splits = splits
        self.table = MergeTable()
        self.by_length = <uint32_t*> malloc((tokens.size + 1) * sizeof(uint32_t))
        self.reached = <uint8_t*> calloc(tokens.size + 1, 1)
        self.left = <token_t*> malloc((tokens.size + 1) * sizeof(token_t))
        self.right = <token_t*> malloc((tokens.size + 1) * sizeof(token_t))
        if self.by_length == NULL or self.reached == NULL or self.left == NULL or self.right == NULL:
            raise MemoryError()
        lengths = [self.length(i) for i in range(tokens.size)]
        for i, slot in enumerate(sorted(range(tokens.size), key=lengths.__getitem__)):
            self.by_length[i] = slot

    def __dealloc__(self):
        space_free(&self.space)
        free(self.by_length)
        free(self.reached)
        free(self.left)
        free(self.right)

    cdef inline Py_ssize_t length(self, Py_ssize_t slot) noexcept nogil:
        return <Py_ssize_t> (self.tokens.starts[slot + 1] - self.tokens.starts[slot])

    cdef bint find_splits(self) noexcept nogil:
        """False where there is no memory."""
        cdef Py_ssize_t i
        for i in range(self.tokens.size):
            if not self.splits.add(self.by_length[i]):
                return False
        return True

    cdef bint run(self, bp_watch* watch) noexcept nogil:
        """IN: the table has memory for all splits. False where there is no memory, or the watch was interrupted."""
        cdef Py_ssize_t i, slot, n
        cdef uint64_t at = 0
        cdef split* one
        for i in range(self.tokens.size):
            slot = self.by_length[i]
            n = self.length(slot)
            if n < 2 or self.splits.excluded[slot]:
                continue
            while at < self.splits.count and self.length(self.splits.found[at].joined) < n:
                one = self.splits.found + at
                self.table.add(self.tokens.ids[one.left], self.tokens.ids[one.right], one.joined,
                               self.tokens.ids[one.joined])
                at += 1
            if bp_work(watch, n) or not space_reserve(&self.space, n):
                return False
            if self.bytes_of(slot, n):
                n = self.table.merge(&self.space, n, watch)
                if n < 0:
                    return False
                if n == 2:
                    self.reached[slot] = 1
                    self.left[slot] = self.space.ids[0]
                    self.right[slot] = self.space.ids[1]
        return True

    cdef bint bytes_of(self, Py_ssize_t slot, Py_ssize_t n) noexcept nogil:
        """Put the ids of a token's bytes into the space; false where one has none."""
        cdef const uint8_t* token = self.tokens.blob + self.tokens.starts[slot]
        cdef Py_ssize_t i, byte
        for i in range(n):
            byte = self.tokens.find(token + i, 1)
            if byte < 0 or self.splits.excluded[byte]:
                return False
            self.space.ids[i] = self.tokens.ids[byte]
        return True
