# cython: annotation_typing=False
"""The compiled base of bpetite.Tokenizer: text to ids, ids to text.

A method in Python around encode or decode would cost more than a short text takes, so they are compiled. Each is a few
lines over the vocabulary, the encoder and the decoder that it holds. It is the only base class.

Annotations are for people and ``help``; the stub has the same ones for type checkers.
"""
from __future__ import annotations

from cpython.array cimport array, clone
from libc.stdint cimport int64_t, uint8_t

from .._merge cimport Dropout
from ..headers.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyLong_CheckExact, PyObject
from ..headers.utf8_write cimport BP_UTF8_SLACK, bp_utf8_from_units
from ..vocabulary._alphabet cimport AlphabetTable
from ..vocabulary._tokens cimport TokenTable, size_at
from ._decode cimport Decoder
from ._encode cimport Encoder, EncodingTables, Worker, encode_range, text_view, view_range
from ._ids cimport list_of, take_ids
from ._special cimport Specials, SpecialSets

from array import array as new_array

from ..errors import check_integer, not_a_text, short_repr
from ._batch import Batch, encode_long
from ._decode import texts_of
from ._threads import thread_count

cdef extern from "core/immortal.h":
    void bp_make_immortal(object) noexcept

cdef enum:
    SHORTEST_RANGE = 64        # characters or bytes, where a limit of tokens decides what is read
    FIRST_RANGE = 256          # of the first one: it tells the rate
    LONGEST_RANGE = 1 << 16

cdef array INT64 = new_array("q")
cdef object ALL = "all"            # the objects that the names stand for nearly everywhere
cdef object UINT32 = "uint32"


cdef class TokenizerBase:
    """Text to token ids, and back."""
    cdef readonly object _vocab
    cdef readonly object _pipeline
    cdef readonly object _pretokenizer
    cdef readonly bint _cut_in_python  # by the pipeline, where texts are not encoded whole
    cdef readonly Encoder _encoder
    cdef readonly Decoder _decoder

    def __cinit__(self, *args, **_):
        # here, since a call with a name alone ends before __init__
        if args and (isinstance(args[0], str) or hasattr(args[0], "__fspath__")):
            raise TypeError(f"vocab is a dict of id -> bytes, not {short_repr(args[0])}: Tokenizer.load takes a file, "
                            f"and Tokenizer.from_pretrained a name")
        self._encoder = Encoder()
        self._decoder = Decoder()

    def _set_up(self, vocab, cache_bytes, pretokenizer, rewriter=None, pipeline=None):
        """Set a new instance up, once.

        Args:
            vocab: The :class:`bpetite.Vocab` that it runs.
            cache_bytes: Bound of the word cache of each thread that encodes; 0 for none.
            pretokenizer: Cuts text into pre-tokens: `scanner`, or None, and `ends(bytes)`.
            rewriter: A :class:`Rewriter` of the text between special tokens.
            pipeline: Cuts the text in the rare cases where special tokens, splits or normalization are not plain:
                `items(text, specials)` yields the ids of special tokens, bytes for the pretokenizer to cut, and pairs
                of bytes and the ends of the pre-tokens in them. One that is `scanned_alone` only traces.
        """
        cache_bytes = check_integer("cache_bytes", cache_bytes, 0, most=(1 << 62) - 1)
        tables = EncodingTables(vocab.tokens, vocab.merge_table, vocab.special_only, pretokenizer.scanner,
                                vocab.merges is None or vocab.ignore_merges, vocab.alphabet_table,
                                "" if pipeline is None else pipeline.prefix, rewriter,
                                *(((), "") if pipeline is None else (pipeline.late, pipeline.dropped)))
        self._encoder.set_up(tables, SpecialSets(vocab.special_tokens), pretokenizer, pipeline, cache_bytes)
        self._decoder.set_up(vocab.tokens, vocab)
        self._vocab, self._pretokenizer, self._pipeline = vocab, pretokenizer, pipeline
        self._cut_in_python = pipeline is not None and not (pipeline.scanned_alone and rewriter is None)

    # ---- text to ids

    def encode(self, text: Text, *, allowed_special: SpecialSelection = "all",
               disallowed_special: SpecialSelection = (), num_threads: int | None = 1,
               add_special_tokens: bool = False, dropout: float | bool | None = None,
               seed: SupportsIndex | None = None) -> list[int]:
        """Token ids of a text, with special tokens recognised.

        Use :meth:`encode_ordinary` for text that you do not trust: here a user who writes ``<|endoftext|>`` gets the
        special token.

        Args:
            text: str, or bytes in UTF-8.
            allowed_special: Special tokens to recognise: "all" or a collection of literals. Any other literal is
                ordinary text.
            disallowed_special: Special tokens that must not be in the text: a collection of literals, or "all" for
                every one that is not allowed.
            num_threads: Threads that share a long text; one for each usable processor when None, and never more. The
                ids never depend on it.
            add_special_tokens: Put the special tokens of the tokenizer's template, if it has one, around the text.
            dropout: Leave out merges at random (BPE-dropout), each occurrence with this probability at each step; True
                for the probability that the tokenizer's file declares. 0 is plain encoding, 1 gives bytes.
            seed: With dropout, an int from 0 to 2**64 - 1 that decides the draws; None draws one for this call.

        Raises:
            ValueError: A disallowed special token is in the text, with its offset; a byte of it has no token.
            UnicodeEncodeError: The str holds a lone surrogate, with its position.
            UnicodeDecodeError: The bytes are not UTF-8, with the offset.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode("ab<|endoftext|>ab")
        [256, 258, 256]
        """
        around = self._vocab.around if add_special_tokens else None
        ids = listed(self, encoded(self, text, allowed_special, disallowed_special, num_threads, dropout, seed))
        return ids if around is None else [*around[0], *ids, *around[1]]

    def encode_ordinary(self, text: Text, *, num_threads: int | None = 1) -> list[int]:
        """Token ids of a text in which no special token is recognised, and none is added; see :meth:`encode`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_ordinary("<|endoftext|>")[:5]
        [60, 124, 101, 110, 100]
        """
        return listed(self, encoded(self, text, None, None, num_threads, None, None, True))

    def encode_to_numpy(self, text: Text, *, dtype: DTypeLike = "uint32", allowed_special: SpecialSelection = "all",
                        disallowed_special: SpecialSelection = (), num_threads: int | None = 1,
                        add_special_tokens: bool = False, dropout: float | bool | None = None,
                        seed: SupportsIndex | None = None) -> NDArray[Any]:
        """Token ids of a text as an array; see :meth:`encode`.

        Args:
            dtype: uint32, int32, or uint16, which takes half of the memory.

        Raises:
            ValueError: Also where an id of the vocabulary is too large for ``dtype``, with the largest id.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_to_numpy("ab ab", dtype="uint16")
        array([256, 257], dtype=uint16)
        """
        around = self._vocab.around if add_special_tokens else None
        made = dtype_of(self, dtype)
        cdef Worker worker = encoded(self, text, allowed_special, disallowed_special, num_threads, dropout, seed,
                                     False, made.itemsize if made is not None else 4)
        try:
            ids = take_ids(worker)
        finally:
            self._encoder.give(worker)
        if made is not None:
            ids = ids.view(made)
        if around is None:
            return ids
        import numpy                           # not at the top: lists do without it
        return numpy.concatenate((around[0], ids, around[1]), dtype=ids.dtype, casting="unsafe")

    def count(self, text: Text, *, limit: SupportsIndex | None = None, allowed_special: SpecialSelection = "all",
              disallowed_special: SpecialSelection = (), num_threads: int | None = 1,
              add_special_tokens: bool = False) -> int:
        """The number of tokens that :meth:`encode` gives for a text; no ids are handed to Python.

        Args:
            text: As for :meth:`encode`, and so are the other arguments.
            limit: Stop when more tokens than this are certain, and return ``limit + 1``. Then only the beginning of a
                long text is read, on one thread, or nothing if its length decides; the unread rest is not checked.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).count("ab ab")
        2
        """
        cdef Py_ssize_t n, most, around = sum(map(len, self._vocab.around)) if add_special_tokens else 0
        cdef Worker worker
        if limit is None:
            worker = encoded(self, text, allowed_special, disallowed_special, num_threads, None, None)
            n = worker.used
            self._encoder.give(worker)
            return n + around
        most = min(check_integer("limit", limit, 0), 1 << 61)
        recognised, refused = self._encoder.specials.choose(allowed_special, disallowed_special)
        if refused is None and has_more(self._encoder, text, most):
            return most + 1
        worker = self._encoder.take()
        try:
            encode_up_to(self._encoder, worker, text, recognised, refused, max(most - around, 0), False)
            return min(worker.used + around, most + 1)
        finally:
            self._encoder.give(worker)

    def count_batch(self, texts: Iterable[Text], *, num_threads: int | None = None,
                    allowed_special: SpecialSelection = "all", disallowed_special: SpecialSelection = (),
                    add_special_tokens: bool = False, dropout: float | bool | None = None,
                    seed: SupportsIndex | None = None) -> NDArray[np.int64]:
        """The number of tokens of each text, int64[n]; no ids are made. See :meth:`encode_batch`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).count_batch(["ab", "ab ab", ""])
        array([1, 2, 0])
        """
        return batch_of(self, texts, num_threads, allowed_special, disallowed_special, add_special_tokens, dropout,
                        seed).counts()

    def encode_batch(self, texts: Iterable[Text], *, num_threads: int | None = None,
                     allowed_special: SpecialSelection = "all", disallowed_special: SpecialSelection = (),
                     add_special_tokens: bool = False, dropout: float | bool | None = None,
                     seed: SupportsIndex | None = None) -> list[list[int]]:
        """A list of token ids for each text; see :meth:`encode`.

        Args:
            texts: An iterable of str or UTF-8 bytes, or an Arrow array of texts (pyarrow, polars or pandas), for which
                no Python objects are made.
            num_threads: Threads to use; one for each usable processor when None, never more. No id depends on it.
            allowed_special: As for :meth:`encode`, and so are the other arguments. Dropout is another for each text.

        Raises:
            ValueError: As for :meth:`encode`, for the first text with an error; the message has its number.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_batch(["ab", "ab ab"])
        [[256], [256, 257]]
        """
        return batch_of(self, texts, num_threads, allowed_special, disallowed_special, add_special_tokens, dropout,
                        seed).lists()

    def encode_batch_to_numpy(self, texts: Iterable[Text], *, dtype: DTypeLike = "uint32",
                              num_threads: int | None = None, allowed_special: SpecialSelection = "all",
                              disallowed_special: SpecialSelection = (), add_special_tokens: bool = False,
                              dropout: float | bool | None = None, seed: SupportsIndex | None = None
                              ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """All token ids in one array, with the offset of each text; for the arguments see :meth:`encode_batch`, for
        ``dtype`` :meth:`encode_to_numpy`.

        Returns:
            ids dtype[n] and offsets int64[len(texts) + 1]: the ids of text i are ``ids[offsets[i]:offsets[i + 1]]``.

        >>> from bpetite import Tokenizer
        >>> ids, offsets = Tokenizer.train("ab ab ab", 258).encode_batch_to_numpy(["ab", "ab ab"])
        >>> ids.tolist(), offsets.tolist()
        ([256, 256, 257], [0, 1, 3])
        """
        made = dtype_of(self, dtype)
        batch = batch_of(self, texts, num_threads, allowed_special, disallowed_special, add_special_tokens, dropout,
                         seed)
        ids, offsets = batch.flat(4 if made is None else made.itemsize)
        return ids if made is None else ids.view(made), offsets

    # ---- ids to text

    def decode_bytes(self, ids: Ids, *, bint skip_special_tokens: bool = False) -> bytes:
        """The bytes of token ids, joined; special tokens give their literals. See :meth:`decode`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).decode_bytes([256, 257])
        b'ab ab'
        """
        return self._decoder.decode_bytes(ids, skip_special_tokens)

    def decode(self, ids: Ids, *, errors: ErrorHandler | None = None, bint skip_special_tokens: bool = False) -> str:
        """The text of token ids; special tokens give their literals.

        Args:
            ids: A list or other sequence of ints, or a one-dimensional integer array.
            errors: The treatment of bytes that are not UTF-8, as for ``bytes.decode``; the tokenizer's own setting
                (by default "strict") when None.
            skip_special_tokens: Special tokens give no text, unless their file marks them as "plain".

        Raises:
            UnknownTokenError: A KeyError: an id is not in the vocabulary; the argument is the id.
            TypeError: ids are no sequence or array of ints; a str or bytes is none.
            LookupError: No codec error handler has the name ``errors``.
            UnicodeDecodeError: The joined bytes are not UTF-8 and errors is "strict".

        >>> from bpetite import Tokenizer
        >>> tok = Tokenizer.train("ab ab ab", 258)
        >>> tok.decode([256, 257, 258]), tok.decode([256, 257, 258], skip_special_tokens=True)
        ('ab ab<|endoftext|>', 'ab ab')
        """
        return self._decoder.decode(ids, errors, skip_special_tokens)

    def decode_batch(self, batch: Iterable[Ids], *, errors: ErrorHandler | None = None,
                     bint skip_special_tokens: bool = False) -> list[str]:
        """The texts of several sequences of token ids, in order; see :meth:`decode`. Errors name the sequence.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).decode_batch([[256], [256, 257]])
        ['ab', 'ab ab']
        """
        return self._decoder.decode_batch(batch, errors, skip_special_tokens)

    def decode_iterable(self, ids: Iterable[SupportsIndex], *, errors: ErrorHandler | None = None,
                        bint skip_special_tokens: bool = False) -> Iterator[str]:
        """Yield the text of token ids in parts: whole characters, as soon as they are complete.

        The parts joined are :meth:`decode` of all ids. ``errors`` decides about an incomplete character at the end,
        where "strict" raises UnicodeDecodeError.

        Args:
            ids: An iterable of ints; it may be endless.
            errors: As for :meth:`decode`, and so are ``skip_special_tokens`` and the errors.

        >>> from bpetite import Tokenizer
        >>> list(Tokenizer.train("ab ab ab", 258).decode_iterable([0xE4, 0xBD, 0xA0, 256]))
        ['你', 'ab']
        """
        return texts_of(self, ids, errors, skip_special_tokens)

    # ---- for methods in Python

    def _unknown(self, token_id):
        """The error to raise for an id that no token has."""
        return self._decoder.unknown(token_id, -1)

    def _encode_pretoken(self, bytes pretoken not None):
        """Token ids of bytes that are taken as one pre-token; they need not be UTF-8."""
        return self._encode_items([(pretoken, array("q", [len(pretoken)]))] if pretoken else ())

    def _specials(self, allowed_special, disallowed_special=()):
        """(special tokens that a call recognises, those that it refuses or None)."""
        return self._encoder.specials.choose(allowed_special, disallowed_special)

    def _special_spans(self, str text not None, allowed_special="all"):
        """[(start, end, id), ...] of the special tokens in a text, in characters, with white space that they take."""
        specials = self._specials(allowed_special)[0]
        return self._pipeline.special_spans(text, specials) if self._cut_in_python else specials.spans(text)

    def _char_spans(self, ids, bytes text not None):
        """(start, end) in characters of each token of a text that equals the joined bytes of the tokens."""
        return self._decoder.char_spans(ids, text)

    def _dropout(self, dropout, seed):
        """The draws of a call: a Dropout, or None for plain encoding."""
        if self._vocab is None:
            raise TypeError("this tokenizer has not been set up")
        if dropout is None or dropout is False:
            if seed is not None:
                raise ValueError("seed is for dropout, and no dropout is given")
            return None
        if dropout is True:
            dropout = self._vocab.kept.get("dropout")
            if dropout is None:
                raise ValueError("dropout=True asks for the dropout of the tokenizer, which has none: give a "
                                 "probability, such as dropout=0.1")
        try:
            if isinstance(dropout, (str, bytes)):
                raise TypeError()
            probability = float(dropout)
        except TypeError:
            raise TypeError(f"dropout is a probability, True or None, not {short_repr(dropout)}") from None
        if not 0 <= probability <= 1:
            raise ValueError(f"dropout must be 0 to 1, not {short_repr(dropout)}")
        if seed is None:
            from os import urandom
            seed = int.from_bytes(urandom(8), "little")
        else:
            seed = check_integer("seed", seed, 0, most=0xFFFFFFFFFFFFFFFF, kind="an int or None")
        return Dropout(probability, seed) if probability else None

    def _token_ends(self, text, Py_ssize_t limit, allowed_special, disallowed_special):
        """(ends, data): int64[n], the bytes that the first tokens of a text have together, up to each, until more than
        `limit` are certain, all of them where there are no more; and the text that these are, in UTF-8."""
        recognised, refused = self._encoder.specials.choose(allowed_special, disallowed_special)
        cdef Worker worker = self._encoder.take()
        try:
            data = encode_up_to(self._encoder, worker, text, recognised, refused, limit, True)
            return token_ends(worker), data
        finally:
            self._encoder.give(worker)

    def _encode_items(self, items, Dropout dropout=None, position=0):
        """The ids of a pipeline's items: ids, text in UTF-8, pairs of text and the ends of its pre-tokens. `position`:
        the number of bytes that have been merged, on which the draws of dropout depend."""
        cdef Worker worker = self._encoder.take(dropout, position)
        try:
            self._encoder.encode_items(worker, items)
            return list_of(worker.out, worker.used)
        finally:
            self._encoder.give(worker)


# ---- workers: functions, since methods in C would put their table into the class, where help() shows it

cdef Worker encoded(TokenizerBase self, object text, object allowed, object disallowed, object num_threads,
                    object dropout, object seed, bint ordinary=False, int width=4):
    # A worker that has encoded a text, to be given back. Special tokens are those that are chosen; none if `ordinary`.
    # Not counted up: without the interpreter lock, threads would wait for each other's writes to the count.
    cdef PyObject* recognised = <PyObject*> self._encoder.specials.every
    cdef Specials some, refused
    cdef Dropout chosen = None
    cdef Py_ssize_t threads = 1
    cdef Worker worker
    cdef bint done = False
    if dropout is not None or seed is not None:
        chosen = self._dropout(dropout, seed)
    if ordinary:
        recognised = <PyObject*> None
    elif allowed is not ALL or disallowed is not ():
        if not isinstance(text, (str, bytes)):
            raise not_a_text(text)
        some, refused = self._encoder.specials.choose(allowed, disallowed)
        recognised = <PyObject*> some
        if refused is not None:
            refused.refuse(text)
    if not (PyLong_CheckExact(num_threads) and num_threads == 1):
        threads = thread_count(num_threads)
    worker = self._encoder.take(chosen, 0, width)
    try:                                       # `except` would cost a short text more
        if threads > 1 and chosen is None:
            encode_long(self._encoder, worker, text, <Specials> recognised, threads)
        else:
            self._encoder.encode(worker, text, <Specials> recognised)
        done = True
        return worker
    finally:
        if not done:
            self._encoder.give(worker)


cdef object batch_of(TokenizerBase self, object texts, object num_threads, object allowed, object disallowed,
                     bint add_special_tokens, object dropout, object seed):
    recognised, refused = self._encoder.specials.choose(allowed, disallowed)
    around = self._vocab.around if add_special_tokens else ((), ())
    threads = thread_count(num_threads)
    return Batch(self._encoder, texts, recognised, refused, threads, around, self._dropout(dropout, seed))


cdef object dtype_of(TokenizerBase self, object dtype):
    # The dtype of an array of ids; None for uint32.
    if dtype is UINT32:
        return None
    import numpy                               # not at the top: lists do without it
    made = numpy.dtype(dtype)
    if made not in (numpy.dtype(numpy.uint16), numpy.dtype(numpy.int32), numpy.dtype(numpy.uint32)):
        raise ValueError(f"dtype is uint16, int32 or uint32, not {short_repr(dtype)}")
    most, largest = numpy.iinfo(made).max, self._vocab.next_id - 1
    if largest > most:
        raise ValueError(f"{made} holds ids up to {most}, and the largest id of this vocabulary is {largest}")
    return made


cdef list listed(TokenizerBase self, Worker worker):
    # The output of a worker, which is given back.
    try:
        return list_of(worker.out, worker.used)
    finally:
        self._encoder.give(worker)


# ---- texts up to a limit of tokens: in ranges, each about as long as the missing tokens take at the rate so far. Only
# ---- a scanner knows the certain part of a text, so any other tokenizer encodes the whole text.

cdef bint has_more(Encoder encoder, object text, Py_ssize_t limit):
    # True if the length of a text alone shows that it has more than `limit` tokens.
    if not encoder.scanned_alone or encoder.tables.rewriter is not None or not isinstance(text, (str, bytes)):
        return False
    cdef AlphabetTable alphabet = encoder.tables.alphabet
    if encoder.tables.dropped_count or alphabet is not None and (
            alphabet.gathers or alphabet.drops or not text.isascii()):
        return False                           # a token may stand for any number of characters, or for longer ones
    return len(text) // max(encoder.tables.tokens.longest, encoder.specials.every.longest, 1) > limit


cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint with_text):
    # Append the ids of the beginning of a text, until more than `limit` are certain. Returns it in UTF-8 if asked for.
    cdef text_view view
    cdef view_range wanted
    cdef Py_ssize_t size = FIRST_RANGE, missing
    cdef object scanned = encoder.scanned(text, &view)
    if scanned is None:
        if refused is not None:
            refused.refuse(text)
        encoder.encode(worker, text, specials)
        return str.encode(text, "utf-8") if with_text else None
    wanted.end = 0
    while wanted.end < view.length and worker.used <= limit:
        wanted.start, wanted.stop = wanted.end, min(wanted.end + size, view.length)
        encode_range(worker, specials, scanned, &view, &wanted)
        missing = min(limit + 1 - worker.used, <Py_ssize_t> LONGEST_RANGE)
        if worker.used:
            size = min(SHORTEST_RANGE + missing * wanted.end // worker.used, <Py_ssize_t> LONGEST_RANGE)
    if refused is None and not with_text:
        return None
    read = _utf8(&view, wanted.end)
    if refused is not None:
        refused.refuse(read.decode("utf-8") if isinstance(text, str) else read)
    return read


cdef bytes _utf8(const text_view* view, Py_ssize_t n):
    """The first bytes or units of a text that has been encoded. CPython takes four times as long for its own units."""
    cdef Py_ssize_t bad, widest = 4 if view.width == 4 else view.width + 1
    if view.utf8 != NULL:
        return PyBytes_FromStringAndSize(<const char*> view.utf8, n)
    cdef bytes data = PyBytes_FromStringAndSize(NULL, n * widest + BP_UTF8_SLACK)
    return data[:bp_utf8_from_units(view.width, view.units, 0, n, <uint8_t*> PyBytes_AS_STRING(data), &bad)]


cdef object token_ends(Worker worker):
    cdef TokenTable tokens = worker.tables.tokens
    cdef array ends = clone(INT64, worker.used, False)
    cdef int64_t* to = <int64_t*> ends.data.as_longlongs
    cdef Py_ssize_t i, total = 0
    cdef bint dense = tokens.size and tokens.ids[tokens.size - 1] == tokens.size - 1   # ids are slots
    with nogil:
        for i in range(worker.used):
            total += size_at(tokens.sizes, tokens.starts,
                             <Py_ssize_t> worker.out[i] if dense else tokens.slot(worker.out[i]))
            to[i] = total
    return ends


# The functions of the class: threads that each have a tokenizer of their own share nothing else.
for _method in TokenizerBase.__dict__.values():
    if callable(_method):
        bp_make_immortal(_method)
