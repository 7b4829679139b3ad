# cython: annotation_typing=False
"""Text of token ids that arrive one at a time.

A stream keeps the bytes of the incomplete character, three at most, and none of its output. So an id costs the same
whatever came before, and a server can hold a stream for each answer. CPython's decoder, which stops before an
incomplete character, defines a complete one.
"""
from __future__ import annotations

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from ..headers.python cimport (
    PyBytes_AS_STRING, PyBytes_GET_SIZE, PyIndex_Check, PyList_CheckExact, PyLong_CheckExact, PyNumber_Index,
    PyTuple_CheckExact, PyUnicode_DecodeUTF8Stateful,
)
from ..headers.vectors cimport bp_token_value
from ._decode cimport Decoder

from ..errors import UnknownTokenError, short_repr


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
        self.handler = self.decoder.handler("replace")
        self.at_first_token = self.decoder.strip != 0
        if skip_special_tokens:
            self.skipped = tokenizer._vocab.skipped
        text_of_many(self, context)
        self.handler = self.decoder.handler(errors)

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
            return text_of_one(self, ids)
        if not (PyList_CheckExact(ids) or PyTuple_CheckExact(ids)) and PyIndex_Check(ids):
            try:
                return text_of_one(self, PyNumber_Index(ids))
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


cdef str text_of_one(StreamDecoder stream, object token_id):
    """The text that an id completes."""
    cdef Decoder decoder = stream.decoder
    cdef int64_t value = bp_token_value(token_id)
    cdef const uint8_t* token
    cdef Py_ssize_t size = -1
    cdef str text
    if value == -2:
        return text_of_one(stream, PyNumber_Index(token_id))
    if value >= 0 and decoder.tables.slot_of == NULL:
        value = decoder.tokens.slot(<uint32_t> value)
    if value >= 0:
        size = decoder.tables.token_at(<uint32_t> value, &token)
    if size < 0:
        raise decoder.unknown(token_id, -1)
    if stream.skipped is not None and token_id in stream.skipped:
        return ""
    if decoder.gaps is not None:
        before = b" " * stream.gap
        stream.gap = decoder.gap(<uint32_t> value)
        return text_of_bytes_of(stream, before + decoder.decode_bytes([token_id]))
    if stream.at_first_token:
        text = text_of_bytes_of(stream, decoder.decode_bytes([token_id]))  # may raise: at_first_token stays as it was
        stream.at_first_token = decoder.decode_bytes([token_id], False, True) == b""
        return text
    return text_of_bytes(stream, token, size)


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
            parts.append(text_of_one(stream, token_id))
    except BaseException as error:
        stream.open = opened
        stream.held = held
        stream.at_first_token, stream.gap = at_first_token, gap
        if isinstance(error, UnknownTokenError):
            raise stream.decoder.unknown(error.args[0], len(parts)) from None
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


def texts_of(tokenizer, ids, errors, skip_special_tokens):
    """The texts that ``decode_iterable`` yields; anything but an iterable of ids is refused at the call."""
    stream = StreamDecoder(tokenizer, errors=errors, skip_special_tokens=skip_special_tokens)
    try:
        if isinstance(ids, (str, bytes, bytearray)):
            raise TypeError()
        ids = iter(ids)
    except TypeError:
        raise TypeError(f"ids is an iterable of ints, not {short_repr(ids)}") from None
    return _texts(stream, ids)


def _texts(StreamDecoder stream not None, ids):
    """Yield the texts of an iterator of ids as they are complete, then the pending bytes."""
    for i, token_id in enumerate(ids):
        try:
            text = text_of_one(stream, token_id)
        except UnknownTokenError as error:
            raise stream.decoder.unknown(error.args[0], i) from None
        except TypeError:
            raise TypeError(f"token ids are ints, and ids[{i}] is {short_repr(token_id)}") from None
        if text:
            yield text
    if text := stream.flush():
        yield text
