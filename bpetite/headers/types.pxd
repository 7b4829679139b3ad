"""C types shared by the compiled modules."""
from libc.stdint cimport uint32_t

ctypedef uint32_t token_t  # a token id: 0..2^32-1
