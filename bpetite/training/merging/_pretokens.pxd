"""The pre-tokens that merges are learned from, as tokens in flat memory (_pretokens.pyx).

    SENTINEL, size of the first strip, its weight (int64), SENTINEL, slots of all strips ...
    for each further strip: SENTINEL, 0, its weight, 0, its size, its first slot (uint64), the first head (uint64)

A head begins at an even place, and half of that place is the strip's number. The weight lies next to the tokens: a
pre-token of a few tokens is read in one cache miss, or in two that do not wait for each other.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ...core._encode cimport Worker
from ...headers cimport bp_watch, token_t
from ...vocabulary._tokens cimport TokenTable
from ..counting._count_table cimport PretokenReader


cdef enum:
    STRIP = 64                     # slots at most
    STRIP_WORK = 64                # work of the search of a strip as bp_watch counts it, in bytes of text
    HEAD = 5                       # symbols of a pre-token's head. Offsets in it:
    FIRST_SIZE = 1                 # the size of the first strip; 0 in the head of a further one
    WEIGHT = 2
    NEXT_HEAD = 10                 # symbols of a further strip's head: SENTINEL, WEIGHT, 0 at FIRST_SIZE, and:
    NEXT_SIZE = 5
    NEXT_START = 6
    NEXT_PRETOKEN = 8
    SENTINEL = -0x7FFFFFFF - 1     # no id, and no complement of one


cdef struct strip:                 # of the slots of a pre-token
    uint64_t start                 # its first slot
    uint64_t size                  # slots
    int64_t weight                 # how often the pre-token occurs


@cython.final
cdef class PretokenEncoder:
    cdef TokenTable tokens
    cdef Worker worker
    cdef bint whole
    cdef uint32_t* by_slot             # slot of a token -> internal id, NO_ID where it takes no part
    cdef token_t* ids                  # of the last pre-token, internal ids


@cython.final
cdef class Pretokens:
    cdef int32_t* symbols              # heads and slots, then SENTINEL
    cdef uint64_t count                # symbols without that; even
    cdef uint64_t room
    cdef uint8_t id_of_byte[256]

    # Add pre-tokens: as the tokens that an encoder makes of them, else as bytes.
    cdef int add(self, PretokenReader pretokens, PretokenEncoder encoder, bp_watch* watch) except -1 nogil


cdef inline uint64_t head_of(uint32_t number) noexcept nogil:
    return <uint64_t> number * 2


cdef inline uint64_t even(uint64_t at) noexcept nogil:
    return at + (at & 1)


cdef inline strip read_strip(const int32_t* symbols, uint32_t number) noexcept nogil:
    cdef const int32_t* head = symbols + head_of(number)
    cdef strip one
    memcpy(&one.weight, head + WEIGHT, sizeof(int64_t))
    if head[FIRST_SIZE]:
        one.start = head_of(number) + HEAD
        one.size = head[FIRST_SIZE]
    else:
        one.size = head[NEXT_SIZE]
        memcpy(&one.start, head + NEXT_START, sizeof(uint64_t))
    return one


cdef inline uint32_t strip_at(const int32_t* symbols, uint32_t number, uint64_t at) noexcept nogil:
    """The strip in which a slot lies, in the same pre-token as strip `number` and not after it."""
    cdef const int32_t* head = symbols + head_of(number)
    cdef uint64_t start, pretoken
    if head[FIRST_SIZE]:
        return number
    memcpy(&start, head + NEXT_START, sizeof(uint64_t))
    if at >= start:
        return number
    memcpy(&pretoken, head + NEXT_PRETOKEN, sizeof(uint64_t))
    if at < pretoken + HEAD + STRIP:
        return <uint32_t> (pretoken // 2)
    return number - <uint32_t> ((start - at + STRIP - 1) // STRIP * (NEXT_HEAD // 2))


cdef inline uint32_t strip_after(const int32_t* symbols, uint32_t number) noexcept nogil:
    """The strip whose head comes next, also after joins: they leave the size of the first strip, and SENTINEL."""
    cdef uint64_t at = head_of(number)
    if symbols[at + FIRST_SIZE] == 0:
        return number + NEXT_HEAD // 2
    at += HEAD + symbols[at + FIRST_SIZE]
    while symbols[at] != SENTINEL:                 # after STRIP slots of a long pre-token
        at += 1
    return <uint32_t> (even(at) // 2)
