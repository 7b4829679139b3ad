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
from ._count_table cimport BAD_TEXT, BLOCK, NO_MEMORY, OK, CountTable, check

cdef enum:
    LOOK = 1024                 # characters read past the end of a range, so that the last pre-token is known to end
    INTERRUPTED = -100          # by a signal or by `stop`; an exception is set
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
    cdef size_t bad_at
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
            texts: A list that no other thread changes meanwhile.
            first: The number of the first text, for messages; None to leave numbers out.

        Raises:
            UnicodeEncodeError: A str holds a lone surrogate.
            UnicodeDecodeError: bytes are not UTF-8.
        """
        cdef Py_ssize_t number = len(texts)
        cdef Py_ssize_t i
        cdef Py_ssize_t done = 0
        cdef Py_ssize_t reached
        cdef int result = OK
        cdef source* sources = <source*> malloc((number + 1) * sizeof(source))
        if sources == NULL:
            raise MemoryError
        bp_watch_begin(&self.watch, &self.stopped)
        try:
            for i in range(number):
                open_source(texts[i], &sources[i])
            with nogil:
                while done < number:
                    result = self.count_range(&sources[done], 0, sources[done].length, 1, &reached)
                    if result < 0:
                        break
                    done += 1
        finally:
            free(sources)
        bp_watch_check(&self.watch)
        if result < 0:
            self.report(result, texts[done], "" if first is None else f" (text {first + done})")

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
        cdef int result
        open_source(text, &opened)
        bp_watch_begin(&self.watch, &self.stopped)
        with nogil:
            if guess:
                start = self.likely_start(&opened, start)
                stop = self.likely_start(&opened, stop)
            reached = start
            # In a short range, or among long pre-tokens, the two may have crossed: then the range is empty.
            result = self.count_range(&opened, start, stop, weight, &reached) if start < stop else OK
        self.report(result, text)
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
        cdef int result = OK
        bp_watch_begin(&self.watch, &self.stopped)
        with nogil:
            while at < number and result == OK:
                n = number - at if number - at < BLOCK else BLOCK
                for i in range(n):
                    block[i] = ends[at + i]
                if bp_work(&self.watch, block[n - 1] - start):
                    result = INTERRUPTED
                    break
                result = self.table.count_block(text, start, block, n, length, 1)
                start = block[n - 1]
                at += n
        self.report(result, data)

    cdef int report(self, int result, text, str where="") except -1:
        bp_watch_check(&self.watch)
        check(result)
        if result != BAD_TEXT:
            return 0
        at = self.bad_at
        if isinstance(text, str):
            raise UnicodeEncodeError("utf-8", text, at, at + 1, "surrogates not allowed" + where)
        try:
            text[at:at + 8].decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnicodeDecodeError("utf-8", text, at + error.start, at + error.end, error.reason + where) from None
        raise AssertionError("unreachable: these bytes did not decode before")

    cdef Py_ssize_t likely_start(self, source* text, Py_ssize_t at) noexcept nogil:
        """An offset a little after `at` where a pre-token most likely begins, whatever came before.

        It is the last end that a scan begun at `at` gives in the first half of GUESS characters. It depends on nothing
        but the text and `at`, so two ranges that meet there agree on it.
        """
        cdef uint8_t written[GUESS * 4 + BP_UTF8_SLACK]
        cdef Py_ssize_t ends[BLOCK]
        cdef const uint8_t* begin = written
        cdef Py_ssize_t size, number, i, bad = -1
        cdef Py_ssize_t last = 0
        cdef scan_cursor cursor
        if at <= 0:
            return 0
        if self.scanner is None or text.length - at <= GUESS:
            return text.length if text.length - at <= GUESS else at
        if text.width:
            size = bp_utf8_from_units(text.width, text.data, at, at + GUESS, written, &bad)
            if bad >= 0:
                return at
        else:
            while at < text.length and text.data[at] & 0xC0 == 0x80:
                at += 1
            begin = text.data + at
            size = bp_utf8_valid(begin, GUESS if text.length - at > GUESS else text.length - at)
        self.scanner.begin(&cursor, begin, size, False)
        while True:
            number = self.scanner.next_ends(&cursor, ends, BLOCK)
            if number == 0:
                break
            for i in range(number):
                if ends[i] <= size // 2:
                    last = ends[i]
            if ends[number - 1] > size // 2:
                break
        return at + (bp_utf8_count(begin, last) if text.width else last)

    cdef int count_range(self, source* text, Py_ssize_t start, Py_ssize_t stop, int64_t weight,
                         Py_ssize_t* reached) noexcept nogil:
        """See `count_part`. IN: start and stop are between characters, 0 <= start <= stop <= length."""
        cdef Py_ssize_t window = text.length if text.length - stop <= LOOK else stop + LOOK
        cdef const uint8_t* begin
        cdef Py_ssize_t size, stop_byte, done, readable
        cdef Py_ssize_t bad = -1
        cdef int result
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
                    return BAD_TEXT
        else:
            if self.make_room(text, window - start) < 0:
                return NO_MEMORY
            begin = self.buffer
            stop_byte = bp_utf8_from_units(text.width, text.data, start, stop, self.buffer, &bad)
            if bad < 0:
                size = stop_byte + bp_utf8_from_units(text.width, text.data, stop, window, self.buffer + stop_byte,
                                                      &bad)
            if bad >= 0:
                self.bad_at = bad
                return BAD_TEXT
            readable = size + BP_KEY_READ
        result = self.count_utf8(begin, size, window == text.length, stop_byte, readable, weight, &done)
        if text.width and done == stop_byte:
            reached[0] = stop
        else:
            reached[0] = start + (bp_utf8_count(begin, done) if text.width else done)
        return result

    cdef int make_room(self, const source* text, Py_ssize_t characters) noexcept nogil:
        """Make room in the buffer for the UTF-8 of so many characters."""
        cdef Py_ssize_t longest = text.width if text.width == 4 else text.width + 1
        return bp_grow(<void**> &self.buffer, &self.buffer_size, characters * longest + BP_UTF8_SLACK, 1)

    cdef int count_utf8(self, const uint8_t* text, Py_ssize_t size, bint final, Py_ssize_t stop, Py_ssize_t readable,
                        int64_t weight, Py_ssize_t* done) noexcept nogil:
        """Count the pre-tokens of text[0:size] that end at or before `stop`. OUT: done, where the last one ended.

        IN: text is valid UTF-8; with `final` false more may follow it. text[0:readable] may be read.
        """
        cdef Py_ssize_t at = 0
        cdef Py_ssize_t end
        cdef Py_ssize_t which = 0
        cdef bint found, closed
        cdef int result
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
                    return OK
            result = self.count_ordinary(text + at, end - at, closed, stop - at, readable - at, weight, done)
            done[0] += at
            if result < 0 or not found or done[0] < end or end >= stop:
                return result
            at = end + <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
            done[0] = at
        return OK

    cdef int count_ordinary(self, const uint8_t* text, Py_ssize_t size, bint final, Py_ssize_t stop,
                            Py_ssize_t readable, int64_t weight, Py_ssize_t* done) noexcept nogil:
        """`count_utf8` for text without special tokens."""
        cdef Py_ssize_t ends[BLOCK]
        cdef Py_ssize_t start = 0
        cdef Py_ssize_t number
        cdef scan_cursor cursor
        cdef bint past = False
        done[0] = 0
        if size == 0:
            return OK
        if self.scanner is None:
            if not final or size > stop:
                return OK
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
                return INTERRUPTED
            if self.table.count_block(text, start, ends, number, readable, weight) < 0:
                return NO_MEMORY
            start = ends[number - 1]
            done[0] = start
        return OK
