"""The table of different pre-tokens and how often each occurs (_count_table.pyx)."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from ...headers cimport bp_key, bp_watch

cdef extern from "training/counting/count_records.h" nogil:
    bint bp_add_overflows(int64_t* total, int64_t x) noexcept


cdef enum:
    BLOCK = 128            # pre-tokens that `count_block` takes at most


cdef struct count_slot:    # 32 bytes, two to a cache line
    bp_key key             # high is 0 in an empty slot; of a long pre-token it is LONG | length, low the address
    uint64_t hash
    int64_t count


cdef class PretokenReader:             # pre-tokens with their counts, one after the other
    cdef const uint8_t* data           # until the next pre-token is asked for
    cdef Py_ssize_t length
    cdef int64_t count

    # Go on to the next pre-token; False after the last.
    cdef bint advance(self) except -1 nogil


@cython.final
cdef class CountTable:
    cdef count_slot* slots
    cdef uint64_t mask                 # slots - 1
    cdef int shift                     # a key belongs into slot hash >> shift
    cdef uint64_t used                 # slots taken, zero counts among them
    cdef uint64_t memory               # bound in bytes
    cdef uint64_t most                 # most slots within the bound; a power of two
    cdef uint8_t** chunks              # the bytes of long pre-tokens
    cdef uint64_t chunk_count
    cdef uint64_t chunk_capacity
    cdef uint64_t chunk_bytes
    cdef size_t chunk_room             # bytes left in the last chunk
    cdef uint8_t* chunk_next

    cdef bint is_full(self) noexcept nogil
    cdef bytes order(self, uint64_t* number)
    cdef void drop_chunks(self) noexcept nogil
    cdef int reserve(self, uint64_t more) except -1 nogil
    cdef count_slot* find(self, bp_key key, uint64_t hash) noexcept nogil
    cdef int fill(self, count_slot* slot, bp_key key, uint64_t hash) except -1 nogil
    cdef count_slot* find_bytes(self, const uint8_t* data, Py_ssize_t length, bp_key* key,
                                uint64_t* hash) noexcept nogil
    cdef int count_block(self, const uint8_t* text, Py_ssize_t start, const Py_ssize_t* ends, Py_ssize_t number,
                         Py_ssize_t readable) except -1 nogil
    cdef bint add_range(self, PretokenReader pretokens, uint64_t low, uint64_t last, bp_watch* watch) except -1 nogil
    cdef int absorb(self, CountTable other, bp_watch* watch) except -1 nogil


# The bytes of a slot's pre-token and how many they are.
cdef const uint8_t* slot_bytes(count_slot* slot, Py_ssize_t* length) noexcept nogil

cdef int out_of_memory() except -1 nogil
