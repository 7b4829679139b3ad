"""A text as the encoder reads it: characters where they are in memory, or rewritten to UTF-8 a window at a time."""
from libc.stdint cimport uint8_t

cdef enum encode_status:
    DONE = 0
    NO_MEMORY = -1
    NO_TOKEN = -2          # a byte of the text has no token
    NO_UTF8 = -3           # a lone surrogate in a str


cdef struct text_view:
    const uint8_t* utf8        # or NULL: then the units of a str
    Py_ssize_t length          # bytes, or units
    const void* units
    int width                  # bytes a unit


cdef struct utf8_window:
    # A stretch of a text whose units are rewritten to UTF-8; all zero at first, freed by free(bytes).
    uint8_t* bytes
    Py_ssize_t filled          # bytes
    Py_ssize_t read            # units of the text, up to the end of the window
    Py_ssize_t capacity


# OUT: where the characters of a str or bytes are. Bytes are checked to be UTF-8.
cdef int view_text(object text, text_view* view) except -1

# Rewrite further units after those in the window, up to `limit` at most: a fixed number, or as many as the window holds
# already, so that a window that closed no pre-token doubles. Returns DONE or an error.
cdef int window_extend(utf8_window* window, const text_view* view, Py_ssize_t limit) noexcept nogil

# Remove bytes from the front of the window.
cdef void window_drop(utf8_window* window, Py_ssize_t bytes) noexcept nogil


# How many ids a text may have, so that memory for most texts is taken at once: memory not written to costs nothing.
cdef inline Py_ssize_t guess_ids(const text_view* view) noexcept nogil:
    return view.length if view.utf8 == NULL else view.length // 2
