"""Text to token ids by one thread."""
from cpython.array cimport array
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .._merge cimport BP_WORDS, Dropout, MergeTable, bp_word, merge_space
from ..headers cimport bp_watch, token_t
from ..headers.python cimport PyObject
from ..splitting.scan._scan cimport Scanner
from ..steps._rewriting cimport Rewriter, bp_buffer
from ..vocabulary._alphabet cimport AlphabetTable
from ..vocabulary._tokens cimport TokenTable
from ._special cimport Specials, SpecialSets

cdef extern from "core/word_cache.h" nogil:
    ctypedef struct bp_cache:
        pass
    ctypedef struct bp_waiting:
        uint64_t key[2]
        const uint8_t* text
        Py_ssize_t length, at, same
        bp_word word
    void bp_cache_loosen(bp_cache* cache) noexcept

cdef extern from "core/worker_slots.h":
    ctypedef struct bp_slots:
        pass

cdef enum:
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter texts, handing it over costs more

cdef enum encode_status:
    DONE = 0
    NO_MEMORY = -1
    NO_TOKEN = -2          # a byte of the text has no token
    NO_UTF8 = -3           # a lone surrogate in a str
    INTERRUPTED = -4       # by a signal or another thread; an exception is set
    NO_PREFIX = -5         # the space that is put before the text has no token


cdef struct text_view:
    const uint8_t* utf8        # or NULL: then the units of a str
    Py_ssize_t length          # bytes, or units
    const void* units
    int width                  # bytes a unit


cdef struct view_range:
    # What to encode of a text: from start to the first end of a pre-token or special token at or after stop. In bytes
    # if the text is in UTF-8, else in units.
    Py_ssize_t start, stop
    Py_ssize_t end             # OUT: where encoding ended
    Py_ssize_t bytes           # OUT: bytes of UTF-8 from start to end; on NO_TOKEN, to the byte without a token


cdef struct utf8_window:
    # Units of a text, rewritten to UTF-8; all zero at first, freed by free(bytes).
    uint8_t* bytes
    Py_ssize_t filled          # bytes
    Py_ssize_t read            # units of the text, up to the end of the window
    Py_ssize_t capacity


cdef class EncodingTables:
    # What encoding reads. Nothing changes after construction, so threads share it.
    cdef readonly TokenTable tokens
    cdef readonly MergeTable merges
    cdef readonly Scanner scanner          # None where only `regex` can split
    cdef Rewriter rewriter                 # of the text between special tokens; or None
    cdef readonly bint whole               # a pre-token that is a token is taken whole
    cdef AlphabetTable alphabet            # the characters that merges begin from; None where these are bytes
    cdef bint prefixed                     # a text gets a space before it
    cdef bint prefixed_always              # also if it begins with a space
    cdef bint restarts                     # each span after a special token gets one, too
    cdef bint has_late                     # there are special tokens that are "late"
    cdef bint narrow                       # all ids are below 2^16
    cdef array dropped                     # pre-tokens that begin with one of these code points give no ids
    cdef const uint32_t* dropped_at        # in that array
    cdef Py_ssize_t dropped_count
    cdef uint8_t* excluded                 # slot -> 1 for a special token, never found in ordinary text; 2 if "late"
    cdef token_t byte_ids[256]
    cdef uint8_t byte_known[256]


cdef class Worker:
    # Used by one thread at a time.
    cdef EncodingTables tables
    cdef bp_cache cache
    cdef merge_space space
    cdef utf8_window window
    cdef bint rewrites                     # the text at hand is not as the rewriter leaves it
    cdef bp_buffer rewritten               # an open pre-token of it, and what was rewritten after that
    cdef bp_watch watch                    # of the call that uses it
    cdef Dropout dropout                   # of the call that uses it; None for plain encoding
    cdef uint64_t text_number              # with dropout: which text of the batch is encoded,
    cdef uint64_t position                 # and how many bytes of it have been merged
    cdef token_t* out                      # in fact uint16 where the width is 2
    cdef Py_ssize_t used, capacity         # ids
    cdef int width                         # bytes of an id in out: 4, or 2 where all ids of the vocabulary fit
    cdef bint wants_prefix                 # the text to encode next gets a space before it
    cdef bp_waiting queue[BP_WORDS]        # pre-tokens that wait to be merged
    cdef Py_ssize_t waiting                # of them

    # Memory for `more` ids in out; false where there is none.
    cdef bint reserve(self, Py_ssize_t more) noexcept nogil
    cdef int put(self, const token_t* ids, Py_ssize_t n) noexcept nogil
    # Append the ids of text[0:length], ordinary text in valid UTF-8. Returns DONE or an error. OUT: *bad: on NO_TOKEN,
    # the offset of the byte without a token.
    cdef int encode_span(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t* bad) noexcept nogil


cdef class Encoder:
    cdef EncodingTables tables     # None before the set-up
    cdef SpecialSets specials
    cdef bint scanned_alone        # the scanner alone cuts every text: no Python is needed
    cdef object _pretokenizer
    cdef object _pipeline          # or None
    cdef object _cuts              # False for none; None before they are asked for
    cdef Py_ssize_t _cache_bytes
    cdef bp_slots _idle            # the workers given back last
    cdef list _pool                # the others

    # Take a worker with an empty output, to encode text number 0 from a position on. The caller gives it back when the
    # call ends, also after an error.
    cdef Worker take(self, Dropout dropout=*, uint64_t position=*, int width=*)
    cdef void give(self, Worker worker)
    # Raise the error of a status of `encode_text`.
    cdef int check(self, int status, Worker worker, object text, Specials specials, Py_ssize_t offset) except -1
    # The text if the scanner alone cuts it as it is, in UTF-8 if there is a rewriter, else None. OUT: *view, of it.
    cdef object scanned(self, object text, text_view* view)
    # Append the ids of a text. Special tokens of `specials` are recognised; None recognises none.
    cdef int encode(self, Worker worker, object text, Specials specials) except -1


# OUT: where the characters of a str or bytes are. Bytes are checked to be UTF-8.
cdef int view_text(object text, text_view* view) except -1

# The expected number of ids, so that most texts need one allocation: memory that is not written to costs nothing.
cdef Py_ssize_t guess_ids(const text_view* view) noexcept nogil

# Append the ids of a text that the scanner cuts. Returns DONE or an error. OUT: *offset: on NO_TOKEN, the offset of the
# byte without a token, in UTF-8.
cdef int encode_text(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil

# Append the ids of a range of such a text, window by window. The caller holds the interpreter lock.
cdef int encode_range(Worker worker, Specials specials, object text, const text_view* view,
                      view_range* wanted) except -1

# Append the ids of text[0:length]: special tokens of `specials` (None recognises none) and the pre-tokens between them,
# up to the first end at or after `stop`. Returns DONE or an error.
# IN: text: valid UTF-8 of whole characters, of which `readable` bytes can be read; final: no text follows. If text
# follows, the last pre-token and the beginning of a special token stay open.
# OUT: *done: bytes encoded; resume there. If *done is 0, pass twice as much next time: otherwise a long pre-token costs
# quadratic time. On NO_TOKEN, *done is the offset of the byte without a token.
cdef int encode_between_specials(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length,
                                 Py_ssize_t readable, bint final, Py_ssize_t stop, Py_ssize_t* done) noexcept nogil

# Raise the error of a status. IN: offset: of a byte in the UTF-8 of the text, whose offset in the whole text is `base`;
# rewritten: the text is not as the caller gave it, and the message says so.
cdef int check_status(int status, object text, Py_ssize_t offset, Py_ssize_t base=*, bint rewritten=*) except -1
