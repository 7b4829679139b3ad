"""Cuts that no merge joins across.

Cut a text between two characters if no merge has the first as the last character of its left token and the second as
the first of its right token. No merge joins across such a cut, in whatever order merges are applied, so the tokens of
the text are those of its parts. This holds for every list of merges, for ranks, and for bytes in place of characters.

Where text has no split pattern, these cuts give pre-tokens: vocabularies in whose training words and scripts were kept
apart have no merge from a letter to a space, a digit or a comma. Pairs of ASCII characters are in a table, others in a
filter of their hashes; a pair that hits it by chance leaves a part longer.
"""
cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from .._merge cimport MergeTable
from ..headers cimport BP_NO_MERGE, SPACE, bp_pair_entry, bp_utf8_character, token_t
from ..splitting.scan._scan cimport NO_PATTERN, Scanner, scan_cursor
from ._alphabet cimport AlphabetTable
from ._tokens cimport TokenTable

cdef extern from "vocabulary/word_cuts.h" nogil:
    enum: BP_CUT_BYTES
    Py_ssize_t bp_cut_eight(const uint8_t* cuts, const uint8_t* text, Py_ssize_t at, bint only_ascii,
                            Py_ssize_t* ends) noexcept

cdef enum:
    BITS = 4                                   # of the filter for each merge: many have the same pair of characters


@cython.final
cdef class WordCuts(Scanner):
    """Cuts text where no merge joins; made by :func:`word_cuts`. Nothing changes after construction."""
    cdef uint8_t cuts[1 << 16]         # byte | next byte << 8 -> a cut between the two; with an alphabet, ASCII only
    cdef uint64_t* joined              # with an alphabet: bits of the pairs of characters that are joined, but ASCII
    cdef int shift                     # of their hashes
    cdef AlphabetTable alphabet        # or None: the alphabet is bytes
    cdef bint forced                   # there is a cut before every space

    def __dealloc__(self):
        free(self.joined)

    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil:
        cursor.text, cursor.length, cursor.final = text, length, final
        cursor.position = 1                    # the next place for a cut
        while self.alphabet is not None and cursor.position < length and text[cursor.position] & 0xC0 == 0x80:
            cursor.position += 1
        cursor.ended = length == 0 or not final

    cdef Py_ssize_t short_ends(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t* ends) noexcept nogil:
        return 0

    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil:
        cdef const uint8_t* text = cursor.text
        cdef Py_ssize_t at = cursor.position, length = cursor.length, n = 0, found
        cdef bint characters = self.alphabet is not None
        while at < length and n < capacity:
            found = -1
            while at + BP_CUT_BYTES <= length and n + BP_CUT_BYTES <= capacity:
                found = bp_cut_eight(self.cuts, text, at, characters, ends + n)
                if found < 0:
                    break
                n += found
                at += BP_CUT_BYTES
            if n > max(capacity - BP_CUT_BYTES, 0):    # the next call has room for eight
                break
            if found >= 0:
                continue
            if not characters or (text[at - 1] | text[at]) < 0x80:
                ends[n] = at
                n += self.cuts[text[at - 1] | <uint32_t> text[at] << 8]
                at += 1
            else:
                n = self.cut_characters(cursor, &at, ends, n, capacity)
        if at >= length and n < capacity and not cursor.ended:
            ends[n] = length
            n += 1
            cursor.ended = True
        cursor.position = at
        return n

    cdef Py_ssize_t cut_characters(self, scan_cursor* cursor, Py_ssize_t* place, Py_ssize_t* ends, Py_ssize_t n,
                                   Py_ssize_t capacity) noexcept nogil:
        """Cut up to and with the next ASCII character. INOUT: *place, where a character begins."""
        cdef const uint8_t* text = cursor.text
        cdef Py_ssize_t at = place[0], length = cursor.length
        cdef uint32_t left, right = SPACE
        bp_utf8_character(text + character_before(text, at), 4, &left)
        while at < length and n < capacity and (at == place[0] or right >= 0x80):
            ends[n] = at
            at += bp_utf8_character(text + at, length - at, &right)
            n += not self.joins(left, right)
            left = right
        place[0] = at
        return n

    cdef bint joins(self, uint32_t left, uint32_t right) noexcept nogil:
        """True if a merge may join two characters."""
        cdef uint64_t hash
        if self.alphabet.is_gathered(left) and self.alphabet.is_gathered(right):
            return not (self.forced and right == self.alphabet.space)
        left = SPACE if left == self.alphabet.space else left
        right = SPACE if right == self.alphabet.space else right
        if (left | right) < 0x80:
            return not self.cuts[left | right << 8]
        hash = pair_hash(left, right) >> self.shift
        return not (right == SPACE and self.forced) and self.joined[hash >> 6] >> (hash & 63) & 1


cdef inline uint64_t pair_hash(uint32_t left, uint32_t right) noexcept nogil:
    return (<uint64_t> left << 21 ^ right) * <uint64_t> 0x9E3779B97F4A7C15


cdef inline Py_ssize_t character_before(const uint8_t* text, Py_ssize_t at) noexcept nogil:
    """The start of the character that ends at a place."""
    at -= 1
    while at > 0 and text[at] & 0xC0 == 0x80:
        at -= 1
    return at


def word_cuts(TokenTable tokens not None, MergeTable table not None, AlphabetTable alphabet=None, *, bint split=False):
    """Cuts where no merge of a table joins; with `split` also before every space, across which no merge joins then. No
    `alphabet` where the alphabet is bytes.

    >>> from bpetite import Tokenizer
    >>> vocab = Tokenizer.train("ab ab ab", 258).to_vocab()
    >>> word_cuts(vocab.tokens, vocab.merge_table).ends(b"ab ab").tolist()
    [2, 5]
    """
    cdef WordCuts made = WordCuts(NO_PATTERN)
    cdef uint64_t at, hash
    cdef uint32_t left, right
    cdef int bits = 6
    cdef bp_pair_entry* entry
    memset(made.cuts, 1, sizeof(made.cuts))
    made.alphabet, made.forced = alphabet, split
    if alphabet is not None:
        while 1 << bits < BITS * table.size:
            bits += 1
        made.shift = 64 - bits
        made.joined = <uint64_t*> calloc((1 << bits) // 64, sizeof(uint64_t))
        if made.joined == NULL:
            raise MemoryError()
    with nogil:
        for at in range(table.pairs.mask + 1 if table.size else 0):
            entry = table.pairs.entries + at
            if entry.rank == BP_NO_MERGE or not junction(tokens, alphabet is not None, entry, &left, &right):
                continue
            if alphabet is None or (left | right) < 0x80:
                made.cuts[left | right << 8] = 0
            else:
                hash = pair_hash(left, right) >> made.shift
                made.joined[hash >> 6] |= <uint64_t> 1 << (hash & 63)
        if alphabet is not None:
            for left in range(0x80):           # unknown characters that become one token
                for right in range(0x80):
                    if alphabet.is_gathered(left) and alphabet.is_gathered(right):
                        made.cuts[left | right << 8] = 0
        for left in range(0x100 if split else 0):
            made.cuts[left | SPACE << 8] = 1
        if alphabet is not None and alphabet.space < 0x80:
            for left in range(0x100):          # its tokens hold a space for it
                made.cuts[left | alphabet.space << 8] = made.cuts[left | SPACE << 8]
            for right in range(0x100):
                made.cuts[alphabet.space | right << 8] = made.cuts[SPACE | right << 8]
    return made


cdef inline bint junction(TokenTable tokens, bint characters, const bp_pair_entry* entry, uint32_t* before,
                          uint32_t* after) noexcept nogil:
    """OUT: the last byte or character of the left token and the first of the right one. False if a token has no bytes:
    no text gives it."""
    cdef Py_ssize_t left = tokens.slot(<token_t> (entry.pair >> 32)), right = tokens.slot(<token_t> entry.pair)
    cdef Py_ssize_t end = <Py_ssize_t> tokens.starts[left + 1], start = <Py_ssize_t> tokens.starts[right]
    cdef const uint8_t* blob = tokens.blob
    if end == <Py_ssize_t> tokens.starts[left] or start == <Py_ssize_t> tokens.starts[right + 1]:
        return False
    before[0], after[0] = blob[end - 1], blob[start]
    if characters:
        bp_utf8_character(blob + character_before(blob, end), 4, before)
        bp_utf8_character(blob + start, <Py_ssize_t> tokens.starts[right + 1] - start, after)
    return True
