"""A text that is encoded only as far as a limit of tokens asks for."""
from ._encode cimport Encoder
from ._special cimport Specials
from ._worker cimport Worker

# Whether a text is so long that it has more than `limit` tokens, whatever they are.
cdef bint has_more(Encoder encoder, object text, Py_ssize_t limit)

# Append the ids of a text from its beginning on, until more than `limit` are certain; all of them where there are no
# more. What has been encoded must not hold any of `refused`, or None; what is behind it is not checked. Returns what
# has been encoded, in UTF-8, where it is `wanted`; else None.
cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint wanted)

# int64[n]: how many bytes the first tokens that a worker has put out have, up to each.
cdef object token_ends(Worker worker)
