"""Counting pre-tokens: text in, into a table of different pre-tokens and how often each occurs.

- Threads share a long text: a range between two places where the split pattern certainly cuts is counted as a text of
  its own.
- ASCII str is read where it lies, as it is UTF-8 already; other str is written as UTF-8 one text or range at a time.
"""
cimport cython
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from ...core._special cimport Specials
from ...headers cimport BP_KEY_READ, bp_grow, bp_stop, bp_watch, bp_watch_begin, bp_watch_check, bp_work
from ...headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ...headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ...headers.vectors cimport (
    bp_utf8_valid, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_ASCII, PyUnicode_KIND,
)
from ...splitting.scan._scan cimport Scanner, scan_cursor
from ._count_table cimport BLOCK, CountTable, out_of_memory


cdef struct source:
    const uint8_t* data
    Py_ssize_t length      # bytes where width is 0, else characters
    Py_ssize_t readable    # bytes or characters that may be read from `data` on
    int width              # 0: UTF-8, else bytes a character
    bint ascii             # valid UTF-8 without a check


def batches(texts, Py_ssize_t limit):
    """Gather the texts of an iterable into batches.

    Args:
        texts: str and bytes; anything else is a TypeError that names its number.
        limit: Characters (bytes of bytes) of a batch; it ends with the text that reaches them. A text longer than that
            comes in a batch of its own.

    Yields:
        (first, batch, size): the number of the first text, a list of texts, and their length together.
    """
    cdef list batch = []
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t size = 0
    cdef Py_ssize_t length
    for text in texts:
        if isinstance(text, str):
            length = PyUnicode_GET_LENGTH(text)
        elif isinstance(text, bytes):
            length = PyBytes_GET_SIZE(text)
        else:
            raise TypeError(f"text {first + len(batch)} is {type(text).__name__}, not str or bytes")
        if length > limit and batch:
            yield first, batch, size
            first += len(batch)
            batch = []
            size = 0
        batch.append(text)
        size += length
        if size >= limit:
            yield first, batch, size
            first += len(batch)
            batch = []
            size = 0
    if batch:
        yield first, batch, size


cdef int open_source(object text, source* opened) except -1:
    if isinstance(text, str):
        opened.length = PyUnicode_GET_LENGTH(text)
        opened.ascii = PyUnicode_IS_ASCII(text)
        opened.width = 0 if opened.ascii else PyUnicode_KIND(text)
        opened.data = <const uint8_t*> PyUnicode_DATA(text)
    elif isinstance(text, bytes):
        opened.length = PyBytes_GET_SIZE(text)
        opened.ascii = False
        opened.width = 0
        opened.data = <const uint8_t*> PyBytes_AS_STRING(text)
    else:
        raise TypeError(f"a text is str or UTF-8 bytes, not {type(text).__name__}")
    opened.readable = opened.length
    return 0


@cython.final
cdef class TextCounter:
    """Counts the pre-tokens of texts into a table of its own. One thread at a time.

    Args:
        scanner: The compiled split pattern, or None: then all text between special tokens is one pre-token.
        specials: Special tokens, which cut the text and are not counted.
        memory: Bytes after which the table is full; 0 for no bound.
    """
    cdef readonly CountTable table
    cdef Scanner scanner
    cdef Specials specials
    cdef uint8_t* buffer
    cdef uint64_t buffer_size
    cdef Py_ssize_t bad_at             # the place of what is no text; -1 for none
    cdef bp_watch watch
    cdef int stopped

    def __cinit__(self, Scanner scanner, Specials specials not None, uint64_t memory=0):
        self.table = CountTable(memory)
        self.scanner = scanner
        self.specials = specials

    def __dealloc__(self):
        free(self.buffer)

    def stop(self):
        """End the call that another thread makes, and all later ones, with InterruptedError. The table stays usable."""
        bp_stop(&self.stopped)

    def count_documents(self, list texts not None, first=None):
        """Count whole texts, str or UTF-8 bytes; no pre-token spans two.

        Args:
            texts: A list that no other thread changes during the call.
            first: The number of the first text, for messages; None to leave numbers out.

        Returns:
            The characters of str and bytes of bytes.

        Raises:
            UnicodeEncodeError: A str holds a lone surrogate.
            UnicodeDecodeError: bytes are not UTF-8.
        """
        cdef Py_ssize_t number = len(texts)
        cdef Py_ssize_t i, size = 0
        cdef Py_ssize_t done = 0
        cdef source* sources = <source*> malloc((number + 1) * sizeof(source))
        if sources == NULL:
            raise MemoryError
        bp_watch_begin(&self.watch, &self.stopped)
        try:
            for i in range(number):
                open_source(texts[i], &sources[i])
                size += sources[i].length
            with nogil:
                self.bad_at = -1
                while done < number and self.bad_at < 0:
                    self.count_source(&sources[done])
                    done += 1
        finally:
            free(sources)
        if self.bad_at >= 0:
            self.refuse(texts[done - 1], "" if first is None else f" (text {first + done - 1})")
        return size

    def count_range(self, text, Py_ssize_t start, Py_ssize_t stop):
        """Count the pre-tokens of text[start:stop] as if it were a whole text. Returns its length.

        Args:
            text: str or UTF-8 bytes.
            start, stop: Between two characters; offsets in characters of a str, in bytes of bytes.
        """
        cdef source opened
        open_source(text, &opened)
        if not 0 <= start <= stop <= opened.length:
            raise ValueError(f"no range of {opened.length}: {start} to {stop}")
        opened.data += start * max(opened.width, 1)
        opened.readable = opened.length - start
        opened.length = stop - start
        bp_watch_begin(&self.watch, &self.stopped)
        self.bad_at = -1
        with nogil:
            self.count_source(&opened)
        if self.bad_at >= 0:
            self.bad_at += start
            self.refuse(text)
        return stop - start

    def count_ends(self, bytes data not None, const long long[::1] ends):
        """Count pre-tokens of UTF-8 text that something else has split: their ends, ascending byte offsets."""
        cdef Py_ssize_t block[BLOCK]
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        cdef Py_ssize_t length = PyBytes_GET_SIZE(data)
        cdef Py_ssize_t number = ends.shape[0]
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t n, i
        bp_watch_begin(&self.watch, &self.stopped)
        with nogil:
            while at < number:
                n = number - at if number - at < BLOCK else BLOCK
                for i in range(n):
                    block[i] = ends[at + i]
                if bp_work(&self.watch, block[n - 1] - start):
                    break
                self.table.count_block(text, start, block, n, length)
                start = block[n - 1]
                at += n
        bp_watch_check(&self.watch)

    cdef refuse(self, text, str where=""):
        at = self.bad_at
        if isinstance(text, str):
            raise UnicodeEncodeError("utf-8", text, at, at + 1, "surrogates not allowed" + where)
        try:
            text[at:at + 8].decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", text, at + error.start, at + error.end, error.reason + where) from None
        raise AssertionError("unreachable: these bytes did not decode before")

    cdef int count_source(self, source* text) except -1 nogil:
        """Count the pre-tokens of a text. OUT: self.bad_at, where there is a fault."""
        cdef Py_ssize_t longest = text.width if text.width == 4 else text.width + 1
        cdef Py_ssize_t size, valid
        cdef Py_ssize_t bad = -1
        if text.width == 0:
            if not text.ascii:
                valid = bp_utf8_valid(text.data, text.length)
                if valid != text.length:
                    self.bad_at = valid
                    return 0
            return self.count_utf8(text.data, text.length, text.readable)
        if bp_grow(<void**> &self.buffer, &self.buffer_size, text.length * longest + BP_UTF8_SLACK, 1) < 0:
            return out_of_memory()
        size = bp_utf8_from_units(text.width, text.data, 0, text.length, self.buffer, &bad)
        if bad >= 0:
            self.bad_at = bad
            return 0
        return self.count_utf8(self.buffer, size, size + BP_KEY_READ)

    cdef int count_utf8(self, const uint8_t* text, Py_ssize_t size, Py_ssize_t readable) except -1 nogil:
        """Count the pre-tokens of valid UTF-8. IN: text[0:readable] may be read."""
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t end
        cdef Py_ssize_t which = 0, limit = -1
        while at < size:
            end = self.specials.find_certain(text, at, size, True, &limit, &which)
            if end < 0:
                return self.count_ordinary(text + at, size - at, readable - at)
            self.count_ordinary(text + at, end - at, readable - at)
            at = end + <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
        return 0

    cdef int count_ordinary(self, const uint8_t* text, Py_ssize_t size, Py_ssize_t readable) except -1 nogil:
        """`count_utf8` for text without special tokens."""
        cdef Py_ssize_t ends[BLOCK]
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t number
        cdef scan_cursor cursor
        if size == 0:
            return 0
        if self.scanner is None:
            ends[0] = size
            return self.table.count_block(text, 0, ends, 1, readable)
        self.scanner.begin(&cursor, text, size, True)
        while True:
            number = self.scanner.next_ends(&cursor, ends, BLOCK)
            if number == 0:
                return 0
            if bp_work(&self.watch, ends[number - 1] - start):
                return -1
            self.table.count_block(text, start, ends, number, readable)
            start = ends[number - 1]
