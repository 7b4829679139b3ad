"""The tables of a vocabulary as flat parts of a file, and tables that are views of such parts.

Both hash tables are in the parts, keyed with a secret that is made of the content: nobody can choose tokens that meet
under it. The secret is known to all, but texts only look up, and no look-up passes more than LONGEST_RUN entries: the
parts are refused where one could. So the memory of the file is used as it is, and processes share it.

All indices are proven here, in one pass: whatever the parts hold, nothing outside of them is read. That they are those
of the vocabulary is what the checksum of the file says.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .._merge cimport MergeTable
from ..headers cimport BP_LOW_IDS, bp_hash_long, bp_pair_entry, bp_secret, draw_secret, token_t
from ..headers.python cimport PyBytes_FromStringAndSize
from ._tokens cimport BP_MANY, TokenTable

cdef enum:
    LONGEST_RUN = 1024         # entries of a hash table, one after the other, without an empty one; some 60 are usual
    TOKEN_PARTS = 6
    PARTS = 10

cdef uint32_t NONE = <uint32_t> -1
cdef bp_secret OF_FILES = draw_secret(bytes(range(1, 49)))


def checksum(const uint8_t[::1] data not None):
    """A hash of 64 bits of 16 bytes or more, the same in every process.

    >>> hex(checksum(bytes(64)))
    '0xca01a10bfb9f543d'
    """
    if data.shape[0] < 16:
        raise ValueError(f"{data.shape[0]} bytes are fewer than 16")
    return bp_hash_long(&OF_FILES, &data[0], data.shape[0])


def parts_of(TokenTable tokens not None, MergeTable table not None):
    """The memory of both tables, a list of bytes."""
    cdef uint64_t n = tokens.size, capacity = table.pairs.mask + 1
    return [
        PyBytes_FromStringAndSize(<char*> tokens.ids, (n + 1) * sizeof(token_t)),
        PyBytes_FromStringAndSize(<char*> tokens.starts, (n + 1) * sizeof(uint64_t)),
        PyBytes_FromStringAndSize(<char*> tokens.sizes, n + 1),
        PyBytes_FromStringAndSize(<char*> tokens.slot_of, tokens.direct * sizeof(uint32_t)),
        PyBytes_FromStringAndSize(<char*> tokens.blob, tokens.starts[n] + 16),
        PyBytes_FromStringAndSize(<char*> tokens.by_bytes, (tokens.mask + 1) * sizeof(uint32_t)),
        PyBytes_FromStringAndSize(<char*> table.pairs.entries, (capacity + 1) * sizeof(bp_pair_entry)),
        PyBytes_FromStringAndSize(<char*> table.pairs.low, BP_LOW_IDS * BP_LOW_IDS * sizeof(uint32_t)),
        PyBytes_FromStringAndSize(<char*> table.pairs.filter, capacity),
        PyBytes_FromStringAndSize(<char*> table.pairs.joined, (table.ranks + 1) * sizeof(uint32_t)),
    ]


def tables_of(list parts not None, Py_ssize_t repeated, bytes key not None):
    """The token table and the merge table of parts, which stay their memory.

    Args:
        parts: Those of :func:`parts_of`, as buffers that are aligned to eight bytes.
        repeated: `TokenTable.repeated` of the token table.
        key: The key of 48 bytes with which both were made.

    Raises:
        ValueError: A part does not fit the others.
    """
    cdef TokenTable tokens = TokenTable()
    cdef MergeTable table = MergeTable(key)
    cdef const uint8_t* at[PARTS]
    cdef uint64_t sizes[PARTS]
    cdef const uint8_t[::1] view
    cdef int i
    if len(parts) != PARTS or repeated < 0:
        raise ValueError(f"{len(parts)} parts, not {PARTS}")
    for i in range(PARTS):
        view = parts[i]
        sizes[i] = view.shape[0]
        at[i] = &view[0] if sizes[i] else NULL
    tokens.owner = table.owner = parts
    tokens.secret, tokens.repeated = table.secret, repeated
    if not view_tokens(tokens, at, sizes) or not are_sound(tokens):
        raise ValueError("its tokens contradict each other")
    if not view_merges(table, at + TOKEN_PARTS, sizes + TOKEN_PARTS) or not merges_are_sound(table, tokens):
        raise ValueError("its merges contradict each other or the tokens")
    return tokens, table


cdef bint view_tokens(TokenTable tokens, const uint8_t** at, const uint64_t* sizes) noexcept nogil:
    """Set the pointers of a token table; false where the sizes of the parts do not fit."""
    cdef uint64_t n = sizes[0] // sizeof(token_t) - 1, capacity = 16
    tokens.tag_shift = 4
    if sizes[0] < sizeof(token_t) or n >= <uint64_t> 1 << 31 or sizes[4] < 16:
        return False
    while capacity < 2 * n:
        capacity *= 2
        tokens.tag_shift = min(tokens.tag_shift + 1, 31)
    tokens.size, tokens.mask, tokens.direct = n, capacity - 1, sizes[3] // sizeof(uint32_t)
    tokens.ids = <token_t*> at[0]
    tokens.starts = <uint64_t*> at[1]
    tokens.sizes = <uint8_t*> at[2]
    tokens.slot_of = <uint32_t*> at[3]
    tokens.blob = <uint8_t*> at[4]
    tokens.by_bytes = <uint32_t*> at[5]
    return (sizes[0] == (n + 1) * sizeof(token_t) and sizes[1] == (n + 1) * sizeof(uint64_t) and sizes[2] == n + 1
            and sizes[3] == tokens.direct * sizeof(uint32_t) and sizes[5] == capacity * sizeof(uint32_t)
            and tokens.starts[0] == 0 and tokens.starts[n] == sizes[4] - 16)


cdef bint are_sound(TokenTable tokens) noexcept nogil:
    cdef uint64_t start, end, i, used = 0, run = 0, longest = 0, taken, wrong = 0
    cdef uint32_t slot, slots = <uint32_t> ((<uint64_t> 1 << tokens.tag_shift) - 1)
    cdef Py_ssize_t n = tokens.size, at
    for at in range(n):
        start, end = tokens.starts[at], tokens.starts[at + 1]
        if (end < start or end > tokens.starts[n] or tokens.sizes[at] != min(end - start, <uint64_t> BP_MANY)
                or (at and tokens.ids[at] <= tokens.ids[at - 1])):
            return False
        if tokens.direct and (tokens.ids[at] >= tokens.direct or tokens.slot_of[tokens.ids[at]] != <uint64_t> at + 1):
            return False
        tokens.empty += start == end
        tokens.longest = max(tokens.longest, <Py_ssize_t> (end - start))
    for i in range(tokens.direct):
        used += tokens.slot_of[i] != 0
    if tokens.direct and used != <uint64_t> n:
        return False
    used = 0
    for i in range(tokens.mask + 1):           # without a branch on what is as good as random
        taken = tokens.by_bytes[i] != 0
        slot = tokens.by_bytes[i] & slots
        run = (run + 1) * taken
        longest = max(longest, run)
        used += taken
        wrong |= (slot > <uint64_t> n) | (taken & (slot == 0))
    tokens.hidden = n - <Py_ssize_t> used
    return not wrong and longest <= LONGEST_RUN and tokens.hidden >= tokens.empty


cdef bint view_merges(MergeTable table, const uint8_t** at, const uint64_t* sizes) noexcept nogil:
    """Set the pointers of a merge table; false where the sizes of the parts do not fit."""
    cdef uint64_t capacity = 16
    table.pairs.secret = table.secret
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


cdef inline bint is_token(TokenTable tokens, uint32_t token_id, uint64_t dense) noexcept nogil:
    return token_id < dense or tokens.slot(token_id) >= 0


cdef bint merges_are_sound(MergeTable table, TokenTable tokens) noexcept nogil:
    cdef uint64_t i, capacity = table.pairs.mask + 1, run = 0, ranks = table.ranks, low = BP_LOW_IDS * BP_LOW_IDS
    cdef uint64_t longest = 0, taken, others = 0, wrong = 0
    cdef uint64_t dense = 0        # ids below it are tokens, mostly all: looking each up would take most of the time
    cdef const bp_pair_entry* entry
    while dense < <uint64_t> tokens.size and tokens.ids[dense] == dense:
        dense += 1
    for i in range(ranks):
        if not is_token(tokens, table.pairs.joined[i], dense):
            return False
    for i in range(capacity):
        entry = table.pairs.entries + i
        taken = entry.rank != NONE
        run = (run + 1) * taken
        longest = max(longest, run)
        table.size += taken
        others += taken & ((entry.pair >> 32 >= dense) | (<token_t> entry.pair >= dense))
        wrong |= taken & (entry.rank >= ranks)
    for i in range(capacity if others else 0):
        entry = table.pairs.entries + i
        wrong |= entry.rank != NONE and not (is_token(tokens, <token_t> entry.pair, dense)
                                             and is_token(tokens, <token_t> (entry.pair >> 32), dense))
    for i in range(low):
        wrong |= (table.pairs.low[i] != NONE) & (table.pairs.low[i] >= ranks)
    return (not wrong and longest <= LONGEST_RUN and table.pairs.entries[capacity].rank == NONE
            and <uint64_t> table.size * 5 <= capacity * 4)
