"""The characters that merges begin from, in a vocabulary whose alphabet is not bytes.

An array has an entry for each code point. It takes 4.4 MB of address space, but only its pages with a token take
memory: 20 KB for Latin scripts, 300 KB for a vocabulary of all scripts. A hash table would take as much, and ten times
as long for a character of Chinese text.
"""
from cpython.array cimport array, clone, resize
from cython cimport final
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free

from ..headers cimport BP_CODE_POINTS, SPACE, bp_utf8_character, token_t
from ..headers.python cimport PyBytes_AS_STRING
from ._tokens cimport TokenTable

from array import array as new_array


@final
cdef class AlphabetTable:
    """The first ids of a text, from an :class:`bpetite.vocabulary.alphabet.Alphabet`; none of them is in `special_only`.

    >>> from bpetite import Vocab
    >>> from bpetite.vocabulary.alphabet import Alphabet
    >>> table = Vocab({0: b"<unk>", 1: b"a"}, (), {}, None, alphabet=Alphabet(unknown=0)).alphabet_table
    >>> table.ids_of(b"abca")
    array('I', [1, 0, 0, 1])
    """

    def __cinit__(self, TokenTable tokens not None, alphabet not None, special_only=frozenset()):
        cdef Py_ssize_t slot, size
        cdef uint32_t character
        cdef uint8_t byte
        self.ids = <token_t*> calloc(BP_CODE_POINTS, sizeof(token_t))
        if self.ids == NULL:
            raise MemoryError()
        for value, token_id in enumerate(alphabet.byte_ids):
            byte = value
            self.byte_ids[byte] = 0 if token_id is None else token_id + 1
        for slot in range(tokens.size):
            size = <Py_ssize_t> (tokens.starts[slot + 1] - tokens.starts[slot])
            if (0 < size <= 4 and bp_utf8_character(tokens.blob + tokens.starts[slot], size, &character) == size
                    and character < BP_CODE_POINTS and tokens.ids[slot] not in special_only
                    and tokens.find(tokens.blob + tokens.starts[slot], size) == slot):
                self.ids[character] = tokens.ids[slot] + 1
        self.space = ord(alphabet.space or " ")
        self.ids[self.space] = self.ids[SPACE]
        self.unknown = 0 if alphabet.unknown is None else alphabet.unknown + 1
        self.fuse = alphabet.fuse_unknown
        self.lacking = not self.complete()
        self.gathers = self.unknown and self.fuse and self.lacking

    def __dealloc__(self):
        free(self.ids)

    def unknown_runs(self, str text not None):
        """Character spans that map to the unknown id, one span per id."""
        cdef list runs = []
        cdef Py_ssize_t at, start = -1
        if not self.lacking or self.unknown == 0:
            return runs
        for at in range(len(text)):
            if self.ids[<Py_UCS4> text[at]] or self.ids_of(text[at].encode("utf-8"))[0] != self.unknown - 1:
                start = -1
            elif start < 0 or not self.fuse:
                start = at
                runs.append((at, at + 1))
            else:
                runs[len(runs) - 1] = (start, at + 1)
        return runs

    def ids_of(self, bytes text not None):
        """The first ids of a text in UTF-8, an ``array('I')``; none at all if one of its characters has none."""
        cdef array ids = clone(new_array("I"), len(text), False)
        cdef Py_ssize_t bad = 0
        resize(ids, max(self.begin(<const uint8_t*> PyBytes_AS_STRING(text), len(text), ids.data.as_uints, &bad), 0))
        return ids

    cdef bint complete(self) noexcept nogil:
        """True if byte tokens stand for every character without a token."""
        cdef uint32_t byte
        for byte in range(0xF5):
            if self.byte_ids[byte] == 0 and (byte >= 0x80 or self.ids[byte] == 0) and not 0xC0 <= byte < 0xC2:
                return False
        return True

    cdef Py_ssize_t begin(self, const uint8_t* text, Py_ssize_t n, token_t* ids, Py_ssize_t* bad) noexcept nogil:
        cdef Py_ssize_t at = 0, count = 0, size, i
        cdef uint32_t character
        cdef bint unknown = False, whole
        while at < n:
            size = bp_utf8_character(text + at, n - at, &character)
            if character < BP_CODE_POINTS and self.ids[character]:
                ids[count] = self.ids[character] - 1
                count += 1
                unknown = False
                at += size
                continue
            whole = True
            for i in range(size):
                whole = whole and self.byte_ids[text[at + i]] != 0
            if whole:
                for i in range(size):
                    ids[count] = self.byte_ids[text[at + i]] - 1
                    count += 1
                unknown = False
            elif self.unknown == 0:
                bad[0] = at
                return -1
            elif not (unknown and self.fuse):
                ids[count] = self.unknown - 1
                count += 1
                unknown = True
            at += size
        return count
