"""Text to token ids by one thread."""
from libc.stdint cimport uint8_t

from ..headers.python cimport PyObject
from ._special cimport Specials, SpecialSets
from ._text cimport text_stretch, text_view
from ._worker cimport Core, Worker


cdef extern from "core/worker_slots.h":
    ctypedef struct bp_slots:
        pass
    PyObject* bp_take_worker(bp_slots* slots)
    PyObject* bp_give_worker(bp_slots* slots, PyObject* worker)


cdef class Encoder:
    cdef Core core                 # None before the set-up
    cdef SpecialSets specials
    cdef bint compiled             # text goes through the scanner alone
    cdef object _pretokenizer
    cdef object _normalize         # or None
    cdef object _pipeline          # or None
    cdef object _cuts              # False for none; None before they are asked for
    cdef Py_ssize_t _cache_bytes
    cdef bp_slots _idle            # the workers given back last
    cdef list _pool                # the others
    cdef Worker _teacher           # which never encodes; or None

    cdef int set_up(self, Core core, SpecialSets specials, object pretokenizer, object normalize, object pipeline,
                    Py_ssize_t cache_bytes) except -1
    # Where the scanner certainly cuts, or None.
    cdef object certain_cuts(self)
    # A worker whose output is empty, and back with it when the call has ended, whether or not it failed.
    cdef Worker take(self)
    cdef void give(self, Worker worker)
    # Before `helpers` threads take a worker each: those that begin with less are to know what the best one does, of
    # those given back and `own`, the calling thread's.
    cdef int teach(self, Worker own, Py_ssize_t helpers) except -1
    # The arguments of a helper.
    cdef Worker take_taught(self)
    # Append the ids of a text; special tokens of `specials` are recognised, none where that is None.
    cdef int encode(self, Worker worker, object text, Specials specials) except -1
    cdef int encode_in_python(self, Worker worker, object text, Specials specials) except -1
    # Append the ids of what a pipeline yields.
    cdef int encode_items(self, Worker worker, object items) except -1
    # Append the ids of UTF-8 whose pre-tokens are known: where each ends, in bytes, ascending. `base` is the offset of
    # the data in the text, for messages.
    cdef int encode_pretokens(self, Worker worker, bytes data, const long long[::1] ends, Py_ssize_t base) except -1


# Append the ids of a text that the scanner cuts. OUT: on NO_TOKEN *offset is the byte's, in UTF-8.
cdef int encode_view(Worker worker, Specials specials, const text_view* view, Py_ssize_t* offset) noexcept nogil

# Append the ids of a stretch of such a text. Returns DONE or an error.
cdef int encode_stretch(Worker worker, Specials specials, const text_view* view, text_stretch* stretch) noexcept nogil

# The same with the interpreter lock held; raises what the status stands for.
cdef int encode_checked(Worker worker, Specials specials, object text, const text_view* view,
                        text_stretch* stretch) except -1

# Append the ids of text[0:length], valid UTF-8 of whole characters; `readable` bytes can be read: the special
# tokens of `specials`, none where that is None, the pre-tokens between them, up to the first that ends at or after
# `stop`. Without `final` more text follows; what that may change is left: the beginning of a special token, the last
# pre-token. OUT: *done, up to where the text has been encoded, and where the caller begins when there is more; where
# nothing closes, it doubles what it passes, or long pre-tokens cost quadratic time. On NO_TOKEN *done is the byte
# without a token. Returns DONE or an error.
cdef int encode_utf8(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable,
                     bint final, Py_ssize_t stop, Py_ssize_t* done) noexcept nogil

# Raise what a status stands for. `offset` is the place of a byte in the UTF-8 of the text, which begins at `base`.
cdef int check_status(int status, object text, Py_ssize_t offset, Py_ssize_t base=*) except -1

# True for a text so long that it has more than `limit` tokens, whatever they are.
cdef bint has_more(Encoder encoder, object text, Py_ssize_t limit)

# Append the ids of a text from its beginning on, until more than `limit` are certain; all of them where there are no
# more. What has been encoded must not hold any of `refused`, or None; what is behind it is not checked. Returns what
# has been encoded, in UTF-8, where it is `wanted`; else None.
cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint wanted)

# int64[n]: how many bytes the first tokens that a worker has put out have, up to each.
cdef object token_ends(Worker worker)
