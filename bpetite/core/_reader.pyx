"""A text that is read only as far as a limit of tokens asks for.

The text is encoded from its beginning on, a stretch at a time, and never rewritten to UTF-8 as a whole. A pre-token
counts once nothing that follows can change it. What has been read is kept as ids, as the ends of pre-tokens and special
tokens, and as milestones: an end now and then, with the number of tokens before it.

With them the tokens of a prefix are counted by encoding only what lies behind the last end that the prefix itself makes
certain. The transducer (../splitting/compile/transducer.py) cuts at most three characters before the one it reads, or at its
one mark. So when the prefix has been read, no further end can come up before its last three characters, but for the
mark; and since ends come up in order, all but the last of those that the text has there are certain. A special token
needs no more care, because no edge of a token lies inside it.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

from ..headers cimport token_t
from ..headers.vectors cimport bp_utf8_count, bp_utf8_valid
from ..splitting.scan._scan cimport scan_cursor
from ._encode cimport Encoder, check, encode_utf8
from ._special cimport Specials, refuse
from ._text cimport DONE, NO_MEMORY, view_text, window_drop, window_extend
from ._worker cimport BP_BLOCK, Worker

from operator import index

from ..errors import not_a_text, show

cdef enum:
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter stretches
    LARGEST = 1 << 20          # bytes of the longest stretch
    FORGET = 1 << 14           # bytes; less is not worth moving the rest

cdef Py_ssize_t MOST = <Py_ssize_t> ((<size_t> -1) >> 2)      # no text has as many bytes


cdef class Reader:
    """Reads one text.

    Args:
        encoder: Must have a compiled scanner; the text must be normalized if it normalizes.
        text: str, or bytes in UTF-8, which are checked as far as they are read.
        specials: The special tokens to recognise, or None.
        keep: Ids and ends before this offset are not kept.
    """

    def __cinit__(self, Encoder encoder not None, object text, Specials specials, Py_ssize_t keep):
        self.encoder, self.text, self.specials, self.keep = encoder, text, specials, keep
        if isinstance(text, bytes):
            self.view.utf8 = <const uint8_t*> PyBytes_AS_STRING(text)
            self.view.length = PyBytes_GET_SIZE(text)
            self.view.units, self.view.width = NULL, 1
        else:
            view_text(text, &self.view)
            self.filled = self.view.length if self.view.utf8 != NULL else 0
            self.ascii = self.filled == len(text)
        self.data = self.view.utf8
        self.worker = encoder.take()
        self.worker.window.filled = self.worker.window.read = 0
        self.scanner, self.tokens = encoder.core.scanner, encoder.core.tokens
        self.longest = longest_of(encoder)
        self.dense = self.tokens.size and self.tokens.ids[self.tokens.size - 1] == self.tokens.size - 1
        if self.put_stone(&self.stones, 0, 0) != DONE:
            raise MemoryError()

    def __dealloc__(self):
        free(self.stones.items)
        free(self.after_specials.items)
        free(self.ends.items)

    cdef int close(self) except -1:
        if self.worker is not None:
            self.encoder.give(self.worker)
            self.worker = None
        return 0

    cdef Py_ssize_t total(self) noexcept nogil:
        return self.dropped + self.worker.used

    cdef Py_ssize_t least_after(self) noexcept nogil:
        cdef Py_ssize_t left = self.view.length - self.done       # each unit is a byte of UTF-8 or more
        if self.view.utf8 == NULL:
            left = self.view.length - self.worker.window.read + self.filled - self.done
        return (left + self.longest - 1) // self.longest

    cdef int feed(self, Py_ssize_t size) except -1:
        cdef Py_ssize_t before = self.done, limit, bad = 0
        cdef bint final
        cdef int status
        while self.done == before and not self.ended:
            self.fill(self.done + size)
            limit = min(self.done + size, self.filled)
            while limit < self.filled and self.data[limit - self.base] & 0xC0 == 0x80:
                limit += 1
            self.limit = limit
            final = limit == self.filled and (self.worker.window.read if self.view.utf8 == NULL
                                              else self.filled) == self.view.length
            if size > KEEP_LOCK or self.unlocked:
                with nogil:
                    status = self.encode(limit, final and not self.goes_on, &bad)
            else:
                status = self.encode(limit, final and not self.goes_on, &bad)
            if status != DONE:
                check(status, self.text, bad)
            self.ended = final
            size *= 2
        return 0

    cdef int feed_tokens(self, Py_ssize_t tokens, Py_ssize_t least) except -1:
        cdef Py_ssize_t missing, each
        while not self.ended and self.total() < tokens:
            missing = tokens - self.total()
            # a little less than at the rate so far, so that little is read in vain
            each = 1 + 7 * self.done // (1 + self.total()) if self.total() else 24
            self.feed(min(max(least, missing * each // 8), <Py_ssize_t> LARGEST))
        return 0

    cdef int fill(self, Py_ssize_t upto) except -1:
        cdef Py_ssize_t end, good
        cdef int status
        if isinstance(self.text, bytes):
            end = min(upto, self.view.length)
            while self.filled < end < self.view.length and self.view.utf8[end] & 0xC0 == 0x80:
                end += 1
            if end > self.filled:
                good = self.filled + bp_utf8_valid(self.view.utf8 + self.filled, end - self.filled)
                if good < end:
                    try:
                        self.text[good:good + 4].decode("utf-8")
                    except UnicodeDecodeError as error:
                        raise UnicodeDecodeError("utf-8", self.text, good, good + error.end, error.reason) from None
                self.filled = end
        elif self.view.utf8 == NULL:
            while self.filled < upto and self.worker.window.read < self.view.length:
                end = min(self.worker.window.read + max(<Py_ssize_t> KEEP_LOCK, upto - self.filled), self.view.length)
                with nogil:
                    status = window_extend(&self.worker.window, &self.view, end)
                check(status, self.text, 0)
                self.data = self.worker.window.bytes
                self.filled = self.base + self.worker.window.filled
        return 0

    cdef Py_ssize_t readable(self, Py_ssize_t at) noexcept nogil:
        return self.filled - at + (16 if self.view.utf8 == NULL else 0)

    cdef int encode(self, Py_ssize_t limit, bint final, Py_ssize_t* bad) noexcept nogil:
        # Encode up to `limit`, as far as it is certain.
        cdef Py_ssize_t hold = limit, found, which = 0, end
        cdef int status = DONE
        if self.specials is not None and self.specials.size and not final:
            hold = self.base + self.specials.open_from(self.data, self.done - self.base, limit - self.base)
        while status == DONE:
            found = -1
            if self.specials is not None and self.specials.size:
                found = self.specials.find(self.data + self.done - self.base, 0, limit - self.done, &which)
                found += self.done if found >= 0 else 0
            if found < 0 or (found >= hold and not final):
                break
            if found > self.done:
                self.done = self.encode_ordinary(self.done, found, True, bad, &status)
                if status != DONE:
                    return status
            end = found + <Py_ssize_t> (self.specials.starts[which + 1] - self.specials.starts[which])
            status = self.worker.put(self.specials.ids[which])
            self.done = end
            if status == DONE:
                status = self.put_ends(0, &end, 1)
            if status == DONE:
                status = self.put_stone(&self.stones, end, self.total())
            if status == DONE:
                status = self.put_stone(&self.after_specials, end, self.total())
            if hold < end:                         # what began inside does not matter any more
                hold = self.base + self.specials.open_from(self.data, end - self.base, limit - self.base)
        if status == DONE and self.done < hold:
            self.done = self.encode_ordinary(self.done, hold, final, bad, &status)
        return status

    cdef Py_ssize_t encode_ordinary(self, Py_ssize_t at, Py_ssize_t end, bint final, Py_ssize_t* bad,
                                    int* status) noexcept nogil:
        # Encode ordinary text; returns up to where it is certain.
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor cursor
        cdef const uint8_t* text = self.data + at - self.base
        cdef Py_ssize_t start = 0, n
        cdef bint kept
        self.scanner.begin(&cursor, text, end - at, final)
        while True:
            n = self.scanner.next_ends(&cursor, ends, BP_BLOCK)
            if n == 0:
                return at + start
            kept = at + ends[n - 1] > self.keep
            if not kept:
                self.dropped += self.worker.used
                self.worker.used = 0
                self.stones.n = self.after_specials.n = self.ends.n = 0
            status[0] = self.worker.encode_block(text, start, ends, n, self.readable(at), bad)
            bad[0] += at
            if kept and status[0] == DONE:
                status[0] = self.put_ends(at, ends, n)
            start = ends[n - 1]
            if status[0] == DONE:
                status[0] = self.put_stone(&self.stones, at + start, self.total())
            if status[0] != DONE:
                return at + start

    cdef int put_stone(self, milestones* stones, Py_ssize_t start, Py_ssize_t used) noexcept nogil:
        cdef void* grown
        if stones.n == stones.capacity:
            grown = realloc(stones.items, (2 * stones.capacity + 64) * sizeof(milestone))
            if grown == NULL:
                return NO_MEMORY
            stones.items = <milestone*> grown
            stones.capacity = 2 * stones.capacity + 64
        stones.items[stones.n].start = start
        stones.items[stones.n].used = used
        stones.n += 1
        return DONE

    cdef int put_ends(self, Py_ssize_t at, const Py_ssize_t* ends, Py_ssize_t n) noexcept nogil:
        cdef offsets* known = &self.ends
        cdef Py_ssize_t* to
        cdef Py_ssize_t i
        cdef void* grown
        if known.n + n > known.capacity:
            grown = realloc(known.items, (2 * known.capacity + 256) * sizeof(Py_ssize_t))
            if grown == NULL:
                return NO_MEMORY
            known.items = <Py_ssize_t*> grown
            known.capacity = 2 * known.capacity + 256
        to = known.items + known.n
        for i in range(n):
            to[i] = at + ends[i]
        known.n += n
        return DONE

    cdef int forget(self, Py_ssize_t before) except -1:
        cdef Py_ssize_t stone, at, first, ids
        if before - self.base < FORGET:
            return 0
        stone = self.stone_before(before)
        at = self.stones.items[stone].start
        if at - self.base < FORGET or at - self.base < self.done - at:
            return 0
        self.char_at(at)
        ids = self.stones.items[stone].used - self.dropped
        self.worker.used -= ids
        if self.worker.used:
            memmove(self.worker.out, self.worker.out + ids, self.worker.used * sizeof(token_t))
        self.dropped += ids
        first = self.end_after(at)
        self.ends.n -= first
        if self.ends.n:
            memmove(self.ends.items, self.ends.items + first, self.ends.n * sizeof(Py_ssize_t))
        self.stones.n -= stone
        memmove(self.stones.items, self.stones.items + stone, self.stones.n * sizeof(milestone))
        stone = 0
        while stone < self.after_specials.n and self.after_specials.items[stone].start < at:
            stone += 1
        self.after_specials.n -= stone
        if self.after_specials.n:
            memmove(self.after_specials.items, self.after_specials.items + stone,
                    self.after_specials.n * sizeof(milestone))
        if self.view.utf8 == NULL:
            window_drop(&self.worker.window, at - self.base)
        else:
            self.data += at - self.base
        self.base = at
        return 0

    cdef bint on_character(self, Py_ssize_t at) noexcept nogil:
        return at >= self.filled or self.data[at - self.base] & 0xC0 != 0x80

    cdef Py_ssize_t char_at(self, Py_ssize_t at) noexcept nogil:
        if self.ascii:
            return at
        if at >= self.char_bytes:
            self.chars += bp_utf8_count(self.data + self.char_bytes - self.base, at - self.char_bytes)
        else:
            self.chars -= bp_utf8_count(self.data + at - self.base, self.char_bytes - at)
        self.char_bytes = at
        return self.chars

    cdef Py_ssize_t stone_of(self, Py_ssize_t used) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.stones.n - 1, middle
        while low < high:
            middle = (low + high + 1) >> 1
            if self.stones.items[middle].used > used:
                high = middle - 1
            else:
                low = middle
        return low

    cdef Py_ssize_t stone_before(self, Py_ssize_t at) noexcept nogil:
        return _before(&self.stones, at)

    cdef milestone certain(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t i, back = at, chars = 0, stone = _before(&self.after_specials, at)
        cdef milestone found
        while chars < CHARS and back > self.base:
            back -= 1
            chars += self.data[back - self.base] & 0xC0 != 0x80
        i = self.end_after(back) - 2
        found.start, found.used = -1, 0
        if i >= 0:
            found.start = self.ends.items[i]
        elif i == -1 or self.stones.items[0].start == 0:
            found.start = self.stones.items[0].start
        if self.after_specials.n and found.start < self.after_specials.items[stone].start <= at:
            return self.after_specials.items[stone]
        if found.start >= 0:
            i, found.used = self.hint.start, self.hint.used
            if not found.start - NEAR < i < found.start + NEAR or i < self.stones.items[0].start:
                stone = self.stone_before(found.start)
                i, found.used = self.stones.items[stone].start, self.stones.items[stone].used
            while i > found.start:
                found.used -= 1
                i -= size_of(self, found.used)
            while i < found.start:
                i += size_of(self, found.used)
                found.used += 1
        return found

    cdef bint in_special(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t i = _before(&self.after_specials, at)
        if i < self.after_specials.n and self.after_specials.items[i].start <= at:
            i += 1
        return (i < self.after_specials.n
                and self.after_specials.items[i].start - size_of(self, self.after_specials.items[i].used - 1) < at)

    cdef Py_ssize_t end_after(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.ends.n, middle = min(self.asked, high), step
        # The one that was asked for before is near, as a rule.
        if middle < high and self.ends.items[middle] <= at:
            low, step = middle + 1, 1
            while low + step < high and self.ends.items[low + step] <= at:
                low += step + 1
                step *= 2
            high = min(high, low + step)
        else:
            high, step = middle, 1
            while high - step > 0 and self.ends.items[high - step] > at:
                high -= step
                step *= 2
            low = max(low, high - step)
        while low < high:
            middle = (low + high) >> 1
            if self.ends.items[middle] <= at:
                low = middle + 1
            else:
                high = middle
        self.asked = low
        return low

    cdef bint is_end(self, Py_ssize_t at) noexcept nogil:
        cdef Py_ssize_t i = self.end_after(at - 1)
        return at == self.stones.items[0].start or (i < self.ends.n and self.ends.items[i] == at)

    cdef bint is_whole(self, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
        cdef Py_ssize_t slot = -1
        if self.encoder.core.whole and stop - start <= self.longest:
            slot = self.tokens.find(self.data + start - self.base, stop - start)
        return slot >= 0 and not self.encoder.core.excluded[slot]

    cdef Py_ssize_t count_ordinary(self, Py_ssize_t start, Py_ssize_t stop) except -1:
        cdef Py_ssize_t before = self.worker.used, offset = 0
        cdef int status
        if stop == start:
            return 0
        if stop - start > KEEP_LOCK:
            with nogil:
                status = self.worker.encode(self.data + start - self.base, stop - start, self.readable(start), True,
                                            &offset)
        else:
            status = self.worker.encode(self.data + start - self.base, stop - start, self.readable(start), True,
                                        &offset)
        offset, self.worker.used = self.worker.used, before
        if status != DONE:
            check(status, self.text, start + offset)
        return offset - before

    cdef Py_ssize_t count_alone(self, Py_ssize_t start, Py_ssize_t stop) except -1:
        cdef Py_ssize_t before = self.worker.used, offset = 0
        cdef int status
        with nogil:
            status = encode_utf8(self.worker, self.specials, self.data + start - self.base, stop - start,
                                 self.readable(start), True, &offset)
        if status != DONE:
            self.worker.used = before
            check(status, self.text, start + offset)
        offset, self.worker.used = self.worker.used, before
        return offset - before


cdef Py_ssize_t _before(const milestones* stones, Py_ssize_t at) noexcept nogil:
    """The last milestone at or before an offset, or the first."""
    cdef Py_ssize_t low = 0, high = stones.n - 1, middle
    while low < high:
        middle = (low + high + 1) >> 1
        if stones.items[middle].start > at:
            high = middle - 1
        else:
            low = middle
    return low


cdef Py_ssize_t longest_of(Encoder encoder) noexcept:
    """The most bytes of text that one token stands for."""
    return max(<Py_ssize_t> 1, encoder.core.tokens.longest, encoder.specials.every.longest)


cdef Py_ssize_t whole_number(object value, str name) except -1:
    """A number of tokens that a caller gives."""
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} is an int, a number of tokens, not {show(value)}") from None
    if number < 0:
        raise ValueError(f"{name} is a number of tokens, 0 or more, not {number}")
    return min(number, MOST)


cdef Py_ssize_t count_up_to(Encoder encoder, object text, Specials specials, Specials refused, Py_ssize_t limit,
                            Py_ssize_t around) except -1:
    return min(limit + 1, around + _count_up_to(encoder, text, specials, refused, max(limit - around, 0)))


cdef Py_ssize_t _count_up_to(Encoder encoder, object text, Specials specials, Specials refused,
                             Py_ssize_t limit) except -1:
    cdef Py_ssize_t found = -1, size, longest
    cdef Worker worker
    if not isinstance(text, (str, bytes)):
        raise not_a_text(text)
    if encoder._pipeline is None:
        longest = 1 if encoder.core is None else longest_of(encoder)
        if encoder.compiled or (encoder.core is not None and encoder.core.scanner is not None
                                and isinstance(text, str) and text.isascii()):
            return _count(encoder, text, specials, refused, limit, False)
        if encoder._normalize is None:
            if len(text) > limit * longest:
                return limit + 1
        elif encoder.core.scanner is not None and isinstance(text, str):
            # Where the beginning of a text is normalized and an ASCII character follows, it stays as it is.
            size = 8 * limit + 256
            while found < 0 and size < len(text):
                while size < len(text) and not text[size].isascii():
                    size += 1
                part = text[:size]
                if encoder._normalize(part) != part:
                    break
                found = _count(encoder, part, specials, refused, limit, size < len(text))
                size *= 2
            if found >= 0:
                return found
    if refused is not None:
        refuse(refused, text)
    worker = encoder.take()
    try:
        encoder.encode(worker, text, specials)
        return min(worker.used, limit + 1)
    finally:
        encoder.give(worker)


cdef Py_ssize_t _count(Encoder encoder, object text, Specials specials, Specials refused, Py_ssize_t limit,
                       bint goes_on) except -2:
    """The tokens of a text, or limit + 1; -1 where it goes on, and no more than limit are certain."""
    cdef Reader reader = Reader(encoder, text, specials, MOST)
    try:
        reader.goes_on = goes_on
        if reader.least_after() <= limit:
            reader.feed_tokens(limit + 1, 128)
        if refused is not None:
            read = text[:reader.done if isinstance(text, bytes) else reader.char_at(reader.done)]
            refuse(refused, read)
        if goes_on and reader.ended and reader.total() <= limit:
            return -1
        return min(reader.total() + reader.least_after(), limit + 1)
    finally:
        reader.close()
