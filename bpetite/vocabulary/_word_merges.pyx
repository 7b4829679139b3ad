"""The merges of a vocabulary that come before those across words.

The pre-tokens of a vocabulary with superwords are phrases, nearly all different, so no cache knows them. Their words
repeat, and can be merged on their own as long as merges join no words. Let the limit be any rank. Cut a phrase between
two bytes if no merge below the limit has the first as the last byte of its left token and the second as the first byte
of its right token. No such merge joins across the cut, in whatever order they are applied. So when no pair of a rank
below the limit is left, the tokens of the phrase are the tokens of its parts. As the lowest rank always goes first, the
merges of the phrase go on from there.

This holds for every list of merges, for ranks, and for every limit. The useful limit is the first merge across words.
"""
cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memset

from .._merge cimport MergeTable
from ..headers cimport bp_pair_entry, token_t
from ._tokens cimport TokenTable

cdef enum:
    SPACE = 32

cdef uint32_t NONE = <uint32_t> -1             # no rank


@cython.final
cdef class WordMerges:
    """The merges of a table below the rank `limit`, and the pairs of bytes between which none of them joins."""

    def __cinit__(self, TokenTable tokens not None, MergeTable table not None, limit=None):
        cdef uint32_t end = NONE if limit is None else limit
        cdef Py_ssize_t size = 0
        cdef uint64_t at
        cdef uint32_t pair
        cdef bp_pair_entry* entry
        self.end = end
        memset(self.apart, 1, sizeof(self.apart))
        for at in range(table.pairs.mask + 1 if table.size else 0):
            entry = table.pairs.entries + at
            if entry.rank < end and junction(tokens, entry, &pair):
                self.apart[pair] = 0
                size += 1
        if limit is None:
            self.merges = table
            return
        self.merges = MergeTable()
        self.merges.reserve(size, end)
        for at in range(table.pairs.mask + 1 if size else 0):
            entry = table.pairs.entries + at
            if entry.rank < end and junction(tokens, entry, &pair):
                self.merges.add(<token_t> (entry.pair >> 32), <token_t> entry.pair, entry.rank,
                                table.pairs.joined[entry.rank])

    cdef void find_later(self, TokenTable tokens, MergeTable table, uint8_t* later) noexcept nogil:
        cdef bp_pair_entry* entry
        cdef Py_ssize_t joined
        cdef uint64_t at
        cdef bint more = True
        while more:                                # twice; more often where merges below the rank take later tokens
            more = False
            for at in range(table.pairs.mask + 1 if table.size else 0):
                entry = table.pairs.entries + at
                if entry.rank == NONE:
                    continue
                joined = tokens.slot(table.pairs.joined[entry.rank])
                if joined >= 0 and not later[joined] and (
                        entry.rank >= self.end or is_later(tokens, later, <token_t> (entry.pair >> 32))
                        or is_later(tokens, later, <token_t> entry.pair)):
                    later[joined] = 1
                    more = True


cdef inline bint is_later(TokenTable tokens, const uint8_t* later, token_t number) noexcept nogil:
    cdef Py_ssize_t slot = tokens.slot(number)
    return slot >= 0 and later[slot]


cdef inline bint junction(TokenTable tokens, const bp_pair_entry* entry, uint32_t* pair) noexcept nogil:
    """OUT: the last byte of the left token | the first of the right one << 8. False if a token has no bytes: no text
    gives it."""
    cdef Py_ssize_t left = tokens.slot(<token_t> (entry.pair >> 32)), right = tokens.slot(<token_t> entry.pair)
    cdef uint64_t end = tokens.starts[left + 1], start = tokens.starts[right]
    if end == tokens.starts[left] or start == tokens.starts[right + 1]:
        return False
    pair[0] = tokens.blob[end - 1] | <uint32_t> tokens.blob[start] << 8
    return True


def first_across(TokenTable tokens not None, MergeTable table not None):
    """The lowest rank of a merge that joins the end of a word with a token that starts with a space, or None.

    >>> from bpetite import Tokenizer
    >>> vocab = Tokenizer.train("a b a b a", 259, superwords_from=257).to_vocab()
    >>> vocab.merges
    ((32, 97), (32, 98), (257, 256))
    >>> first_across(vocab.token_table, vocab.merge_table)
    2
    """
    cdef uint32_t first = NONE, pair
    cdef uint64_t at, start
    cdef bp_pair_entry* entry
    cdef Py_ssize_t slot, left, right
    cdef const uint8_t* found
    if table.size == 0:
        return None
    if tokens.repeated or tokens.hidden:           # more tokens than those that are found by their bytes
        for at in range(table.pairs.mask + 1):
            entry = table.pairs.entries + at
            if (entry.rank < first and junction(tokens, entry, &pair) and pair >> 8 == SPACE and pair & 0xFF > SPACE
                    and ends_word(tokens, tokens.slot(<token_t> (entry.pair >> 32)))):
                first = entry.rank
        return None if first == NONE else first
    for slot in range(tokens.size):                # few tokens have a space inside
        start = tokens.starts[slot]
        at = start + 1
        while at < tokens.starts[slot + 1]:
            found = <const uint8_t*> memchr(tokens.blob + at, SPACE, tokens.starts[slot + 1] - at)
            if found == NULL:
                break
            at = found - tokens.blob
            if tokens.blob[at - 1] > SPACE:
                left = tokens.find(tokens.blob + start, at - start)
                right = tokens.find(tokens.blob + at, tokens.starts[slot + 1] - at)
                if left >= 0 and right >= 0 and ends_word(tokens, left):
                    first = min(first, table.find(tokens.ids[left], tokens.ids[right]))
            at += 1
    return None if first == NONE else first


cdef bint ends_word(TokenTable tokens, Py_ssize_t slot):
    """True if the last character of a token is no white space."""
    cdef uint64_t start = tokens.starts[slot], end = tokens.starts[slot + 1]
    text = tokens.blob[start:end].decode("utf-8", "ignore")
    return text != "" and text == text.rstrip()
