"""The tokens of a vocabulary in flat memory: id -> bytes and bytes -> id.

One blob of all bytes, in the order of the ids, serves decoding, look-up of whole words and building the merge table.
It is the only copy of the tokens: a bytes object is made for whoever asks. A dict of these would cost a pointer chase
and the interpreter lock at each use. Ids may be any uint32: where they are dense, an array maps id -> slot, otherwise
a binary search does.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset

from ..headers cimport (
    BP_KEY_BYTES, BP_KEY_READ, BP_PREFETCH, bp_grow, bp_hash_bytes, bp_hash_key, bp_key, bp_load_key,
    bp_secret, draw_secret, token_t,
)
from ..headers.python cimport (
    PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyLong_CheckExact,
)
from ..headers.vectors cimport bp_token_value

from collections.abc import ItemsView, KeysView, Mapping, ValuesView

from ..errors import short_repr

cdef bp_secret secret = draw_secret()
cdef object UNFILLED = object()            # the argument for a table that its maker fills


cdef class TokenList:
    """Tokens with their ids in any order, in flat memory."""

    def __dealloc__(self):
        free(self.ids)
        free(self.starts)
        free(self.data)

    cdef uint8_t* room(self, Py_ssize_t n) noexcept nogil:
        cdef uint64_t used = self.starts[self.size] if self.size else 0
        if bp_grow(<void**> &self.data, &self.data_capacity, used + n + 1, 1) < 0:
            return NULL
        return self.data + used

    cdef bint add(self, token_t token_id, Py_ssize_t length) noexcept nogil:
        cdef uint64_t used = self.starts[self.size] if self.size else 0
        if (bp_grow(<void**> &self.ids, &self.id_capacity, self.size + 1, sizeof(token_t)) < 0
                or bp_grow(<void**> &self.starts, &self.start_capacity, self.size + 2, sizeof(uint64_t)) < 0):
            return False
        self.ids[self.size] = token_id
        self.starts[self.size], self.starts[self.size + 1] = used, used + length
        self.size += 1
        return True


cdef int add_token(TokenList tokens, token_t token_id, const uint8_t* token, Py_ssize_t n) except -1:
    cdef uint8_t* room = tokens.room(n)
    if room == NULL:
        raise MemoryError()
    memcpy(room, token, n)
    if not tokens.add(token_id, n):
        raise MemoryError()
    return 0


cdef int add_all(TokenList tokens, found) except -1:
    """Add the tokens of a mapping."""
    for token_id, token in found.items():
        if not (PyLong_CheckExact(token_id) and PyBytes_CheckExact(token)):
            raise TypeError(f"a vocabulary maps int to bytes, not {token_id!r} to {token!r}")
        if not 0 <= token_id <= 0xFFFFFFFF:
            wrong = min(found)
            raise ValueError(f"token id {wrong if wrong < 0 else max(found)} is outside 0..{0xFFFFFFFF}")
        add_token(tokens, <token_t> token_id, <const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
    return 0


cdef int by_id(const void* one, const void* other) noexcept nogil:
    cdef uint64_t a = (<const uint64_t*> one)[0], b = (<const uint64_t*> other)[0]
    return (a > b) - (a < b)


cdef TokenTable table_of(TokenList tokens, unreachable):
    cdef TokenTable table = TokenTable(UNFILLED)
    return table if fill(table, tokens, unreachable) else None


cdef bint fill(TokenTable table, TokenList tokens, unreachable) except -1:
    """Fill a new table, with the memory of the list; false where an id occurs twice."""
    cdef Py_ssize_t slot
    cdef bint ascending = True
    if tokens.size >= 1 << 31:
        raise ValueError(f"a vocabulary holds at most {(1 << 31) - 1} tokens, not {tokens.size}")
    for slot in range(1, tokens.size):
        ascending = ascending and tokens.ids[slot - 1] < tokens.ids[slot]
    if not ascending:
        tokens = sorted_by_id(tokens)
    if tokens is None:
        return False
    take_memory(table, tokens)
    index_tokens(table, unreachable, 0)
    return True


cdef TokenList sorted_by_id(TokenList tokens):
    """The tokens by their ids; None where an id occurs twice."""
    cdef TokenList made = TokenList()
    cdef Py_ssize_t at, i
    cdef uint64_t* order = <uint64_t*> malloc(tokens.size * sizeof(uint64_t))      # id << 32 | index
    if order == NULL:
        raise MemoryError()
    try:
        for i in range(tokens.size):
            order[i] = <uint64_t> tokens.ids[i] << 32 | <uint64_t> i
        qsort(order, tokens.size, sizeof(uint64_t), by_id)
        for i in range(tokens.size):
            if i and order[i - 1] >> 32 == order[i] >> 32:
                return None
            at = <Py_ssize_t> <uint32_t> order[i]
            add_token(made, tokens.ids[at], tokens.data + tokens.starts[at], tokens.starts[at + 1] - tokens.starts[at])
    finally:
        free(order)
    return made


cdef int take_memory(TokenTable table, TokenList tokens) except -1:
    """Give a new table the memory of tokens in the order of their ids, and an index without entries."""
    cdef uint64_t length, total
    cdef Py_ssize_t slot, size = tokens.size
    if tokens.room(BP_KEY_READ) == NULL or not tokens.add(0, 0):    # the bytes after the last token
        raise MemoryError()
    total = tokens.starts[size]
    memset(tokens.data + total, 0, BP_KEY_READ)
    table.size, table.mask, table.tag_shift = size, 15, 4
    while table.mask + 1 < 2 * <uint64_t> size:
        table.mask = 2 * table.mask + 1
        table.tag_shift = min(table.tag_shift + 1, 31)
    table.sizes = <uint8_t*> calloc(size + 1, 1)
    if table.by_bytes == NULL:
        table.by_bytes = <uint32_t*> calloc(table.mask + 1, sizeof(uint32_t))
    if table.sizes == NULL or table.by_bytes == NULL:
        raise MemoryError()
    table.ids = <token_t*> shrunk(tokens.ids, (size + 1) * sizeof(token_t))
    table.starts = <uint64_t*> shrunk(tokens.starts, (size + 1) * sizeof(uint64_t))
    table.blob = <uint8_t*> shrunk(tokens.data, total + BP_KEY_READ)
    tokens.ids, tokens.starts, tokens.data, tokens.size = NULL, NULL, NULL, 0
    tokens.id_capacity = tokens.start_capacity = tokens.data_capacity = 0
    for slot in range(size):
        length = table.starts[slot + 1] - table.starts[slot]
        table.sizes[slot] = <uint8_t> min(length, <uint64_t> BP_MANY)
        table.longest = max(table.longest, <Py_ssize_t> length)
    return 0


cdef void* shrunk(void* memory, size_t size) noexcept nogil:
    cdef void* less = realloc(memory, size)
    return memory if less == NULL else less


cdef int index_tokens(TokenTable table, unreachable, Py_ssize_t first) except -1:
    """Add the slots from the first one on to by_bytes, and fill slot_of."""
    cdef Py_ssize_t slot, at
    cdef uint64_t[BP_FOUND_AT_ONCE] hashes     # of tokens whose places are fetched together
    cdef bytearray marks
    cdef const uint8_t* marked
    if table.size and table.ids[table.size - 1] < 8 * <uint64_t> table.size + 65536:
        table.id_span = <uint64_t> table.ids[table.size - 1] + 1
        table.slot_of = <uint32_t*> calloc(table.id_span, sizeof(uint32_t))
        if table.slot_of == NULL:
            raise MemoryError()
        for slot in range(table.size):
            table.slot_of[table.ids[slot]] = <uint32_t> (slot + 1)
    marks = table.marks(unreachable)
    marked = <uint8_t*> <char*> marks
    for slot in range(first, table.size):
        at = (slot - first) % BP_FOUND_AT_ONCE
        if at == 0:
            hash_tokens(table, slot, hashes)
        if table.starts[slot + 1] == table.starts[slot]:
            table.empty += 1
            table.unreachable += 1
        elif marked[slot]:
            table.unreachable += 1
        else:
            add_to_index(table, slot, hashes[at])
    return 0


cdef void hash_tokens(TokenTable table, Py_ssize_t first, uint64_t* hashes) noexcept nogil:
    """OUT: the hashes of the tokens of BP_FOUND_AT_ONCE slots; their places in by_bytes are fetched."""
    cdef Py_ssize_t slot
    for slot in range(first, min(first + BP_FOUND_AT_ONCE, table.size)):
        hashes[slot - first] = bp_hash_bytes(&table.secret, table.blob + table.starts[slot],
                                             table.starts[slot + 1] - table.starts[slot])
        BP_PREFETCH(table.by_bytes + ((hashes[slot - first] >> 32) & table.mask))


cdef void add_to_index(TokenTable table, Py_ssize_t slot, uint64_t hash) noexcept nogil:
    cdef const uint8_t* token = table.blob + table.starts[slot]
    cdef Py_ssize_t length = table.starts[slot + 1] - table.starts[slot]
    cdef uint64_t at = hash >> 32
    cdef uint32_t tag = <uint32_t> hash << table.tag_shift, known
    cdef bint same = False
    while table.by_bytes[at & table.mask]:
        known = table.by_bytes[at & table.mask] ^ tag
        if known >> table.tag_shift == 0:
            same = same or holds(table, <Py_ssize_t> known - 1, token, length)
        at += 1
    table.by_bytes[at & table.mask] = <uint32_t> (slot + 1) | tag
    table.repeated += same


cdef class TokenTable:
    """Tokens of a vocabulary: a mapping of id -> bytes in the order of the ids, which never changes.

    Args:
        tokens: id -> bytes, at most 2^31 - 1 tokens. Equal bytes find the lowest id.
        unreachable: Ids that are never found by their bytes; neither is a token without bytes.

    Raises:
        MemoryError: No memory for the tables.
        TypeError: An id is no int, or a token no bytes object.
        ValueError: An id is outside 0..2^32-1 or occurs twice, or there are too many tokens.

    >>> table = TokenTable({1: b"ab", 0: b"a"})
    >>> list(table), table[1], table.find_id(b"ab"), table == {0: b"a", 1: b"ab"}
    ([0, 1], b'ab', 1, True)
    """

    def __cinit__(self, tokens, unreachable=()):
        cdef TokenList found = TokenList()
        self.secret = secret
        if tokens is UNFILLED:                 # who made it fills it
            return
        if not isinstance(tokens, Mapping):
            raise TypeError(f"a vocabulary is a dict of id -> bytes, not {short_repr(tokens)}")
        add_all(found, tokens)
        if not fill(self, found, unreachable):
            raise ValueError("an id occurs twice")

    def with_tokens(self, dict more not None, unreachable=()):
        """A table with further tokens; an id that is there already gets other bytes. Takes ``unreachable`` anew."""
        cdef TokenList found = TokenList()
        cdef Py_ssize_t slot
        if not (more or unreachable or self.unreachable):
            return self
        for slot in range(self.size):
            if self.ids[slot] not in more:
                add_token(found, self.ids[slot], self.blob + self.starts[slot],
                          self.starts[slot + 1] - self.starts[slot])
        add_all(found, more)
        return table_of(found, unreachable)

    def __dealloc__(self):
        free(self.ids)
        free(self.starts)
        free(self.sizes)
        free(self.blob)
        free(self.by_bytes)
        free(self.slot_of)

    cdef Py_ssize_t slot(self, token_t token_id) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.size, middle
        if self.slot_of != NULL:
            return <Py_ssize_t> self.slot_of[token_id] - 1 if token_id < self.id_span else -1
        while low < high:
            middle = (low + high) >> 1
            if self.ids[middle] < token_id:
                low = middle + 1
            else:
                high = middle
        return low if low < self.size and self.ids[low] == token_id else -1

    cdef Py_ssize_t find(self, const uint8_t* data, Py_ssize_t length) noexcept nogil:
        cdef uint64_t hash = bp_hash_bytes(&self.secret, data, length), place = (hash >> 32) & self.mask
        cdef Py_ssize_t slot = -1
        while True:
            slot = next_alike(self, &place, <uint32_t> hash << self.tag_shift)
            if slot < 0 or holds(self, slot, data, length):
                return slot
            place = (place + 1) & self.mask

    cdef void find_keys(self, const bp_key* keys, Py_ssize_t n, Py_ssize_t* slots) noexcept nogil:
        # Each pass prefetches for all keys the data that the next pass reads.
        cdef uint64_t places[BP_FOUND_AT_ONCE]
        cdef uint32_t tags[BP_FOUND_AT_ONCE]
        cdef uint64_t hash
        cdef Py_ssize_t i
        for i in range(n):
            hash = bp_hash_key(&self.secret, keys[i].low, keys[i].high)
            tags[i] = <uint32_t> hash << self.tag_shift
            places[i] = (hash >> 32) & self.mask
            BP_PREFETCH(self.by_bytes + places[i])
        for i in range(n):
            slots[i] = next_alike(self, &places[i], tags[i])
            BP_PREFETCH(self.starts + max(slots[i], 0))
        for i in range(n):
            BP_PREFETCH(self.blob + self.starts[max(slots[i], 0)])
        for i in range(n):
            while slots[i] >= 0 and not has_key(self, slots[i], &keys[i]):
                places[i] = (places[i] + 1) & self.mask
                slots[i] = next_alike(self, &places[i], tags[i])

    cdef void find_many(self, const uint8_t** parts, const Py_ssize_t* sizes, Py_ssize_t n,
                        Py_ssize_t* slots) noexcept nogil:
        cdef bp_key keys[BP_FOUND_AT_ONCE]
        cdef Py_ssize_t i
        for i in range(n):
            keys[i] = bp_load_key(parts[i], min(sizes[i], <Py_ssize_t> BP_KEY_BYTES))
        self.find_keys(keys, n, slots)
        for i in range(n):
            if sizes[i] > BP_KEY_BYTES:        # few are so long
                slots[i] = self.find(parts[i], sizes[i])

    cdef bytearray marks(self, ids):
        cdef bytearray made = bytearray(self.size + 2)
        for token_id in ids:
            if token_id in self:
                made[self.slot(token_id)] = 1
        return made

    cdef bytes bytes_at(self, Py_ssize_t slot):
        return PyBytes_FromStringAndSize(<char*> self.blob + self.starts[slot],
                                         self.starts[slot + 1] - self.starts[slot])

    def find_id(self, bytes token not None):
        """The id of the token with these bytes, or None."""
        cdef Py_ssize_t slot = self.find(<const uint8_t*> PyBytes_AS_STRING(token), PyBytes_GET_SIZE(token))
        return None if slot < 0 else self.ids[slot]

    @property
    def next_id(self):
        """The highest id plus one."""
        return <uint64_t> self.ids[self.size - 1] + 1 if self.size else 0

    # ---- a mapping

    def __len__(self):
        return self.size

    def __iter__(self):
        cdef list ids = []
        cdef Py_ssize_t slot
        for slot in range(self.size):
            ids.append(self.ids[slot])
        return iter(ids)

    def __getitem__(self, token_id):
        cdef Py_ssize_t slot = slot_of_object(self, token_id)
        if slot < 0:
            raise KeyError(token_id)
        return self.bytes_at(slot)

    def __contains__(self, token_id):
        return slot_of_object(self, token_id) >= 0

    def get(self, token_id, default=None):
        cdef Py_ssize_t slot = slot_of_object(self, token_id)
        return default if slot < 0 else self.bytes_at(slot)

    def keys(self):
        return KeysView(self)

    def values(self):
        return ValuesView(self)

    def items(self):
        return ItemsView(self)

    def __eq__(self, other):
        cdef TokenTable table
        if not isinstance(other, TokenTable):
            return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented
        table = other
        return (self.size == table.size and memcmp(self.ids, table.ids, self.size * sizeof(token_t)) == 0
                and memcmp(self.starts, table.starts, (self.size + 1) * sizeof(uint64_t)) == 0
                and memcmp(self.blob, table.blob, self.starts[self.size]) == 0)

    def __repr__(self):
        return repr(dict(self))

    def __reduce__(self):
        return TokenTable, (dict(self),)


Mapping.register(TokenTable)


def grown(TokenTable table not None, dict more not None, unreachable=()):
    """``table.with_tokens(more, unreachable)``, without a copy if all new ids are higher: tokens are added in place.

    IN: the caller owns the table alone, and `unreachable` is its own.
    """
    cdef TokenList tokens = TokenList()
    cdef Py_ssize_t size = table.size
    if not size or min(more, default=0) < table.next_id or <uint64_t> (size + len(more)) * 2 > table.mask + 1:
        return table.with_tokens(more, unreachable)
    tokens.ids, tokens.starts, tokens.data = table.ids, table.starts, table.blob
    tokens.size, tokens.data_capacity = size, table.starts[size]
    tokens.id_capacity = tokens.start_capacity = size + 1
    table.ids, table.starts, table.blob, table.size = NULL, NULL, NULL, 0
    free(table.sizes)
    free(table.slot_of)
    table.sizes, table.slot_of, table.id_span = NULL, NULL, 0
    for token_id in sorted(more):
        add_all(tokens, {token_id: more[token_id]})
    take_memory(table, tokens)
    index_tokens(table, (), size)
    return table


cdef inline Py_ssize_t slot_of_object(TokenTable table, object token_id) except -2:
    cdef int64_t value = bp_token_value(token_id)
    if value == -2 and hasattr(token_id, "__index__"):     # an integer of NumPy
        value = bp_token_value(token_id.__index__())
    return table.slot(<token_t> value) if 0 <= value <= 0xFFFFFFFF else -1


cdef inline Py_ssize_t next_alike(TokenTable table, uint64_t* place, uint32_t tag) noexcept nogil:
    """The first slot from a place of by_bytes on that has a tag, or -1. INOUT: *place."""
    cdef uint32_t known
    while True:
        known = table.by_bytes[place[0]]
        if known == 0:
            return -1
        known ^= tag
        if known >> table.tag_shift == 0:
            return <Py_ssize_t> known - 1
        place[0] = (place[0] + 1) & table.mask


cdef inline bint holds(TokenTable table, Py_ssize_t slot, const uint8_t* data, Py_ssize_t length) noexcept nogil:
    """True if the token of a slot has these bytes."""
    cdef uint64_t start = table.starts[slot]
    return table.starts[slot + 1] - start == <uint64_t> length and memcmp(table.blob + start, data, length) == 0


cdef inline bint has_key(TokenTable table, Py_ssize_t slot, const bp_key* key) noexcept nogil:
    cdef uint64_t start = table.starts[slot], length = table.starts[slot + 1] - start
    cdef bp_key own
    if length > <uint64_t> BP_KEY_BYTES:
        return False
    own = bp_load_key(table.blob + start, length)
    return own.low == key.low and own.high == key.high
