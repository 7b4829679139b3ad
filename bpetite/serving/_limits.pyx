"""The longest beginning or end of a text within a limit of tokens, and counts of many texts.

A prefix that ends at an edge of the text's own tokens is encoded as the text is, but for its last pre-tokens: what the
split pattern sees there is the end of the text. So a prefix has the tokens before the last end that is certain in it
(core/_reader.pyx) and those of the pre-tokens behind. These are found by one scan that goes from candidate to
candidate and is copied to read the end of the text at each, so a long pre-token costs linear time.

A suffix that begins inside a pre-token is encoded as the text is from the first end that its scan has in common with
the text's, since a scan at an end depends on nothing before it. They have the next end in common as soon as the two
scans are in one state before it. Suffixes are looked for from the end of the text backwards, and what stands before is
not read: most pairs of characters bring a scan into one state whatever it was in (`Scanner.synchronize`), so the ends
behind such a pair are known. Where too many tokens follow one of these ends, too many are in every suffix that holds
the pair.

A pre-token that is cut at an edge of two of its tokens is merged into the same tokens on either side: merging joined
nothing across the edge, so it went on on one side as if there were no other. Only where a pre-token that is a token is
taken whole it may be one token instead.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ..core._batch cimport count_each
from ..core._encode cimport Encoder, check
from ..core._reader cimport BACK, Reader, milestone, size_of, whole_number
from ..core._special cimport Specials, refuse
from ..core._text cimport DONE
from ..core._worker cimport BP_BLOCK, Worker
from ..headers.vectors cimport bp_utf8_count
from ..splitting.scan._scan cimport scan_cursor

from ..core._threads import thread_count

cdef enum:
    GLANCE = 32                # bytes that are read before two scans are compared
    STRETCH = 1 << 16          # bytes read at a time where all of the text is; kept where no more is known to be needed
    STEP = 1 << 16             # tokens
    TRAIL = 4                  # ends that are not worth keeping
    LEAST = 128                # characters of the shortest stretch on the way back
    UNKNOWN = -2
    BEHIND = 256               # characters read behind an end, to know that it is one


cdef struct known_end:
    # An end of the text's pre-tokens, and of those of every suffix that begins at `read` or before; in characters.
    Py_ssize_t read, end
    Py_ssize_t behind          # tokens behind it


def count_texts(Encoder encoder not None, texts, allowed_special, disallowed_special, num_threads):
    """int64[n]: how many tokens each text has."""
    recognised, refused = encoder.specials.resolve(allowed_special, disallowed_special)
    return count_each(encoder, texts, recognised, refused, thread_count(num_threads))


def token_limit(value, str name not None):
    """A number of tokens that a caller gives, as an int; `name` is for messages."""
    return whole_number(value, name)


def is_read_as_it_is(Encoder encoder not None, str text not None):
    """Whether a compiled scanner alone cuts the text: nothing else rewrites or cuts it."""
    cdef Specials specials = encoder.specials.every
    cdef Py_ssize_t i, slot
    if encoder._pipeline is not None or encoder.core is None or encoder.core.scanner is None:
        return False
    # The lengths of tokens say where they are in the text.
    for i in range(specials.size):
        slot = encoder.core.tokens.slot(specials.ids[i])
        if specials.starts[i + 1] - specials.starts[i] != (encoder.core.tokens.starts[slot + 1]
                                                           - encoder.core.tokens.starts[slot]):
            return False
    return encoder._normalize is None or text.isascii() or encoder._normalize(text) == text


def longest_prefix(Encoder encoder not None, str text not None, allowed_special, disallowed_special, max_tokens):
    """Where the longest prefix ends that :meth:`bpetite.Tokenizer.truncate` may give, in characters."""
    cdef Py_ssize_t most = whole_number(max_tokens, "max_tokens"), end
    recognised, refused = encoder.specials.resolve(allowed_special, disallowed_special)
    if refused is not None:
        refuse(refused, text)
    end = _longest_prefix(encoder, text, recognised, most, True)
    return _longest_prefix(encoder, text, recognised, most, False) if end < 0 else end


cdef Py_ssize_t _longest_prefix(Encoder encoder, str text, Specials specials, Py_ssize_t most, bint forget) except -2:
    """-1 where it ends in what has been forgotten."""
    cdef Py_ssize_t end, stone, bound, at, used, i
    cdef Reader reader = Reader(encoder, text, specials, 0)
    try:
        while not reader.ended and reader.total() <= most:
            reader.feed_tokens(min(most + 1, reader.total() + STEP), 256)
            if forget:
                reader.forget(reader.done - STRETCH)
        if reader.total() <= most:
            return len(text)
        # Every prefix with two ends behind `most` tokens, and a few characters more, has more tokens.
        stone = reader.stone_of(most)
        at, used = reader.stones.items[stone].start, reader.stones.items[stone].used
        while used < most:
            at += size_of(reader, used)
            used += 1
        i = reader.end_after(at - 1) + 1
        while i >= reader.ends.n and not reader.ended:
            reader.feed(GLANCE)
        bound = reader.done if i >= reader.ends.n else reader.ends.items[i] + BACK
        while reader.done < bound and not reader.ended:
            reader.feed(GLANCE)
        while True:
            end = _sweep(reader, stone, bound, most)
            if end >= 0:
                return reader.char_at(end)
            if stone == 0:
                return -1
            bound = reader.stones.items[stone].start - 1
            stone -= 1
    finally:
        reader.close()


cdef Py_ssize_t _sweep(Reader reader, Py_ssize_t stone, Py_ssize_t high, Py_ssize_t most) except -2:
    """The last edge from a milestone to `high` where a prefix of at most `most` tokens ends, or -1."""
    cdef Py_ssize_t ends[BP_BLOCK]
    cdef scan_cursor cursor, last
    cdef Py_ssize_t first = reader.stones.items[stone].used, token = first, at = reader.stones.items[stone].start
    cdef Py_ssize_t closed = 0, before = 0       # the last end that is certain, and the tokens up to there
    cdef Py_ssize_t start = -1, best = -1, total = reader.total(), n, i, own, piece, end, known
    cdef milestone certain
    cdef bint begun = False
    cdef Py_ssize_t* edges = <Py_ssize_t*> malloc((total - first + 1) * sizeof(Py_ssize_t))   # after each token
    if edges == NULL:
        raise MemoryError()
    try:
        while at <= high:
            edges[token - first] = at
            if reader.on_character(at):
                certain = reader.certain(at)
                if certain.start < 0:
                    return -1
                if certain.start != start:
                    start = closed = certain.start
                    before = certain.used
                    begun = False
                own = before
                if at > start:
                    if begun:
                        reader.scanner.extend(&cursor, reader.data + start - reader.base, at - start, 0, False)
                    else:
                        reader.scanner.begin(&cursor, reader.data + start - reader.base, at - start, False)
                    begun = True
                    while True:
                        n = reader.scanner.next_ends(&cursor, ends, BP_BLOCK)
                        if n == 0:
                            break
                        while closed < start + ends[n - 1]:
                            closed += size_of(reader, before)
                            before += 1
                    memcpy(&last, &cursor, sizeof(scan_cursor))
                    reader.scanner.extend(&last, reader.data + start - reader.base, at - start, 0, True)
                    own, piece = before, closed
                    while own <= most:
                        n = reader.scanner.next_ends(&last, ends, BP_BLOCK)
                        if n == 0:
                            break
                        for i in range(n):
                            end = start + ends[i]
                            known = first + _first_from(edges, token - first, end)
                            if piece == closed and edges[known - first] == end:
                                own += _tokens_of(reader, piece, end, known - before)
                            else:
                                own += _tokens_of(reader, piece, end, -1)
                            piece = end
                if own <= most:
                    best = at
            if token == total:
                break
            at += size_of(reader, token)
            token += 1
        return best
    finally:
        free(edges)


cdef Py_ssize_t _first_from(const Py_ssize_t* edges, Py_ssize_t last, Py_ssize_t at) noexcept nogil:
    """The first of the ascending edges[0:last + 1] that is not before `at`, or the last."""
    cdef Py_ssize_t low = 0, high = last, middle
    while low < high:
        middle = (low + high) >> 1
        if edges[middle] < at:
            low = middle + 1
        else:
            high = middle
    return low


cdef Py_ssize_t _tokens_of(Reader reader, Py_ssize_t start, Py_ssize_t end, Py_ssize_t own) except -1:
    """How many tokens a pre-token of a part of the text has. `own`: how many the text has there, where start or end is
    an end of the text's pre-tokens and the other one an edge in that pre-token; -1 where that is not known."""
    cdef Py_ssize_t before = reader.worker.used, bad = 0, size = end - start
    cdef int status
    if reader.is_whole(start, end):
        return 1
    if own >= 0 and reader.end_after(start) == reader.end_after(end - 1):
        return own
    status = reader.worker.encode_block(reader.data + start - reader.base, 0, &size, 1, reader.readable(start), &bad)
    size, reader.worker.used = reader.worker.used - before, before
    if status != DONE:
        check(status, reader.text, start + bad)
    return size


def longest_suffix(Encoder encoder not None, str text not None, allowed_special, disallowed_special, max_tokens):
    """Where the longest suffix begins that :meth:`bpetite.Tokenizer.truncate` may give, in characters."""
    cdef Py_ssize_t most = whole_number(max_tokens, "max_tokens")
    cdef Worker worker
    recognised, refused = encoder.specials.resolve(allowed_special, disallowed_special)
    if refused is not None:
        refuse(refused, text)
    try:
        return _longest_suffix(encoder, text, recognised, most)
    except ValueError:                             # in a part of the text: this raises it with the offset in all of it
        worker = encoder.take()
        try:
            encoder.encode(worker, text, recognised)
        finally:
            encoder.give(worker)
        raise


cdef Py_ssize_t _longest_suffix(Encoder encoder, str text, Specials specials, Py_ssize_t most) except -1:
    cdef Py_ssize_t length = len(text), stop, found
    cdef known_end near, here, first
    here.read = here.end = length
    here.behind = 0
    near = here
    while here.behind <= most:
        if here.end == 0:
            return 0
        near = here
        # A token has two characters or more, on the whole: stretches get shorter towards the end that is looked for.
        _step_back(encoder, text, specials, min(<Py_ssize_t> STRETCH, 2 * (most - here.behind)), &here)
    first = here                                   # behind this one all tokens of the text are known
    while first.end > here.read:
        _step_back(encoder, text, specials, 0, &first)
    stop = near.end
    while True:
        stop = min(length, stop + max(<Py_ssize_t> BEHIND, 4 * (stop - near.end)))
        found = _suffix_in_part(encoder, text[first.read:stop], specials, most, _bytes(text, first.read, here.read),
                                _bytes(text, near.end, stop), near.behind, stop < length)
        if found >= 0:
            return first.read + found


cdef int _step_back(Encoder encoder, str text, Specials specials, Py_ssize_t size, known_end* at) except -1:
    """From one known end to another, `size` characters before it or a little less, or as many more as there must be."""
    cdef Py_ssize_t length = len(text), start, stop, more, behind = 0, first, last
    cdef Reader reader
    size = max(size, <Py_ssize_t> LEAST)
    while True:
        start = _synchronized(encoder, text, specials, max(at.end - size, <Py_ssize_t> 0), at.end, &behind)
        size *= 2
        more = BEHIND if start >= 0 else 0
        while more:
            stop = min(length, at.end + more)
            reader = Reader(encoder, text[start:stop], specials, 0)
            try:
                reader.goes_on = stop < length
                while not reader.ended:
                    reader.feed(STRETCH)
                last = reader.filled - _bytes(text, at.end, stop)
                more *= 4
                if not reader.is_end(last):        # not enough has been read to know it
                    continue
                first = reader.ends.items[reader.end_after(behind)] if start else 0
                if first < last:
                    at.behind += _used(reader, last) - _used(reader, first)
                    at.read, at.end = start, start + reader.char_at(first)
                    return 0
                more = 0
            finally:
                reader.close()


cdef Py_ssize_t _synchronized(Encoder encoder, str text, Specials specials, Py_ssize_t start, Py_ssize_t end,
                              Py_ssize_t* behind) except -2:
    """The first character from `start` on with which reading may begin, or -1; OUT: the ends more than so many bytes
    behind it are known then."""
    cdef Py_ssize_t around = 0 if specials is None else specials.longest, size = LEAST, before, stop, at, limit, found
    cdef bytes data
    cdef const uint8_t* utf8
    behind[0] = 0
    while start > 0:
        before, stop = max(start - around, <Py_ssize_t> 0), min(start + size, end)
        data = text[before:stop + around].encode("utf-8")
        utf8 = <const uint8_t*> PyBytes_AS_STRING(data)
        at, limit = _bytes(text, before, start), PyBytes_GET_SIZE(data) - _bytes(text, stop, stop + around)
        while True:
            found = encoder.core.scanner.synchronize(utf8, at, limit, behind)
            if found < 0:
                break
            if not _touches(specials, utf8, found, behind[0], PyBytes_GET_SIZE(data)):
                behind[0] -= found
                return before + bp_utf8_count(utf8, found)
            at = behind[0]
        if stop == end:
            return -1
        start = stop - 1                           # the first of a pair
        size *= 2
    return 0


cdef bint _touches(Specials specials, const uint8_t* text, Py_ssize_t start, Py_ssize_t end,
                   Py_ssize_t length) noexcept nogil:
    """Whether any of text[start:end] is in what may be a special token."""
    cdef Py_ssize_t at, which = 0
    if specials is None or specials.size == 0:
        return False
    at = max(start - specials.longest, <Py_ssize_t> 0)
    while True:
        at = specials.find(text, at, length, &which)
        if at < 0 or at >= end:
            return False
        if at + <Py_ssize_t> (specials.starts[which + 1] - specials.starts[which]) > start:
            return True
        at += 1


cdef Py_ssize_t _bytes(str text, Py_ssize_t start, Py_ssize_t end) except -1:
    """The bytes of some characters."""
    return PyBytes_GET_SIZE(text[start:end].encode("utf-8"))


cdef Py_ssize_t _used(Reader reader, Py_ssize_t edge) noexcept nogil:
    """The tokens before an edge, or before the first one behind."""
    cdef Py_ssize_t stone = reader.stone_before(edge), at = reader.stones.items[stone].start
    cdef Py_ssize_t used = reader.stones.items[stone].used
    while at < edge:
        at += size_of(reader, used)
        used += 1
    return used


cdef Py_ssize_t _suffix_in_part(Encoder encoder, str part, Specials specials, Py_ssize_t most, Py_ssize_t low,
                                Py_ssize_t over, Py_ssize_t behind, bint goes_on) except -2:
    """The character of a part of a text with which the longest suffix begins, or -1 where more must be read.

    Args:
        low: It begins behind this byte. Before it is an end from which on the part has the ends of the text.
        over: What has been read behind an end of the text, in bytes.
        behind: The tokens behind that end, few enough.
        goes_on: Whether the text goes on behind the part.
    """
    cdef Reader reader = Reader(encoder, part, specials, 0)
    cdef Py_ssize_t stone, at, token, i, end, total, own
    cdef _Suffixes suffixes
    try:
        reader.goes_on = goes_on
        while not reader.ended:
            reader.feed(STRETCH)
        end = reader.filled - over
        if not reader.is_end(end):
            return -1
        total = _used(reader, end) + behind
        suffixes = _Suffixes(reader)
        stone = reader.stone_before(low)
        at, token, i = reader.stones.items[stone].start, reader.stones.items[stone].used, reader.end_after(low)
        while True:
            if at > low and reader.on_character(at):
                while reader.ends.items[i] < at:
                    i += 1
                own = total - token if reader.ends.items[i] == at else suffixes.tokens(at, token, i, total)
                if own == UNKNOWN:
                    return -1
                if own <= most:
                    return reader.char_at(at)
            at += size_of(reader, token)
            token += 1
    finally:
        reader.close()


cdef class _Suffixes:
    """Counts the tokens of suffixes, from longer to shorter ones."""
    cdef Reader reader
    cdef Py_ssize_t special        # where the next special token begins, or the text ends
    cdef Py_ssize_t pretoken       # of the text, which `cursor` reads, or -1
    cdef scan_cursor cursor
    cdef dict known                # an end of a scan that met the text's late -> the tokens behind it

    def __cinit__(self, Reader reader not None):
        self.reader, self.special, self.pretoken, self.known = reader, -1, -1, {}

    cdef Py_ssize_t tokens(self, Py_ssize_t at, Py_ssize_t token, Py_ssize_t i, Py_ssize_t total) except -1:
        """IN: the edge inside a pre-token where the suffix begins, the tokens before it, the next end as an index, the
        tokens before the end of the text. Returns UNKNOWN where more text must be read."""
        cdef Reader reader = self.reader
        cdef Py_ssize_t ends[BP_BLOCK]
        cdef scan_cursor own
        cdef Py_ssize_t start = reader.ends.items[i - 1] if i else reader.stones.items[0].start
        cdef Py_ssize_t end = reader.ends.items[i], size = GLANCE, n, j
        cdef Py_ssize_t piece = at, found = 0, which = 0, stop = end
        cdef const uint8_t* text = reader.data + at - reader.base
        cdef bint final = False, any = False
        cdef list trail = []
        if at > self.special or self.special < 0:
            self.special = -1
            if reader.specials is not None and reader.specials.size:
                self.special = reader.specials.find(text, 0, reader.done - at, &which)
            self.special = reader.done if self.special < 0 else at + self.special
        if self.pretoken == start:
            size = max(size, self.cursor.position - (at - start))
        else:
            self.pretoken = start
            reader.scanner.begin(&self.cursor, reader.data + start - reader.base, 0, False)
        reader.scanner.begin(&own, text, 0, False)
        while True:
            final = at + size >= self.special
            if final and self.special == reader.done and reader.goes_on:
                return UNKNOWN
            size = min(size, self.special - at)
            while not reader.on_character(at + size):
                size += 1
            reader.scanner.extend(&own, text, size, 0, final)
            while True:
                n = reader.scanner.next_ends(&own, ends, BP_BLOCK)
                if n == 0:
                    break
                any = True
                for j in range(n):
                    stop = at + ends[j]
                    if piece == at and stop == end:
                        return 1 + total - token - self.inside(token, at, end) if reader.is_whole(at, end) \
                            else total - token
                    found += _tokens_of(reader, piece, stop, -1)
                    piece = stop
                    behind = self.known.get(stop) if self.known else None
                    if behind is None and reader.is_end(stop):
                        while at < stop:
                            at += size_of(reader, token)
                            token += 1
                        behind = total - token
                    if behind is not None:
                        if len(trail) > TRAIL:
                            self.known.update([(each, behind + found - before) for each, before in trail])
                        return found + behind
                    trail.append((stop, found))
            if not any and at + size < end:
                reader.scanner.extend(&self.cursor, reader.data + start - reader.base, at + size - start, 0, False)
                reader.scanner.next_ends(&self.cursor, ends, BP_BLOCK)
                if self.cursor.state == own.state and (self.cursor.mark + start == own.mark + at or
                                                       self.cursor.mark == own.mark == 0):
                    return 1 + total - token - self.inside(token, at, end) if reader.is_whole(at, end) \
                        else total - token
            size *= 2

    cdef Py_ssize_t inside(self, Py_ssize_t token, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
        cdef Py_ssize_t n = 0
        while at < end:
            at += size_of(self.reader, token + n)
            n += 1
        return n
