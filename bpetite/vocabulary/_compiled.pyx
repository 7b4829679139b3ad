"""The tables of a vocabulary as flat parts of a file, and tables that are views of such parts.

Both hash tables are in the parts, keyed with a secret that is made of the content: nobody can choose tokens that meet
under it. The secret is known to all, but texts only look up, and no look-up passes 2 * BLOCK entries: the parts are
refused where one could. So the memory of the file is used as it is, and processes share it.

All indices are proven here, in the pass over the file that adds up its checksum: whatever the parts hold, nothing
outside of them is read, and no merge gives an id that it must not give. The checksum says that they are those of the
vocabulary, and `verify` of the format compares them.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .._merge cimport MergeTable
from ..headers cimport (
    BP_LOW_IDS, BP_NO_MERGE, BP_PREFETCH, bp_hash_key, bp_load64, bp_pair_entry, bp_secret, draw_secret, token_t,
)
from ..headers.python cimport PyBytes_FromStringAndSize
from ._tokens cimport BP_MANY, UNFILLED, TokenTable, set_size

cdef enum:
    ALIGN = 64                 # where a part begins
    AHEAD = 4096               # bytes: the processor itself fetches nothing beyond a page
    BLOCK = 512                # entries of a hash table, of which one at least is empty; runs of some 60 are usual
    TOKEN_PARTS = 6
    PARTS = 10

cdef bp_secret OF_FILES = draw_secret(bytes(range(1, 49)))


cdef void add_lanes(uint64_t* lanes, const uint8_t* p, uint64_t n) noexcept nogil:
    """Add n bytes, a multiple of 64, to a checksum: four of their words at a time, each to its lane."""
    cdef uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3], at = 0
    while at < n:
        BP_PREFETCH(p + at + AHEAD)
        a = bp_hash_key(&OF_FILES, bp_load64(p + at), bp_load64(p + at + 8) ^ a)
        b = bp_hash_key(&OF_FILES, bp_load64(p + at + 16), bp_load64(p + at + 24) ^ b)
        c = bp_hash_key(&OF_FILES, bp_load64(p + at + 32), bp_load64(p + at + 40) ^ c)
        d = bp_hash_key(&OF_FILES, bp_load64(p + at + 48), bp_load64(p + at + 56) ^ d)
        at += 64
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d


cdef uint64_t finished(uint64_t* lanes, const uint8_t* p, uint64_t n, uint64_t done) noexcept nogil:
    """The checksum of n bytes; the lanes have the first `done` of them, a multiple of 64."""
    cdef uint8_t last[64]
    cdef uint64_t whole = n - n % 64, sum = n
    cdef int i
    add_lanes(lanes, p + done, whole - done)
    memset(last, 0, 64)
    memcpy(last, p + whole, n - whole)
    add_lanes(lanes, last, 64)
    for i in range(4):
        sum = bp_hash_key(&OF_FILES, sum, lanes[i])
    return sum


def checksum(const uint8_t[::1] data not None):
    """A hash of 64 bits, the same in every process.

    >>> hex(checksum(bytes(64)))
    '0x9cdc2b1b7a3c0e68'
    """
    cdef uint64_t[4] lanes
    lanes[:] = OF_FILES.words
    return finished(lanes, &data[0] if data.shape[0] else NULL, data.shape[0], 0)


def tables_as_bytes(TokenTable tokens not None, MergeTable table not None):
    """The memory of both tables, a list of bytes."""
    cdef uint64_t n = tokens.size, capacity = table.pairs.mask + 1
    return [
        PyBytes_FromStringAndSize(<char*> tokens.ids, (n + 1) * sizeof(token_t)),
        PyBytes_FromStringAndSize(<char*> tokens.starts, (n + 1) * sizeof(uint64_t)),
        PyBytes_FromStringAndSize(<char*> tokens.sizes, n + 1),
        PyBytes_FromStringAndSize(<char*> tokens.slot_of, tokens.id_span * sizeof(uint32_t)),
        PyBytes_FromStringAndSize(<char*> tokens.blob, tokens.starts[n] + 16),
        PyBytes_FromStringAndSize(<char*> tokens.by_bytes, (tokens.mask + 1) * sizeof(uint32_t)),
        PyBytes_FromStringAndSize(<char*> table.pairs.entries, (capacity + 1) * sizeof(bp_pair_entry)),
        PyBytes_FromStringAndSize(<char*> table.pairs.low, BP_LOW_IDS * BP_LOW_IDS * sizeof(uint32_t)),
        PyBytes_FromStringAndSize(<char*> table.pairs.filter, capacity),
        PyBytes_FromStringAndSize(<char*> table.pairs.joined, (table.ranks + 1) * sizeof(uint32_t)),
    ]


cdef class Parts:
    """The parts of a file, which are proven in their order: first the tokens, then the merges, then its checksum.

    Args:
        file: Its memory, aligned to eight bytes; the tables keep it.
        start: Where its checksum begins.
        stop: The end of what stands before the parts; each of them begins at the next multiple of 64 bytes.
        sizes: Of all parts, in bytes.

    Raises:
        ValueError: A part lies outside the file.
    """
    cdef object owner              # of the memory
    cdef const uint8_t[::1] file
    cdef uint64_t start            # of what the checksum is about
    cdef uint64_t done             # bytes of it that the lanes have
    cdef uint64_t[4] lanes
    cdef const uint8_t* at[PARTS]
    cdef uint64_t sizes[PARTS]
    cdef readonly list ends        # of all parts

    def __cinit__(self, object file not None, uint64_t start, uint64_t stop, list sizes not None):
        cdef Py_ssize_t i
        self.owner, self.file = file, file
        self.start, self.ends = start, []
        self.lanes[:] = OF_FILES.words
        if len(sizes) < PARTS:
            raise ValueError(f"{len(sizes)} parts, and not {PARTS} at least")
        for i, size in enumerate(sizes):
            stop += -stop % ALIGN
            if type(size) is not int or not 0 <= size <= len(file) or stop + size > <uint64_t> len(file):
                raise ValueError(f"a part of {size!r} bytes at {stop}, and the file has {len(file)}")
            if i < PARTS:
                self.at[i], self.sizes[i] = &self.file[0] + stop, size
            stop += size
            self.ends.append(stop)

    cdef void add(self, const uint8_t* end) noexcept nogil:
        """Add to the checksum what is not yet in it, up to a multiple of 64 bytes from the start."""
        cdef const uint8_t* first = &self.file[0] + self.start
        add_lanes(self.lanes, first + self.done, (end - first) - self.done)
        self.done = end - first

    def checksum(self):
        """The checksum of the file, from its start on."""
        return finished(self.lanes, &self.file[0] + self.start, self.file.shape[0] - self.start, self.done)

    def tokens(self, Py_ssize_t repeated, bytes key not None):
        """The token table.

        Args:
            repeated: `TokenTable.repeated` of it.
            key: The key of 48 bytes with which it was made.

        Raises:
            ValueError: A part does not fit the others.
        """
        cdef TokenTable tokens = TokenTable(UNFILLED)
        tokens.owner, tokens.secret, tokens.repeated = self.owner, draw_secret(key), repeated
        self.add(self.at[TOKEN_PARTS])
        if repeated < 0 or not view_tokens(tokens, self.at, self.sizes) or not are_sound(tokens):
            raise ValueError("its tokens contradict each other")
        return tokens

    def merges(self, TokenTable tokens not None, bytes key not None, never=()):
        """The merge table; after the tokens.

        Args:
            tokens: The token table.
            key: The key of 48 bytes with which it was made.
            never: Ids that no merge gives.

        Raises:
            ValueError: As for the tokens; or a merge gives such an id.
        """
        cdef MergeTable table = MergeTable(key)
        cdef bytearray marks
        table.owner = self.owner
        if view_merges(table, self.at + TOKEN_PARTS, self.sizes + TOKEN_PARTS):
            marks = bytearray(table.ranks + 1)     # rank -> 1 where no merge may have it
            if mark_ranks(table, tokens, marks, never) and merges_are_sound(self, table, tokens, marks):
                return table
        raise ValueError("its merges contradict each other or the tokens")


cdef bint view_tokens(TokenTable tokens, const uint8_t** at, const uint64_t* sizes) noexcept nogil:
    """Set the pointers of a token table; false where the sizes of the parts do not fit."""
    cdef uint64_t n = sizes[0] // sizeof(token_t) - 1
    if sizes[0] < sizeof(token_t) or n >= <uint64_t> 1 << 31 or sizes[4] < 16:
        return False
    set_size(tokens, n)
    tokens.id_span = sizes[3] // sizeof(uint32_t)
    tokens.ids = <token_t*> at[0]
    tokens.starts = <uint64_t*> at[1]
    tokens.sizes = <uint8_t*> at[2]
    tokens.slot_of = <uint32_t*> at[3] if sizes[3] else NULL
    tokens.blob = <uint8_t*> at[4]
    tokens.by_bytes = <uint32_t*> at[5]
    return (sizes[0] == (n + 1) * sizeof(token_t) and sizes[1] == (n + 1) * sizeof(uint64_t) and sizes[2] == n + 1
            and sizes[3] == tokens.id_span * sizeof(uint32_t) and sizes[5] == (tokens.mask + 1) * sizeof(uint32_t)
            and tokens.starts[0] == 0 and tokens.starts[n] == sizes[4] - 16)


cdef bint are_sound(TokenTable tokens) noexcept nogil:
    cdef uint64_t start, end, i, used = 0
    cdef uint32_t value, slots = <uint32_t> ((<uint64_t> 1 << tokens.tag_shift) - 1), n = <uint32_t> tokens.size
    cdef uint32_t taken, filled, wrong = 0, block = <uint32_t> min(tokens.mask + 1, <uint64_t> BLOCK)
    cdef Py_ssize_t at
    for at in range(tokens.size):
        start, end = tokens.starts[at], tokens.starts[at + 1]
        if (end < start or end > tokens.starts[tokens.size] or tokens.sizes[at] != min(end - start, <uint64_t> BP_MANY)
                or (at and tokens.ids[at] <= tokens.ids[at - 1])):
            return False
        if tokens.id_span and (tokens.ids[at] >= tokens.id_span or tokens.slot_of[tokens.ids[at]] != <uint64_t> at + 1):
            return False
        tokens.empty += start == end
        tokens.longest = max(tokens.longest, <Py_ssize_t> (end - start))
    for i in range(tokens.id_span):
        used += tokens.slot_of[i] != 0
    if tokens.id_span and used != n:
        return False
    used = 0
    for start in range((tokens.mask + 1) // block):    # without branches: vectors of entries
        filled = 0
        for i in range(start * block, start * block + block):
            value = tokens.by_bytes[i]
            taken = value != 0
            filled += taken
            wrong |= ((value & slots) > n) | (taken & ((value & slots) == 0))
        wrong |= filled == block
        used += filled
    tokens.hidden = tokens.size - <Py_ssize_t> used
    return not wrong and tokens.hidden >= tokens.empty


cdef bint view_merges(MergeTable table, const uint8_t** at, const uint64_t* sizes) noexcept nogil:
    """Set the pointers of a merge table; false where the sizes of the parts do not fit."""
    cdef uint64_t capacity = 16
    table.pairs.shift = 60
    while (capacity + 1) * sizeof(bp_pair_entry) < sizes[0]:
        capacity *= 2
        table.pairs.shift -= 1
    table.pairs.mask, table.pairs.filter_mask = capacity - 1, 8 * capacity - 1
    table.pairs.entries = <bp_pair_entry*> at[0]
    table.pairs.low = <uint32_t*> at[1]
    table.pairs.filter = <uint64_t*> at[2]
    table.pairs.joined = <uint32_t*> at[3]
    table.ranks = <Py_ssize_t> (sizes[3] // sizeof(uint32_t)) - 1
    return ((capacity + 1) * sizeof(bp_pair_entry) == sizes[0] and sizes[2] == capacity and table.ranks >= 0
            and sizes[1] == BP_LOW_IDS * BP_LOW_IDS * sizeof(uint32_t) and sizes[3] % sizeof(uint32_t) == 0)


cdef bint mark_ranks(MergeTable table, TokenTable tokens, bytearray marks, never) except -1:
    """Mark the ranks of merges that would give one of these ids; false where a merge gives no token."""
    cdef Py_ssize_t rank, slot
    cdef uint8_t* marked = <uint8_t*> <char*> marks
    cdef bytearray tokens_never = tokens.marks(never)
    cdef const uint8_t* banned = <uint8_t*> <char*> tokens_never
    for rank in range(table.ranks):
        slot = tokens.slot(table.pairs.joined[rank])
        if slot < 0:
            return False
        marked[rank] = banned[slot]
    return True


cdef bint merges_are_sound(Parts parts, MergeTable table, TokenTable tokens, const uint8_t* marked) noexcept nogil:
    cdef uint64_t i, start, capacity = table.pairs.mask + 1
    cdef uint64_t block = min(capacity, <uint64_t> BLOCK)
    cdef uint32_t ranks = <uint32_t> table.ranks, first = 0, last = ranks, filled, wrong = 0, rank
    cdef uint32_t others = 0, dense = 0
    cdef const bp_pair_entry* entry
    cdef const uint32_t* words
    while dense < <uint32_t> tokens.size and tokens.ids[dense] == dense:
        dense += 1
    while first < ranks and not marked[first]:
        first += 1
    while last > first and not marked[last - 1]:
        last -= 1
    for start in range(capacity // block):
        parts.add(<const uint8_t*> (table.pairs.entries + (start + 1) * block))
        filled = 0
        words = <const uint32_t*> (table.pairs.entries + start * block)
        for i in range(block):                         # without branches, in numbers of 32 bits: vectors of entries
            rank = words[4 * i + 2]
            filled += rank != BP_NO_MERGE
            wrong |= rank + 1 > ranks                  # 0 in an empty entry
            # what must be looked at more closely: mostly nothing, since it takes as long as all else
            others |= (words[4 * i] >= dense) | (words[4 * i + 1] >= dense) | (rank - first < last - first)
        wrong |= filled == block
        table.size += filled
    for i in range(capacity if others and not wrong else 0):
        entry = table.pairs.entries + i
        if entry.rank != BP_NO_MERGE:
            wrong |= (marked[entry.rank] | (tokens.slot(<token_t> entry.pair) < 0)
                      | (tokens.slot(<token_t> (entry.pair >> 32)) < 0))
    for i in range(BP_LOW_IDS * BP_LOW_IDS):
        rank = min(table.pairs.low[i], ranks)
        wrong |= ((rank == ranks) & (table.pairs.low[i] != BP_NO_MERGE)) | marked[rank]
    return (not wrong and table.pairs.entries[capacity].rank == BP_NO_MERGE
            and <uint64_t> table.size * 5 <= capacity * 4)
