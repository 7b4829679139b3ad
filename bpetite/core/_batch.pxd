"""Many texts at once: lists, one flat array with offsets, over several threads."""
from ._dropout cimport Dropout
from ._encode cimport Encoder
from ._special cimport Specials

# In all: special tokens of `specials` are recognised, those of `refused` (or None) raise. With dropout, text i is text
# number i. `around` has the ids that are put before, and those put behind, the ids of each text.

# A list of ids for each text.
cdef list encode_lists(Encoder encoder, object texts, Specials specials, Specials refused, Py_ssize_t threads,
                       tuple around, Dropout dropout)

# The error of text i of n, to be raised.
cdef object of_text(object error, Py_ssize_t i, Py_ssize_t n)

# uint32 ids of all texts and int64 offsets.
cdef tuple encode_flat(Encoder encoder, object texts, Specials specials, Specials refused, Py_ssize_t threads,
                       tuple around, Dropout dropout)

# int64[n]: how many ids each text has.
cdef object count_each(Encoder encoder, object texts, Specials specials, Specials refused, Py_ssize_t threads)
