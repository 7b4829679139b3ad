"""Vocabularies in GPT-2's printable form, read straight from the bytes of a file: vocab.json, merges.txt, and the
corresponding members of another JSON file.

`json` makes a str of every token, a dict entry of it, then its bytes. Here a token's bytes are read in one step, and so
are a merge's two ids.

Only correct input is read. For any other (a repeated id or one that is no uint32, a character that stands for no byte,
a merge of bytes that are no token, a bracket too many) the functions return None, and the caller goes through `json`,
which accepts the rare case or raises the error with its offset. So this module has no error messages, and `json` must
accept everything that it accepts, with the same result.
"""
from cython cimport final
from libc.stdint cimport int16_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp

from ..headers cimport BP_KEY_READ, bp_grow, bp_utf8_put, token_t
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ..headers.vectors cimport bp_utf8_valid
from ..vocabulary._merge_list cimport MergeList, Results
from ._ranks cimport decode_base64
from ..vocabulary._tokens cimport BP_FOUND_AT_ONCE, TokenList, TokenTable, add_token, table_of

cdef extern from "headers/json_escapes.h" nogil:
    int bp_json_hex(uint8_t byte) noexcept
    const uint8_t* bp_json_escape(const uint8_t* p, const uint8_t* end, uint32_t* character) noexcept

cdef extern from "formats/json_marks.h" nogil:
    enum: BP_JSON_BYTES
    const uint8_t* bp_json_blanks(const uint8_t* p, const uint8_t* end) noexcept
    const uint8_t* bp_json_skip(const uint8_t* p, const uint8_t* end) noexcept
    Py_ssize_t bp_json_copy(const uint8_t* p, const uint8_t* end, uint8_t other, bint only_ascii, uint8_t* to) noexcept

cdef enum:
    CHARACTERS = 0x200         # the characters of the printable form are below this
    LONGEST_ID = 10            # digits

cdef int16_t BYTE_OF[CHARACTERS]   # character -> the byte it stands for, -1 for none; bytelevel.py explains the form


cdef int _fill() noexcept:
    cdef int byte, moved = 0x100
    for byte in range(CHARACTERS):
        BYTE_OF[byte] = -1
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte:
            BYTE_OF[byte] = <int16_t> byte
        else:
            BYTE_OF[moved] = <int16_t> byte
            moved += 1
    return 0


_fill()


@final
cdef class _Reader:
    """A position in a part of a file.

    Methods read something and move past it; they return False where it is not there, and then the position is lost.

    Args:
        data: The file.
        start: The beginning of the part; at the beginning of the file, a byte-order mark is skipped.
        stop: The end of the part.
    """

    cdef bytes data               # keeps the memory alive
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef uint8_t* memory
    cdef uint8_t* token           # the bytes of the token that was read last; room for the whole part
    cdef Py_ssize_t length        # of that token
    cdef Py_ssize_t count         # tokens that `join` will look up:
    cdef const uint8_t* parts[BP_FOUND_AT_ONCE]
    cdef Py_ssize_t sizes[BP_FOUND_AT_ONCE]
    cdef bint characters          # tokens are spelled as they are, not in printable form,
    cdef bytes written            # keeps the memory alive:
    cdef const uint8_t* space     # with this for a space, of
    cdef Py_ssize_t space_size    # bytes; 0 for none

    def __cinit__(self, bytes data not None, Py_ssize_t start, Py_ssize_t stop, str space=None):
        if not 0 <= start <= stop <= PyBytes_GET_SIZE(data):
            raise ValueError(f"{start} to {stop} is no part of {len(data)} bytes")
        self.data = data
        self.p = <const uint8_t*> PyBytes_AS_STRING(data) + start
        self.end = <const uint8_t*> PyBytes_AS_STRING(data) + stop
        if start == 0 and stop >= 3 and memcmp(self.p, b"\xef\xbb\xbf", 3) == 0:
            self.p += 3
        self.token = self.memory = <uint8_t*> malloc(stop - start + BP_KEY_READ)
        if self.token == NULL:
            raise MemoryError()
        self.characters = space is not None
        self.written = b"" if space is None else space.encode("utf-8")
        self.space = <const uint8_t*> PyBytes_AS_STRING(self.written)
        self.space_size = PyBytes_GET_SIZE(self.written)

    def __dealloc__(self):
        free(self.memory)

    cdef inline bint blanks(self) noexcept nogil:
        """Skip JSON's white space; returns False at the end of the part."""
        self.p = bp_json_blanks(self.p, self.end)
        return self.p < self.end

    cdef inline bint take(self, uint8_t character) noexcept nogil:
        """Read this character."""
        if self.p == self.end or self.p[0] != character:
            return False
        self.p += 1
        return True

    cdef inline bint read(self, uint8_t character) noexcept nogil:
        """Read white space, then this character."""
        self.blanks()
        return self.take(character)

    cdef int open(self, uint8_t opening, uint8_t closing) noexcept nogil:
        """Read the opening bracket of a JSON array or object that fills the part.

        Returns 1 before the first item, 0 after an empty one, -1 if it is not there.
        """
        if not self.read(opening) or not self.blanks():
            return -1
        return 1 if self.p[0] != closing else self.next(closing)

    cdef inline int next(self, uint8_t closing) noexcept nogil:
        """Read the separator after an item: 1 before the next item, 0 at the end, -1 for anything else."""
        if self.read(c","):
            return 1
        return 0 if self.take(closing) and not self.blanks() else -1

    cdef bint read_token(self, bint escapes) noexcept nogil:
        """Read a token up to the first ASCII character that is in none: a space, a quote, a newline."""
        cdef const uint8_t* p = self.p
        cdef const uint8_t* end = self.end
        cdef uint8_t* out = self.token
        cdef uint32_t character
        cdef int byte
        cdef Py_ssize_t n = 0, run
        if self.characters:
            return self.read_characters()
        if p < end:                            # most words begin with a space: no branch that depends on it
            out[0] = c" "
            n = (p[0] == 0xC4) & (p[1] == 0xA0)
            p += 2 * n
        while True:
            # two bytes of UTF-8, no overlong form
            while end - p > 1 and 0xC2 <= p[0] <= 0xC7 and p[1] & 0xC0 == 0x80:
                byte = BYTE_OF[(p[0] & 7) << 6 | (p[1] & 0x3F)]
                if byte < 0:
                    return False
                out[n] = <uint8_t> byte
                n += 1
                p += 2
            run = bp_json_copy(p, end, 0x7F, True, out + n)
            n += run
            p += run
            if run == BP_JSON_BYTES:
                continue
            if p == end or (p[0] == c'"' and escapes):
                break
            if p[0] == c"\\" and escapes:
                p = bp_json_escape(p, end, &character)
                if p == NULL or character >= CHARACTERS or BYTE_OF[character] < 0:
                    return False
                out[n] = <uint8_t> BYTE_OF[character]
                n += 1
            elif p[0] < 0x80:
                if BYTE_OF[p[0]] < 0:
                    break
                out[n] = p[0]
                n += 1
                p += 1
            elif run == 0:
                return False
        self.length = n
        self.p = p
        return True

    cdef bint read_characters(self) noexcept nogil:
        """Read a token of a JSON string as it is spelled, up to a quote or a space."""
        cdef const uint8_t* p = self.p
        cdef const uint8_t* end = self.end
        cdef const uint8_t* space = self.space
        cdef uint8_t* out = self.token
        cdef Py_ssize_t n = 0, run, size = self.space_size
        cdef uint32_t character
        while p < end and p[0] != c'"' and p[0] != c" ":
            if size and p[0] == space[0] and end - p >= size and memcmp(p, space, size) == 0:
                out[n] = c" "
                n += 1
                p += size
            elif p[0] == c"\\":
                p = bp_json_escape(p, end, &character)
                if p == NULL or character == c" ":
                    return False
                n = bp_utf8_put(out + n, character) - out
                if size and n >= size and memcmp(out + n - size, space, size) == 0:
                    n += 1 - size
                    out[n - 1] = c" "
            elif p[0] < 0x20:
                return False
            else:
                out[n] = p[0]
                n += 1
                p += 1
            run = BP_JSON_BYTES
            while run == BP_JSON_BYTES:
                run = bp_json_copy(p, end, space[0] if size else c'"', False, out + n)
                n += run
                p += run
        self.length = n
        self.p = p
        return True

    cdef int byte_token(self) noexcept nogil:
        """The byte for which the token that was read last stands, spelled as <0x0A>; -1 for none."""
        cdef const uint8_t* token = self.token
        if self.length != 6 or memcmp(token, b"<0x", 3) != 0 or token[5] != c">":
            return -1
        if c"a" <= token[3] or c"a" <= token[4] or bp_json_hex(token[3]) < 0 or bp_json_hex(token[4]) < 0:
            return -1
        return bp_json_hex(token[3]) << 4 | bp_json_hex(token[4])

    cdef bint read_id(self, uint32_t* token_id) noexcept nogil:
        """Read an id as JSON writes integers, 0..2^32-1."""
        cdef const uint8_t* start = self.p
        cdef uint64_t value = 0
        while self.p < self.end and c"0" <= self.p[0] <= c"9" and self.p - start <= LONGEST_ID:
            value = 10 * value + (self.p[0] - c"0")
            self.p += 1
        token_id[0] = <uint32_t> value
        return self.p > start and (start[0] != c"0" or self.p - start == 1) and value <= 0xFFFFFFFFu

    cdef bint read_key(self, bytes key) noexcept:
        """Read this key of an object, and the white space before its value."""
        cdef Py_ssize_t n = PyBytes_GET_SIZE(key)
        if not self.read(c'"') or self.end - self.p < n or memcmp(self.p, PyBytes_AS_STRING(key), n) != 0:
            return False
        self.p += n
        return self.take(c'"') and self.read(c":") and self.blanks()

    cdef bint read_string(self) noexcept nogil:
        """Read a string, whose characters matter to nobody; or null."""
        cdef uint32_t character
        if self.end - self.p > 4 and memcmp(self.p, b"null", 4) == 0:
            self.p += 4
            return True
        if not self.take(c'"'):
            return False
        while self.p < self.end and self.p[0] >= 0x20 and self.p[0] != c'"':
            self.p = bp_json_escape(self.p, self.end, &character) if self.p[0] == c"\\" else self.p + 1
            if self.p == NULL:
                return False
        return self.take(c'"')

    cdef bint read_entry(self, uint32_t* token_id) noexcept nogil:
        """Read a token in quotes, and its id."""
        return (self.read(c'"') and self.read_token(True) and self.take(c'"')
                and self.read(c":") and self.blanks() and self.read_id(token_id))

    cdef void part(self) noexcept nogil:
        """Leave the token that was read last to `join`."""
        self.parts[self.count], self.sizes[self.count] = self.token, self.length
        self.count += 1
        self.token += self.length

    cdef bint read_merge(self, bint json, bint apart) noexcept nogil:
        """Read two tokens with a space between, or `apart`, in an array."""
        if apart and not self.read(c"[") or json and not self.read(c'"') or not self.read_token(json):
            return False
        self.part()
        if apart and not (self.take(c'"') and self.read(c",") and self.read(c'"')) or not apart and not self.take(c" "):
            return False
        if not self.read_token(json):
            return False
        self.part()
        return not (json and not self.take(c'"') or apart and not self.read(c"]"))

    cdef bint join(self, TokenTable table, MergeList merges) except -1:
        """Append the ids of the merges that were read; False where one has a part that is no token."""
        cdef Py_ssize_t slots[BP_FOUND_AT_ONCE]
        cdef Py_ssize_t i
        table.find_many(self.parts, self.sizes, self.count, slots)
        for i in range(0, self.count, 2):
            if slots[i] < 0 or slots[i + 1] < 0:
                return False
            if not merges.add(table.ids[slots[i]], table.ids[slots[i + 1]]):
                raise MemoryError()
            merges.found.add(table, slots[i], slots[i + 1])
        self.count, self.token = 0, self.memory
        return True


def members(bytes data not None):
    """The positions of the values in a JSON object, and of those in its member "model".

    Only brackets and quotes are looked at; damage to anything else is found when the values are read.

    Args:
        data: The file.

    Returns:
        key -> (start, stop) of its value, in the order of the file. None for anything but an object, for a repeated key
        or one with an escape, and for damage.

    >>> members(b'{"a": {"b": []}, "model": {"c": 5}}')
    {'a': (6, 15), 'model.c': (32, 33), 'model': (26, 34)}
    """
    cdef _Reader reader = _Reader(data, 0, len(data))
    cdef dict values = {}
    try:
        found = read_members(reader, <const uint8_t*> PyBytes_AS_STRING(data), values, "")
    except UnicodeDecodeError:
        return None
    return values if found and values and not reader.blanks() else None


cdef bint read_members(_Reader reader, const uint8_t* first, dict values, str prefix) except -1:
    """Read an object. OUT: values, with the prefix before each key. False where `members` has no answer."""
    cdef const uint8_t* p
    cdef const uint8_t* key
    cdef const uint8_t* value
    if not reader.read(c"{"):
        return False
    if reader.read(c"}"):
        return True
    while True:
        if not reader.read(c'"'):
            return False
        key = reader.p
        p = <const uint8_t*> memchr(key, c'"', reader.end - key)
        if p == NULL or memchr(key, c"\\", p - key) != NULL:
            return False
        name = prefix + key[:p - key].decode("ascii")
        reader.p = p + 1
        if not reader.read(c":") or not reader.blanks():
            return False
        value = reader.p
        if name == "model" and value[0] == c"{":
            if not read_members(reader, first, values, "model."):
                return False
        elif not skip_value(reader):
            return False
        if name in values:
            return False
        values[name] = (value - first, reader.p - first)
        if not reader.read(c","):
            return reader.take(c"}")


cdef bint skip_value(_Reader reader) noexcept nogil:
    """Move past a value; a number or a name takes the white space behind it along. False where it has no end."""
    cdef const uint8_t* p = reader.p
    if p[0] == c'"':
        return reader.read_string()
    if p[0] == c"{" or p[0] == c"[":
        p = bp_json_skip(p, reader.end)
    else:
        while p < reader.end and p[0] not in (c",", c"}", c"]"):
            p += 1
        if p == reader.end or p[0] == c"]":
            return False
    if p != NULL:
        reader.p = p
    return p != NULL


def read_tokens(bytes data not None, Py_ssize_t start=0, Py_ssize_t stop=-1):
    """The tokens in a JSON object: printable form -> id.

    Args:
        data: The file.
        start: The beginning of the object, with white space before it.
        stop: The end of the object, with white space after it; -1 for the end of the file.

    Returns:
        A TokenTable; None for any fault. Tokens with equal bytes are none.

    >>> dict(read_tokens('{"Ġa": 5, "\\\\u0120": 3}'.encode()))
    {3: b' ', 5: b' a'}
    """
    cdef _Reader reader = _Reader(data, start, len(data) if stop < 0 else stop)
    cdef TokenList tokens = TokenList()
    cdef Py_ssize_t most = (reader.end - reader.p) // 5 + 1, size = 0      # entries have five bytes, the last one four
    cdef uint32_t token_id = 0
    cdef int state = reader.open(c"{", c"}")
    # memory that is not written to costs nothing
    if (tokens.room(reader.end - reader.p + BP_KEY_READ) == NULL
            or bp_grow(<void**> &tokens.ids, &tokens.id_capacity, most + 1, sizeof(token_t)) < 0
            or bp_grow(<void**> &tokens.starts, &tokens.start_capacity, most + 2, sizeof(uint64_t)) < 0):
        raise MemoryError()
    tokens.starts[0] = 0
    while state > 0:
        reader.token = tokens.data + tokens.starts[size]
        if not reader.read_entry(&token_id):
            return None
        tokens.ids[size] = token_id
        tokens.starts[size + 1] = tokens.starts[size] + reader.length
        size += 1
        state = reader.next(c"}")
    tokens.size = size
    return table_of(tokens, ()) if state == 0 else None


def read_ranked(bytes data not None, Py_ssize_t start, Py_ssize_t stop, list first not None, Py_ssize_t n):
    """The tokens in a JSON array of objects with "rank", 0, 1, 2, ..., "token_bytes" in base64, and "token_str".

    Args:
        data: The file.
        start: The beginning of the array.
        stop: Its end.
        first: The tokens of the first ids.
        n: The number of ranks whose tokens follow.

    Returns:
        A TokenTable; None for any fault, and for fewer ranks.

    >>> dict(read_ranked(b'[{"rank": 0, "token_bytes": "YQ==", "token_str": "a"}]', 0, 54, [b"<s>"], 1))
    {0: b'<s>', 1: b'a'}
    """
    cdef _Reader reader = _Reader(data, start, stop)
    cdef TokenList tokens = TokenList()
    cdef const uint8_t* quote
    cdef uint8_t* room
    cdef bytes token
    cdef Py_ssize_t rank = 0, length
    cdef uint32_t found = 0
    cdef int state = reader.open(c"[", c"]")
    if bp_utf8_valid(<const uint8_t*> PyBytes_AS_STRING(data), len(data)) < len(data):
        return None
    for token in first:
        add_token(tokens, <uint32_t> tokens.size, <const uint8_t*> PyBytes_AS_STRING(token), len(token))
    while state > 0:
        if not (reader.read(c"{") and reader.read_key(b"rank") and reader.read_id(&found) and found == rank
                and reader.read(c",") and reader.read_key(b"token_bytes") and reader.take(c'"')):
            return None
        quote = <const uint8_t*> memchr(reader.p, c'"', reader.end - reader.p)
        if quote == NULL:
            return None
        room = tokens.room(quote - reader.p)
        if room == NULL:
            raise MemoryError()
        length = decode_base64(reader.p, quote - reader.p, room)
        reader.p = quote + 1
        if length < 0 or not (reader.read(c",") and reader.read_key(b"token_str") and reader.read_string()
                              and reader.read(c"}")):
            return None
        if rank < n and not tokens.add(<uint32_t> tokens.size, length):
            raise MemoryError()
        rank += 1
        state = reader.next(c"]")
    return table_of(tokens, ()) if state == 0 and rank >= n else None


def read_characters(bytes data not None, Py_ssize_t start, Py_ssize_t stop, str space not None):
    """The tokens in a JSON object: spelled characters -> id.

    Args:
        data, start, stop: As for :func:`read_tokens`.
        space: The character that stands for a space, or "".

    Returns:
        A TokenTable; the id of each byte token, None for a byte without one, in a list of 256; and the ids of those
        whose character has a token, too. None for any fault.

    >>> table, byte_ids, hidden = read_characters('{"▁a": 5, "<0x0A>": 3}'.encode(), 0, 24, "▁")
    >>> dict(table), byte_ids[10], hidden
    ({3: b'\\n', 5: b' a'}, 3, frozenset())
    """
    cdef _Reader reader = _Reader(data, start, stop, space)
    cdef TokenList tokens = TokenList()
    cdef uint32_t token_id = 0
    cdef int byte, state = reader.open(c"{", c"}")
    cdef list byte_ids = [None] * 256
    cdef set letters = set()
    if bp_utf8_valid(<const uint8_t*> PyBytes_AS_STRING(data) + start, stop - start) < stop - start:
        return None
    while state > 0:
        if not reader.read_entry(&token_id):
            return None
        byte = reader.byte_token()
        if byte >= 0:
            if byte_ids[byte] is not None:
                return None
            byte_ids[byte] = token_id
            reader.token[0] = <uint8_t> byte
            reader.length = 1
        elif reader.length == 1:
            letters.add(reader.token[0])
        add_token(tokens, token_id, reader.token, reader.length)
        state = reader.next(c"}")
    hidden = set()
    for letter in letters:
        if byte_ids[letter] is not None:
            hidden.add(byte_ids[letter])
    table = table_of(tokens, hidden) if state == 0 else None
    return None if table is None else (table, byte_ids, frozenset(hidden))


def read_merges(bytes data not None, TokenTable table not None):
    """The merges in a merges.txt: two tokens a line, after an optional first line that begins with ``#version``.

    Args:
        data: The file.
        table: The vocabulary. Among tokens with the same bytes, the lowest id counts.

    Returns:
        A MergeList; None for any fault.
    """
    cdef _Reader reader = _Reader(data, 0, len(data))
    cdef MergeList pairs = MergeList()
    pairs.found = Results(table, (), len(data) // 4)      # a line has four bytes at least
    if reader.end - reader.p >= 8 and memcmp(reader.p, b"#version", 8) == 0:
        try:
            data.partition(b"\n")[0].decode("utf-8")
        except UnicodeDecodeError:
            return None
        reader.p = <const uint8_t*> memchr(reader.p, c"\n", reader.end - reader.p)
        if reader.p == NULL:
            return None
        reader.p += 1
    while reader.p < reader.end:
        if not reader.read_merge(False, False):
            return None
        reader.take(c"\r")
        if not reader.take(c"\n"):
            return None
        if (reader.count == BP_FOUND_AT_ONCE or reader.p == reader.end) and not reader.join(table, pairs):
            return None
    return pairs


def read_merge_list(bytes data not None, Py_ssize_t start, Py_ssize_t stop, TokenTable table not None,
                    bint as_lists=False, str space=None, unreachable=()):
    """The merges in a JSON array of strings, each two tokens with a space between; or `as_lists`, of arrays of two.

    For arguments and result see :func:`read_tokens` and :func:`read_merges`; with `space`, the tokens are spelled
    as for :func:`read_characters`. `unreachable` are the ids that the table does not find by their bytes.
    """
    cdef _Reader reader = _Reader(data, start, stop, space)
    cdef MergeList pairs = MergeList()
    cdef Py_ssize_t most = (reader.end - reader.p) // 5       # an item has five bytes at least
    cdef int state = reader.open(c"[", c"]")
    pairs.found = Results(table, unreachable, most)
    if bp_grow(<void**> &pairs.pairs, &pairs.capacity, 2 * most, sizeof(token_t)) < 0:
        raise MemoryError()
    while state > 0:
        if not reader.read_merge(True, as_lists):
            return None
        state = reader.next(c"]")
        if (reader.count == BP_FOUND_AT_ONCE or state == 0) and not reader.join(table, pairs):
            return None
    return pairs if state == 0 else None
