"""Phrases, the pre-tokens of a pattern that does not cut at spaces, as tokens of the vocabulary learned before.

The shape, and why.

- Nearly every phrase of a text is there once, so a table of phrases is as large as the text. What superwords are
  learned from is smaller: a merge across the place between two tokens joins no more occurrences than the pair of these
  two tokens has. Where that pair is rarer than any merge that will be learned, the phrase can be cut and nothing
  changes. What is left, pieces of frequent pairs, is short and comes again and again.
- A phrase is encoded word by word, for the word cache: it is cut wherever no merge joins the bytes on both sides. With
  the usual patterns of a first stage that is in front of every space.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ..core._id_memory cimport ids_free, ids_grow
from ..core._text cimport DONE as ENCODED
from ..core._worker cimport Core, Worker, bp_cache_has_room, bp_keys, bp_prepare, bp_remember
from ..headers cimport BP_PREFETCH, bp_grow, bp_watch_begin, bp_watch_check, bp_work, token_t
from ..vocabulary._tokens cimport TokenTable
from ..vocabulary._word_merges cimport WordMerges
from ._count_table cimport NO_MEMORY, OK, CountTable, check, slot_bytes
from ._learned_tokens cimport token_length
from ._pair_counts cimport FrequentPairs, PairCounts
from ._pieces cimport PieceTable
from ._segments cimport SEGMENT, segment_after
from ._words cimport Words

cdef enum:
    NOT_ENCODED = -101
    INTERRUPTED = -100          # an exception is set
    PHRASES_AHEAD = 8           # slots of a table of phrases
    HEAD = 3                    # tokens that the count of a kept phrase and the number of its tokens take


cdef inline void fetch_ahead(CountTable phrases, uint64_t slot) noexcept nogil:
    """Fetch the beginning of a phrase that comes after the one in a slot."""
    cdef Py_ssize_t length
    cdef const uint8_t* text
    slot = min(slot + PHRASES_AHEAD, phrases.mask)
    if phrases.slots[slot].key.high:
        text = slot_bytes(&phrases.slots[slot], &length)
        BP_PREFETCH(text)
        BP_PREFETCH(text + 64)


@cython.final
cdef class PhraseReader:
    """Encodes phrases, and counts or cuts what they become. One thread at a time.

    Tokens are numbers here: their places in the order of the ids.

    Args:
        tokens, merges, special_only: Of the vocabulary, see `Core`; a list of merges, not ranks.
        most_kept: Tokens of phrases that are kept, so that these are not read again; four bytes each.
    """
    cdef Worker worker
    cdef token_t* tokens               # kept: for each phrase its count, how many tokens it has, and these
    cdef uint64_t tokens_used
    cdef Py_ssize_t tokens_room
    cdef uint64_t most_kept
    cdef readonly bint kept
    cdef bint numbered                 # the ids are these numbers
    cdef Py_ssize_t* cuts              # of the phrase at hand
    cdef uint64_t cuts_room

    def __cinit__(self, TokenTable tokens not None, merges, special_only, uint64_t most_kept):
        self.worker = Worker(Core(tokens, merges, special_only, None, False, cuts=WordMerges(tokens, merges)), 64 << 20)
        self.most_kept = most_kept
        self.kept = True
        self.numbered = tokens.size == 0 or tokens.ids[tokens.size - 1] == <uint64_t> tokens.size - 1

    def __dealloc__(self):
        ids_free(self.tokens, self.tokens_room)
        free(self.cuts)

    cdef int read(self, const uint8_t* text, Py_ssize_t length) noexcept nogil:
        """Encode a phrase. OUT: worker.out and worker.used, the numbers of its tokens."""
        cdef Py_ssize_t at, offset = 0
        self.worker.used = 0
        if self.worker.encode_cut(text, 0, length, &offset) != ENCODED:
            return NOT_ENCODED
        for at in range(0 if self.numbered else self.worker.used):
            self.worker.out[at] = <uint32_t> self.worker.core.tokens.slot(self.worker.out[at])
        return OK

    def know_words(self, Words words not None):
        """Know what the merges make of words, so that they are not merged again where phrases hold them.

        Args:
            words: Those that the merges were learned from, with all of them joined.
        """
        cdef uint8_t text[SEGMENT + 16]
        cdef token_t ids[SEGMENT]
        cdef Py_ssize_t* slot_of = <Py_ssize_t*> malloc(words.known.count * sizeof(Py_ssize_t))
        cdef bp_keys keys
        cdef TokenTable tokens = self.worker.core.tokens
        cdef Py_ssize_t length, i, count, slot
        cdef uint32_t token, number = 0
        if slot_of == NULL:
            raise MemoryError
        with nogil:
            for token in range(words.known.count):
                slot_of[token] = tokens.find(words.known.data + words.known.start[token],
                                             token_length(words.known, token))
            # A full cache would forget them all again.
            while number < words.symbol_count // 2 and bp_cache_has_room(&self.worker.cache):
                count = words.read_word(number, text, &length, ids)
                for i in range(count):
                    slot = slot_of[ids[i]]
                    if slot < 0:                   # no token of ordinary text
                        count = 0
                        break
                    ids[i] = tokens.ids[slot]
                if count:
                    bp_prepare(&self.worker.cache, text, 0, &length, 1, sizeof(text), &keys)
                    bp_remember(&self.worker.cache, keys.bytes[0], text, length, ids, count)
                number = segment_after(words.symbols, number)
        free(slot_of)

    def count_pairs(self, CountTable phrases not None, PairCounts pairs not None, uint64_t part, uint64_t parts):
        """Count the pairs of tokens in one of several parts of a table of phrases, and keep the tokens while there is
        room; `kept` says whether all of them are."""
        cdef uint64_t i
        cdef Py_ssize_t length
        cdef const uint8_t* text
        cdef int result = OK
        cdef Worker worker = self.worker
        bp_watch_begin(&worker.watch, NULL)
        with nogil:
            for i in range((phrases.mask + 1) * part // parts, (phrases.mask + 1) * (part + 1) // parts):
                if phrases.slots[i].key.high == 0 or phrases.slots[i].count == 0:
                    continue
                fetch_ahead(phrases, i)
                text = slot_bytes(&phrases.slots[i], &length)
                result = self.read(text, length)
                if result == OK and bp_work(&worker.watch, length):
                    result = INTERRUPTED
                if result == OK:
                    result = self.keep(phrases.slots[i].count)
                if result == OK:
                    result = pairs.put(worker.out, worker.used, phrases.slots[i].count)
                if result < 0:
                    break
            if result == OK:
                result = pairs.settle()
        self.report(result)

    cdef int keep(self, int64_t count) noexcept nogil:
        """Note the phrase just read: its count, the number of its tokens, its tokens."""
        cdef uint64_t size = HEAD + self.worker.used
        cdef token_t* grown
        if not self.kept or self.worker.used < 2:
            return OK
        if self.tokens_used + size > self.most_kept:
            self.kept = False
            ids_free(self.tokens, self.tokens_room)
            self.tokens = NULL
            self.tokens_used = self.tokens_room = 0
            return OK
        if self.tokens_used + size > <uint64_t> self.tokens_room:
            grown = ids_grow(self.tokens, self.tokens_used, &self.tokens_room, 2 * (self.tokens_used + size))
            if grown == NULL:
                return NO_MEMORY
            self.tokens = grown
        memcpy(self.tokens + self.tokens_used, &count, sizeof(count))
        self.tokens[self.tokens_used + HEAD - 1] = <token_t> self.worker.used
        memcpy(self.tokens + self.tokens_used + HEAD, self.worker.out, self.worker.used * sizeof(token_t))
        self.tokens_used += size
        return OK

    def cut(self, CountTable phrases not None, FrequentPairs frequent not None, PieceTable pieces not None,
            uint64_t part, uint64_t parts):
        """Cut phrases between two tokens whose pair is certainly not frequent, and count the pieces of two and more."""
        cdef uint64_t i
        cdef Py_ssize_t length
        cdef const uint8_t* text
        cdef int result = OK
        bp_watch_begin(&self.worker.watch, NULL)
        with nogil:
            for i in range((phrases.mask + 1) * part // parts, (phrases.mask + 1) * (part + 1) // parts):
                if phrases.slots[i].key.high == 0 or phrases.slots[i].count == 0:
                    continue
                fetch_ahead(phrases, i)
                text = slot_bytes(&phrases.slots[i], &length)
                result = self.read(text, length)
                if result == OK and bp_work(&self.worker.watch, length):
                    result = INTERRUPTED
                if result == OK:
                    result = self.count_pieces(self.worker.out, self.worker.used, frequent, pieces,
                                               phrases.slots[i].count)
                if result == OK:
                    result = pieces.settle()       # the tokens are overwritten
                if result < 0:
                    break
        self.report(result)

    def cut_kept(self, FrequentPairs frequent not None, PieceTable pieces not None):
        """:meth:`cut` for the phrases that were kept."""
        cdef uint64_t at = 0
        cdef Py_ssize_t size
        cdef int64_t count
        cdef int result = OK
        bp_watch_begin(&self.worker.watch, NULL)
        with nogil:
            while at < self.tokens_used and result == OK:
                memcpy(&count, self.tokens + at, sizeof(count))
                size = self.tokens[at + HEAD - 1]
                result = self.count_pieces(self.tokens + at + HEAD, size, frequent, pieces, count)
                if result == OK and bp_work(&self.worker.watch, 4 * size):
                    result = INTERRUPTED
                at += HEAD + size
            if result == OK:
                result = pieces.settle()
            else:
                pieces.waits = 0                   # the tokens may go before the table does
        self.report(result)

    cdef int count_pieces(self, const token_t* tokens, Py_ssize_t size, FrequentPairs frequent, PieceTable pieces,
                          int64_t count) noexcept nogil:
        cdef Py_ssize_t i, cuts, start = 0
        cdef int result
        if bp_grow(<void**> &self.cuts, &self.cuts_room, size + 1, sizeof(Py_ssize_t)) < 0:
            return NO_MEMORY
        cuts = frequent.cut(tokens, size, self.cuts)
        self.cuts[cuts] = size
        for i in range(cuts + 1):
            if self.cuts[i] - start > 1:
                result = pieces.add(tokens + start, self.cuts[i] - start, count)
                if result < 0:
                    return result
            start = self.cuts[i]
        return OK

    cdef int report(self, int result) except -1:
        bp_watch_check(&self.worker.watch)
        if result == NOT_ENCODED:
            raise MemoryError("no memory for encoding a phrase")
        return check(result)
