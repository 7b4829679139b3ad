"""Token ids to bytes and text.

Two passes: the sizes of all tokens give the length, then one allocation and one copy (`ByteJoin` of _merge.pyx).
Where all tokens of a call are ASCII, the str is written directly; other text is joined first and read as UTF-8 then,
since a character may span tokens: by vectors where it is valid (bp_str_of_utf8), else by CPython's decoder with the
error handler.

An array of uint32 is read in place (NumPy converts other integers). Another thread, or another process that shares
the memory, may write to it meanwhile. So the second pass checks each value against the count of the first (join.h);
after a difference, both passes run again on a copy. Copying first would take longer than the check.
"""
cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strcmp

from .._merge cimport ByteJoin
from ..headers cimport SPACE, bp_use_large_pages, bp_watch, bp_watch_check, bp_work
from ..headers.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyErr_CheckSignals, PyList_CheckExact,
    PyList_GET_SIZE, PyNumber_Index, PyTuple_CheckExact, PyTuple_GET_SIZE, PyUnicode_DecodeUTF8,
)
from ..headers.vectors cimport (
    BP_LOAD, BP_STORE, bp_str_of_utf8, bp_token_value, bp_utf8_valid, PySequence_Fast_ITEMS, PyUnicode_DATA,
    PyUnicode_New,
)
from ..vocabulary._tokens cimport TokenTable
from ._batch cimport of_text
from ._ids cimport values_of

import codecs
import operator
from collections.abc import Mapping
from itertools import filterfalse, groupby

from ..errors import UnknownTokenError, short_repr

cdef enum:
    KEEP_LOCK = 512        # ids; the interpreter lock is kept for fewer, handing it over costs more
    SLICE = 1 << 18        # ids between two looks at signals
    STRIP_ONE = 1          # see STRIPS
    STRIP_TOKEN = 2
    SPAN_WORK = 64         # bytes that take as long as the span of a token

cdef tuple STRIPS = ("none", "one", "token")


cdef struct id_view:
    # Positions of ids among the heads of a Decoder. IN: all zero, but for the buffer.
    const uint32_t* positions
    Py_ssize_t n
    uint32_t* owned        # to be freed, or NULL
    bint held              # the buffer is to be released
    Py_ssize_t first       # the end of the ids whose spaces are left out; 0 for none
    Py_ssize_t size        # the bytes that are left of them
    bp_watch watch
    Py_buffer buffer


cdef class Decoder:
    """Turns ids into bytes and text."""

    cdef int set_up(self, TokenTable tokens, object vocab) except -1:
        if self.tokens is not None:
            raise TypeError("a decoder is set up once")
        self.errors = vocab.errors
        self.vocab = vocab
        self.tokens = tokens
        if vocab.alphabet is not None:
            self.rewrites = vocab.alphabet.decoding != "bytes"
            self.strip = STRIPS.index(vocab.alphabet.strip)
            self.byte_tokens = frozenset(vocab.alphabet.byte_ids) - {None} or None
            self.unstripped = self.byte_tokens or frozenset()
            self.unstripped |= {token_id for token_id in vocab.unreachable if b" " in vocab.tokens[token_id]}
            self.unstripped |= {token_id for literal, token_id in vocab.special_tokens.items()
                                if " " in literal and " " in vocab.spelled(literal)}
        return 0

    @cython.critical_section
    cdef int fill(self) except -1:
        cdef TokenTable tokens = self.tokens, texts
        cdef ByteJoin tables
        if self.filled != NULL:                    # by another thread in between
            return 0
        tables = ByteJoin()
        tables.fill(tokens.ids, tokens.size, tokens.starts, tokens.blob, tokens.slot_of, tokens.id_span)
        self.tables = self.shown = tables
        if self.rewrites:
            from ..formats.spelling import shown_tokens  # not at the top: few vocabularies need it

            self.texts, self.gaps = shown_tokens(self.vocab)
            texts, self.shown = self.texts, ByteJoin()
            self.shown.fill(texts.ids, texts.size, texts.starts, texts.blob, texts.slot_of, texts.id_span)
        BP_STORE(&self.filled, <void*> tables)     # last: other threads read the tables from now on
        return 0

    cdef bytes decode_bytes(self, object ids, bint skip=False, bint middle=False):
        return joined(self, ids, False, 0 if middle else self.strip, skip)

    cdef str decode(self, object ids, object errors, bint skip=False):
        cdef bytes data, handler = None
        if errors is not None or BP_LOAD(&self.filled) == NULL:
            handler = self.handler(errors)
        if self.byte_tokens is not None and not PyList_CheckExact(ids) and hasattr(ids, "__next__"):
            ids = list(ids)                        # they may be read twice
        made = joined(self, ids, True, self.strip, skip)
        if type(made) is str:
            return made
        data = <bytes> made
        made = bp_str_of_utf8(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        if made is None:
            handler = self.handler(None) if handler is None else handler
            if handler == b"replace" and self.byte_tokens is not None:
                return self.replace(filterfalse(self.vocab.skipped.__contains__, ids) if skip else ids)
            return PyUnicode_DecodeUTF8(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), handler)
        return made

    cdef str replace(self, object ids):
        """Text in which U+FFFD stands for each byte of a run of byte tokens that is not UTF-8."""
        cdef bytes data
        cdef list parts = []
        for in_bytes, run in groupby(map(operator.index, ids), self.byte_tokens.__contains__):
            data = joined(self, list(run), False, self.strip if self.strip == STRIP_TOKEN and not parts else 0, False)
            if in_bytes and bp_utf8_valid(<const uint8_t*> PyBytes_AS_STRING(data), len(data)) < len(data):
                parts.append("\ufffd" * len(data))
            else:
                parts.append(data.decode("utf-8"))
        text = "".join(parts)
        return text.removeprefix(" ") if self.strip == STRIP_ONE else text

    cdef Py_ssize_t gap(self, uint32_t position) except -1:
        return self.gaps[self.tokens.ids[position] if self.tables.slot_of == NULL else position]

    cdef list decode_batch(self, object batch, object errors, bint skip):
        cdef list texts = []
        self.handler(errors)
        try:
            batch = iter(batch)
        except TypeError:
            raise TypeError(f"batch is an iterable of sequences of token ids, not {short_repr(batch)}") from None
        for i, ids in enumerate(batch):
            PyErr_CheckSignals()
            if isinstance(ids, int):
                raise TypeError(f"batch[{i}] is {short_repr(ids)}, no sequence of token ids; decode takes one sequence")
            try:
                texts.append(self.decode(ids, errors, skip))
            except (KeyError, TypeError, ValueError) as error:
                raise of_text(error, i, i + 2) from None
        return texts

    cdef bytes handler(self, object errors):
        if self.tokens is None:
            raise TypeError("this tokenizer has not been set up")
        if BP_LOAD(&self.filled) == NULL:
            self.fill()
        if errors is None:
            return self.errors.encode()
        if not isinstance(errors, str):
            raise TypeError(f"errors is the name of a codec error handler, not {short_repr(errors)}")
        try:
            codecs.lookup_error(errors)
        except LookupError:
            raise LookupError(
                f"errors {short_repr(errors)} is no codec error handler (strict, replace, ignore, ...)") from None
        return (<str?> errors).encode()

    cdef list char_spans(self, object ids, bytes text):
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t at = 0, started = 0, first, end = 0, i
        cdef const uint8_t* token
        cdef unsigned not_ascii = 0
        cdef list spans
        cdef id_view view
        memset(&view, 0, sizeof(id_view) - sizeof(Py_buffer))
        try:
            read_ids(self, ids, &view)
            if view.held and view.owned == NULL:
                copy_ids(&view)
            if joined_size(self, self.tables, &view, &not_ascii) > PyBytes_GET_SIZE(text):
                raise ValueError("the tokens reach past the text")
            spans = [None] * view.n
            for i in range(view.n):
                if bp_work(&view.watch, SPAN_WORK):
                    break
                end += self.tables.token_at(view.positions[i], &token)
                first = started - (data[at] & 0xC0 == 0x80)
                while at < end:
                    started += data[at] & 0xC0 != 0x80
                    at += 1
                spans[i] = (first, started)
            bp_watch_check(&view.watch)
            return spans
        finally:
            release_ids(&view)

    cdef object unknown(self, object token_id, Py_ssize_t index):
        cdef TokenTable tokens = self.tokens
        have = f"{tokens.size} tokens, with ids from {tokens.ids[0]} to {tokens.ids[tokens.size - 1]}" \
            if tokens.size else "no tokens"
        return UnknownTokenError(token_id, f"no token has the id {token_id}"
                                 f"{'' if index < 0 else f' (ids[{index}])'}: the vocabulary has {have}")


cdef inline object joined(Decoder decoder, object ids, bint as_text, int strip, bint skip):
    """The bytes of tokens, without some spaces at their beginning; a str if that is asked for and all are ASCII."""
    cdef id_view view
    cdef unsigned not_ascii = 0
    cdef int64_t total
    cdef uint8_t* out
    cdef bint done
    memset(&view, 0, sizeof(id_view) - sizeof(Py_buffer))
    try:
        read_ids(decoder, ids, &view)
        if skip:
            leave_out(decoder, &view)
        while True:
            total = joined_size(decoder, decoder.shown, &view, &not_ascii)
            if strip:
                total -= spaces_before(decoder, &view, strip)
            if as_text and not not_ascii:
                made = PyUnicode_New(total, 127)
                out = <uint8_t*> PyUnicode_DATA(made)
                bp_use_large_pages(out, total)
                done = join(decoder, &view, out, total, strip, False)  # a constant: each has a loop of its own
            else:
                made = PyBytes_FromStringAndSize(NULL, total)
                out = <uint8_t*> PyBytes_AS_STRING(made)
                bp_use_large_pages(out, total)
                done = join(decoder, &view, out, total, strip, True)
            if done and decoder.gaps is not None and view.n:
                return made[:len(made) - decoder.gap(view.positions[view.n - 1])]
            if done:
                return made
            copy_ids(&view)
    finally:
        release_ids(&view)


cdef int leave_out(Decoder decoder, id_view* view) except -1:
    """Go on without the special tokens that are skipped."""
    cdef unsigned not_ascii = 0
    cdef Py_ssize_t i, kept = 0
    cdef uint32_t position
    cdef const uint8_t* skips
    joined_size(decoder, decoder.tables, view, &not_ascii)  # raises for an unknown id, with its index among all
    if view.owned == NULL:
        copy_ids(view)
    if decoder.skips is None:
        made = bytearray(decoder.tables.size + 1)
        for token_id in decoder.vocab.skipped:
            made[token_id if decoder.tables.slot_of != NULL else decoder.tokens.slot(token_id)] = 1
        decoder.skips = bytes(made)
    skips = decoder.skips
    for i in range(view.n):
        position = min(view.owned[i], <uint32_t> decoder.tables.size)  # the array may have changed
        view.owned[kept] = view.owned[i]
        kept += not skips[position]
    view.n = kept
    return 0


cdef Py_ssize_t spaces_before(Decoder decoder, id_view* view, int strip) except -1:
    """The number of spaces to leave out. OUT: view.first, view.size."""
    cdef const uint8_t* token
    cdef Py_ssize_t i, size = 0, spaces = 0
    view.first = 0
    while size == 0 and view.first < view.n:           # a token may be empty
        size = max(decoder.tables.token_at(view.positions[view.first], &token), 0)
        view.first += 1
    if strip == STRIP_TOKEN and view.first and is_unstripped(decoder, view.positions[view.first - 1]):
        view.first = 0
        return 0
    for i in range(size):
        spaces += token[i] == SPACE and (i == 0 or strip == STRIP_TOKEN)
    view.size = size - spaces
    if spaces == 0:
        view.first = 0
    return spaces


cdef bint is_unstripped(Decoder decoder, uint32_t position) except -1:
    if decoder.tables.slot_of == NULL:
        position = decoder.tokens.ids[position]
    return position in decoder.unstripped


cdef uint8_t* put_first(Decoder decoder, const id_view* view, uint8_t* out, int strip) noexcept nogil:
    """Write the token whose spaces are left out; returns where it ends, NULL where it is no longer the same."""
    cdef const uint8_t* token
    cdef Py_ssize_t size = decoder.tables.token_at(view.positions[view.first - 1], &token), i, kept = 0
    for i in range(size):
        if token[i] == SPACE and (i == 0 or strip == STRIP_TOKEN):
            continue
        if kept < view.size:
            out[kept] = token[i]
        kept += 1
    return out + kept if kept == view.size else NULL


# These two release the interpreter lock for many ids. join returns 0 if the ids have changed since joined_size
# counted them.

cdef int64_t joined_size(Decoder decoder, ByteJoin tables, id_view* view, unsigned* not_ascii) except -1:
    cdef uint32_t unknown = 0
    cdef int64_t total = 0, part = 0
    cdef Py_ssize_t at = 0, n
    not_ascii[0] = 0
    if view.n <= KEEP_LOCK:
        total = part = tables.count(view.positions, view.n, not_ascii, &unknown)
    else:
        with nogil:
            while at < view.n:
                n = min(<Py_ssize_t> SLICE, view.n - at)
                part = tables.count(view.positions + at, n, not_ascii, &unknown)
                if part < 0 or bp_work(&view.watch, n):
                    break
                total += part
                at += n
        bp_watch_check(&view.watch)
    if part < 0:
        raise decoder.unknown(unknown, at - 1 - part)
    return total


cdef int join(Decoder decoder, id_view* view, uint8_t* out, int64_t total, int strip, unsigned not_ascii) except -1:
    cdef uint8_t* end = out + total
    cdef Py_ssize_t at = view.first, n
    if at:
        out = put_first(decoder, view, out, strip)
        if out == NULL:
            return False
    if view.n <= KEEP_LOCK:
        return decoder.shown.join(view.positions + at, view.n - at, out, end, not_ascii) == end
    with nogil:
        while at < view.n and out != NULL:
            n = min(<Py_ssize_t> SLICE, view.n - at)
            out = decoder.shown.join(view.positions + at, n, out, end, not_ascii)
            if bp_work(&view.watch, n):
                break
            at += n
    bp_watch_check(&view.watch)
    return out == end


cdef int read_ids(Decoder decoder, object ids, id_view* view) except -1:
    """OUT: the positions of all ids; an array of uint32 is read in place. release_ids undoes it."""
    cdef Py_ssize_t i, slot
    if decoder.tokens is None:
        raise TypeError("this tokenizer has not been set up")
    if BP_LOAD(&decoder.filled) == NULL:
        decoder.fill()
    if PyList_CheckExact(ids) or PyTuple_CheckExact(ids):
        read_sequence(decoder, ids, view)
    elif isinstance(ids, (str, bytes, bytearray)) or not PyObject_CheckBuffer(ids):
        read_sequence(decoder, _listed(ids), view)
    elif not hold_array(ids, view) and not hold_array(as_uint32(decoder, ids), view):
        raise SystemError("an array of uint32 is not one of native integers")
    if decoder.tables.slot_of != NULL:
        return 0
    if view.held:
        copy_ids(view)
    for i in range(view.n):
        if i & (SLICE - 1) == SLICE - 1 and bp_work(&view.watch, SLICE):
            break
        slot = decoder.tokens.slot(view.owned[i])
        if slot < 0:
            raise decoder.unknown(view.owned[i], i)
        view.owned[i] = <uint32_t> slot
    bp_watch_check(&view.watch)
    return 0


cdef bint hold_array(object ids, id_view* view) except -1:
    """True for a contiguous array of native uint32, which is then read in place."""
    cdef Py_buffer* buffer = &view.buffer
    try:
        PyObject_GetBuffer(ids, buffer, PyBUF_FORMAT | PyBUF_ND)
    except (BufferError, ValueError):              # not contiguous, or no numbers
        return False
    if (buffer.ndim != 1 or buffer.itemsize != sizeof(uint32_t) or <size_t> buffer.buf % sizeof(uint32_t)
            or buffer.format == NULL or strcmp(buffer.format, b"I") and strcmp(buffer.format, b"L")):
        PyBuffer_Release(buffer)
        return False
    view.held = True
    view.positions = <const uint32_t*> buffer.buf
    view.n = buffer.len // <Py_ssize_t> sizeof(uint32_t)
    return True


cdef object as_uint32(Decoder decoder, object ids):
    """An array of integers of any kind, order and layout as one of uint32."""
    import numpy                                   # not at the top: lists do without it
    given = numpy.asarray(ids)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        hint = ("; decode_batch takes several rows" if given.ndim > 1
                else "; astype makes an array of another type" if given.ndim else "")
        raise TypeError(f"ids is a one-dimensional array of integers, not one of {given.ndim} dimensions and type "
                        f"{given.dtype!s:.60}{hint}")
    if given.size and (given.min() < 0 or given.max() > <uint32_t> -1):
        at = int(numpy.argmax((given < 0) | (given > <uint32_t> -1)))
        raise decoder.unknown(int(given[at]), at)
    made = numpy.empty(given.size, numpy.uint32)   # astype may keep the byte order of the array
    made[:] = given
    return made


cdef int read_sequence(Decoder decoder, object ids, id_view* view) except -1:
    # IN: an exact list or tuple. A subclass may report any length and items.
    cdef bint is_list = PyList_CheckExact(ids)
    cdef Py_ssize_t n = PyList_GET_SIZE(ids) if is_list else PyTuple_GET_SIZE(ids), i = 0, stop
    cdef object item
    cdef int64_t value = 0
    cdef uint32_t* positions = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
    if positions == NULL:
        raise MemoryError(f"no memory for {n} token ids")
    while i < n and value >= 0:
        if i and bp_work(&view.watch, SLICE):
            break
        with cython.critical_section(ids):
            if is_list and PyList_GET_SIZE(ids) < n:       # by a handler of signals, or by another thread
                break
            stop = min(i + SLICE, n)
            i += values_of(PySequence_Fast_ITEMS(ids) + i, stop - i, positions + i)
            if i < stop:
                item = <object> PySequence_Fast_ITEMS(ids)[i]
                value = bp_token_value(item)
    if value < 0:
        free(positions)
        if value == -1:
            raise decoder.unknown(item, i)
        listed = []
        for i, each in enumerate(ids):
            listed.append(_index(each, i))         # not an int: numpy integers and others with __index__ are
        return read_sequence(decoder, listed, view)
    view.owned = positions
    view.positions = positions
    view.n = n
    bp_watch_check(&view.watch)
    if i < n:
        raise RuntimeError(f"the list of {n} token ids got shorter while it was read")
    return 0


cdef void release_ids(id_view* view) noexcept:
    free(view.owned)
    if view.held:
        PyBuffer_Release(&view.buffer)


cdef int copy_ids(id_view* view) except -1:
    """Go on with a private copy of an array."""
    view.owned = <uint32_t*> malloc((view.n + 1) * sizeof(uint32_t))
    if view.owned == NULL:
        raise MemoryError(f"no memory for {view.n} token ids")
    memcpy(view.owned, view.positions, view.n * sizeof(uint32_t))
    view.positions = view.owned
    return 0


cdef object _index(object value, Py_ssize_t i):
    if hasattr(type(value), "__index__"):
        return PyNumber_Index(value)               # raises where that gives no int
    several = "; decode_batch takes several sequences" if isinstance(value, (list, tuple)) else ""
    raise TypeError(f"token ids are ints, and ids[{i}] is {short_repr(value)}{several}")


cdef list _listed(object ids):
    """A list of the ids of any other iterable."""
    hint = ""
    if isinstance(ids, int):
        hint = "; put one id into a list, too"
    elif isinstance(ids, str):
        hint = "; encode gives the ids of a text"
    elif isinstance(ids, (bytes, bytearray)):
        hint = "; numpy.frombuffer(ids, dtype) makes an array of ids in binary form"
    elif isinstance(ids, Mapping):
        hint = "; give the ids that are in it" + (', ids["input_ids"]' if "input_ids" in ids else "")
    else:
        try:
            iterator = iter(ids)
        except TypeError:
            pass
        else:
            return list(iterator)
    raise TypeError(f"ids is a sequence of ints or an integer array, not {short_repr(ids)}{hint}")
