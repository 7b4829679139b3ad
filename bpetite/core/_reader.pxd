"""A text that is read only as far as a limit of tokens asks for."""
from libc.stdint cimport uint8_t, uint64_t

from ..headers cimport token_t
from ..splitting.scan._scan cimport Scanner
from ..vocabulary._tokens cimport TokenTable, size_at
from ._encode cimport Encoder
from ._special cimport Specials
from ._text cimport text_view
from ._worker cimport Worker


cdef enum:
    CHARS = 4                  # those in which an end may still be uncertain
    BACK = 4 * CHARS           # bytes that they have at most
    NEAR = 256                 # bytes: from a known edge on, so many tokens are walked without a look at the milestones


cdef struct milestone:
    Py_ssize_t start           # where a pre-token or a special token ends, or 0; in bytes of the whole text in UTF-8
    Py_ssize_t used            # tokens before it


cdef struct milestones:
    milestone* items
    Py_ssize_t n, capacity


cdef struct offsets:
    Py_ssize_t* items
    Py_ssize_t n, capacity


cdef class Reader:
    # Owned by one call, or by one iterator.
    cdef Encoder encoder
    cdef Worker worker             # None once closed
    cdef Scanner scanner
    cdef TokenTable tokens
    cdef bint dense                # ids are slots of the table
    cdef milestone hint            # an edge near what is asked for, and not before the first milestone
    cdef Specials specials
    cdef object text
    cdef text_view view
    cdef const uint8_t* data       # the text from `base` on
    cdef Py_ssize_t base, filled   # bytes
    cdef Py_ssize_t longest        # bytes of text that a token stands for at most
    cdef Py_ssize_t keep           # ids and ends before this offset are not kept
    cdef Py_ssize_t dropped        # ids that are not kept
    cdef Py_ssize_t done           # up to where the text has been encoded
    cdef Py_ssize_t limit          # up to where it has been read for that
    cdef bint ended                # that is all of it
    cdef bint goes_on              # what is given is the beginning of a text
    cdef bint unlocked             # the interpreter lock is released for short stretches, too
    cdef milestones stones         # an end now and then, from `keep` on; the last is at `done`
    cdef milestones after_specials  # the ends of special tokens
    cdef offsets ends              # of pre-tokens and special tokens, behind the first milestone
    cdef Py_ssize_t asked          # the one that was asked for last
    cdef bint ascii                # all of it
    cdef Py_ssize_t char_bytes, chars     # a place whose offset in characters is known

    cdef int close(self) except -1
    # How many tokens there are before `done`.
    cdef Py_ssize_t total(self) noexcept nogil
    # How many tokens there are after `done`, at least.
    cdef Py_ssize_t least_after(self) noexcept nogil
    # Encode `size` bytes more, or twice as many as before where these closed no pre-token.
    cdef int feed(self, Py_ssize_t size) except -1
    # Encode on until there are `tokens`, or the text ends, `least` bytes at a time or more.
    cdef int feed_tokens(self, Py_ssize_t tokens, Py_ssize_t least) except -1
    # Forget what is before a milestone at or before an offset, where that is much.
    cdef int forget(self, Py_ssize_t before) except -1
    # Whether a character begins at the offset, or the text ends there.
    cdef bint on_character(self, Py_ssize_t at) noexcept nogil
    # The offset in characters.
    cdef Py_ssize_t char_at(self, Py_ssize_t at) noexcept nogil
    # The last milestone with at most `used` tokens before it, or the first; the last at or before `at`, or the first.
    cdef Py_ssize_t stone_of(self, Py_ssize_t used) noexcept nogil
    cdef Py_ssize_t stone_before(self, Py_ssize_t at) noexcept nogil
    # An end that is one in every text that has the same bytes up to `at`, with no special token between the two; its
    # start is -1 where that is not known. IN: not in_special.
    cdef milestone certain(self, Py_ssize_t at) noexcept nogil
    # Whether a special token begins before `at` and ends behind.
    cdef bint in_special(self, Py_ssize_t at) noexcept nogil
    # The first end after `at`, as an index; whether `at` is an end.
    cdef Py_ssize_t end_after(self, Py_ssize_t at) noexcept nogil
    cdef bint is_end(self, Py_ssize_t at) noexcept nogil
    # The tokens of [start, stop) encoded alone, all of it ordinary text or not; their ids lie behind the worker's.
    cdef Py_ssize_t count_ordinary(self, Py_ssize_t start, Py_ssize_t stop) except -1
    cdef Py_ssize_t count_alone(self, Py_ssize_t start, Py_ssize_t stop) except -1
    # Whether [start, stop) is one token where a pre-token that is a token is taken whole.
    cdef bint is_whole(self, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
    cdef Py_ssize_t readable(self, Py_ssize_t at) noexcept nogil
    cdef int fill(self, Py_ssize_t upto) except -1
    cdef int encode(self, Py_ssize_t limit, bint final, Py_ssize_t* bad) noexcept nogil
    cdef Py_ssize_t encode_ordinary(self, Py_ssize_t at, Py_ssize_t end, bint final, Py_ssize_t* bad,
                                    int* status) noexcept nogil
    cdef int put_stone(self, milestones* stones, Py_ssize_t start, Py_ssize_t used) noexcept nogil
    cdef int put_ends(self, Py_ssize_t at, const Py_ssize_t* ends, Py_ssize_t n) noexcept nogil


# Bytes of token i, counted from the beginning of the text.
cdef inline Py_ssize_t size_of(Reader reader, Py_ssize_t i) noexcept nogil:
    cdef token_t token_id = reader.worker.out[i - reader.dropped]
    cdef Py_ssize_t slot = <Py_ssize_t> token_id if reader.dense else reader.tokens.slot(token_id)
    return size_at(reader.tokens.sizes, reader.tokens.starts, slot)


# Bytes of the tokens from `first` to `last`, the latter not included; negative where `last` is before `first`.
cdef inline Py_ssize_t span_of(Reader reader, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t i, low = min(first, last) - reader.dropped, high = max(first, last) - reader.dropped, size = 0
    cdef const token_t* ids = reader.worker.out
    cdef const uint8_t* sizes = reader.tokens.sizes
    cdef const uint64_t* starts = reader.tokens.starts
    for i in range(low, high):
        size += size_at(sizes, starts, <Py_ssize_t> ids[i] if reader.dense else reader.tokens.slot(ids[i]))
    return size if first <= last else -size


# A number of tokens that a caller gives, with a name for messages.
cdef Py_ssize_t whole_number(object value, str name) except -1

# The tokens of a text and those around it, or limit + 1 where more are certain: not all of it is read, nor checked for
# refused ones.
cdef Py_ssize_t count_up_to(Encoder encoder, object text, Specials specials, Specials refused, Py_ssize_t limit,
                            Py_ssize_t around) except -1
