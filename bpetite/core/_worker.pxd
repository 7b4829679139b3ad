"""UTF-8 in, token ids out: the tables of a tokenizer and what one thread writes to while it encodes."""
from cpython.array cimport array
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .._merge cimport BP_WORDS, MergeTable, bp_word, merge_space
from ..headers cimport bp_secret, bp_watch, token_t
from ..splitting.scan._scan cimport Scanner
from ..vocabulary._alphabet cimport AlphabetTable
from ..vocabulary._tokens cimport TokenTable
from ._dropout cimport Dropout
from ._text cimport utf8_window

cdef extern from "core/word_cache.h" nogil:
    enum: BP_BLOCK
    enum: BP_SLACK
    enum: BP_NARROW_IDS
    enum: BP_LONGEST
    const uint64_t BP_IS_LONG

    ctypedef struct bp_cache:
        size_t short_used, long_used

    ctypedef struct bp_keys:
        uint64_t bytes[1][2]       # declared short: the header has its size

    bint bp_cache_init(bp_cache* cache, size_t bytes, bint narrow, const bp_secret* secret) noexcept
    void bp_cache_free(bp_cache* cache) noexcept
    bint bp_cache_copy(bp_cache* cache, const bp_cache* other) noexcept
    void bp_cache_loosen(bp_cache* cache) noexcept
    void bp_prepare(const bp_cache* cache, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                    Py_ssize_t readable, bp_keys* keys) noexcept
    Py_ssize_t bp_emit(bp_cache* cache, const bp_keys* keys, const uint8_t* text, Py_ssize_t start,
                       const Py_ssize_t* ends, Py_ssize_t i, Py_ssize_t n, token_t* out, Py_ssize_t capacity,
                       Py_ssize_t* used, bint* starved) noexcept
    bint bp_remember(bp_cache* cache, const uint64_t* key, const uint8_t* p, size_t length, const token_t* ids,
                     size_t count) noexcept

    enum: BP_WAITING_SPAN

    ctypedef struct bp_waiting:
        uint64_t key[2]
        const uint8_t* text
        Py_ssize_t length, at, same
        bp_word word

    void bp_wait(bp_waiting* waiting, Py_ssize_t count, const uint64_t* key, const uint8_t* text, Py_ssize_t length,
                 Py_ssize_t at) noexcept
    bint bp_remember_waiting(bp_cache* cache, const bp_waiting* waiting, Py_ssize_t count) noexcept
    Py_ssize_t bp_count_waiting(const bp_waiting* waiting, Py_ssize_t count) noexcept
    void bp_put_waiting(const bp_waiting* waiting, Py_ssize_t count, Py_ssize_t total, token_t* out,
                        Py_ssize_t used) noexcept


cdef class EncodingTables:
    # What encoding reads. Nothing changes after construction, so threads share it.
    cdef readonly TokenTable tokens
    cdef readonly MergeTable merges
    cdef readonly Scanner scanner          # None where only `regex` can split
    cdef readonly bint whole               # a pre-token that is a token is taken whole
    cdef bint batched                      # short pre-tokens are merged as a whole
    cdef AlphabetTable alphabet            # the characters that merges begin from; None where these are bytes
    cdef bint prefixed                     # a text gets a space before it
    cdef bint prefixed_always              # also if it begins with a space
    cdef bint restarts                     # each span after a special token gets one, too
    cdef bint narrow                       # all ids are below 2^16
    cdef readonly str dropped              # pre-tokens that begin with one of these characters give no ids
    cdef array dropped_points              # their code points, keeps the memory alive:
    cdef const uint32_t* dropped_at
    cdef Py_ssize_t dropped_count
    cdef uint8_t* excluded                 # slot -> it is a special token, never found in ordinary text
    cdef token_t byte_ids[256]
    cdef uint8_t byte_known[256]


cdef class Worker:
    # Used by one thread at a time.
    cdef EncodingTables tables
    cdef bp_cache cache
    cdef merge_space space
    cdef utf8_window window
    cdef bp_watch watch                    # of the call that uses it
    cdef Dropout dropout                   # of the call that uses it; None for plain encoding
    cdef uint64_t text_number              # with dropout: which text of the batch is encoded,
    cdef uint64_t position                 # and how many bytes of it have been merged
    cdef token_t* out
    cdef Py_ssize_t used, capacity
    cdef bint wants_prefix                 # the text to encode next gets a space before it
    cdef bp_waiting queue[BP_WORDS]        # pre-tokens that wait to be merged
    cdef Py_ssize_t waiting                # of them

    # The number of words in the caches.
    cdef size_t known(self) noexcept nogil
    # True if another worker knows so much more that a copy of its cache pays.
    cdef bint lacks(self, Worker other) noexcept nogil
    # Copy its cache. It must not be in use.
    cdef void learn(self, Worker other) noexcept nogil
    # Memory for `more` ids in out; false where there is none.
    cdef bint reserve(self, Py_ssize_t more) noexcept nogil
    # Free what a single large text has taken.
    cdef void shrink(self) noexcept nogil
    cdef int put(self, token_t token_id) noexcept nogil
    # Split a span and append its ids, up to the first end of a pre-token at or after `stop`. Returns DONE or an error.
    # IN: text[0:length]: ordinary text in valid UTF-8, of which `readable` bytes can be read; final: no text follows.
    # OUT: *done: bytes encoded; on NO_TOKEN, the offset of the byte without a token.
    cdef int encode_span(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final, Py_ssize_t stop,
                         Py_ssize_t* done) noexcept nogil
    # The same, but pre-tokens may wait until `finish` to be merged with those of further spans of the same memory. On
    # NO_TOKEN, *done is negative if the byte is before `text`.
    cdef int encode_split(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
                          Py_ssize_t stop, Py_ssize_t* done) noexcept nogil
    cdef int finish(self, const uint8_t* text, Py_ssize_t* done) noexcept nogil
    # Append the ids of known pre-tokens: text[start:ends[0]], text[ends[0]:ends[1]], ... OUT: *done is set on NO_TOKEN
    # only.
    cdef int encode_pretokens(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t n,
                              Py_ssize_t readable, Py_ssize_t* done) noexcept nogil
