"""Text to token ids: what the batch and streaming modules use of it."""
from libc.stdint cimport uint8_t, uint32_t

from ..headers.types cimport token_t
from ._decode cimport Decoder
from ._ids cimport IdLists
from ._special cimport Specials
from ._worker cimport Core, Worker


cdef struct text_view:
    const uint8_t* utf8        # or NULL: then the units of a str
    Py_ssize_t length          # bytes, or units
    const void* units
    int kind                   # bytes a unit


cdef class Encoder(Decoder):
    cdef Core _core
    cdef Specials _specials
    cdef object _pretokenizer
    cdef dict _special_ids         # literal -> id
    cdef object _normalize         # or None
    cdef object _pipeline          # or None
    cdef object _template          # or None
    cdef Py_ssize_t _cache_bytes
    cdef bint _compiled            # text goes through the scanner alone
    cdef Worker _spare             # the worker given back last, or None
    cdef list _pool                # the others
    cdef dict _subsets
    cdef IdLists _lists            # made for the first list

    cdef Worker _take(self)
    cdef void _give(self, Worker worker)
    cdef Specials _choose(self, object text, object allowed, object disallowed)
    cdef int _view(self, object text, text_view* view) except -1
    cdef int _start(self, Worker worker, object text, Specials specials, object num_threads) except -1
    cdef int _encode(self, Worker worker, object text, Specials specials) except -1
    # The same by several threads, if a subclass knows how.
    cdef int _encode_long(self, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1
    cdef int _encode_slowly(self, Worker worker, object text, Specials specials) except -1
    cdef int _encode_stretch(self, Worker worker, bytes stretch) except -1
    cdef int _encode_pieces(self, Worker worker, bytes stretch, const long long[::1] ends) except -1
    cdef int _check(self, int status, Worker worker, object text) except -1
    cdef list _to_list(self, const token_t* ids, Py_ssize_t n)
    cdef object _to_numpy(self, Worker worker)


# How many ids a text may have, so that memory for most texts is taken at once: memory not written to costs nothing.
cdef inline Py_ssize_t guess_ids(const text_view* view) noexcept nogil:
    return view.length if view.utf8 == NULL else view.length // 2


# Append the ids of a text to worker.out. Returns DONE or an error.
cdef int run_view(Worker worker, Specials specials, const text_view* view) noexcept nogil

# Append the ids of text[0:length]; see Worker.encode. Special tokens that may go on behind the end are left open.
cdef int run(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
             Py_ssize_t* done) noexcept nogil
