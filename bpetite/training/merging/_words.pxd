"""The words that merges are learned from, as tokens in flat memory (_words.pyx).

    SENTINEL, size of the first stretch, its weight (int64), SENTINEL, slots of all stretches ...
    for each further stretch: SENTINEL, 0, its weight, 0, its size, its first slot (uint64), the word's head (uint64)

A head begins at an even place, and half of that place is the stretch's number. The weight lies next to the tokens: a
word of a few tokens is read in one cache miss, or in two that do not wait for each other.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ...core._encode cimport Worker
from ...headers cimport bp_watch, token_t
from ...vocabulary._tokens cimport TokenTable
from ..counting._count_table cimport PretokenReader


cdef enum:
    STRETCH = 64                   # slots at most
    STRETCH_WORK = 64              # bytes of text whose encoding takes as long as the search of a stretch
    HEAD = 5                       # symbols before the first slot of a word
    NEXT_HEAD = 10                 # symbols of the head of a further stretch
    SENTINEL = -0x7FFFFFFF - 1     # no id, and no complement of one


cdef struct stretch:               # a part of a word
    uint64_t start                 # its first slot
    uint64_t size                  # slots
    int64_t weight                 # how often the word occurs


@cython.final
cdef class WordEncoder:
    cdef TokenTable tokens
    cdef Worker worker
    cdef bint whole
    cdef uint32_t* by_slot             # slot of a token -> internal id, NO_ID where it takes no part
    cdef token_t* ids                  # of the last pre-token, internal ids


@cython.final
cdef class Words:
    cdef int32_t* symbols              # heads and slots, then SENTINEL
    cdef uint64_t count                # symbols without that; even
    cdef uint64_t room
    cdef uint8_t id_of_byte[256]

    # Add pre-tokens: as the tokens that an encoder makes of them, else as bytes.
    cdef int add(self, PretokenReader pretokens, WordEncoder encoder, bp_watch* watch) except -1 nogil


cdef inline uint64_t head_of(uint32_t number) noexcept nogil:
    return <uint64_t> number * 2


cdef inline uint64_t even(uint64_t at) noexcept nogil:
    return at + (at & 1)


cdef inline stretch read_stretch(const int32_t* symbols, uint32_t number) noexcept nogil:
    cdef const int32_t* head = symbols + head_of(number)
    cdef stretch one
    memcpy(&one.weight, head + 2, sizeof(int64_t))
    if head[1]:
        one.start = head_of(number) + HEAD
        one.size = head[1]
    else:
        one.size = head[5]
        memcpy(&one.start, head + 6, sizeof(uint64_t))
    return one


cdef inline uint32_t stretch_at(const int32_t* symbols, uint32_t number, uint64_t at) noexcept nogil:
    """The stretch in which a slot lies, in the same word as stretch `number` and not after it."""
    cdef const int32_t* head = symbols + head_of(number)
    cdef uint64_t start, word
    if head[1]:
        return number
    memcpy(&start, head + 6, sizeof(uint64_t))
    if at >= start:
        return number
    memcpy(&word, head + 8, sizeof(uint64_t))
    if at < word + HEAD + STRETCH:
        return <uint32_t> (word // 2)
    return number - <uint32_t> ((start - at + STRETCH - 1) // STRETCH * (NEXT_HEAD // 2))


cdef inline uint32_t stretch_after(const int32_t* symbols, uint32_t number) noexcept nogil:
    """The stretch whose head comes next, also after joins: they leave the size of the first stretch, and SENTINEL."""
    cdef uint64_t at = head_of(number)
    if symbols[at + 1] == 0:
        return number + NEXT_HEAD // 2
    at += HEAD + symbols[at + 1]
    while symbols[at] != SENTINEL:                 # after STRETCH slots of a long word
        at += 1
    return <uint32_t> (even(at) // 2)
