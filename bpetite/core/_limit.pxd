"""A text that is encoded only as far as a limit of tokens asks for."""
from cpython.array cimport array

from ..headers cimport token_t
from ..vocabulary._tokens cimport TokenTable
from ._encode cimport Encoder
from ._special cimport Specials
from ._worker cimport Worker

# Append the ids of a text from its beginning on, until more than `limit` are certain; all of them where there are no
# more. What has been read must not hold any of `refused`, or None; what is behind it is not checked. To `keep` a str is
# to return what has been read of it in UTF-8; else None.
cdef bytes encode_up_to(Encoder encoder, Worker worker, object text, Specials specials, Specials refused,
                        Py_ssize_t limit, bint keep)

# int64[n]: how many bytes the tokens up to each of some have.
cdef array token_ends(TokenTable tokens, const token_t[::1] ids)
