"""Merging: different pre-tokens with their counts in, merges in order out.

The shape, and why.

- Ids here are internal: bytes have 0..255, learned tokens follow from 256 in the order they were learned. `train.py`
  turns them into the ids of the vocabulary, so the ids of special tokens cannot change what is learned, and the bytes
  can have the order of another trainer, which decides ties.
"""
cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free

from .._merge cimport MergeTable
from ..headers cimport bp_grow, bp_watch, bp_watch_begin, bp_work
from ..vocabulary._tokens cimport TokenTable
from ._count_records cimport RecordReader
from ._count_table cimport CountTable
from ._joining cimport Joiner
from ._learned_tokens cimport DONE, INTERRUPTED, MORE, NO_MEMORY, OK, OVERFLOW, TOO_LARGE, LearnedTokens, token_length
from ._pair_table cimport PairTable, Sides
from ._words cimport WordEncoder, Words

cdef enum:
    MERGE_WORK = 1024           # bytes of text whose encoding takes as long as a merge at least


@cython.final
cdef class Merger:
    """Learns merges from pre-tokens and their counts.

    Make the tokens of an earlier tokenizer known if there is one, add the pre-tokens, then call :meth:`learn` until it
    returns True. After an error or an interrupt the object must not be used.

    Args:
        min_frequency: Pairs that occur less often are not learned; at least 1.
        ties_by_bytes: Among equally frequent pairs take the greatest (left bytes, right bytes) instead of the smallest
            (left id, right id).
        max_token_bytes: Pairs that would give a longer token are not learned; 0 for no limit.
        first: The 256 bytes in the order of their internal ids.
        max_words: For superwords: pairs that would give more words than this, or ": ", are not learned. A word is what
            lies between spaces; 0 for no limit.
        beside: A merger whose tokens this one shares, instead of `first`.
    """
    cdef Words words
    cdef LearnedTokens known
    cdef PairTable pairs
    cdef Sides sides
    cdef Joiner joiner
    # What was learned: left, right, left, right, ...
    cdef uint32_t* learned
    cdef uint64_t learned_count
    cdef uint64_t learned_capacity
    cdef bint counted
    cdef bint encoded                  # the words are tokens, not bytes
    cdef bp_watch watch

    def __cinit__(self, int64_t min_frequency=1, bint ties_by_bytes=False, uint64_t max_token_bytes=0,
                  bytes first=bytes(range(256)), uint32_t max_words=0, Merger beside=None):
        self.known = LearnedTokens(first) if beside is None else beside.known
        self.sides = Sides() if beside is None else beside.sides
        self.words = Words(self.known)
        self.pairs = PairTable(self.known, min_frequency, ties_by_bytes, max_token_bytes, max_words)
        self.joiner = Joiner(self.known, self.words, self.pairs, self.sides)

    def __dealloc__(self):
        free(self.learned)

    # ---- words in -------------------------------------------------------------------------------------------------

    def add_word(self, bytes word not None, int64_t count):
        """Add a pre-token that occurs `count` times (at least 1)."""
        self.check_begun()
        if count < 1:
            raise ValueError(f"the count of {word!r} must be at least 1, not {count}")
        self.check(self.words.add_word(<const unsigned char*> word, len(word), count))

    def add_table(self, CountTable table not None):
        """Add every pre-token of a table; those that occur 0 times are left out."""
        cdef int result
        self.check_begun()
        bp_watch_begin(&self.watch, NULL)
        with nogil:
            result = self.words.add_table(table, &self.watch)
        self.check(result)

    def add_records(self, RecordReader records not None, int64_t least=1):
        """Add what is left of a file, but for pre-tokens that occur less often than `least`."""
        self.check_begun()
        self.check(self.words.add_records(records, least))

    def add_encoded(self, pretokens, TokenTable tokens not None, MergeTable merges not None,
                    const uint32_t[::1] ids not None, bint whole, int64_t least=1):
        """Add pre-tokens as the tokens that a vocabulary makes of them; :meth:`know` comes before.

        Args:
            pretokens: A `CountTable`, or a `RecordReader`: what is left of a file.
            tokens, merges: Of the vocabulary.
            ids: uint32[n], n at least 256: internal id -> the vocabulary's.
            whole: A pre-token that is a token is taken whole; nothing is learned from it.
            least: Of a file: those that occur less often are left out.
        """
        cdef int result
        cdef CountTable table
        cdef WordEncoder encoder = WordEncoder(tokens, merges, ids, whole, self.known)
        self.check_begun()
        bp_watch_begin(&self.watch, NULL)
        bp_watch_begin(&encoder.worker.watch, NULL)
        self.known.count_as_one()
        if isinstance(pretokens, RecordReader):
            result = self.words.add_encoded_records(pretokens, least, encoder, &self.watch)
        else:
            table = pretokens
            if table is None:
                raise TypeError("no pre-tokens")
            with nogil:
                result = self.words.add_encoded_table(table, encoder, &self.watch)
        self.check(result)
        self.encoded = True

    cdef int check_begun(self) except -1:
        if self.counted:
            raise RuntimeError("words come before merges")
        return 0

    # ---- merging --------------------------------------------------------------------------------------------------

    cdef int record(self, uint32_t left, uint32_t right) noexcept nogil:
        if bp_grow(<void**> &self.learned, &self.learned_capacity, self.learned_count + 2, sizeof(uint32_t)) < 0:
            return NO_MEMORY
        self.learned[self.learned_count] = left
        self.learned[self.learned_count + 1] = right
        self.learned_count += 2
        return OK

    cdef int run(self, uint32_t token_limit, uint64_t work_limit) noexcept nogil:
        """Merge until there are `token_limit` tokens, or nothing to merge (DONE), or enough work is done (MORE)."""
        cdef uint64_t stop = self.joiner.work + work_limit
        cdef uint64_t key
        cdef uint32_t merged
        cdef int result
        while self.known.count < token_limit:
            if self.joiner.work >= stop:
                return MORE
            result = self.pairs.best(&key)
            if result != OK:
                return result
            result = self.known.join(<uint32_t> (key >> 32), <uint32_t> key, &merged)
            if result < 0:
                return result
            result = self.record(<uint32_t> (key >> 32), <uint32_t> key)
            if result == OK:
                result = self.joiner.apply(<uint32_t> (key >> 32), <uint32_t> key, merged, &self.watch)
            if result < 0:
                return result
            self.joiner.work += 1
            if bp_work(&self.watch, MERGE_WORK):
                return INTERRUPTED
        return DONE

    # ---- from Python ----------------------------------------------------------------------------------------------

    def know(self, const uint32_t[::1] pairs not None):
        """Make the tokens of an earlier tokenizer known, so that words can be added that are these tokens already.

        Pairs that give a token that there is are not learned after it: where such a pair is left, the merges of the
        earlier tokenizer did not make the token, and one more would change the ids of its texts.

        Args:
            pairs: uint32[2 * n], such as an ``array("I")``: left, right, left, right, ..., internal ids. A pair whose
                bytes are no token yet gets the next internal id.
        """
        cdef uint32_t merged
        cdef Py_ssize_t at
        self.pairs.only_new = True
        for at in range(0, pairs.shape[0] - 1, 2):
            if pairs[at] >= self.known.count or pairs[at + 1] >= self.known.count:
                raise ValueError(f"no token has the internal id {max(pairs[at:at + 2])}")
            self.check(self.known.join(pairs[at], pairs[at + 1], &merged))

    def add_token(self, bytes token not None):
        """Reserve an internal id for a token that no merge gives, and return it."""
        cdef uint32_t made
        cdef int result
        if len(token) < 2:
            raise ValueError(f"{token!r} must have at least two bytes")
        result = self.known.add(<const unsigned char*> token, len(token), &made)
        self.check(result)
        return made

    def learn(self, uint32_t token_limit, uint64_t work_limit):
        """Merge until there are `token_limit` tokens or nothing is left; False when `work_limit` came first.

        Args:
            token_limit: Tokens to end with, the 256 bytes included.
            work_limit: Segments to search before returning early (a few nanoseconds each).

        Raises:
            OverflowError: A pair occurs more than 2^63 - 1 times.
            MemoryError: Memory has run out.
        """
        cdef int result
        bp_watch_begin(&self.watch, NULL)
        self.begin()
        with nogil:
            result = self.run(token_limit, work_limit)
        self.check(result)
        return result != MORE

    def best(self):
        """The pair that :meth:`learn` would learn next, (left, right) in internal ids, or None."""
        cdef uint64_t key
        cdef int result
        self.begin()
        result = self.pairs.best(&key)
        self.check(result)
        return None if result == DONE else (key >> 32, key & 0xFFFFFFFF)

    def learn_pair(self, uint32_t left, uint32_t right):
        """Learn a pair of internal ids; returns that of the token. :func:`join_together` joins it."""
        cdef uint32_t merged
        if left >= self.known.count or right >= self.known.count:
            raise ValueError(f"no token has the internal id {max(left, right)}")
        self.check(self.known.join(left, right, &merged))
        self.check(self.record(left, right))
        return merged

    @property
    def tokens(self):
        """How many tokens there are, the 256 bytes included."""
        return self.known.count

    def token(self, uint32_t token):
        """The bytes of a token by internal id."""
        if token >= self.known.count:
            raise IndexError(f"no token has the internal id {token}")
        return (<char*> self.known.data)[self.known.start[token]:self.known.start[token + 1]]

    def all_tokens(self):
        """The bytes of all tokens, by internal id."""
        cdef uint32_t token
        cdef list found = [None] * self.known.count
        for token in range(self.known.count):
            found[token] = PyBytes_FromStringAndSize(<char*> self.known.data + self.known.start[token],
                                                     token_length(self.known, token))
        return found

    def merges(self, list ids=None):
        """What was learned, in order: (left, right) of each merge, internal ids or what `ids` has for them."""
        cdef Py_ssize_t at
        cdef uint32_t left, right
        cdef list found = [None] * <Py_ssize_t> (self.learned_count // 2)
        if ids is None:
            ids = list(range(self.known.count))
        elif len(ids) < <Py_ssize_t> self.known.count:
            raise ValueError(f"there are {self.known.count} tokens, and ids of {len(ids)}")
        for at in range(0, <Py_ssize_t> self.learned_count, 2):
            left = self.learned[at]
            right = self.learned[at + 1]
            found[at // 2] = (ids[left], ids[right])
        return tuple(found)

    cdef int begin(self) except -1:
        cdef uint32_t end = <uint32_t> (self.words.symbol_count // 2)
        cdef int result
        if not self.counted:
            self.counted = True
            with nogil:
                if self.encoded:
                    result = self.pairs.count_tokens(self.words.symbols, end, &self.watch)
                else:
                    result = self.pairs.count_bytes(self.words.symbols, end, &self.watch)
            self.check(result)
        return 0

    cdef int check(self, int result) except -1:
        if result >= 0:
            return 0
        if result == NO_MEMORY:
            raise MemoryError("out of memory while learning merges")
        if result == OVERFLOW:
            raise OverflowError("a pair occurs more than 2^63 - 1 times: divide the counts by a common factor")
        if result == TOO_LARGE:
            raise OverflowError("too many tokens or pre-tokens: at most 2^31 - 2 tokens, and 2^33 - 2 symbols of words")
        return -1                                  # interrupted: the exception is set


def join_together(list mergers not None, uint32_t left, uint32_t right, uint32_t token):
    """Join a pair that one of several mergers, which share their tokens, has learned.

    Returns:
        (number of a merger, how many tokens fewer its words have), for those that have fewer.
    """
    cdef list fewer = []
    cdef Merger merger
    cdef Py_ssize_t number
    for merger in mergers:
        merger.begin()
        if left >= merger.known.count or right >= merger.known.count or token >= merger.known.count:
            raise ValueError(f"no token has the internal id {max(left, right, token)}")
        merger.pairs.prefetch(<uint64_t> left << 32 | right)
    for number, merger in enumerate(mergers):
        bp_watch_begin(&merger.watch, NULL)
        merger.check(merger.joiner.apply(left, right, token, &merger.watch))
        if merger.joiner.joined:
            fewer.append((number, merger.joiner.joined))
    return fewer
