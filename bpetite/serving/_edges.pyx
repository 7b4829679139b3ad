"""The pieces between the edges of a text, read once (../core/_reader.pyx); edges.py says what edges are."""
from cpython.array cimport array, clone
from libc.string cimport memcpy

from ..core._encode cimport Encoder
from ..core._reader cimport Reader, size_of
from ..core._special cimport Specials
from ..headers cimport token_t

from array import array as new_array


cdef enum:
    LONG = 1 << 15             # bytes; from here on other threads run while a block is read

cdef array UINT32 = new_array("I")
cdef object new = tuple.__new__


cdef array array_of(const token_t* ids, Py_ssize_t n):
    """Ids, as an array of uint32."""
    cdef array copied = clone(UINT32, n, False)
    if n:
        memcpy(copied.data.as_uints, ids, n * sizeof(token_t))
    return copied


def read(tokenizer, bytes data not None, Specials specials, Py_ssize_t block, stops, bint final, fresh,
         kind):
    """The pieces of a text that a compiled scanner cuts, as :meth:`bpetite.serving.edges.Edges.read` gives them.

    Args:
        tokenizer: The tokenizer.
        data: The text, in UTF-8; normalized, where the tokenizer normalizes.
        specials: The special tokens to recognise, or None.
        block: Bytes that are read at a time.
        stops: Offsets, ascending; reading ends at the first of them that is an edge.
        final: Whether the text ends there; its end is an edge then. Otherwise what is behind the last one is open.
        fresh: Which ends are edges: a function of the text and an offset; None where all are.
        kind: The class of a piece: a named tuple of end, ids, read.
    """
    cdef Encoder encoder = tokenizer._encoder
    cdef Reader reader = Reader(encoder, data, specials, 0)
    cdef Py_ssize_t start = 0, used = 0, at, i, edge, total, upto
    cdef list pieces = []
    try:
        reader.goes_on = not final
        reader.unlocked = len(data) >= LONG
        while not reader.ended:
            reader.feed(block)
            at = reader.done
            if fresh is not None and not (final and reader.ended):
                i = reader.ends.n
                while i and not fresh(data, reader.ends.items[i - 1]):
                    i -= 1
                at = reader.ends.items[i - 1] if i else 0
            if at <= start:
                continue
            found = None
            for stop in stops:
                edge = stop
                if edge > at:
                    break
                if edge > start and (edge == at or reader.is_end(edge) and (fresh is None or fresh(data, edge))):
                    at = edge
                    found = stop
                    break
            total, i = used, start
            while i < at:
                i += size_of(reader, total)
                total += 1
            upto = reader.limit
            while fresh is not None and upto < len(data) and not fresh(data, upto):
                upto += 1
            pieces.append(new(kind, (at, array_of(reader.worker.out + used - reader.dropped, total - used), upto)))
            if found is not None:
                return pieces, found
            start, used = at, total
        return pieces, None
    finally:
        reader.close()
