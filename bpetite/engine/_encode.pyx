"""Text to token ids: what a str is in memory, special tokens, the pool of workers, the forms of the result.

The characters of an ASCII str are read where they are, and so is the UTF-8 that an earlier reader left inside a str.
Other text is rewritten to UTF-8 a piece at a time: the piece stays in the cache, and no copy of the whole text is made
or left attached to the caller's str, as PyUnicode_AsUTF8AndSize would. A pre-token that is open at the end of a piece
is moved to the front of the next; a piece without a closed one doubles, so long pre-tokens cost linear time too.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove

from ..headers.pyobject cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, bp_known_utf8
from ..headers.types cimport token_t
from ..headers.utf8 cimport BP_UTF8_SLACK, bp_utf8_from_units, bp_utf8_valid
from ..vocabulary._tokens cimport TokenTable
from ._decode cimport Decoder
from ._ids cimport IdLists, own_ids
from ._special cimport Specials
from ._worker cimport DONE, NO_MEMORY, NO_TOKEN, NO_UTF8, Core, Worker

import os

from .special import choose

cdef enum:
    PIECE = 1 << 15            # characters rewritten to UTF-8 at a time
    KEEP_LOCK = 4096           # bytes; the interpreter lock is kept for shorter texts, handing it over costs more
    COPIED = 240               # bytes; shorter texts are copied to where sixteen bytes can be read from any place
    KEEP_OUTPUT = 1 << 22      # ids whose memory a worker keeps for the next call
    KEEP_PIECE = 1 << 20       # bytes, the same of a piece
    STEAL = 1 << 14            # ids; longer results take over the worker's memory instead of being copied
    SUBSETS = 16               # sets of special tokens that are kept ready


cdef int run(Worker worker, Specials specials, const uint8_t* text, Py_ssize_t length, Py_ssize_t readable, bint final,
             Py_ssize_t* done) noexcept nogil:
    cdef Py_ssize_t at = 0, found, which = 0, moved = 0, limit = length
    cdef int status
    if specials is not None and specials.size:
        if not final:
            # A special token that starts from here on may be a longer one once more text is there.
            limit = length - specials.longest
            while limit > 0 and text[limit] & 0xC0 == 0x80:
                limit -= 1
            if limit < 0:
                limit = 0
        while True:
            found = specials.find(text, at, length, &which)
            if found < 0 or (found >= limit and not final):
                break
            status = worker.encode(text + at, found - at, readable - at, True, &moved)
            if status != DONE:
                worker.bad += at
                return status
            if worker.put(specials.ids[which]) != DONE:
                return NO_MEMORY
            at = found + <Py_ssize_t> (specials.starts[which + 1] - specials.starts[which])
    if at < limit:
        status = worker.encode(text + at, limit - at, readable - at, final, &moved)
        worker.bad += at
        if status != DONE:
            return status
        at += moved
    done[0] = at
    return DONE


cdef int run_view(Worker worker, Specials specials, const text_view* view) noexcept nogil:
    cdef uint8_t copy[COPIED + 16]
    cdef Py_ssize_t done = 0
    if view.utf8 == NULL:
        worker.reserve(guess_ids(view))
        return _run_units(worker, specials, view)
    if view.length <= COPIED:
        memcpy(copy, view.utf8, view.length)
        return run(worker, specials, copy, view.length, view.length + 16, True, &done)
    worker.reserve(guess_ids(view))
    return run(worker, specials, view.utf8, view.length, view.length, True, &done)


cdef int _run_units(Worker worker, Specials specials, const text_view* view) noexcept nogil:
    cdef Py_ssize_t filled = 0, at = 0, end, bad = -1, done = 0, base = 0
    cdef Py_ssize_t widest = 2 if view.kind == 1 else 3 if view.kind == 2 else 4
    cdef int status
    while at < view.length:
        # A piece that closed no pre-token is followed by one of twice the size.
        end = min(at + max(<Py_ssize_t> PIECE, filled // widest), view.length)
        if not worker.reserve_piece(filled + (end - at) * widest + BP_UTF8_SLACK):
            return NO_MEMORY
        filled += bp_utf8_from_units(view.kind, view.units, at, end, worker.piece + filled, &bad)
        if bad >= 0:
            return NO_UTF8
        at = end
        status = run(worker, specials, worker.piece, filled, filled + 16, at == view.length, &done)
        if status != DONE:
            worker.bad += base
            return status
        base += done
        filled -= done
        memmove(worker.piece, worker.piece + done, filled)
    return DONE


cdef class Encoder(Decoder):
    """Text to token ids and back.

    Args:
        tokens: id -> bytes of every token, special ones included; or the table of them.
        merges: Pairs of ids in rank order, or None for the ranks kind; or the table of them.
        special_tokens: literal -> id.
        pretokenizer: What cuts text into pre-tokens: `scanner`, a compiled pattern or None, and `ends(bytes)`.
        ignore_merges: With a merge list, a pre-token that is a token is taken whole.
        normalize: Applied to the text between special tokens; must leave ASCII as it is.
        pipeline: What cuts the text instead, in the rare cases where special tokens, splits or normalization are not
            plain: `items(text, literals)` yields the ids of special tokens, bytes for the pretokenizer to cut, and
            pairs of bytes and the ends of the pre-tokens in them.
        template: `one(ids)` gives the ids with the special tokens that belong around a text.
        errors: What decoding makes of bytes that are not UTF-8.
        cache_bytes: Bound of the word cache of each thread that encodes; 0 for none.
    """

    def __init__(self, tokens not None, merges, dict special_tokens not None, pretokenizer, *,
                 bint ignore_merges=False, normalize=None, pipeline=None, template=None, str errors not None="strict",
                 Py_ssize_t cache_bytes=64 << 20):
        if cache_bytes < 0:
            raise ValueError(f"cache_bytes must not be negative: {cache_bytes}")
        self._set_tokens(tokens if isinstance(tokens, TokenTable) else TokenTable(tokens), errors)
        self._specials = Specials(special_tokens)
        self._special_ids = special_tokens
        self._pretokenizer = pretokenizer
        self._normalize = normalize
        self._pipeline = pipeline
        self._template = template
        self._cache_bytes = cache_bytes
        self._compiled = pretokenizer.scanner is not None and normalize is None and pipeline is None
        self._pool = []
        self._subsets = {}
        self._core = Core(self._tokens, merges, frozenset(special_tokens.values()), pretokenizer.scanner, ignore_merges)

    def encode(self, text, *, allowed_special="all", disallowed_special=(), num_threads=1,
               bint add_special_tokens=False):
        """Token ids of a text, with special tokens recognised.

        Use :meth:`encode_ordinary` for text that you do not trust: here a user who writes ``<|endoftext|>`` gets the
        special token.

        Args:
            text: str, or bytes in UTF-8.
            allowed_special: Special tokens to recognise: "all" or a collection of literals. What is not recognised
                is ordinary text.
            disallowed_special: Special tokens that must not be in the text: a collection of literals, or "all" for
                those that are not allowed.
            num_threads: Threads that share a long text; all that the process may run on when None. The ids never
                depend on it.
            add_special_tokens: Put the special tokens around it that the tokenizer's template says.

        Raises:
            ValueError: A disallowed special token is in the text, with its offset; a byte of it has no token.
            UnicodeEncodeError: The str holds a lone surrogate, with its position.
            UnicodeDecodeError: The bytes are not UTF-8, with the offset.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode("ab<|endoftext|>ab")
        [256, 258, 256]
        """
        cdef Specials specials = self._specials
        cdef Worker worker
        if allowed_special != "all" or disallowed_special != ():
            specials = self._choose(text, allowed_special, disallowed_special)
        worker = self._take()
        self._start(worker, text, specials, num_threads)
        ids = self._to_list(worker.out, worker.used)
        self._give(worker)
        return self._template.one(ids) if add_special_tokens and self._template is not None else ids

    def encode_ordinary(self, text, *, num_threads=1):
        """Token ids of a text in which no special token is recognised; see :meth:`encode`.

        >>> from bpetite import Tokenizer
        >>> Tokenizer.train("ab ab ab", 258).encode_ordinary("<|endoftext|>")[:5]
        [60, 124, 101, 110, 100]
        """
        cdef Worker worker = self._take()
        self._start(worker, text, None, num_threads)
        ids = self._to_list(worker.out, worker.used)
        self._give(worker)
        return ids

    def encode_to_numpy(self, text, *, allowed_special="all", disallowed_special=(), num_threads=1):
        """Token ids of a text as an array of uint32; see :meth:`encode`."""
        cdef Specials specials = self._specials
        cdef Worker worker
        if allowed_special != "all" or disallowed_special != ():
            specials = self._choose(text, allowed_special, disallowed_special)
        worker = self._take()
        self._start(worker, text, specials, num_threads)
        ids = self._to_numpy(worker)
        self._give(worker)
        return ids

    def encode_pieces(self, bytes data not None, const long long[::1] ends not None):
        """Token ids of ordinary text that is cut already.

        Args:
            data: Valid UTF-8.
            ends: Where its pre-tokens end, in bytes, ascending; the last is its length.

        Raises:
            ValueError: A byte has no token.
        """
        cdef Worker worker
        cdef Py_ssize_t i, start = 0
        for i in range(ends.shape[0]):
            if not start < ends[i] <= PyBytes_GET_SIZE(data):
                raise ValueError(f"ends must ascend up to {len(data)}, but {ends[i]} follows {start}")
            start = ends[i]
        worker = self._take()
        self._encode_pieces(worker, data, ends)
        ids = self._to_list(worker.out, worker.used)
        self._give(worker)
        return ids

    def count(self, text, *, allowed_special="all", disallowed_special=(), num_threads=1):
        """How many tokens a text has; see :meth:`encode`."""
        cdef Specials specials = self._specials
        cdef Worker worker
        cdef Py_ssize_t n
        if allowed_special != "all" or disallowed_special != ():
            specials = self._choose(text, allowed_special, disallowed_special)
        worker = self._take()
        self._start(worker, text, specials, num_threads)
        n = worker.used
        self._give(worker)
        return n

    def _special_spans(self, str text not None, allowed_special, disallowed_special):
        """(start, end) in characters of the special tokens that :meth:`encode` recognises in a text."""
        cdef bytes data = text.encode("utf-8")
        cdef list spans = []
        cdef Py_ssize_t at = 0, chars = 0, length
        for start, end, _ in self._choose(text, allowed_special, disallowed_special).cut(data):
            chars += len(data[at:start].decode("utf-8"))
            length = len(data[start:end].decode("utf-8"))
            spans.append((chars, chars + length))
            chars += length
            at = end
        return spans

    # A worker is lost, not given back, when a call fails; the next call makes a new one. The interpreter lock makes
    # both methods safe: nothing in them lets another thread run between a look and a change.
    cdef Worker _take(self):
        cdef Worker worker
        if self._core is None:
            raise TypeError("this tokenizer has not been set up")
        if self._spare is not None:
            worker = self._spare
            self._spare = None
        elif self._pool:
            worker = self._pool.pop()
        else:
            worker = Worker(self._core, self._cache_bytes)
        worker.used = 0
        return worker

    cdef void _give(self, Worker worker):
        if worker.capacity > KEEP_OUTPUT:
            free(worker.out)
            worker.out = NULL
            worker.capacity = 0
        if worker.piece_capacity > KEEP_PIECE:
            free(worker.piece)
            worker.piece = NULL
            worker.piece_capacity = 0
        if self._spare is None:
            self._spare = worker
        else:
            self._pool.append(worker)

    cdef Specials _choose(self, object text, object allowed, object disallowed):
        # The special tokens to recognise; raises where a disallowed one is in the text.
        cdef Specials refused_specials
        cdef list found
        recognised, refused = choose(self._special_ids, allowed, disallowed)
        if refused:
            refused_specials = self._subset(refused)
            data = (<str> text).encode("utf-8") if isinstance(text, str) else bytes(text)
            found = refused_specials.cut(data)
            if found:
                start, end, _ = found[0]
                literal = data[start:end].decode("utf-8")
                if isinstance(text, str):
                    start = len(data[:start].decode("utf-8"))
                raise ValueError(f"the text holds the disallowed special token {literal!r} at offset {start}; allow it "
                                 f"(allowed_special) or take the text as it is (disallowed_special=())")
        return self._subset(recognised)

    def _subset(self, chosen):
        if len(chosen) == self._specials.size:
            return self._specials
        specials = self._subsets.get(chosen)
        if specials is None:
            specials = Specials({literal: self._special_ids[literal] for literal in chosen})
            if len(self._subsets) >= SUBSETS:
                self._subsets.clear()
            self._subsets[chosen] = specials
        return specials

    cdef int _view(self, object text, text_view* view) except -1:
        # OUT: where the characters of a str or bytes are. Bytes are checked to be UTF-8.
        cdef Py_ssize_t bad
        cdef bint large
        view.units = NULL
        view.kind = 1
        if isinstance(text, str):
            view.utf8 = <const uint8_t*> bp_known_utf8(text, &view.length)
            if view.utf8 == NULL:
                view.units = PyUnicode_DATA(text)
                view.kind = PyUnicode_KIND(text)
                view.length = PyUnicode_GET_LENGTH(text)
            return 0
        if not isinstance(text, bytes):
            raise TypeError(f"text is str or bytes, not {type(text).__name__}")
        view.utf8 = <const uint8_t*> PyBytes_AS_STRING(text)
        view.length = PyBytes_GET_SIZE(text)
        large = view.length > KEEP_LOCK
        if large:
            with nogil:
                bad = bp_utf8_valid(view.utf8, view.length)
        else:
            bad = bp_utf8_valid(view.utf8, view.length)
        if bad < view.length:
            try:
                (<bytes> text)[bad:bad + 4].decode("utf-8")
            except UnicodeDecodeError as error:
                raise UnicodeDecodeError("utf-8", text, bad, bad + error.end, error.reason) from None
        return 0

    cdef int _start(self, Worker worker, object text, Specials specials, object num_threads) except -1:
        if num_threads is None or num_threads != 1:
            threads = thread_count(num_threads)
            if threads > 1:
                return self._encode_long(worker, text, specials, threads)
        return self._encode(worker, text, specials)

    cdef int _encode_long(self, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1:
        return self._encode(worker, text, specials)

    cdef int _encode(self, Worker worker, object text, Specials specials) except -1:
        cdef text_view view
        cdef int status
        self._view(text, &view)
        if not self._compiled:
            return self._encode_slowly(worker, text, specials)
        if view.length <= KEEP_LOCK:
            status = run_view(worker, specials, &view)
        else:
            with nogil:
                status = run_view(worker, specials, &view)
        return self._check(status, worker, text)

    cdef int _encode_slowly(self, Worker worker, object text, Specials specials) except -1:
        # By a pre-tokenizer that is not compiled, or with normalization: stretch by stretch, through Python.
        cdef bytes data = (<str> text).encode("utf-8") if isinstance(text, str) else text
        cdef Py_ssize_t at = 0
        if self._pipeline is not None:
            for item in self._pipeline.items(data.decode("utf-8"), None if specials is None else specials.literals):
                if isinstance(item, bytes):
                    self._encode_stretch(worker, item)
                elif isinstance(item, tuple):
                    self._encode_pieces(worker, item[0], item[1])
                else:
                    self._check(worker.put(item), worker, text)
            return 0
        if specials is not None:
            for start, end, token_id in specials.cut(data):
                self._encode_stretch(worker, data[at:start])
                self._check(worker.put(token_id), worker, text)
                at = end
        return self._encode_stretch(worker, data[at:] if at else data)

    cdef int _encode_stretch(self, Worker worker, bytes stretch) except -1:
        cdef Py_ssize_t done = 0, length
        cdef const uint8_t* raw
        cdef int status = DONE
        if self._normalize is not None and not stretch.isascii():
            stretch = self._normalize(stretch.decode("utf-8")).encode("utf-8")
        raw = <const uint8_t*> PyBytes_AS_STRING(stretch)
        length = PyBytes_GET_SIZE(stretch)
        if length == 0:
            return 0
        if self._core.scanner is not None:
            with nogil:
                status = worker.encode(raw, length, length, True, &done)
            return self._check(status, worker, stretch)
        return self._encode_pieces(worker, stretch, self._pretokenizer.ends(stretch))

    cdef int _encode_pieces(self, Worker worker, bytes stretch, const long long[::1] ends) except -1:
        cdef Py_ssize_t block[128]
        cdef Py_ssize_t n = ends.shape[0], i, at = 0, start = 0, length = PyBytes_GET_SIZE(stretch)
        cdef const uint8_t* raw = <const uint8_t*> PyBytes_AS_STRING(stretch)
        cdef int status = DONE
        with nogil:
            while at < n and status == DONE:
                for i in range(min(<Py_ssize_t> 128, n - at)):
                    block[i] = ends[at + i]
                i = min(<Py_ssize_t> 128, n - at)
                status = worker.encode_block(raw, start, block, i, length)
                start = block[i - 1]
                at += i
        return self._check(status, worker, stretch)

    cdef int _check(self, int status, Worker worker, object text) except -1:
        if status == NO_MEMORY:
            raise MemoryError("no memory for encoding this text")
        if status == NO_TOKEN:
            raise ValueError(f"byte 0x{worker.bad_value:02x}, at offset {worker.bad} of the text in UTF-8, has no "
                             f"token in this vocabulary")
        if status == NO_UTF8:
            (<str> text).encode("utf-8")           # raises, with the position
        return 0

    cdef list _to_list(self, const token_t* ids, Py_ssize_t n):
        if self._lists is None:
            self._lists = IdLists(self._tokens)
        return self._lists.make(ids, n)

    cdef object _to_numpy(self, Worker worker):
        cdef token_t* ids
        if worker.used >= STEAL:
            ids = worker.give_out()
        else:
            ids = <token_t*> malloc((worker.used + 1) * sizeof(token_t))
            if ids != NULL and worker.used:        # a worker that has put out nothing has no memory for it
                memcpy(ids, worker.out, worker.used * sizeof(token_t))
        if ids == NULL:
            raise MemoryError()
        return own_ids(ids, worker.used)


def thread_count(num_threads):
    """How many threads to use: as asked for, or as many as the process may run on.

    >>> thread_count(3)
    3
    """
    if num_threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not isinstance(num_threads, int) or isinstance(num_threads, bool):
        raise TypeError(f"num_threads is an int or None, not {num_threads!r}")
    if num_threads < 1:
        raise ValueError(f"num_threads must be at least 1, not {num_threads}")
    return num_threads
