# cython: annotation_typing=False
"""Token ids to bytes and text.

Two passes: the sizes of all tokens give the length, then one allocation and one copy (`ByteJoin` of _merge.pyx).
Where all tokens of a call are ASCII, the str is written directly; other text is joined first and read as UTF-8 then,
since a character may span tokens: by vectors where it is valid (bp_str_of_utf8), else by CPython's decoder with the
error handler.

An array of uint32 is read in place (NumPy converts other integers). Another thread, or another process that shares
the memory, may write to it meanwhile. So the second pass checks each value against the count of the first (join.h);
after a difference, both passes run again on a copy. Copying first would take longer than the check.

A stream keeps the bytes of the incomplete character, three at most, and none of its output. So an id costs the same
whatever came before, and a server can hold a stream for each answer. CPython's decoder, which stops before an
incomplete character, defines a complete one.
"""
from __future__ import annotations

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset, strcmp

from .._merge cimport BP_NOT_ASCII, ByteJoin
from ..headers cimport SPACE, bp_use_large_pages, bp_watch, bp_watch_check, bp_work
from ..headers.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyErr_CheckSignals, PyIndex_Check,
    PyList_CheckExact, PyList_GET_SIZE, PyLong_CheckExact, PyNumber_Index, PyTuple_CheckExact, PyTuple_GET_SIZE,
    PyUnicode_DecodeUTF8, PyUnicode_DecodeUTF8Stateful,
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

cdef object END = object()
cdef tuple STRIPS = ("none", "one", "token")


cdef struct id_view:
    # Positions of ids among the heads of a Decoder. IN: all zero.
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

    def set_up(self, TokenTable tokens not None, vocab):
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

    cdef bytes decode_bytes(self, object ids, bint skip=False, bint middle=False):
        return joined(self, ids, False, 0 if middle else self.strip, skip)

    cdef str decode(self, object ids, object errors, bint skip=False):
        cdef bytes data, handler = None
        if errors is not None or BP_LOAD(&self.filled) == NULL:
            handler = handler_of(self, errors)
        if self.byte_tokens is not None and not PyList_CheckExact(ids) and hasattr(ids, "__next__"):
            ids = list(ids)                        # they may be read twice
        made = joined(self, ids, True, self.strip, skip)
        if type(made) is str:
            return made
        data = <bytes> made
        made = bp_str_of_utf8(<const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        if made is None:
            handler = handler_of(self, None) if handler is None else handler
            if handler == b"replace" and self.byte_tokens is not None:
                return replace(self, filterfalse(self.vocab.skipped.__contains__, ids) if skip else ids)
            return PyUnicode_DecodeUTF8(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), handler)
        return made

    def decode_batch(self, batch, errors, bint skip):
        cdef list texts = []
        handler_of(self, errors)
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

    def char_spans(self, ids, bytes text not None):
        """(start, end) in characters of each token of a text whose UTF-8 is the bytes of the tokens joined."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
        cdef Py_ssize_t at = 0, started = 0, first, end = 0, i
        cdef const uint8_t* token
        cdef unsigned not_ascii = 0
        cdef list spans
        cdef id_view view
        memset(&view, 0, sizeof(id_view))
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

    def unknown(self, token_id, Py_ssize_t index=-1):
        """The error to raise for an id, which is ids[index] or, where that is negative, stands alone."""
        cdef TokenTable tokens = self.tokens
        have = f"{tokens.size} tokens, with ids from {tokens.ids[0]} to {tokens.ids[tokens.size - 1]}" \
            if tokens.size else "no tokens"
        return UnknownTokenError(token_id, f"no token has the id {token_id}"
                                 f"{'' if index < 0 else f' (ids[{index}])'}: the vocabulary has {have}")


cdef ByteJoin joiner_of(TokenTable tokens):
    cdef ByteJoin tables = ByteJoin()
    tables.fill(tokens.ids, tokens.size, tokens.starts, tokens.blob, tokens.slot_of, tokens.id_span)
    return tables


cdef int fill(Decoder decoder) except -1:
    """The tables, when ids are first decoded."""
    cdef TokenTable texts = None
    cdef ByteJoin tables = joiner_of(decoder.tokens), shown = tables
    cdef dict gaps = None
    if decoder.rewrites:
        from ..vocabulary.spelling import shown_tokens  # not at the top: few vocabularies need it

        texts, gaps = shown_tokens(decoder.vocab)
        shown = joiner_of(texts)
    with cython.critical_section(decoder):
        if decoder.filled == NULL:                 # else by another thread in between
            decoder.tables, decoder.shown, decoder.texts, decoder.gaps = tables, shown, texts, gaps
            BP_STORE(&decoder.filled, <void*> tables)  # last: other threads read the tables from now on
    return 0


cdef bytes handler_of(Decoder decoder, object errors):
    """The name of an error handler, in C; the tokenizer's own where errors is None. The tables are filled then."""
    if decoder.tokens is None:
        raise TypeError("this tokenizer has not been set up")
    if BP_LOAD(&decoder.filled) == NULL:
        fill(decoder)
    if errors is None:
        return decoder.errors.encode()
    if not isinstance(errors, str):
        raise TypeError(f"errors is the name of a codec error handler, not {short_repr(errors)}")
    try:
        codecs.lookup_error(errors)
    except LookupError:
        raise LookupError(
            f"errors {short_repr(errors)} is no codec error handler (strict, replace, ignore, ...)") from None
    return (<str?> errors).encode()


cdef str replace(Decoder decoder, object ids):
    """Text in which U+FFFD stands for each byte of a run of byte tokens that is not UTF-8."""
    cdef bytes data
    cdef list parts = []
    for in_bytes, run in groupby(map(operator.index, ids), decoder.byte_tokens.__contains__):
        strip = STRIP_TOKEN if decoder.strip == STRIP_TOKEN and not parts else 0
        data = joined(decoder, list(run), False, strip, False)
        if in_bytes and bp_utf8_valid(<const uint8_t*> PyBytes_AS_STRING(data), len(data)) < len(data):
            parts.append("\ufffd" * len(data))
        else:
            parts.append(data.decode("utf-8"))
    text = "".join(parts)
    return text.removeprefix(" ") if decoder.strip == STRIP_ONE else text


cdef Py_ssize_t gap_after(Decoder decoder, uint32_t position) except -1:
    """The spaces that a text loses after its last token, by its position."""
    return decoder.gaps[decoder.tokens.ids[position] if decoder.tables.joiner.slot_of == NULL else position]


cdef inline object joined(Decoder decoder, object ids, bint as_text, int strip, bint skip):
    """The bytes of tokens, without some spaces at their beginning; a str if that is asked for and all are ASCII."""
    cdef id_view view
    cdef unsigned not_ascii = 0
    cdef int64_t total
    cdef uint8_t* out
    cdef bint done
    memset(&view, 0, sizeof(id_view))
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
                return made[:len(made) - gap_after(decoder, view.positions[view.n - 1])]
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
        made = bytearray(decoder.tables.joiner.size + 1)
        for token_id in decoder.vocab.skipped:
            made[token_id if decoder.tables.joiner.slot_of != NULL else decoder.tokens.slot(token_id)] = 1
        decoder.skips = bytes(made)
    skips = decoder.skips
    for i in range(view.n):
        position = min(view.owned[i], <uint32_t> decoder.tables.joiner.size)  # the array may have changed
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
    if decoder.tables.joiner.slot_of == NULL:
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
        fill(decoder)
    if PyList_CheckExact(ids) or PyTuple_CheckExact(ids):
        read_sequence(decoder, ids, view)
    elif isinstance(ids, (str, bytes, bytearray)) or not PyObject_CheckBuffer(ids):
        read_sequence(decoder, _listed(ids), view)
    elif not hold_array(ids, view) and not hold_array(as_uint32(decoder, ids), view):
        raise SystemError("an array of uint32 is not one of native integers")
    if decoder.tables.joiner.slot_of != NULL:
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
    elif isinstance(ids, (set, frozenset)):
        hint = "; a set has no order"
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


# ---- streams

@cython.final
cdef class StreamDecoder:
    """Text of token ids that arrive one at a time; made by :meth:`bpetite.Tokenizer.decode_stream`.

    Each id is read once and then forgotten: a token costs the same however long the answer is, and a stream takes some
    150 bytes. A stream is not shared between threads.

    >>> from bpetite import Tokenizer
    >>> stream = Tokenizer.train("ab ab ab", 258).decode_stream()
    >>> stream.feed(256), stream.feed(0xC3), stream.feed([0xA9, 257])
    ('ab', '', 'é ab')
    """

    cdef Decoder decoder
    cdef bytes handler             # the name of the error handler
    cdef frozenset skipped         # ids that give no text, or None
    cdef uint8_t open[4]           # the bytes of an incomplete character: three at most
    cdef Py_ssize_t held           # their number
    cdef bint at_first_token       # the next token is the first one, which may lose spaces
    cdef Py_ssize_t gap            # spaces that come before the next token

    def __cinit__(self, tokenizer, *, errors=None, skip_special_tokens=False, context=()):
        self.decoder = tokenizer._decoder
        self.handler = handler_of(self.decoder, "replace")
        self.at_first_token = self.decoder.strip != 0
        if skip_special_tokens:
            self.skipped = tokenizer._vocab.skipped
        text_of_many(self, context)
        self.handler = handler_of(self.decoder, errors)

    @cython.critical_section
    def feed(self, ids):
        """The text that these ids complete: whole characters, or "" as long as there is none.

        Args:
            ids: The next token id, or several, as for :meth:`bpetite.Tokenizer.decode`.

        Raises:
            UnknownTokenError: A KeyError: an id is not in the vocabulary.
            UnicodeDecodeError: The bytes are not UTF-8, and errors is "strict".
            TypeError: ids are neither an int nor a sequence or array of ints.

        After an error the stream is as it was before the call.

        >>> from bpetite import Tokenizer
        >>> stream = Tokenizer.train("ab ab ab", 258).decode_stream()
        >>> [stream.feed(token_id) for token_id in [256, 0xE4, 0xBD, 0xA0]]
        ['ab', '', '', '你']
        """
        if PyLong_CheckExact(ids):
            return text_of_one(self, ids, -1)
        if not (PyList_CheckExact(ids) or PyTuple_CheckExact(ids)) and PyIndex_Check(ids):
            try:
                return text_of_one(self, PyNumber_Index(ids), -1)
            except TypeError:                          # an array: numpy gives the index of none that has a dimension
                pass
        return text_of_many(self, ids)

    @cython.critical_section
    def flush(self):
        """The text of the pending bytes at the end of the ids; the stream is then as new.

        Raises:
            UnicodeDecodeError: A character is not complete, and errors is "strict".

        >>> from bpetite import Tokenizer
        >>> stream = Tokenizer.train("ab ab ab", 258).decode_stream(errors="replace")
        >>> stream.feed([256, 0xE4, 0xBD]), stream.flush()
        ('ab', '�')
        """
        cdef str text = PyUnicode_DecodeUTF8Stateful(<char*> self.open, self.held, self.handler, NULL)
        self.held = self.gap = 0
        self.at_first_token = self.decoder.strip != 0
        return text

    @cython.critical_section
    def copy(self):
        """An independent stream that goes on from here, for a second answer to the same beginning.

        >>> from bpetite import Tokenizer
        >>> stream = Tokenizer.train("ab ab ab", 258).decode_stream(context=[0xC3])
        >>> stream.copy().feed(0xA9), stream.feed(0xA8)
        ('é', 'è')
        """
        cdef StreamDecoder other = StreamDecoder.__new__(StreamDecoder, self)
        other.handler = self.handler
        other.skipped = self.skipped
        other.open = self.open
        other.held = self.held
        other.at_first_token, other.gap = self.at_first_token, self.gap
        return other

    def __copy__(self):
        return self.copy()

    @property
    def _decoder(self):
        return self.decoder

    @property
    def _held(self):
        """The number of bytes of an incomplete character."""
        return self.held


cdef str text_of_one(StreamDecoder stream, object token_id, Py_ssize_t index):
    """The text that an id completes, which is ids[index] or, where that is negative, stands alone."""
    cdef Decoder decoder = stream.decoder
    cdef int64_t value = bp_token_value(token_id)
    cdef const uint8_t* token
    cdef Py_ssize_t size = -1
    cdef str text
    if value == -2:
        return text_of_one(stream, _index(token_id, index), index)
    if value >= 0 and decoder.tables.joiner.slot_of == NULL:
        value = decoder.tokens.slot(<uint32_t> value)
    if value >= 0:
        size = decoder.tables.token_at(<uint32_t> value, &token)
    if size < 0:
        raise decoder.unknown(token_id, index)
    if stream.skipped is not None and token_id in stream.skipped:
        return ""
    if decoder.gaps is not None:
        before = b" " * stream.gap
        stream.gap = gap_after(decoder, <uint32_t> value)
        return text_of_bytes_of(stream, before + decoder.decode_bytes([token_id]))
    if stream.at_first_token:
        text = text_of_bytes_of(stream, decoder.decode_bytes([token_id]))  # may raise: at_first_token stays as it was
        stream.at_first_token = decoder.decode_bytes([token_id], False, True) == b""
        return text
    if stream.held or decoder.tables.joiner.sizes[value] & BP_NOT_ASCII:
        return text_of_bytes(stream, token, size)
    text = PyUnicode_New(size, 127)                # CPython's decoder takes longer for a few bytes
    memcpy(PyUnicode_DATA(text), token, size)
    return text


cdef str text_of_many(StreamDecoder stream, object ids):
    cdef Py_ssize_t held = stream.held
    cdef uint8_t[4] opened = stream.open
    cdef bint at_first_token = stream.at_first_token
    cdef Py_ssize_t gap = stream.gap
    cdef list parts = []
    if stream.skipped is None and not at_first_token and stream.decoder.gaps is None:
        return text_of_bytes_of(stream, stream.decoder.decode_bytes(ids, False, True))
    if isinstance(ids, (str, bytes, bytearray)):
        stream.decoder.decode_bytes(ids)           # raises
    try:
        for token_id in ids:
            parts.append(text_of_one(stream, token_id, len(parts)))
    except BaseException:
        stream.open = opened
        stream.held = held
        stream.at_first_token, stream.gap = at_first_token, gap
        raise
    return "".join(parts)


cdef inline str text_of_bytes_of(StreamDecoder stream, bytes data):
    return text_of_bytes(stream, <const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef str text_of_bytes(StreamDecoder stream, const uint8_t* data, Py_ssize_t size):
    cdef bytes joined
    cdef Py_ssize_t read = -1
    cdef str text
    if stream.held:
        joined = stream.open[:stream.held] + data[:size]
        data, size = <const uint8_t*> PyBytes_AS_STRING(joined), PyBytes_GET_SIZE(joined)
    text = PyUnicode_DecodeUTF8Stateful(<const char*> data, size, stream.handler, &read)
    if read < 0:                                   # up to Python 3.11.2 it is not set where all is ASCII
        read = size
    stream.held = min(size - read, 3)
    memcpy(stream.open, data + read, stream.held)
    return text


def decode_stream(self: TokenizerBase, *, errors: ErrorHandler | None = None, skip_special_tokens: bool = False,
                  context: Ids = ()) -> StreamDecoder:
    """A decoder of token ids that arrive one at a time, as a server streams them; a :class:`StreamDecoder`.

    Its texts are whole characters, and joined they are :meth:`bpetite.Tokenizer.decode` of all ids.

    Args:
        errors: The treatment of bytes that are not UTF-8, as for :meth:`bpetite.Tokenizer.decode`.
        skip_special_tokens: As for :meth:`bpetite.Tokenizer.decode`.
        context: Ids whose text is out already; if they end inside a character, the first ids complete it.

    Raises:
        LookupError: No codec error handler has the name ``errors``.
        UnknownTokenError: A KeyError: an id of the context is not in the vocabulary.

    >>> from bpetite import Tokenizer
    >>> stream = Tokenizer.train("ab ab ab", 258).decode_stream(skip_special_tokens=True)
    >>> stream.feed([256, 257, 258]) + stream.flush()
    'ab ab'
    """
    return StreamDecoder(self, errors=errors, skip_special_tokens=skip_special_tokens, context=context)


@cython.final
cdef class TextsOfIds:
    """The texts of an iterator of ids as they are complete, then the pending bytes."""

    cdef StreamDecoder stream
    cdef object ids                # None after the last one
    cdef Py_ssize_t index          # of the next id

    def __cinit__(self, StreamDecoder stream not None, ids):
        self.stream, self.ids = stream, ids

    def __iter__(self):
        return self

    @cython.critical_section
    def __next__(self):
        cdef str text = ""
        while not text:
            if self.ids is None:
                raise StopIteration
            token_id = next(self.ids, END)
            if token_id is END:
                self.ids = None
                text = self.stream.flush()
            else:
                self.index += 1
                text = text_of_one(self.stream, token_id, self.index - 1)
        return text


def texts_of(tokenizer, ids, errors, skip_special_tokens):
    """The texts that ``decode_iterable`` yields; anything but an iterable of ids is refused at the call."""
    stream = StreamDecoder(tokenizer, errors=errors, skip_special_tokens=skip_special_tokens)
    try:
        if isinstance(ids, (str, bytes, bytearray)):
            raise TypeError()
        ids = iter(ids)
    except TypeError:
        raise TypeError(f"ids is an iterable of ints, not {short_repr(ids)}") from None
    return TextsOfIds(stream, ids)
