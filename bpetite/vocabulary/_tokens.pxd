"""The tokens of a vocabulary in flat memory: id -> bytes and bytes -> id."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..headers cimport bp_key, bp_secret, token_t


cdef enum:
    BP_MANY = 255
    BP_FOUND_AT_ONCE = 32


cdef class TokenList:
    # Tokens in any order, as a reader finds them.
    cdef readonly Py_ssize_t size
    cdef token_t* ids
    cdef uint64_t* starts          # of each token in data; size + 1 entries, none before the first token
    cdef uint8_t* data
    cdef uint64_t id_capacity, start_capacity, data_capacity

    # Room for n more bytes; NULL without memory. `add` makes a token of the first of them; false without memory.
    cdef uint8_t* room(self, Py_ssize_t n) noexcept nogil
    cdef bint add(self, token_t token_id, Py_ssize_t length) noexcept nogil


cdef class TokenTable:
    # A token's slot is its index in the order of ids, 0..size-1. Nothing changes once others have it.
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t repeated    # tokens with the bytes of a token of lower id, both found by their bytes
    cdef readonly Py_ssize_t empty       # tokens without bytes
    cdef readonly Py_ssize_t unreachable  # tokens that are not found by their bytes, empty ones included
    cdef readonly Py_ssize_t longest     # bytes of the longest token
    cdef token_t* ids              # slot -> id, ascending
    cdef uint8_t* blob             # the bytes of all tokens in slot order, and BP_KEY_READ readable bytes after these
    cdef uint64_t* starts          # slot -> first byte in blob; size + 1 entries
    cdef uint8_t* sizes            # slot -> bytes of the token; BP_MANY where these are as many, or more
    cdef uint32_t* slot_of         # id -> slot + 1, 0 for no token; NULL where ids are too sparse for an array
    cdef uint64_t id_span          # entries of slot_of: the ids from 0 to the last
    # Hash table of slot + 1, 0 for empty, with bits of the hash above it: only entries with equal bits are compared.
    cdef uint32_t* by_bytes
    cdef uint64_t mask             # of by_bytes
    cdef int tag_shift             # bits of by_bytes that are the slot's
    cdef bp_secret secret          # of the hashes in by_bytes

    # The slot of an id, or -1.
    cdef Py_ssize_t slot(self, token_t token_id) noexcept nogil
    # The lowest slot of a reachable token with these bytes, or -1.
    cdef Py_ssize_t find(self, const uint8_t* data, Py_ssize_t length) noexcept nogil
    # find for up to BP_FOUND_AT_ONCE keys. OUT: slots[0:n].
    cdef void find_keys(self, const bp_key* keys, Py_ssize_t n, Py_ssize_t* slots) noexcept nogil
    # find for as many strings, from whose starts BP_KEY_READ bytes can be read.
    cdef void find_many(self, const uint8_t** parts, const Py_ssize_t* sizes, Py_ssize_t n,
                        Py_ssize_t* slots) noexcept nogil
    # slot -> 1 for the tokens of some ids, and two more entries.
    cdef bytearray marks(self, ids)
    cdef bytes bytes_at(self, Py_ssize_t slot)


# Add a token to a list.
cdef int add_token(TokenList tokens, token_t token_id, const uint8_t* token, Py_ssize_t n) except -1


# A table of tokens in any order, None where an id occurs twice.
cdef TokenTable table_of(TokenList tokens, object unreachable)


# Bytes of the token of a slot; most are in `sizes`, which the caches of the processor hold better than `starts`.
cdef inline Py_ssize_t size_at(const uint8_t* sizes, const uint64_t* starts, Py_ssize_t slot) noexcept nogil:
    return sizes[slot] if sizes[slot] != BP_MANY else <Py_ssize_t> (starts[slot + 1] - starts[slot])
