"""The longest beginning or end of a text within a limit of tokens, and counts of many texts.

A prefix that ends at an edge of the text's own tokens is encoded as the text is, but for its last pre-tokens: what the
split pattern sees there is the end of the text. So a prefix has the tokens before the last end that is certain in it
(engine/_reader.pyx) and those of the pre-tokens behind. These are found by one scan that goes from candidate to
candidate and is copied to read the end of the text at each, so a long pre-token costs linear time.

A suffix that begins inside a pre-token is encoded as the text is from the first end that its scan has in common with
the text's, since a scan at an end depends on nothing before it. They have the next end in common as soon as the two
scans are in one state before it.

A pre-token that is cut at an edge of two of its tokens is merged into the same tokens on either side: merging joined
nothing across the edge, so it went on on one side as if there were no other. Only where a pre-token that is a token is
taken whole it may be one token instead.
"""
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from ..engine._batch cimport count_each
from ..engine._encode cimport Encoder, check
from ..engine._reader cimport BACK, Reader, milestone, size_of, whole_number
from ..engine._special cimport Specials, refuse
from ..engine._text cimport DONE
from ..engine._worker cimport BP_BLOCK
from ..splitting._scan cimport scan_cursor

from ..engine._threads import thread_count

cdef enum:
    GLANCE = 32                # bytes that are read before two scans are compared
    STRETCH = 1 << 16          # bytes read at a time where all of the text is; kept where no more is known to be needed
    STEP = 1 << 16             # tokens
    TRAIL = 4                  # ends that are not worth keeping


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
    cdef Py_ssize_t most = whole_number(max_tokens, "max_tokens"), at, token, total, i, own, low
    cdef Reader reader
    cdef _Suffixes suffixes
    recognised, refused = encoder.specials.resolve(allowed_special, disallowed_special)
    if refused is not None:
        refuse(refused, text)
    reader = Reader(encoder, text, recognised, 0)
    try:
        # Longer suffixes have more tokens than that, whatever they are.
        if most < reader.view.length // reader.longest:
            reader.keep = reader.view.length - most * reader.longest
        while not reader.ended:
            reader.feed(STRETCH)
            reader.forget(min(reader.done, reader.keep))
        total = reader.total()
        if total <= most:
            return 0
        low = max(reader.keep, reader.done - most * reader.longest if most < reader.done // reader.longest else 0)
        suffixes = _Suffixes(reader)
        at, token, i = reader.stones.items[0].start, reader.stones.items[0].used, 0
        while at < reader.done:
            if at >= low and reader.on_character(at):
                while i < reader.ends.n and reader.ends.items[i] < at:
                    i += 1
                if at == reader.stones.items[0].start or reader.ends.items[i] == at:
                    own = total - token
                else:
                    own = suffixes.tokens(at, token, i, total)
                if own <= most:
                    return reader.char_at(at)
            at += size_of(reader, token)
            token += 1
        return reader.char_at(at)
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
        """IN: the edge inside a pre-token where the suffix begins, the tokens before it, the next end as an index."""
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
