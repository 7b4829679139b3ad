"""Text to token ids by one thread."""
from libc.stdint cimport uint8_t

from ..headers.python cimport PyObject
from ._special cimport Specials, SpecialSets
from ._text cimport text_view, view_range
from ._worker cimport EncodingTables, Worker


cdef extern from "core/worker_slots.h":
    ctypedef struct bp_slots:
        pass
    PyObject* bp_take_worker(bp_slots* slots)
    PyObject* bp_give_worker(bp_slots* slots, PyObject* worker)


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
    cdef Worker _teacher           # which never encodes; or None

    cdef int set_up(self, EncodingTables tables, SpecialSets specials, object pretokenizer, object pipeline,
                    Py_ssize_t cache_bytes) except -1
    # The CertainCuts of the scanner; None if it has none.
    cdef object certain_cuts(self)
    # Take a worker with an empty output. The caller gives it back when the call ends, also after an error.
    cdef Worker take(self)
    cdef void give(self, Worker worker)
    # Called before helper threads start: copies the fullest word cache (of the pooled workers and `own`), so that new
    # workers start from it.
    cdef int teach(self, Worker own, Py_ssize_t helpers) except -1
    # Take a worker for a helper thread; it starts from the copied cache if that holds much more.
    cdef Worker take_taught(self)
    # Raise the error of a status of `encode_text`.
    cdef int check(self, int status, Worker worker, object text, Specials specials, Py_ssize_t offset) except -1
    # The text if the scanner alone cuts it as it is, in UTF-8 if there is a rewriter, else None. OUT: *view, of it.
    cdef object scanned(self, object text, text_view* view)
    # Append the ids of a text. Special tokens of `specials` are recognised; None recognises none.
    cdef int encode(self, Worker worker, object text, Specials specials) except -1
    cdef int encode_in_python(self, Worker worker, object text, Specials specials) except -1
    # Append the ids of the items that a pipeline yields.
    cdef int encode_items(self, Worker worker, object items) except -1
    # Append the ids of UTF-8 text. IN: ends: the end of each pre-token, in bytes, ascending; base: the offset of the
    # data in the whole text, for messages.
    cdef int encode_pretokens(self, Worker worker, bytes data, const long long[::1] ends, Py_ssize_t base) except -1


# Append the ids of a text that the scanner cuts. Returns DONE or an error. OUT: *offset: on NO_TOKEN, the offset of the
# byte without a token, in UTF-8.
cdef int encode_text(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil

# Append the ids of a range of such a text, window by window. Returns DONE or an error.
cdef int encode_windows(Worker worker, Specials specials, const text_view* view, view_range* wanted) noexcept nogil

# The same for a caller that holds the interpreter lock; raises the error of the status.
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

# Raise the error of a status. IN: offset: of a byte in the UTF-8 of the text, whose offset in the whole text is `base`.
cdef int check_status(int status, object text, Py_ssize_t offset, Py_ssize_t base=*) except -1

# True if the length of a text alone shows that it has more than `limit` tokens.
cdef bint has_more(Encoder encoder, object text, Py_ssize_t limit)

# Append the ids of the beginning of a text until more than `limit` are certain, or of the whole text. Raises ValueError
# if the encoded text holds a special token of `refused` (or None); the rest is not checked. Returns the encoded text in
# UTF-8 if `wanted`, else None.
cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint wanted)

# int64[n]: the number of bytes of the worker's tokens up to and with each.
cdef object token_ends(Worker worker)
