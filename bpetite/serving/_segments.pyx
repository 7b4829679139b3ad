"""A text of several segments, of which only some may hold special tokens."""
from ..core._encode cimport Encoder, check, view_utf8
from ..core._ids cimport IdLists
from ..core._special cimport Specials, refuse
from ..core._text cimport text_view
from ..core._worker cimport Worker

from ..errors import show


def checked(segments):
    """A list of pairs (str, is it trusted); TypeError for anything else."""
    cdef list pairs = list(segments)
    for number, pair in enumerate(pairs):
        if type(pair) is not tuple or len(pair) != 2 or type(pair[0]) is not str or type(pair[1]) is not bool:
            raise TypeError(f"segment {number} is a pair (text, is it trusted) of a str and a bool, not {show(pair)}")
    return pairs


def encode_joined(Encoder encoder not None, IdLists lists not None, list segments not None, allowed_special,
                  disallowed_special):
    """The ids of pairs (str, is it trusted), joined."""
    cdef Worker worker
    cdef Specials specials, refused
    cdef list waiting = []                     # ordinary text since the last special token
    cdef text_view view
    cdef Py_ssize_t at, which = 0
    specials, refused = encoder.specials.resolve(allowed_special, disallowed_special)
    if refused is not None:
        for text, _ in segments:
            refuse(refused, text)
    worker = encoder.take()
    try:
        if encoder._pipeline is not None:
            encoder.encode_items(worker, _items(encoder._pipeline, segments, specials.literals))
            return lists.make(worker.out, worker.used)
        for text, trusted in segments:
            if not trusted:
                waiting.append(text)
                continue
            view_utf8(worker, text, &view)
            at = 0
            if specials.size and specials.find(view.utf8, 0, view.length, &which) >= 0:
                for start, end, token_id in specials.spans(text):
                    waiting.append((<str> text)[at:start])
                    _flush(encoder, worker, waiting)
                    check(worker.put(token_id), "", 0)
                    at = end
            waiting.append((<str> text)[at:] if at else text)
        _flush(encoder, worker, waiting)
        return lists.make(worker.out, worker.used)
    finally:
        encoder.give(worker)


cdef int _flush(Encoder encoder, Worker worker, list waiting) except -1:
    cdef str text = waiting[0] if len(waiting) == 1 else "".join(waiting)
    waiting.clear()
    if text:
        encoder.encode(worker, text, None)
    return 0


cdef object _items(object pipeline, list segments, tuple literals):
    cdef list trusted_parts = []
    cdef Py_ssize_t at = 0
    for text, trusted in segments:
        if trusted:
            trusted_parts.append((at, at + len(text)))
        at += len(text)
    return pipeline.items("".join([text for text, _ in segments]), literals, trusted_parts)
