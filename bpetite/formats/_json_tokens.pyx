"""The tokens and merges of a JSON file, read straight from its bytes; and those of a merges.txt.

`json` makes a str of every token, a dict entry of it, then its bytes. Here a token's bytes are read in one step, and so
are a merge's two ids. An item that is not as usual (a token in no printable form, a fault) goes through `json` alone,
with the same result; an error names its line and column.
"""
from cython cimport final
from libc.stdint cimport int16_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy

from ..headers cimport BP_KEY_READ, bp_grow, bp_utf8_put, token_t
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ..headers.vectors cimport bp_utf8_valid
from ..vocabulary._merge_list cimport MergeList, Results
from ..vocabulary._tokens cimport BP_FOUND_AT_ONCE, TokenList, TokenTable, add_token, table_of

from ..errors import short_repr

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
    `space` stands for a space in tokens that are spelled as they are, "" for none; it is None for the printable form.
    """

    cdef bytes data               # keeps the memory alive
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef const uint8_t* item      # the beginning of the entry or merge that is read
    cdef uint8_t* memory
    cdef uint8_t* token           # the bytes of the token that was read last; room for the whole file
    cdef Py_ssize_t length        # of that token
    cdef Py_ssize_t count         # tokens that `join` will look up
    cdef const uint8_t* parts[BP_FOUND_AT_ONCE]      # the bytes of each of these
    cdef Py_ssize_t sizes[BP_FOUND_AT_ONCE]
    cdef const uint8_t* items[BP_FOUND_AT_ONCE]      # the merge of every second one
    cdef MergeList merges         # OUT
    cdef TokenTable table         # finds tokens by their bytes
    cdef object ids               # SpelledIds: finds the others by their spelling
    cdef object unreachable       # merges of these ids are left out
    cdef Py_ssize_t rank          # merges that were joined or left out
    cdef bint json                # merges are items of an array, else lines
    cdef bint apart               # the items are arrays of two tokens, else strings
    cdef bint characters          # tokens are spelled as they are, not in printable form
    cdef bytes written            # keeps the memory of `space` alive
    cdef const uint8_t* space     # the character that stands for a space
    cdef Py_ssize_t space_size    # its bytes; 0 for none

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

    cdef str place(self, const uint8_t* p):
        cdef Py_ssize_t at = p - <const uint8_t*> PyBytes_AS_STRING(self.data)
        column = len(self.data[self.data.rfind(b"\n", 0, at) + 1:at].decode("utf-8", "replace"))
        return f"line {self.data.count(b'\n', 0, at) + 1}, column {column + 1}"

    cdef object fault(self, why):
        """The error of the item."""
        return ValueError(f"{self.place(self.item)}: {why}")

    cdef object no_json(self, const uint8_t* p, why):
        """The error of a text that is no JSON, or no UTF-8, from `p` on."""
        cdef Py_ssize_t size = PyBytes_GET_SIZE(self.data), n
        n = bp_utf8_valid(<const uint8_t*> PyBytes_AS_STRING(self.data), size)
        if n < size:
            return ValueError(f"byte {n} (0x{self.data[n]:02x}) is not UTF-8")
        return ValueError(f"not JSON at {self.place(p)}: {why}")

    cdef str text(self):
        """The text from the item on, as far as it was read."""
        try:
            return self.item[:self.p - self.item].decode("utf-8")
        except UnicodeDecodeError:
            raise self.no_json(self.item, "") from None

    cdef object value(self, bint entry):
        """The item as `json` reads it: a value, or an `entry` of an object, a pair of a key and its value."""
        import json
        cdef Py_ssize_t at
        self.p = self.item
        self.blanks()
        self.item = self.p
        if not (not entry or self.skip_string() and self.read(c":")) or not self.blanks() or not skip_value(self):
            raise self.no_json(self.p, "an item is missing, or has no end")
        text = self.text()
        try:
            value = json.loads(f"{{{text}}}" if entry else text)
        except (ValueError, RecursionError) as bad:      # a JSONDecodeError, an integer of thousands of digits
            at = len(text[:max(getattr(bad, "pos", 0) - entry, 0)].encode("utf-8"))
            raise self.no_json(self.item + at, getattr(bad, "msg", bad)) from None
        return [*value.items()][0] if entry else value

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

    cdef int opened(self, uint8_t opening, uint8_t closing) except -1:
        """Read the opening bracket of the array or object of a part; returns 1 before an item, 0 if it is empty."""
        self.blanks()
        self.item = self.p
        if not self.take(opening):
            shape = "object" if opening == c"{" else "array"
            raise self.fault(f"must be a JSON {shape}, not {short_repr(self.value(False))}")
        return 1 if not self.blanks() or self.p[0] != closing else self.following(closing)

    cdef inline int following(self, uint8_t closing) except -1:
        """Read the separator after an item: returns 1 before the next item, 0 at the end of the part."""
        if self.read(c","):
            return 1
        if self.take(closing) and not self.blanks():
            return 0
        raise self.no_json(self.p, "no comma, and no end of an array or object")

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
        """Read an id as JSON writes integers, 0..2^32-1; False for a fraction."""
        cdef const uint8_t* start = self.p
        cdef uint64_t value = 0
        while self.p < self.end and c"0" <= self.p[0] <= c"9" and self.p - start <= LONGEST_ID:
            value = 10 * value + (self.p[0] - c"0")
            self.p += 1
        token_id[0] = <uint32_t> value
        if self.p < self.end and self.p[0] in (c".", c"e", c"E"):
            return False
        return self.p > start and (start[0] != c"0" or self.p - start == 1) and value <= 0xFFFFFFFFu

    cdef bint skip_string(self) noexcept nogil:
        """Move past a string, whatever it holds."""
        if not self.take(c'"'):
            return False
        while self.p < self.end and self.p[0] != c'"':
            self.p += 1 + (self.p[0] == c"\\")
        return self.p < self.end and self.take(c'"')

    cdef inline bint read_entry(self, uint32_t* token_id) noexcept nogil:
        """Read a token in quotes, and its id."""
        self.item = self.p
        return (self.read(c'"') and self.read_token(True) and self.take(c'"')
                and self.read(c":") and self.blanks() and self.read_id(token_id))

    cdef str odd_entry(self, uint32_t* token_id):
        """The token of an entry that `read_entry` did not read, as it is spelled. OUT: token_id, token, length."""
        spelled, found = self.value(True)
        if type(found) is not int:
            raise self.fault(f"the id of {short_repr(spelled)} must be an integer, not {short_repr(found)}")
        if not 0 <= found <= 0xFFFFFFFF:
            raise self.fault(f"the id {short_repr(found)} of {short_repr(spelled)} is outside 0..{0xFFFFFFFF}")
        token_id[0] = <uint32_t> found
        try:
            token = spelled.encode("utf-8").replace(self.written or b" ", b" ")
        except UnicodeEncodeError as bad:
            raise self.fault(f"{short_repr(spelled)} holds a lone surrogate at {bad.start}") from None
        self.length = PyBytes_GET_SIZE(token)
        memcpy(self.token, PyBytes_AS_STRING(token), self.length)
        return spelled

    cdef void part(self) noexcept nogil:
        """Leave the token that was read last to `join`."""
        self.parts[self.count], self.sizes[self.count] = self.token, self.length
        self.count += 1
        self.token += self.length

    cdef MergeList begin_merges(self, TokenTable table, ids, unreachable, Py_ssize_t most):
        """The list for the merges that follow; see :func:`read_merges`."""
        self.table, self.ids, self.unreachable, self.merges = table, ids, unreachable, MergeList()
        self.merges.found = Results(table, unreachable, most)
        if bp_grow(<void**> &self.merges.pairs, &self.merges.capacity, 2 * most, sizeof(token_t)) < 0:
            raise MemoryError()
        return self.merges

    cdef bint read_merge(self) noexcept nogil:
        """Read two tokens with a space between, or `apart`, in an array; of a line, its end."""
        if self.apart and not self.read(c"[") or self.json and not self.read(c'"') or not self.read_token(self.json):
            return False
        self.part()
        if (self.apart and not (self.take(c'"') and self.read(c",") and self.read(c'"'))
                or not self.apart and not self.take(c" ") or not self.read_token(self.json)):
            return False
        self.part()
        if not self.json:
            self.take(c"\r")
            return self.take(c"\n")
        return self.take(c'"') and (not self.apart or self.read(c"]"))

    cdef int next_merge(self) except -1:
        """Read a merge in any form. `join` appends it, and has to be called before the end."""
        cdef Py_ssize_t count = self.count
        cdef const uint8_t* start = self.p
        self.items[count] = start
        if not self.read_merge():
            self.count = count
            self.join()
            self.item = start
            self.join_odd()
        elif self.count == BP_FOUND_AT_ONCE:
            self.join()
        return 0

    cdef int join(self) except -1:
        """Append the ids of the merges that were read."""
        cdef Py_ssize_t slots[BP_FOUND_AT_ONCE]
        cdef TokenTable table = self.table
        cdef const uint8_t* p = self.p
        cdef Py_ssize_t i
        table.find_many(self.parts, self.sizes, self.count, slots)
        for i in range(0, self.count, 2):
            if slots[i] < 0 or slots[i + 1] < 0:
                self.item = self.items[i]
                self.join_odd()
                continue
            if not self.merges.add(table.ids[slots[i]], table.ids[slots[i + 1]]):
                raise MemoryError()
            self.merges.found.add(table, slots[i], slots[i + 1])
            self.rank += 1
        self.p, self.count, self.token = p, 0, self.memory
        return 0

    cdef int join_odd(self) except -1:
        """Read the merge of the item, and append the ids that its parts have by their spelling."""
        merge = self.value(False) if self.json else self.line()
        try:
            found = self.ids.of_merge(merge, self.apart)
        except ValueError as bad:
            raise self.fault(f"merge {self.rank} {bad}") from None
        self.rank += 1
        if self.unreachable.isdisjoint(found):
            if not self.merges.add(found[0], found[1]):
                raise MemoryError()
            self.merges.found.add(self.table, self.table.slot(found[0]), self.table.slot(found[1]))
        return 0

    cdef str line(self):
        """The line that begins at the item, without its end."""
        self.p = <const uint8_t*> memchr(self.item, c"\n", self.end - self.item)
        if self.p == NULL:
            self.p = self.end
            raise self.fault(f"{short_repr(self.text())} does not end in a newline: the file may be cut short (if it "
                             "is whole, add the newline)")
        line = self.text().removesuffix("\r")
        self.p += 1
        return line


def members(bytes data not None):
    """The positions of the values in a JSON object, and of those in its member "model".

    Only brackets and quotes are looked at; damage to anything else is found when the values are read. The keys are in
    the order of the file. Raises ValueError where an object has no end, or a key occurs twice.

    >>> members(b'{"a": {"b": []}, "model": {"c": 5}}')
    {'a': (6, 15), ('model', 'c'): (32, 33), 'model': (26, 34)}
    """
    cdef _Reader reader = _Reader(data, 0, len(data))
    cdef dict values = {}
    read_members(reader, <const uint8_t*> PyBytes_AS_STRING(data), values, False)
    if reader.blanks():
        raise reader.no_json(reader.p, "something after the end")
    return values


cdef int read_members(_Reader reader, const uint8_t* first, dict values, bint of_model) except -1:
    """Read an object. OUT: values."""
    cdef const uint8_t* value
    if not reader.read(c"{"):
        raise reader.no_json(reader.p, "no object")
    if reader.read(c"}"):
        return 0
    while True:
        reader.blanks()
        reader.item = reader.p
        if not reader.skip_string():
            raise reader.no_json(reader.item, "no key in quotes")
        name = reader.text()
        name = reader.value(False) if "\\" in name else name[1:len(name) - 1]
        if not reader.read(c":") or not reader.blanks():
            raise reader.no_json(reader.p, "no value")
        value = reader.p
        if name == "model" and not of_model and value[0] == c"{":
            read_members(reader, first, values, True)
        elif not skip_value(reader):
            raise reader.no_json(value, "a value without an end")
        key = ("model", name) if of_model else name
        if key in values:
            raise ValueError(f"the key {short_repr(name)} occurs twice in one JSON object")
        values[key] = (value - first, reader.p - first)
        if not reader.read(c","):
            if not reader.take(c"}"):
                raise reader.no_json(reader.p, "no comma and no end of an object")
            return 0


cdef bint skip_value(_Reader reader) noexcept nogil:
    """Move past a value, and past the white space after a number or a name. False where it has no end."""
    cdef const uint8_t* p = reader.p
    if p[0] == c'"':
        return reader.skip_string()
    if p[0] == c"{" or p[0] == c"[":
        p = bp_json_skip(p, reader.end)
    else:
        while p < reader.end and p[0] not in (c",", c"}", c"]"):
            p += 1
    if p != NULL and p != reader.p:
        reader.p = p
        return True
    return False


cdef TokenTable checked(TokenList tokens, dict odd, unreachable):
    """The table of some tokens. INOUT: odd, the ids of the tokens that are in no printable form, by their spelling; an
    empty token is added."""
    cdef TokenTable table = table_of(tokens, unreachable)
    cdef dict first = {}
    cdef Py_ssize_t i
    if table is None:
        for i in range(tokens.size):
            token = tokens.data[tokens.starts[i]:tokens.starts[i + 1]]
            if tokens.ids[i] in first:
                raise ValueError(f"{first[tokens.ids[i]]!r} and {token!r} have the same id {tokens.ids[i]}")
            first[tokens.ids[i]] = token
    if table.repeated or table.empty:
        for token_id, token in table.items():
            if token_id not in unreachable and first.setdefault(token, token_id) != token_id:
                raise ValueError(f"{token!r} occurs twice, with the ids {first[token]} and {token_id}")
        if table.empty:
            odd[""] = first[b""]
    return table


def read_tokens(bytes data not None, Py_ssize_t start=0, Py_ssize_t stop=-1):
    """The tokens in a JSON object, which is data[start:stop]: printable form -> id.

    Returns a TokenTable; the ids of the tokens in no printable form and of the empty one, by their spelling; and the
    set of these ids, which are not found by their bytes. Raises ValueError for a fault, with its line and column.

    >>> table, odd, hidden = read_tokens('{"Ġa": 5, "\\u0120": 3, " a": 4}'.encode())
    >>> dict(table), odd, hidden
    ({3: b' ', 4: b' a', 5: b' a'}, {' a': 4}, frozenset({4}))
    """
    cdef _Reader reader = _Reader(data, start, len(data) if stop < 0 else stop)
    cdef TokenList tokens = TokenList()
    cdef Py_ssize_t most = (reader.end - reader.p) // 5 + 1, size = 0      # entries have five bytes, the last one four
    cdef uint32_t token_id = 0
    cdef dict odd = {}
    cdef int state = reader.opened(c"{", c"}")
    # memory that is not written to costs nothing
    if (tokens.room(reader.end - reader.p + BP_KEY_READ) == NULL
            or bp_grow(<void**> &tokens.ids, &tokens.id_capacity, most + 1, sizeof(token_t)) < 0
            or bp_grow(<void**> &tokens.starts, &tokens.start_capacity, most + 2, sizeof(uint64_t)) < 0):
        raise MemoryError()
    tokens.starts[0] = 0
    while state:
        reader.token = tokens.data + tokens.starts[size]
        if not reader.read_entry(&token_id):
            spelled = reader.odd_entry(&token_id)
            if odd.setdefault(spelled, token_id) != token_id:
                raise reader.fault(f"{short_repr(spelled)} occurs twice")
        tokens.ids[size] = token_id
        tokens.starts[size + 1] = tokens.starts[size] + reader.length
        size += 1
        state = reader.following(c"}")
    tokens.size = size
    table = checked(tokens, odd, odd.values())
    return table, odd, frozenset(odd.values())


def read_characters(bytes data not None, Py_ssize_t start, Py_ssize_t stop, str space not None):
    """The tokens in a JSON object: spelled characters, with `space` for a space, -> id. See :func:`read_tokens`.

    Returns a TokenTable; the id of each byte token, None for a byte without one, in a list of 256; the ids of empty
    tokens and of those with a space that is written as another character, by their spelling; and the set of the ids
    that are not found by their bytes: these, and those of byte tokens whose character has a token, too.

    >>> table, byte_ids, odd, hidden = read_characters('{"▁a": 5, "<0x0A>": 3}'.encode(), 0, 24, "▁")
    >>> dict(table), byte_ids[10], odd, hidden
    ({3: b'\\n', 5: b' a'}, 3, {}, frozenset())
    """
    cdef _Reader reader = _Reader(data, start, stop, space)
    cdef TokenList tokens = TokenList()
    cdef uint32_t token_id = 0
    cdef int byte, state
    cdef list byte_ids = [None] * 256
    cdef set letters = set()
    cdef dict odd = {}
    if bp_utf8_valid(<const uint8_t*> PyBytes_AS_STRING(data) + start, stop - start) < stop - start:
        raise reader.no_json(reader.p, "")
    state = reader.opened(c"{", c"}")
    while state:
        reader.token = reader.memory
        spelled = None if reader.read_entry(&token_id) else reader.odd_entry(&token_id)
        byte = reader.byte_token()
        if byte >= 0:
            if byte_ids[byte] is not None:
                raise reader.fault(f"'<0x{byte:02X}>' occurs twice")
            byte_ids[byte] = token_id
            reader.token[0] = <uint8_t> byte
            reader.length = 1
        elif spelled is not None and space and " " in spelled:
            if odd.setdefault(spelled, token_id) != token_id:
                raise reader.fault(f"{short_repr(spelled)} occurs twice")
        elif reader.length == 1:
            letters.add(reader.token[0])
        add_token(tokens, token_id, reader.token, reader.length)
        state = reader.following(c"}")
    hidden = {byte_ids[letter] for letter in letters if byte_ids[letter] is not None}
    table = checked(tokens, odd, hidden.union(odd.values()))
    return table, byte_ids, odd, frozenset(hidden.union(odd.values()))


def read_merges(bytes data not None, TokenTable table not None, ids, unreachable=frozenset()):
    """The merges in a merges.txt: two tokens a line, after an optional first line that begins with ``#version``.

    Tokens are looked up in the table by their bytes, of which the lowest id counts, and in `ids`, a SpelledIds, where
    that fails. Merges of `unreachable` ids are left out. Raises ValueError for a fault, with its line.
    """
    cdef _Reader reader = _Reader(data, 0, len(data))
    cdef MergeList merges = reader.begin_merges(table, ids, unreachable, len(data) // 2)    # a line has two bytes
    reader.item = reader.p
    if reader.end - reader.p >= 8 and memcmp(reader.p, b"#version", 8) == 0:
        reader.line()
    while reader.p < reader.end:
        reader.next_merge()
    reader.join()
    return merges


def read_merge_list(bytes data not None, Py_ssize_t start, Py_ssize_t stop, TokenTable table not None, ids,
                    unreachable=frozenset(), str space=None):
    """The merges in a JSON array of strings, each two tokens with a space between; or of arrays of two tokens.

    See :func:`read_merges`; with `space`, the tokens are spelled as for :func:`read_characters`.
    """
    cdef _Reader reader = _Reader(data, start, stop, space)
    # with its comma, an item has four bytes
    cdef MergeList merges = reader.begin_merges(table, ids, unreachable, (stop - start) // 4)
    cdef int state = reader.opened(c"[", c"]")
    reader.json = True
    reader.apart = state and reader.p[0] == c"["
    while state:
        reader.next_merge()
        state = reader.following(c"]")
    reader.join()
    return merges
