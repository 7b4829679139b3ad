"""The blocks of a text that is edited: what :class:`bpetite.serving.growing_text.GrowingText` holds.

A turn of a chat is encoded in some microseconds, and so is what an edit touches; what is done around that is compiled,
too.
"""
from cpython.array cimport array, clone, resize_smart
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_Substring
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from ..core._encode cimport Encoder, check, encode_utf8, view_utf8
from ..core._ids cimport copy_ids
from ..core._special cimport Specials
from ..core._text cimport DONE, text_view
from ..core._worker cimport Worker
from ..headers cimport token_t
from ..headers.vectors cimport bp_tuple_of_three, bp_utf8_count
from ..headers.substring cimport bp_substring
from ._edges cimport array_of

from array import array as new_array


cdef enum:
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter stretches


cdef class Blocks:
    """A text as blocks between edges, each with its ids, and the open text behind the last edge, with its ids.

    Args:
        encoder: The tokenizer's.
        specials: The special tokens to recognise.
        kind: The class of a change: a named tuple of start, removed, ids.
    """
    cdef list items                # (text, ids) of each block
    cdef str open_text
    cdef array open_ids
    # Of each block, and of the open text: where it starts, in characters and in tokens; and the character up to which
    # the text decides that there is an edge.
    cdef array chars, tokens, reach
    cdef Encoder encoder
    cdef Specials specials
    cdef type kind
    cdef Py_ssize_t edits          # how many there have been

    def __cinit__(self, Encoder encoder not None, Specials specials, type kind):
        self.encoder, self.specials, self.kind = encoder, specials, kind
        self.items, self.open_text, self.open_ids = [], "", new_array("I")
        self.chars, self.tokens, self.reach = new_array("q", [0]), new_array("q", [0]), new_array("q", [0])

    def copy(self):
        """Blocks of its own, with the same content; the two share what stands."""
        cdef Blocks other = Blocks(self.encoder, self.specials, self.kind)
        other.items, other.open_text, other.open_ids = self.items[:], self.open_text, self.open_ids
        other.chars, other.tokens, other.reach = self.chars[:], self.tokens[:], self.reach[:]
        return other

    def text(self):
        """The text; joined anew each time."""
        return "".join([text for text, _ in self.items]) + self.open_text

    def ids(self):
        """The ids of each block and of the open text, arrays of uint32."""
        return [*[ids for _, ids in self.items], self.open_ids]

    def __len__(self):
        """The number of ids."""
        return self.tokens.data.as_longlongs[len(self.items)] + len(self.open_ids)

    def characters(self):
        """The length of the text."""
        return self.chars.data.as_longlongs[len(self.items)] + len(self.open_text)

    def slice(self, Py_ssize_t start, Py_ssize_t end):
        """The characters from start to end."""
        cdef Py_ssize_t i = _behind(self.chars, start) - 1, base
        cdef const long long* chars = self.chars.data.as_longlongs
        cdef list parts = []
        while start < end:
            part = self.open_text if i == len(self.items) else (<tuple> self.items[i])[0]
            base = chars[i]
            parts.append(PyUnicode_Substring(part, start - base, min(end - base, len(<str> part))))
            start = base + len(<str> part)
            i += 1
        return parts[0] if len(parts) == 1 else "".join(parts)

    def append(self, str text not None, Py_ssize_t block):
        """Put a text behind the others, where a compiled scanner alone cuts it.

        Args:
            text: The text.
            block: Blocks are about as long.

        Returns:
            The change, without ids that are the same at either end.

        Raises:
            ValueError: A byte has no token.
            UnicodeEncodeError: There is a lone surrogate; its position is not the one in this text.
        """
        cdef Worker worker = self.encoder.take()
        cdef Py_ssize_t length = len(text), at = 0, stop, base = 0, done, used = 0, cut, start
        cdef str opened = self.open_text, whole
        cdef Py_ssize_t edits = self.edits
        cdef array old = self.open_ids, ids
        cdef text_view view
        cdef list pieces = []
        try:
            while True:
                # A turn of a chat is one stretch. An open pre-token is read again with each, so they grow with it.
                stop = min(length, at + max(4 * block, len(opened)))
                opened = whole = opened + (text if stop - at == length else PyUnicode_Substring(text, at, stop))
                at = stop
                view_utf8(worker, whole, &view)
                done = self.encode(worker, whole, &view, 0, False, base)
                if done:
                    cut = done if view.length == len(whole) else bp_utf8_count(view.utf8, done)
                    pieces.append((bp_substring(whole, 0, cut, view.utf8, done),
                                   array_of(worker.out + used, worker.used - used), len(whole) - cut))
                    used = worker.used
                    opened = PyUnicode_Substring(whole, cut, len(whole))
                if at == length:
                    break
                base += done
            self.encode(worker, whole, &view, done, True, base)
            self.stands(edits)
            ids = array_of(worker.out + used, worker.used - used)
            start = len(self) - len(old)
            change = self.change(start, old, worker.out, worker.used)
        finally:
            self.encoder.give(worker)
        for piece, its_ids, behind in pieces:
            self.push(piece, its_ids, behind, block)
        self.open_text, self.open_ids = opened, ids
        self.edits += 1
        return change

    cdef Py_ssize_t encode(self, Worker worker, str text, const text_view* view, Py_ssize_t start, bint final,
                           Py_ssize_t base) except -1:
        """Encode a text in UTF-8 from an offset on; returns up to where. `base`: of its beginning, for messages."""
        cdef const uint8_t* rest = view.utf8 + start
        cdef Py_ssize_t left = view.length - start, done = 0
        cdef int status
        if left > KEEP_LOCK:
            with nogil:
                status = encode_utf8(worker, self.specials, rest, left, left, final, &done)
        else:
            status = encode_utf8(worker, self.specials, rest, left, left, final, &done)
        if status != DONE:
            check(status, text, start + done, base)
        return start + done

    cdef int stands(self, Py_ssize_t edits) except -1:
        """Check that there have been no further edits: other threads run while text is read."""
        if self.edits != edits:
            raise RuntimeError("another thread has edited this text meanwhile; a growing text is not shared")
        return 0

    cdef object change(self, Py_ssize_t start, array old, const token_t* ids, Py_ssize_t n):
        """The change from some ids to others, without those that are the same at either end."""
        cdef const unsigned* before = old.data.as_uints
        cdef Py_ssize_t removed = len(old), most = min(removed, n), same = 0, left = 0
        while same < most and before[same] == ids[same]:
            same += 1
        while left < most - same and before[removed - 1 - left] == ids[n - 1 - left]:
            left += 1
        return bp_tuple_of_three(self.kind, start + same, removed - same - left,
                                 copy_ids(ids + same, n - same - left), NULL)

    cdef int push(self, str text, array ids, Py_ssize_t behind, Py_ssize_t block) except -1:
        cdef Py_ssize_t n = len(self.items), chars = self.chars.data.as_longlongs[n], tokens = len(ids)
        if n and len(<str> (<tuple> self.items[n - 1])[0]) + len(text) <= block:
            before, ids_before = self.items.pop()
            text = before + text
            ids = ids_before + ids
            self.chars.pop()
            self.tokens.pop()
            self.reach.pop()
            n -= 1
            chars, tokens = self.chars.data.as_longlongs[n], len(ids)
        self.items.append((text, ids))
        chars += len(text)
        _put(self.chars, chars)
        _put(self.tokens, self.tokens.data.as_longlongs[n] + tokens)
        _put(self.reach, chars + behind)
        return 0

    def replace(self, edges, Py_ssize_t start, Py_ssize_t end, str text not None, Py_ssize_t block):
        """Put a text in the place of the characters from start to end; the change, as :meth:`append` gives it.

        Args:
            edges: The :class:`bpetite.serving.edges.Edges` of the text.
            start, end: A part of the text.
            text: The text, without lone surrogates.
            block: Blocks are about as long.
        """
        cdef Py_ssize_t n = len(self.chars), first = _behind(self.reach, start) - 1, near = first, last, step = 1
        cdef Py_ssize_t characters = self.characters(), base = self.chars.data.as_longlongs[first], upto, i
        cdef Py_ssize_t shift = len(text) - (end - start)
        cdef const long long* chars = self.chars.data.as_longlongs
        cdef str before = self.slice(base, start), window
        cdef bytes data
        cdef list stops, made, old, new
        cdef Py_ssize_t edits = self.edits
        while near < n and chars[near] < end:      # the first edge behind the edit
            near += 1
        last = near
        while True:                                # until an edge behind the edit is one again, or the text has ended
            upto = self.reach.data.as_longlongs[last] if last < n else characters
            window = before + text + self.slice(end, upto)
            data = PyUnicode_AsUTF8String(window)
            stops = [chars[i] + shift - base for i in range(near, min(last + 1, n))]
            if PyBytes_GET_SIZE(data) != len(window):
                stops = [len(window[:stop].encode("utf-8")) for stop in stops]
            pieces, found = edges.read(data, stops)
            self.stands(edits)
            if upto == characters or found is not None:
                break
            last += step
            step *= 2
        made = _blocks(data, pieces, base, self.reach.data.as_longlongs[first], block)
        new = [made_ids for _, made_ids, _ in made]
        last = n - 1 if found is None else near + stops.index(found)
        old = [ids for _, ids in self.items[first:last]]
        i = self.tokens.data.as_longlongs[first]
        if found is None:
            rest = data[pieces[len(pieces) - 1][0] if pieces else 0:].decode("utf-8")
            ids = new_array("I", edges.encode(rest))
            self.stands(edits)
            new.append(ids)
            old.append(self.open_ids)
            self.open_text, self.open_ids = rest, ids
        self.edits += 1
        self.splice(first, last, made, block)
        ids = _joined(new)
        return self.change(i, _joined(old), <const token_t*> (<array> ids).data.as_uints, len(<array> ids))

    cdef int splice(self, Py_ssize_t first, Py_ssize_t last, list made, Py_ssize_t block) except -1:
        """Put blocks in the place of those from first to last, which end at the same edge."""
        cdef Py_ssize_t i, at, moved, moved_tokens
        cdef array chars, tokens, reach
        cdef long long* reaches
        if made and first and len(<str> (<tuple> self.items[first - 1])[0]) + len(<str> (<tuple> made[0])[0]) <= block:
            first -= 1
            text, ids = self.items[first]
            made[0] = (text + made[0][0], ids + made[0][1], made[0][2])
        chars, tokens, reach = (clone(self.chars, len(made) + 1, False), clone(self.chars, len(made) + 1, False),
                                clone(self.chars, len(made), False))
        chars.data.as_longlongs[0] = self.chars.data.as_longlongs[first]
        tokens.data.as_longlongs[0] = self.tokens.data.as_longlongs[first]
        for i in range(len(made)):
            text, ids, at = made[i]
            chars.data.as_longlongs[i + 1] = chars.data.as_longlongs[i] + len(<str> text)
            tokens.data.as_longlongs[i + 1] = tokens.data.as_longlongs[i] + len(<array> ids)
            reach.data.as_longlongs[i] = at
        moved = chars.data.as_longlongs[len(made)] - self.chars.data.as_longlongs[last]
        moved_tokens = tokens.data.as_longlongs[len(made)] - self.tokens.data.as_longlongs[last]
        self.items[first:last] = [(text, ids) for text, ids, _ in made]
        self.chars[first:last + 1] = chars
        self.tokens[first:last + 1] = tokens
        self.reach[first + 1:last + 1] = reach
        reaches = self.reach.data.as_longlongs
        for i in range(first + len(made) + 1, len(self.items) + 1):
            self.chars.data.as_longlongs[i] += moved
            self.tokens.data.as_longlongs[i] += moved_tokens
            reaches[i] = max(reaches[i] + moved, reaches[i - 1])
        return 0


cdef int _put(array numbers, long long value) except -1:
    resize_smart(numbers, len(numbers) + 1)
    numbers.data.as_longlongs[len(numbers) - 1] = value
    return 0


cdef Py_ssize_t _behind(array ascending, Py_ssize_t value) noexcept:
    """How many of the numbers are not above a value."""
    cdef Py_ssize_t low = 0, high = len(ascending), middle
    while low < high:
        middle = (low + high) >> 1
        if ascending.data.as_longlongs[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


cdef list _blocks(bytes data, list pieces, Py_ssize_t base, Py_ssize_t reach, Py_ssize_t block):
    """Pieces as blocks (text, ids, reach), small ones joined.

    Args:
        data: What has been read.
        pieces: Its pieces.
        base: The character of the text with which it begins.
        reach: The character up to which the text decides that there is an edge.
        block: The bytes of a block, about.
    """
    cdef list made = [], ids = []
    cdef Py_ssize_t start = 0, end, read, i
    cdef str text
    for i in range(len(pieces)):
        end, its_ids, read = pieces[i]
        ids.append(its_ids)
        if i + 1 < len(pieces) and pieces[i + 1][0] - start <= block:
            continue
        text = data[start:end].decode("utf-8")
        base += len(text)
        while read < PyBytes_GET_SIZE(data) and data[read] & 0xC0 == 0x80:
            read += 1
        reach = max(reach, base + len(data[end:read].decode("utf-8")))
        made.append((text, _joined(ids), reach))
        start, ids = end, []
    return made


cdef array _joined(list ids):
    """Arrays of uint32 as one."""
    cdef Py_ssize_t n = 0
    cdef array each, joined
    if len(ids) == 1:
        return ids[0]
    for each in ids:
        n += len(each)
    joined = clone(new_array("I"), n, False)
    n = 0
    for each in ids:
        if len(each):
            memcpy(joined.data.as_uints + n, each.data.as_uints, len(each) * 4)
        n += len(each)
    return joined
