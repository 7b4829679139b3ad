"""Whether token ids are those that encoding gives: what a model has sampled often is not.

The text is encoded again, a stretch at a time, and compared while its ids are in the processor's cache. Looking at
neighbours instead, as the audit does for one merge list, decides nothing where two pre-tokens meet and for pre-tokens
that are looked up whole: cl100k's "\\t\\t622" is [197, 197, 19808], though "\\t\\t" alone is the token 298. Splitting
the text is needed in any case, and the word cache then has the ids of nearly every pre-token at the cost of one
look-up, less than that of a look-up for each pair.

Reading, joining and encoding some thousand ids at a time was tried: the int objects, the bytes of tokens and the word
cache then take each other's place in the processor's cache, and it took a tenth to a fifth longer.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from ..core._decode cimport Decoder, id_view, release_ids
from ..core._encode cimport Encoder, check, encode_utf8
from ..core._special cimport Specials
from ..core._text cimport DONE, NO_TOKEN, text_view, view_text
from ..core._worker cimport Worker
from ..headers cimport token_t

from itertools import accumulate

cdef enum:
    STRETCH = 1 << 15          # bytes of text encoded at a time


def first_divergence(tokenizer, ids, *, allowed_special="all", num_threads=1):
    """The index of the first id that differs from those of ``encode(decode(ids))``; None where all are the same.

    Where one of the two is the beginning of the other, it is the length of the shorter. Where the bytes of the ids are
    not UTF-8, so that no text has them, it is the index of the token with the first byte that is wrong.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: The special tokens that encoding recognises, as for :meth:`bpetite.Tokenizer.encode`.
        num_threads: Threads that encode; one for each usable processor when None, and never more.

    Raises:
        UnknownTokenError: A KeyError: an id is not in the vocabulary.

    >>> from bpetite import Tokenizer
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.encode("ab ab"), tok.first_divergence([256, 257]), tok.first_divergence([256, 32, 256])
    ([256, 257], None, 1)
    """
    cdef Decoder decoder = tokenizer._decoder
    cdef Encoder encoder = tokenizer._encoder
    cdef const unsigned int[::1] expected
    cdef const token_t* given
    cdef Py_ssize_t i, n
    cdef id_view view
    cdef Py_buffer buffer
    decoder.read_ids(ids, &view, &buffer)
    try:
        data = decoder.join_view(&view)
        given, n = decoder.ids_of(&view), view.n
        try:
            if encoder.compiled and num_threads == 1:
                return _first_divergence(encoder, given, n, data, encoder.specials.resolve(allowed_special, ())[0])
            expected = tokenizer.encode_to_numpy(data, allowed_special=allowed_special, num_threads=num_threads)
        except UnicodeDecodeError as error:
            ends = accumulate([len(tokenizer.token_bytes(given[i])) for i in range(n)])
            return next(i for i, end in enumerate(ends) if end > error.start)
        with nogil:
            for i in range(min(n, expected.shape[0])):
                if given[i] != expected[i]:
                    break
            else:
                i = min(n, expected.shape[0])
        return None if i == n == expected.shape[0] else i
    finally:
        release_ids(&view, &buffer)


cdef object _first_divergence(Encoder encoder, const token_t* ids, Py_ssize_t count, bytes data, Specials specials):
    cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef Py_ssize_t length = PyBytes_GET_SIZE(data), at = 0, size = STRETCH, end, done = 0, same = 0, i, n
    cdef text_view view
    cdef int status
    cdef Worker worker
    view_text(data, &view)                         # raises where it is no UTF-8
    worker = encoder.take()
    try:
        while at < length:
            end = min(at + size, length)
            while end < length and text[end] & 0xC0 == 0x80:
                end += 1
            worker.used = 0
            n = count - same
            with nogil:
                status = encode_utf8(worker, specials, text + at, end - at, length - at, end == length, &done)
                n = min(n, worker.used)
                i = 0
                if n and memcmp(ids + same, worker.out, n * sizeof(token_t)) == 0:
                    i = n
                while i < n and ids[same + i] == worker.out[i]:
                    i += 1
            if status != DONE and (status != NO_TOKEN or i == worker.used):
                check(status, data, at + done)
            same += i
            if i < worker.used:
                return same
            at += done
            size = STRETCH if done else 2 * size   # all of it is one pre-token
    finally:
        encoder.give(worker)
    return None if same == count else same


def is_canonical(tokenizer, ids, *, allowed_special="all", num_threads=1):
    """Whether ids are those of their text: ``encode(decode(ids)) == ids``, faster, and False where there is no text.

    Models that sample tokens give ids that training has never seen together; a check of rollouts finds them.

    Args:
        ids: As for :meth:`bpetite.Tokenizer.decode`.
        allowed_special: As for :meth:`first_divergence`, and so are ``num_threads`` and what is raised.

    >>> from bpetite import Tokenizer
    >>> tok = Tokenizer.train("ab ab ab", 258)
    >>> tok.is_canonical([256, 257, 258]), tok.is_canonical([97, 98]), tok.is_canonical([0xC3])
    (True, False, False)
    """
    return first_divergence(tokenizer, ids, allowed_special=allowed_special, num_threads=num_threads) is None
