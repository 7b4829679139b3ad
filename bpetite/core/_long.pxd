"""One long text over several threads."""
from ._encode cimport Encoder
from ._special cimport Specials
from ._worker cimport Worker

# Append the ids of a text, as Encoder.encode does; a short one, or one that only Python can cut, by this thread alone.
cdef int encode_long(Encoder encoder, Worker worker, object text, Specials specials, Py_ssize_t threads) except -1
