"""Counting pre-tokens: text in, into a table of different pre-tokens and how often each occurs.

The shape, and why.

- A range of text is counted on its own, so that threads can share one long text. It begins at a likely start of a
  pre-token (`likely_start`), and returns how far it got. Pre-tokens after the end of another one depend on nothing
  before it. So where the range before ended exactly at the start of this one, the two are the same as one scan. Where
  it did not, the caller takes this range back with weight -1 and counts it again from the right position. That is
  checked, never assumed, for any split pattern, and on ordinary text it is hardly ever needed.
- ASCII str is read where it lies, as it is UTF-8 already; other str is written as UTF-8 one range at a time.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

from ...core._special cimport Specials
from ...headers cimport BP_KEY_READ, bp_grow, bp_stop, bp_watch, bp_watch_begin, bp_watch_check, bp_work
from ...headers.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from ...headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ...headers.vectors cimport (
    bp_utf8_count, bp_utf8_valid, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_ASCII, PyUnicode_KIND,
)
from ...splitting.scan._scan cimport Scanner, scan_cursor
from ._count_table cimport BLOCK, CountTable, out_of_memory

cdef enum:
    LOOK = 1024                 # characters read past the end of a range, so that the last pre-token is known to end
    GUESS = 512                 # characters scanned to find a likely start


cdef struct source:
    const uint8_t* data
    Py_ssize_t length      # bytes where width is 0, else characters
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

        Raises:
            UnicodeEncodeError: A str holds a lone surrogate.
            UnicodeDecodeError: bytes are not UTF-8.
        """
        cdef Py_ssize_t number = len(texts)
        cdef Py_ssize_t i
        cdef Py_ssize_t done = 0
        cdef Py_ssize_t reached
        cdef source* sources = <source*> malloc((number + 1) * sizeof(source))
        if sources == NULL:
            raise MemoryError
        bp_watch_begin(&self.watch, &self.stopped)
        try:
            for i in range(number):
                open_source(texts[i], &sources[i])
            with nogil:
                self.bad_at = -1
                while done < number and self.bad_at < 0:
                    self.count_range(&sources[done], 0, sources[done].length, 1, &reached)
                    done += 1
        finally:
            free(sources)
        if self.bad_at >= 0:
            self.refuse(texts[done - 1], "" if first is None else f" (text {first + done - 1})")

    def count_part(self, text, Py_ssize_t start, Py_ssize_t stop, int64_t weight=1, bint guess=False):
        """Count the pre-tokens that begin at or after `start` and end at or before `stop`.

        Args:
            text: str or UTF-8 bytes.
            start: The beginning of a pre-token (characters of a str, bytes of bytes).
            stop: Likewise; len(text) for the end of the text.
            weight: The count of each pre-token; -1 takes back what was counted before.
            guess: Move start and stop to the likely starts of pre-tokens after them, see `likely_start`.

        Returns:
            (start, stop, reached): `reached` is the end of the last pre-token that was counted, or of the special
            token after it. When it is not `stop`, counting must go on from `reached`.
        """
        cdef source opened
        cdef Py_ssize_t reached
        if guess:
            start, stop = self.likely_start(text, start), self.likely_start(text, stop)
        open_source(text, &opened)
        bp_watch_begin(&self.watch, &self.stopped)
        self.bad_at = -1
        reached = start
        if start < stop:           # in a short range, or among long pre-tokens, the guesses may have crossed
            with nogil:
                self.count_range(&opened, start, stop, weight, &reached)
        if self.bad_at >= 0:
            self.refuse(text)
        return start, stop, reached

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
                self.table.count_block(text, start, block, n, length, 1)
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

    cdef Py_ssize_t likely_start(self, text, Py_ssize_t at) except -1:
        """An offset a little after `at` where a pre-token most likely begins, whatever came before.

        It is the last end that a scan begun at `at` gives in the first half of GUESS characters. It depends on nothing
        but the text and `at`, so two ranges that meet there agree on it.
        """
        cdef Py_ssize_t length = len(text)
        cdef Py_ssize_t end, last = 0
        if at <= 0:
            return 0
        if length - at <= GUESS:
            return length
        if self.scanner is None:
            return at
        if isinstance(text, bytes):
            while at < length and (<const uint8_t*> PyBytes_AS_STRING(text))[at] & 0xC0 == 0x80:
                at += 1
            some = text[at:at + GUESS].decode("utf-8", "ignore")
        else:
            some = text[at:at + GUESS]
        data = some.encode("utf-8", "replace")
        for end in self.scanner.ends(data):
            if 2 * end <= len(data):
                last = end
        return at + (last if isinstance(text, bytes) else len(data[:last].decode()))

    cdef int count_range(self, source* text, Py_ssize_t start, Py_ssize_t stop, int64_t weight,
                         Py_ssize_t* reached) except -1 nogil:
        """See `count_part`. OUT: self.bad_at, where there is a fault.

        IN: start and stop are between characters, 0 <= start <= stop <= length.
        """
        cdef Py_ssize_t window = text.length if text.length - stop <= LOOK else stop + LOOK
        cdef const uint8_t* begin
        cdef Py_ssize_t size, stop_byte, done, readable
        cdef Py_ssize_t bad = -1
        if text.width == 0:
            while stop < window < text.length and text.data[window] & 0xC0 == 0x80:
                window -= 1
            begin = text.data + start
            size = window - start
            stop_byte = stop - start
            readable = text.length - start
            if not text.ascii:
                bad = bp_utf8_valid(begin, size)
                if bad != size:
                    self.bad_at = start + bad
                    return 0
        else:
            self.make_room(text, window - start)
            begin = self.buffer
            stop_byte = bp_utf8_from_units(text.width, text.data, start, stop, self.buffer, &bad)
            if bad < 0:
                size = stop_byte + bp_utf8_from_units(text.width, text.data, stop, window, self.buffer + stop_byte,
                                                      &bad)
            if bad >= 0:
                self.bad_at = bad
                return 0
            readable = size + BP_KEY_READ
        self.count_utf8(begin, size, window == text.length, stop_byte, readable, weight, &done)
        if text.width and done == stop_byte:
            reached[0] = stop
        else:
            reached[0] = start + (bp_utf8_count(begin, done) if text.width else done)
        return 0

    cdef int make_room(self, const source* text, Py_ssize_t characters) except -1 nogil:
        """Make room in the buffer for the UTF-8 of so many characters."""
        cdef Py_ssize_t longest = text.width if text.width == 4 else text.width + 1
        if bp_grow(<void**> &self.buffer, &self.buffer_size, characters * longest + BP_UTF8_SLACK, 1) < 0:
            return out_of_memory()
        return 0

    cdef int count_utf8(self, const uint8_t* text, Py_ssize_t size, bint final, Py_ssize_t stop, Py_ssize_t readable,
                        int64_t weight, Py_ssize_t* done) except -1 nogil:
        """Count the pre-tokens of text[0:size] that end at or before `stop`. OUT: done, where the last one ended.

        IN: text is valid UTF-8; with `final` false more may follow it. text[0:readable] may be read.
        """
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t end
        cdef Py_ssize_t which = 0
        cdef bint found, closed
        done[0] = 0
        while at < stop:
            end = self.specials.find(text, at, size, &which)
            found = end >= 0
            closed = found or final
            if not found:
                end = size
            if not closed and self.specials.size:
                # The last bytes may be the beginning of a special token.
                end = size - self.specials.longest + 1
                while end > at and text[end] & 0xC0 == 0x80:
                    end -= 1
                if end <= at:
                    return 0
            self.count_ordinary(text + at, end - at, closed, stop - at, readable - at, weight, done)
            done[0] += at
            if not found or done[0] < end or end >= stop:
                return 0
            at = end + <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
            done[0] = at
        return 0

    cdef int count_ordinary(self, const uint8_t* text, Py_ssize_t size, bint final, Py_ssize_t stop,
                            Py_ssize_t readable, int64_t weight, Py_ssize_t* done) except -1 nogil:
        """`count_utf8` for text without special tokens."""
        cdef Py_ssize_t ends[BLOCK]
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t number
        cdef scan_cursor cursor
        cdef bint past = False
        done[0] = 0
        if size == 0:
            return 0
        if self.scanner is None:
            if not final or size > stop:
                return 0
            ends[0] = size
            done[0] = size
            return self.table.count_block(text, 0, ends, 1, readable, weight)
        self.scanner.begin(&cursor, text, size, final)
        while not past:
            number = self.scanner.next_ends(&cursor, ends, BLOCK)
            if number == 0:
                break
            while number and ends[number - 1] > stop:
                number -= 1
                past = True
            if number == 0:
                break
            if bp_work(&self.watch, ends[number - 1] - start):
                return -1
            self.table.count_block(text, start, ends, number, readable, weight)
            start = ends[number - 1]
            done[0] = start
        return 0
