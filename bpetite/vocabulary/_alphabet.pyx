"""The characters or bytes that merges begin from, in a vocabulary with an :class:`.alphabet.Alphabet`.

An array has an entry for each code point. It takes 4.4 MB of address space, but only its pages with a token take
memory: 20 KB for Latin scripts, 300 KB for a vocabulary of all scripts. A hash table would take as much, and ten times
as long for a character of Chinese text.
"""
from cpython.array cimport array, clone, resize
from cython cimport final
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from ..headers cimport BP_CODE_POINTS, SPACE, bp_utf8_character, token_t
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ._tokens cimport TokenTable

from array import array as new_array


@final
cdef class AlphabetTable:
    """The first ids of a pre-token, from an :class:`bpetite.vocabulary.alphabet.Alphabet`; none of them is in
    `special_only`.

    >>> from bpetite import Vocab
    >>> from bpetite.vocabulary.alphabet import Alphabet
    >>> table = Vocab({0: b"<unk>", 1: b"a"}, (), {}, None, alphabet=Alphabet(unknown=0)).alphabet_table
    >>> table.ids_of(b"abca")
    array('I', [1, 0, 0, 1])
    """

    def __cinit__(self, TokenTable tokens not None, alphabet not None, special_only=frozenset()):
        cdef Py_ssize_t slot, size
        cdef bytes suffix = alphabet.suffix.encode("utf-8")
        cdef Py_ssize_t mark = PyBytes_GET_SIZE(suffix)
        cdef const uint8_t* token
        cdef set others = {*alphabet.byte_ids, *special_only}
        self.of_bytes = alphabet.units == "bytes"
        self.ids = self.last_ids = <token_t*> calloc(BP_CODE_POINTS, sizeof(token_t))
        if mark:
            self.last_ids = <token_t*> calloc(BP_CODE_POINTS, sizeof(token_t))
        if self.ids == NULL or self.last_ids == NULL:
            raise MemoryError()
        for value, token_id in enumerate(alphabet.byte_ids):
            self.byte_ids[<uint8_t> value] = 0 if token_id is None else token_id + 1
        for slot in range(tokens.size):
            token = tokens.blob + tokens.starts[slot]
            size = <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot])
            if tokens.ids[slot] in others or tokens.find(token, size) != slot:
                continue
            self.add(self.ids, token, size, tokens.ids[slot])
            if mark and size > mark and memcmp(token + size - mark, PyBytes_AS_STRING(suffix), mark) == 0:
                self.add(self.last_ids, token, size - mark, tokens.ids[slot])
        self.space = ord(alphabet.space or " ")
        self.ids[self.space] = self.ids[SPACE]
        self.unknown = 0 if alphabet.unknown is None else alphabet.unknown + 1
        self.fuse = alphabet.fuse_unknown
        self.lacking = not self.complete()
        self.gathers = self.unknown and self.fuse and self.lacking
        self.drops = self.lacking and alphabet.missing == "drop" and not self.unknown

    def __dealloc__(self):
        if self.last_ids != self.ids:
            free(self.last_ids)
        free(self.ids)

    cdef void add(self, token_t* ids, const uint8_t* symbol, Py_ssize_t size, token_t token_id) noexcept:
        """Note the id of a symbol, if it is a character or a byte."""
        cdef uint32_t character = <uint32_t> -1
        if self.of_bytes and size == 1:
            ids[symbol[0]] = token_id + 1
        elif not self.of_bytes and 0 < size <= 4 and bp_utf8_character(symbol, size, &character) == size:
            if character < BP_CODE_POINTS:
                ids[character] = token_id + 1

    def symbols(self, bytes text not None):
        """(id, bytes that it stands for) of the first ids of a pre-token; see `begin`."""
        cdef array ids = clone(new_array("I"), len(text), False), sizes = clone(ids, len(text), False)
        cdef Py_ssize_t bad, n
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        n = self.begin(data, len(text), ids.data.as_uints, sizes.data.as_uints, &bad)
        resize(ids, n)
        resize(sizes, n)
        return list(zip(ids, sizes))

    def ids_of(self, bytes text not None):
        """The first ids of a text in UTF-8, an ``array('I')``; none at all if one of its characters has none."""
        cdef array ids = clone(new_array("I"), len(text), False)
        cdef Py_ssize_t bad = 0
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        resize(ids, max(self.begin(data, len(text), ids.data.as_uints, NULL, &bad), 0))
        return ids

    cdef bint complete(self) noexcept nogil:
        """True if every byte has a token, or if byte tokens stand for every character without one."""
        cdef uint32_t byte
        cdef bint known
        for byte in range(0xF5):
            known = (byte < 0x80 or self.of_bytes) and self.ids[byte] != 0 and self.last_ids[byte] != 0
            if not known and self.byte_ids[byte] == 0 and not 0xC0 <= byte < 0xC2:
                return False
        return True

    cdef bint falls_back(self, const uint8_t* character, Py_ssize_t size) noexcept nogil:
        """True if each byte of a character has a byte token."""
        cdef Py_ssize_t i
        for i in range(size):
            if self.byte_ids[character[i]] == 0:
                return False
        return True

    cdef Py_ssize_t begin(self, const uint8_t* text, Py_ssize_t n, token_t* ids, uint32_t* sizes,
                          Py_ssize_t* bad) noexcept nogil:
        # An unknown character waits: its id comes before the next known one, but after byte tokens, as in tokenizers.
        cdef Py_ssize_t at = 0, count = 0, size = 1, i
        cdef uint32_t character = 0, waiting = 0, width
        cdef token_t token
        while at < n:
            if self.of_bytes:
                character = text[at]
                width = 1 if 0x21 <= text[at] <= 0x7E else 2
            else:
                size = bp_utf8_character(text + at, n - at, &character)
                width = <uint32_t> size
            token = 0
            if character < BP_CODE_POINTS:
                token = self.ids[character] if at + size < n else self.last_ids[character]
            if token == 0 and self.falls_back(text + at, size):
                for i in range(size):
                    count = put(ids, sizes, count, self.byte_ids[text[at + i]], 1)
            elif token or self.unknown:
                if waiting and (token or not self.fuse):
                    count = put(ids, sizes, count, self.unknown, waiting)
                    waiting = 0
                if token:
                    count = put(ids, sizes, count, token, width)
                else:
                    waiting += width
            elif not self.drops:
                bad[0] = at
                return -1
            at += size
        return put(ids, sizes, count, self.unknown, waiting) if waiting else count


cdef inline Py_ssize_t put(token_t* ids, uint32_t* sizes, Py_ssize_t count, token_t token,
                           uint32_t size) noexcept nogil:
    ids[count] = token - 1
    if sizes != NULL:
        sizes[count] = size
    return count + 1
