"""Merging: different pre-tokens with their counts in, merges in order out.

- Ids here are internal: bytes have 0..255, learned tokens follow from 256 in the order they were learned. `train.py`
  turns them into the ids of the vocabulary. So the ids of special tokens cannot change what is learned, and the bytes
  can have the order of another trainer, which decides ties.
- A merge first notes the neighbours of all its occurrences, one entry for each different one, and then updates the
  table of pairs once for each: a frequent pair has far fewer neighbours than occurrences.
- Strips of pre-tokens are searched many at a time, without a branch on their content: while one is on its way from
  memory, the search of others goes on. A third no longer hold the pair; the rest are processed one by one.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy, memset

from ..._merge cimport MergeTable
from ...headers cimport BP_PREFETCH, bp_grow, bp_lowest_bit, bp_watch, bp_watch_begin, bp_work
from ...headers.python cimport PyBytes_FromStringAndSize
from ...vocabulary._tokens cimport TokenTable
from ..counting._count_table cimport PretokenReader, bp_add_overflows
from ._learned_tokens cimport LearnedTokens, count_overflows, out_of_memory, token_length
from ._pairs cimport EMPTY, PairTable, append_item, pair_entry
from ._pretokens cimport (
    SENTINEL, STRIP, STRIP_WORK, PretokenEncoder, Pretokens, head_of, read_strip, strip, strip_at,
)

cdef extern from "training/merging/pair_search.h" nogil:
    uint64_t bp_find_pairs(const int32_t* first, const int32_t* second, int32_t left, int32_t right,
                           uint64_t n) noexcept

cdef enum:
    MERGE_WORK = 1024           # least work of a merge as bp_watch counts it, in bytes of text
    SEARCHED = 64               # strips that are searched before the pair is joined in them
    NEIGHBOURS = 512            # that wait to be counted; a strip has fewer than a quarter of them
    LOOK_AHEAD = 16             # strips, or pairs
    NO_NEIGHBOUR = ~SENTINEL    # no id


cdef struct match:              # a strip in which the pair begins
    uint64_t start
    uint64_t places             # bit i: the pair begins at its slot i
    int64_t weight
    uint32_t number


cdef struct neighbour:          # of a pair that has been joined
    uint64_t place              # in `NewPairs`
    int64_t weight
    uint32_t number             # the strip in which the pair with the new token begins


@cython.final
cdef class NewPairs:
    """The pairs of the token just made: entries[2 * x] is (x, token), entries[2 * x + 1] is (token, x).

    Between two merges all are EMPTY.
    """
    cdef pair_entry* entries
    cdef uint64_t room
    cdef uint64_t* used            # places in `entries`
    cdef uint64_t used_count
    cdef uint64_t used_room

    def __dealloc__(self):
        cdef uint64_t at
        for at in range(self.used_count):          # an error has left them
            if self.entries[self.used[at]].room:
                free(<void*> self.entries[self.used[at]].items)
        free(self.entries)
        free(self.used)


@cython.final
cdef class Merger:
    """Learns merges from pre-tokens and their counts.

    Make the tokens of an earlier tokenizer known if there is one, add the pre-tokens, then call :meth:`learn`. After an
    error or an interrupt the object must not be used.

    Args:
        min_frequency: Pairs that occur less often are not learned; at least 1.
        ties_by_bytes: Among equally frequent pairs take the greatest (left bytes, right bytes) instead of the smallest
            (left id, right id).
        max_token_bytes: Pairs that would give a longer token are not learned; 0 for no limit.
        first: The 256 bytes in the order of their internal ids.
        max_words: For superwords: pairs that would give more words than this, or ": ", are not learned. Words are
            separated by spaces; 0 for no limit.
    """
    cdef Pretokens pretokens
    cdef PretokenEncoder encoder       # of the pre-tokens; None where they are added as bytes
    cdef LearnedTokens known
    cdef PairTable pairs
    cdef NewPairs new_pairs
    cdef uint32_t* learned             # left, right, left, right, ...
    cdef uint64_t learned_count
    cdef uint64_t learned_room
    cdef bint counted                  # the pairs of the pre-tokens
    cdef int64_t joined                # pairs that `join_everywhere` has joined, each as often as its pre-token occurs
    cdef match matches[SEARCHED]
    cdef neighbour neighbours[NEIGHBOURS]
    cdef bp_watch watch

    def __cinit__(self, int64_t min_frequency=1, bint ties_by_bytes=False, uint64_t max_token_bytes=0,
                  bytes first=bytes(range(256)), uint32_t max_words=0):
        self.known = LearnedTokens(first)
        self.new_pairs = NewPairs()
        self.pretokens = Pretokens(self.known)
        self.pairs = PairTable(self.known, min_frequency, ties_by_bytes, max_token_bytes, max_words)

    def __dealloc__(self):
        free(self.learned)

    # ---- pre-tokens in --------------------------------------------------------------------------------------------

    def know(self, const uint32_t[::1] pairs not None):
        """Make the tokens of an earlier tokenizer known. Call :meth:`encode_by` next.

        From here on pairs that give an existing token are not learned: where such a pair is left, the merges of the
        earlier tokenizer did not make the token, and one more would change the ids of its texts.

        Args:
            pairs: uint32[2 * n], such as an ``array("I")``: left, right, left, right, ..., internal ids. A pair whose
                bytes are no token yet gets the next internal id.
        """
        cdef Py_ssize_t at
        self.pairs.only_new = True
        for at in range(0, pairs.shape[0] - 1, 2):
            if pairs[at] >= self.known.count or pairs[at + 1] >= self.known.count:
                raise ValueError(f"no token has the internal id {max(pairs[at:at + 2])}")
            self.known.join(pairs[at], pairs[at + 1])

    def add_token(self, bytes token not None):
        """Reserve an internal id for a token that no merge gives, and return it."""
        if len(token) < 2:
            raise ValueError(f"{token!r} must have at least two bytes")
        return self.known.add(<const uint8_t*> <char*> token, len(token))

    def encode_by(self, TokenTable tokens not None, MergeTable merges not None, const uint32_t[::1] ids not None,
                  bint whole):
        """Encode the pre-tokens that are added by a vocabulary. Call :meth:`know` before.

        Args:
            tokens, merges: Of the vocabulary.
            ids: uint32[n], n at least 256: internal id -> the vocabulary's.
            whole: A pre-token that is a token is taken whole; nothing is learned from it.
        """
        cdef uint32_t token
        self.encoder = PretokenEncoder(tokens, merges, ids, whole, self.known)
        for token in range(self.known.count):      # each token of the vocabulary has one slot in a pre-token
            self.known.width[token] = 1

    def add(self, PretokenReader pretokens not None):
        """Add the pre-tokens that are left in a reader."""
        if self.counted:
            raise RuntimeError("pre-tokens come before merges")
        bp_watch_begin(&self.watch, NULL)
        with nogil:
            self.pretokens.add(pretokens, self.encoder, &self.watch)

    # ---- merging --------------------------------------------------------------------------------------------------

    def learn(self, uint32_t token_limit):
        """Merge until there are `token_limit` tokens, the 256 bytes included; False when no pair is left before.

        Raises:
            OverflowError: A pair occurs more than 2^63 - 1 times.
            MemoryError: Memory has run out.
        """
        cdef bint reached
        bp_watch_begin(&self.watch, NULL)
        with nogil:
            reached = run(self, token_limit)
        return reached

    # ---- what was learned -----------------------------------------------------------------------------------------

    @property
    def tokens(self):
        """The number of tokens, the 256 bytes included."""
        return self.known.count

    def all_tokens(self):
        """The bytes of all tokens, by internal id."""
        cdef uint32_t token
        found = []
        for token in range(self.known.count):
            found.append(PyBytes_FromStringAndSize(
                <char*> self.known.data + self.known.start[token], token_length(self.known, token)))
        return found

    def merges(self, list ids not None):
        """The merges in order: (left, right) of each merge, as `ids` has the internal ids."""
        cdef Py_ssize_t at
        cdef list pairs = []
        if len(ids) < <Py_ssize_t> self.known.count:
            raise ValueError(f"there are {self.known.count} tokens, and ids of {len(ids)}")
        for at in range(0, <Py_ssize_t> self.learned_count, 2):
            pairs.append((ids[self.learned[at]], ids[self.learned[at + 1]]))
        return tuple(pairs)


cdef bint run(Merger self, uint32_t token_limit) except -1 nogil:
    """Merge until there are `token_limit` tokens; False when no pair is left before."""
    cdef uint64_t key
    cdef uint32_t left, right
    if not self.counted:
        self.counted = True
        self.pairs.count(self.pretokens.symbols, <uint32_t> (self.pretokens.count // 2), &self.watch)
    while self.known.count < token_limit:
        if not self.pairs.best(&key):
            return False
        left = <uint32_t> (key >> 32)
        right = <uint32_t> key
        join_everywhere(self, left, right, <uint32_t> record(self, left, right))
        if bp_work(&self.watch, MERGE_WORK):
            return -1
    return True


cdef int64_t record(Merger self, uint32_t left, uint32_t right) except -1 nogil:
    """Note a merge. Returns its token."""
    if bp_grow(<void**> &self.learned, &self.learned_room, self.learned_count + 2, sizeof(uint32_t)) < 0:
        return out_of_memory()
    self.learned[self.learned_count] = left
    self.learned[self.learned_count + 1] = right
    self.learned_count += 2
    return self.known.join(left, right)


# ---- joining a pair -------------------------------------------------------------------------------------------------

cdef int join_everywhere(Merger self, uint32_t left, uint32_t right, uint32_t merged) except -1 nogil:
    """Join the pair in all pre-tokens and bring the counts of its neighbours up to date. OUT: self.joined."""
    cdef uint64_t key = <uint64_t> left << 32 | right
    cdef pair_entry* entry = self.pairs.find(key)
    cdef uint32_t inline_items[2]
    cdef uint32_t* items
    cdef uint32_t length, room, searched, i
    cdef int64_t count = entry.count
    self.joined = 0
    if entry.key != key or count == 0:
        return 0
    reserve(self.new_pairs, self.known.count)
    # The entry moves when the table grows, so its list is taken out first.
    room = entry.room
    length = entry.length
    if room:
        items = <uint32_t*> entry.items
    else:
        memcpy(inline_items, &entry.items, 8)
        items = inline_items
    entry.count = 0
    entry.length = 0
    entry.room = 0
    # A pair of two equal tokens must be joined from the left also where strips of one pre-token meet.
    if left == right:
        for i in range(1, length):
            if items[i - 1] >= items[i]:
                qsort(items, length, sizeof(uint32_t), by_number)
                break
    for i in range(min(length, <uint32_t> LOOK_AHEAD)):
        fetch(self.pretokens.symbols, items[i])
    i = 0
    try:
        while i < length and self.joined < count:      # once `count` are joined, no further strip holds the pair
            join(self, left, right, merged, search(self, left, right, items, i, length))
            searched = min(<uint32_t> SEARCHED, length - i)
            i += searched
            if bp_work(&self.watch, STRIP_WORK * searched):
                return -1
    finally:
        if room:
            free(items)
    return update_counts(self, left, right)


cdef int by_number(const void* one, const void* other) noexcept nogil:
    cdef uint32_t a = (<uint32_t*> one)[0]
    cdef uint32_t b = (<uint32_t*> other)[0]
    return (a > b) - (a < b)


cdef inline void fetch(const int32_t* symbols, uint32_t number) noexcept nogil:
    """The head and about a dozen slots of a strip."""
    BP_PREFETCH(symbols + head_of(number))
    BP_PREFETCH(symbols + head_of(number) + 16)


cdef int reserve(NewPairs self, uint64_t tokens) except -1 nogil:
    """Two entries for each token: its pairs before and after the token just made."""
    cdef uint64_t room = self.room
    if bp_grow(<void**> &self.entries, &self.room, tokens * 2, sizeof(pair_entry)) < 0:
        return out_of_memory()
    memset(self.entries + room, 0xFF, (self.room - room) * sizeof(pair_entry))
    return 0


cdef int search(Merger self, uint32_t left, uint32_t right, const uint32_t* items, uint32_t at,
                uint32_t end) noexcept nogil:
    """Find the strips in which the pair begins, of the next SEARCHED of a list. Returns their number."""
    cdef int32_t* symbols = self.pretokens.symbols
    cdef uint64_t left_width = self.known.width[left]
    cdef match* one
    cdef strip searched
    cdef uint32_t i
    cdef int number = 0
    for i in range(at, min(at + SEARCHED, end)):
        if i + LOOK_AHEAD < end:
            fetch(symbols, items[i + LOOK_AHEAD])
        searched = read_strip(symbols, items[i])
        one = &self.matches[number]
        one.number = items[i]
        one.start = searched.start
        one.weight = searched.weight
        one.places = bp_find_pairs(symbols + searched.start, symbols + searched.start + left_width,
                                   <int32_t> left, <int32_t> right, searched.size)
        number += one.places != 0
    return number


cdef int join(Merger self, uint32_t left, uint32_t right, uint32_t merged, int matches) except -1 nogil:
    """Join the pair in the strips that `search` has found, and note its neighbours."""
    cdef int32_t* symbols = self.pretokens.symbols
    cdef const uint32_t* width = self.known.width
    cdef uint64_t left_width = width[left]
    cdef uint64_t both = left_width + width[right]
    cdef uint64_t at, places
    cdef uint32_t id
    cdef bint there
    cdef int64_t joined = 0
    cdef int i, number = 0
    cdef match* one
    cdef neighbour* side
    for i in range(matches):
        one = &self.matches[i]
        if number + 2 * STRIP > NEIGHBOURS:
            count_new_pairs(self, merged, number)
            number = 0
        places = one.places
        while places:
            at = one.start + bp_lowest_bit(places)
            places &= places - 1
            # An earlier join took one of the two: x x x, or a pair across two strips.
            if symbols[at] != <int32_t> left or symbols[at + left_width] != <int32_t> right:
                continue
            # Without a branch: whether there is a neighbour would often be predicted wrongly.
            id = <uint32_t> (symbols[at - 1] ^ symbols[at - 1] >> 31)
            there = id != NO_NEIGHBOUR
            id = id if there else 0
            side = &self.neighbours[number]
            side.place = <uint64_t> id * 2
            side.weight = one.weight
            side.number = strip_at(symbols, one.number, at - width[id])
            number += there
            there = symbols[at + both] != SENTINEL
            id = <uint32_t> symbols[at + both] if there else 0
            side = &self.neighbours[number]
            side.place = <uint64_t> id * 2 + 1
            side.weight = one.weight
            side.number = one.number
            number += there
            joined += one.weight
            symbols[at + left_width] = ~(<int32_t> merged)
            symbols[at + both - 1] = ~(<int32_t> merged)
            symbols[at] = <int32_t> merged
    self.joined += joined
    return count_new_pairs(self, merged, number)


cdef int count_new_pairs(Merger self, uint32_t merged, int number) except -1 nogil:
    """Count the pairs of the new token with the neighbours noted, and their strips."""
    cdef int i
    cdef neighbour* one
    cdef pair_entry* entry
    cdef uint64_t key, other
    for i in range(number):
        BP_PREFETCH(&self.new_pairs.entries[self.neighbours[i].place])
    for i in range(number):
        one = &self.neighbours[i]
        other = one.place >> 1
        key = <uint64_t> merged << 32 | other if one.place & 1 else other << 32 | merged
        entry = &self.new_pairs.entries[one.place]
        if entry.key != key:
            note_used(self.new_pairs, one.place)
            entry.key = key
            entry.count = 0
            entry.length = 0
            entry.room = 0
        if bp_add_overflows(&entry.count, one.weight):
            return count_overflows()
        append_item(entry, one.number)
    return 0


cdef int note_used(NewPairs self, uint64_t place) except -1 nogil:
    if bp_grow(<void**> &self.used, &self.used_room, self.used_count + 1, sizeof(uint64_t)) < 0:
        return out_of_memory()
    self.used[self.used_count] = place
    self.used_count += 1
    return 0


cdef inline uint64_t replaced(uint64_t place, uint64_t left, uint64_t right) noexcept nogil:
    """The pair that a new pair replaces."""
    return right << 32 | place >> 1 if place & 1 else place >> 1 << 32 | left


cdef int update_counts(Merger self, uint32_t left, uint32_t right) except -1 nogil:
    """Add the new pairs to the table, subtract the pairs they replace, and queue them.

    Wherever x now comes before the new token, x came before `left`. A pair that appeared and disappeared within the
    merge (x is the new token) is added before it is subtracted.
    """
    cdef uint64_t key = <uint64_t> left << 32 | right
    cdef uint64_t i, old
    cdef uint64_t* used = self.new_pairs.used
    cdef uint64_t count = self.new_pairs.used_count
    cdef pair_entry* entries = self.new_pairs.entries
    for i in range(count):
        if i + LOOK_AHEAD < count:
            self.pairs.prefetch(entries[used[i + LOOK_AHEAD]].key)
        self.pairs.put(&entries[used[i]])
    for i in range(count):
        if i + LOOK_AHEAD < count:
            self.pairs.prefetch(replaced(used[i + LOOK_AHEAD], left, right))
        old = replaced(used[i], left, right)
        if old != key:
            self.pairs.subtract(old, entries[used[i]].count)
    for i in range(count):
        self.pairs.queue(entries[used[i]].key)
        entries[used[i]].key = EMPTY
    self.new_pairs.used_count = 0
    return 0
