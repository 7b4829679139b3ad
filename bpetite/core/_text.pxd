"""A text as the encoder reads it: characters where they are in memory, or rewritten to UTF-8 a window at a time.

The characters of an ASCII str are read where they are, and so is the UTF-8 that an earlier reader left inside a str.
Other text is rewritten to UTF-8 in a window: it stays in the processor's cache, and no copy of the whole text is made
or left attached to the caller's str, as PyUnicode_AsUTF8AndSize would. A pre-token that is open at the end of a window
is moved to its front before more is rewritten; a window without a closed one doubles, so long pre-tokens cost linear
time too.

All of it is inline, since calls from module to module would be a noticeable part of the time of a short text.
"""
from libc.stdint cimport uint8_t

from ..headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ..headers.vectors cimport (
    bp_known_utf8, bp_utf8_valid, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND,
)

cdef enum:
    CHECK_LOCKED = 1 << 15     # bytes, checked in 2 to 10 us; handing the interpreter lock over takes as long

cdef enum encode_status:
    DONE = 0
    NO_MEMORY = -1
    NO_TOKEN = -2          # a byte of the text has no token
    NO_UTF8 = -3           # a lone surrogate in a str
    INTERRUPTED = -4       # by a signal or another thread; an exception is set


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


# OUT: where the characters of a str or bytes are. Bytes are checked to be UTF-8.
cdef inline int view_text(object text, text_view* view) except -1:
    cdef Py_ssize_t bad
    view.units = NULL
    view.width = 1
    if isinstance(text, str):
        view.utf8 = <const uint8_t*> bp_known_utf8(text, &view.length)
        if view.utf8 == NULL:
            view.units = PyUnicode_DATA(text)
            view.width = PyUnicode_KIND(text)
            view.length = PyUnicode_GET_LENGTH(text)
        return 0
    if not isinstance(text, bytes):
        from ..errors import not_a_text            # here, since a .pxd has no imports of its own

        raise not_a_text(text)
    view.utf8 = <const uint8_t*> PyBytes_AS_STRING(text)
    view.length = PyBytes_GET_SIZE(text)
    if view.length > CHECK_LOCKED:
        with nogil:
            bad = bp_utf8_valid(view.utf8, view.length)
    else:
        bad = bp_utf8_valid(view.utf8, view.length)
    if bad < view.length:
        try:
            (<bytes> text)[bad:bad + 4].decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", text, bad, bad + error.end, error.reason) from None
    return 0


# The expected number of ids, so that most texts need one allocation: memory that is not written to costs nothing.
cdef inline Py_ssize_t guess_ids(const text_view* view) noexcept nogil:
    return view.length if view.utf8 == NULL else view.length // 2
