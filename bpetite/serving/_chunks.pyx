"""Chunks of a text within a limit of tokens, one after the other, while the text is read once.

A chunk begins at any character, ends where a token of the text ends, and has at most so many tokens of its own. Those
in its middle are the text's: from the first end on that a scan begun at the chunk has in common with the text's scan,
up to the last one that the chunk itself makes certain (core/_reader.pyx). So only what lies before and behind is
encoded once more.
"""
from libc.stdint cimport uint8_t
from libc.string cimport memchr

from ..core._encode cimport Encoder, check
from ..core._reader cimport Reader, milestone, size_of, span_of, whole_number
from ..core._special cimport refuse
from ..core._text cimport DONE
from ..core._worker cimport BP_BLOCK
from ..headers cimport bp_watch_begin
from ..headers.vectors cimport bp_tuple_of_four
from ..headers.substring cimport bp_substring
from ..splitting.scan._scan cimport SCAN_SHORT, scan_cursor

cdef enum:
    STRETCH = 1 << 14          # bytes read at a time
    GLANCE = 32                # bytes that are scanned first to find an end in common
    UNKNOWN = -1
    NONE = -2


cdef class ChunkReader:
    """An iterator over the chunks of a text.

    Args:
        encoder: Must read the text as it is, see `_limits.is_read_as_it_is`.
        text: The text.
        allowed_special: The special tokens to recognise.
        disallowed_special: Those that must not be in the text.
        max_tokens: The most tokens of a chunk.
        overlap: Tokens that a chunk shares with the one before.
        boundaries: An iterator over the offsets, in characters and ascending, where chunks are to end; "line" for the
            ends of lines, which are looked for from the end of a chunk backwards; or None.
        kind: The class of a chunk: a named tuple of text, start, end, tokens.
    """
    cdef Reader reader
    cdef str text
    cdef Py_ssize_t most, overlap
    cdef object boundaries
    cdef bint lines
    cdef type kind
    cdef bint reading                      # meanwhile other threads may run
    cdef list ahead                        # boundaries that have been taken from the iterator
    cdef Py_ssize_t start, end             # of the chunk given last, in bytes; end is 0 at first
    cdef Py_ssize_t anchor, before         # the last edge of a token at or before start, and the tokens up to there
    # Where the scan of the chunk at hand meets the text's: the end they have in common or UNKNOWN or NONE, how much
    # text makes it certain, the chunk's tokens up to there, and the text's.
    cdef Py_ssize_t met, need, left, met_used
    cdef Py_ssize_t tail                   # tokens that were encoded last, behind a milestone
    cdef milestone certain                 # that one; start is UNKNOWN where they are all tokens of the chunk

    def __cinit__(self, Encoder encoder not None, str text not None, allowed_special, disallowed_special, max_tokens,
                  overlap, boundaries, kind):
        recognised, refused = encoder.specials.resolve(allowed_special, disallowed_special)
        if refused is not None:
            refuse(refused, text)
        self.most, self.overlap = whole_number(max_tokens, "max_tokens"), whole_number(overlap, "overlap")
        self.lines = isinstance(boundaries, str)
        self.text, self.boundaries, self.kind, self.ahead = text, boundaries, kind, []
        self.reader = Reader(encoder, text, recognised, 0)
        self.met = UNKNOWN

    def __iter__(self):
        return self

    def __next__(self):
        if self.reading:
            raise RuntimeError("another thread takes a chunk from this iterator meanwhile; it is not shared")
        self.reading = True
        try:
            return self.take()
        except BaseException:
            self.reader.close()                    # what has been read half is of no use: no more chunks
            raise
        finally:
            self.reading = False

    cdef object take(self):
        cdef Reader reader = self.reader
        cdef Py_ssize_t tokens = 0, first, last, start, end
        if reader.worker is None or not self.text or (reader.ended and self.end == reader.done):
            raise StopIteration
        bp_watch_begin(&reader.worker.watch, NULL)
        start = self.end
        end = UNKNOWN
        if self.overlap and self.end:
            start = self.shared()
            while UNKNOWN < start < self.end and end < 0:
                end = self.find(start, self.end, &tokens)
                if end < 0:
                    start = self.next_edge(start)
        if end < 0:
            start = self.end
            end = self.find(start, self.end, &tokens)
        first, last = reader.char_at(start), reader.char_at(end)
        if self.boundaries is not None and last < len(self.text):
            if self.lines:
                end = self.prefer_line(start, end, &tokens)
            else:
                end = self.prefer(start, end, first, last, &tokens)
            last = reader.char_at(end)
        self.start, self.end = start, end
        part = bp_substring(self.text, first, last, reader.data + start - reader.base, end - start)
        return bp_tuple_of_four(self.kind, part, first, last, tokens)

    cdef Py_ssize_t find(self, Py_ssize_t start, Py_ssize_t floor, Py_ssize_t* tokens) except -2:
        """The end of the chunk from `start` on, behind `floor`, or -1 where it is none; its tokens."""
        cdef Reader reader = self.reader
        cdef Py_ssize_t at, used, stone
        self.anchor_at(start)
        self.met = UNKNOWN
        if reader.total() < self.before + self.most and not reader.ended:
            reader.forget(self.anchor)
            reader.feed_tokens(self.before + self.most, STRETCH)
        used = min(self.before + self.most, reader.total())
        stone = reader.stone_of(used)
        if stone + 1 < reader.stones.n and (reader.stones.items[stone + 1].used - used
                                            < used - reader.stones.items[stone].used):
            stone += 1                             # nearer
        at = reader.stones.items[stone].start + span_of(reader, reader.stones.items[stone].used, used)
        while at > floor:                          # from the last edge that may do backwards
            if reader.on_character(at):
                reader.hint.start, reader.hint.used = at, used
                tokens[0] = self.count(start, at)
                if tokens[0] <= self.most:
                    return at
            used -= 1
            at -= size_of(reader, used)
        return UNKNOWN if floor > start else self.find_character(start, tokens)

    cdef Py_ssize_t find_character(self, Py_ssize_t start, Py_ssize_t* tokens) except -2:
        """No edge will do: the last character instead, among the first `most` tokens."""
        cdef Reader reader = self.reader
        cdef Py_ssize_t used = self.before, at = self.anchor, first = start + 1, end
        while not reader.on_character(first):
            first += 1
        while used < min(self.before + self.most, reader.total()):
            at += size_of(reader, used)
            used += 1
        end = max(first, at)
        while not reader.on_character(end):
            end += 1
        while end > start:
            if reader.on_character(end):
                tokens[0] = self.count(start, end)
                if tokens[0] <= self.most:
                    return end
            end -= 1
        at = reader.char_at(start)
        raise ValueError(f"the character {self.text[at]!r} at offset {at} alone has {tokens[0]} tokens, more than "
                         f"max_tokens={self.most}")

    cdef Py_ssize_t prefer(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t first, Py_ssize_t last,
                           Py_ssize_t* tokens) except -1:
        """The last boundary in the chunk, behind the end of the one before, or its end where there is none."""
        cdef Py_ssize_t done = self.reader.char_at(self.end), i = 0, n, at = end, chars = last, boundary
        while i < len(self.ahead) and self.ahead[i] <= done:
            i += 1
        del self.ahead[:i]
        while not self.ahead or self.ahead[len(self.ahead) - 1] <= last:
            found = next(self.boundaries, None)
            if found is None:
                break
            if found > done:
                self.ahead.append(found)
        for i in range(len(self.ahead) - 1, -1, -1):
            boundary = self.ahead[i]
            if boundary > last:
                continue
            while chars > boundary:
                at -= 1
                chars -= self.reader.on_character(at)
            n = self.count(start, at)
            if n <= self.most:
                tokens[0] = n
                return at
        return end

    cdef Py_ssize_t prefer_line(self, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* tokens) except -1:
        """The same for the ends of lines."""
        cdef const uint8_t* text = self.reader.data - self.reader.base + self.end
        cdef Py_ssize_t at = end - self.end, n
        if memchr(text, 10, at) == NULL:
            return end
        while at:
            if text[at - 1] == 10:
                n = self.count(start, self.end + at)
                if n <= self.most:
                    tokens[0] = n
                    return self.end + at
            at -= 1
        return end

    cdef Py_ssize_t count(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """The tokens of a chunk."""
        cdef Reader reader = self.reader
        if self.met == UNKNOWN:
            self.meet(start, end)
        self.certain = reader.certain(end)
        if 0 <= self.met <= self.certain.start and end >= self.need and self.ends_alike(end):
            self.tail = 0
            return self.left + self.certain.used - self.met_used
        if self.met < 0 or self.certain.start < self.met or end < self.need or reader.in_special(end):
            self.certain.start = UNKNOWN
            self.tail = reader.count_alone(start, end)
            return self.tail
        self.tail = reader.count_ordinary(self.certain.start, end)
        return self.left + self.certain.used - self.met_used + self.tail

    cdef bint ends_alike(self, Py_ssize_t end) noexcept:
        """Whether the text up to there has the ends that it has when it goes on: then all of them are certain."""
        cdef Reader reader = self.reader
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef const uint8_t* text = reader.data + self.certain.start - reader.base
        cdef scan_cursor cursor
        cdef Py_ssize_t start = self.certain.start, known = reader.end_after(start), size = end - start, n = 0, i
        if 0 < size < SCAN_SHORT:
            n = reader.scanner.short_ends(text, size, ends)
        if n == 0:
            reader.scanner.begin(&cursor, text, size, True)
        while start < end:
            n = n or reader.scanner.next_ends(&cursor, ends, BP_BLOCK)
            for i in range(n):
                if known + i >= reader.ends.n or reader.ends.items[known + i] != self.certain.start + ends[i]:
                    return False
            if n == 0:
                return False
            start = self.certain.start + ends[n - 1]
            known += n
            n = 0
        start = self.certain.start
        while start < end:
            start += size_of(reader, self.certain.used)
            self.certain.used += 1
        self.certain.start = end
        return True

    cdef int meet(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """Find an end that the chunk and the text have in common. IN: the longest chunk that is asked for."""
        cdef Reader reader = self.reader
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef const uint8_t* text = reader.data + start - reader.base
        cdef Py_ssize_t size = GLANCE, special = -1, which = 0, n, i, before = reader.worker.used, bad = 0
        cdef Py_ssize_t piece = 0, at
        cdef bint final = False
        cdef int status
        if start == 0 or reader.is_end(start):
            self.met, self.need, self.left, self.met_used = start, start, 0, self.before
            return 0
        self.met, self.left = NONE, 0
        if reader.specials is not None and reader.specials.size:
            special = reader.specials.find(text, 0, end - start, &which)
        reader.scanner.begin(&cursor, text, 0, False)
        while not final and size < 2 * (end - start):
            size = min(size, end - start)
            if 0 <= special <= size:
                size, final = special, True
            while not reader.on_character(start + size):
                size += 1
            reader.scanner.extend(&cursor, text, size, 0, final)
            while True:
                n = reader.scanner.next_ends(&cursor, ends, BP_BLOCK)
                if n == 0:
                    break
                for i in range(n):
                    status = reader.worker.encode_block(text, piece, ends + i, 1, reader.readable(start), &bad)
                    if status != DONE:
                        reader.worker.used = before
                        check(status, reader.text, start + bad)
                    piece = ends[i]
                    if reader.is_end(start + piece):
                        self.left = reader.worker.used - before
                        reader.worker.used = before
                        self.met, self.need = start + piece, start + size
                        self.met_used, at = self.before, self.anchor
                        while at < self.met:
                            at += size_of(reader, self.met_used)
                            self.met_used += 1
                        return 0
            size *= 2
        reader.worker.used = before
        return 0

    cdef void anchor_at(self, Py_ssize_t start) noexcept:
        # IN: not before the anchor.
        cdef Reader reader = self.reader
        cdef Py_ssize_t stone, next
        if reader.hint.start == start:             # as a rule: there the chunk before has ended
            self.anchor, self.before = reader.hint.start, reader.hint.used
            return
        stone = reader.stone_before(start)
        if reader.stones.items[stone].start > self.anchor:
            self.anchor, self.before = reader.stones.items[stone].start, reader.stones.items[stone].used
        while self.before < reader.total():
            next = self.anchor + size_of(reader, self.before)
            if next > start:
                break
            self.anchor = next
            self.before += 1

    cdef Py_ssize_t next_edge(self, Py_ssize_t start) noexcept:
        # IN: the anchor is that of start.
        cdef Py_ssize_t at = self.anchor, used = self.before
        while at <= start or not self.reader.on_character(at):
            at += size_of(self.reader, used)
            used += 1
        return at

    cdef Py_ssize_t shared(self) except -2:
        """Where the last `overlap` tokens of the chunk begin; the first edge in it where it has no more than these."""
        cdef Reader reader = self.reader
        cdef Py_ssize_t at = self.end, left = self.overlap, i, tokens
        tokens = self.count(self.start, self.end)
        if tokens > left:
            if self.certain.start != UNKNOWN and left > self.tail + self.certain.used - self.met_used:
                self.certain.start = UNKNOWN
                self.tail = reader.count_alone(self.start, self.end)
            i = reader.total() + self.tail
            while left and i > reader.total():
                i -= 1
                at -= size_of(reader, i)
                left -= 1
            i = self.certain.used
            while left:
                i -= 1
                at -= size_of(reader, i)
                left -= 1
            while not reader.on_character(at):
                at -= 1
            if at > self.start:
                return at
        self.anchor_at(self.start)
        return self.next_edge(self.start)
