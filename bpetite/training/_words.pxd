"""The words that merges are learned from, as tokens in flat memory (_words.pyx)."""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from ..core._worker cimport Worker
from ..headers cimport bp_watch, token_t
from ..vocabulary._tokens cimport TokenTable
from ._count_records cimport RecordReader
from ._count_table cimport CountTable
from ._learned_tokens cimport LearnedTokens


cdef enum:
    NO_ID = 0x7FFFFFFF
    SLOT_WORK = 32              # bytes of text whose encoding takes as long as a slot of a count table


@cython.final
cdef class WordEncoder:
    cdef TokenTable tokens
    cdef Worker worker
    cdef bint whole
    cdef token_t* ids
    cdef uint32_t* by_slot             # slot of a token -> internal id, NO_ID where it takes no part

    # Put the internal ids of a pre-token's tokens into worker.out: how many there are, 0 where nothing is learned from
    # it, -1 where there is no memory or the worker's watch has been interrupted.
    cdef Py_ssize_t encode(self, const uint8_t* data, Py_ssize_t length, bp_watch* watch) noexcept nogil


@cython.final
cdef class Words:
    cdef LearnedTokens known
    cdef int32_t* symbols              # heads and slots (_segments.pxd), then SENTINEL
    cdef uint64_t symbol_count         # without that; even
    cdef Py_ssize_t symbol_capacity
    cdef uint8_t id_of_byte[256]

    # Add a word as the tokens that an encoder makes of it; all words of a table; what is left of a file, but for words
    # that occur less often than `least`.
    cdef int add_encoded(self, const uint8_t* data, Py_ssize_t length, int64_t count, WordEncoder encoder,
                         bp_watch* watch) noexcept nogil
    cdef int add_encoded_table(self, CountTable table, WordEncoder encoder, bp_watch* watch) noexcept nogil
    cdef int add_encoded_records(self, RecordReader records, int64_t least, WordEncoder encoder,
                                 bp_watch* watch) except? -1
    # Add a word of bytes that occurs `count` times; all words of a table, but for those that occur 0 times; what is
    # left of a file, but for words that occur less often than `least`.
    cdef int add_word(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil
    cdef int reserve_table(self, CountTable table, bp_watch* watch) noexcept nogil
    cdef int add_table(self, CountTable table, bp_watch* watch) noexcept nogil
    cdef int add_records(self, RecordReader records, int64_t least) except? -1
    cdef int reserve(self, uint64_t words, uint64_t slots) noexcept nogil
    cdef void push(self, const unsigned char* word, uint64_t length, int64_t count) noexcept nogil
    cdef int32_t* open(self) noexcept nogil
    cdef void close(self, uint64_t size, int64_t count) noexcept nogil
