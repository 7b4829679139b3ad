"""Memory for token ids, all of it from here: results change hands between modules (id_memory.h)."""
from ..headers cimport token_t

# Memory for `wanted` ids or more, which begins with the first `used` of ids. INOUT: *capacity. NULL where there is
# none; then the memory given is as it was.
cdef token_t* ids_grow(token_t* ids, Py_ssize_t used, Py_ssize_t* capacity, Py_ssize_t wanted) noexcept nogil

# Give back what lies behind the first `used` ids. INOUT: *capacity.
cdef token_t* ids_trim(token_t* ids, Py_ssize_t used, Py_ssize_t* capacity) noexcept nogil

# `ids` may be NULL, with a capacity of 0.
cdef void ids_free(token_t* ids, Py_ssize_t capacity) noexcept nogil
