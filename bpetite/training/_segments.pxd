"""How words lie in the array of symbols: a head and their tokens, cut into segments.

    SENTINEL, size of the first segment, its weight (int64), SENTINEL, slots of all segments ...
    for each further segment: SENTINEL, 0, its weight, 0, its size, its first slot (uint64), the word's head (uint64)

A head begins at an even place, and half of it is the segment's number. So the weight lies beside the tokens: a word of
a few tokens is read in one cache miss, or two that do not wait for each other.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef enum:
    SEGMENT = 64                   # slots at most
    HEAD = 5                       # symbols before the first slot of a word
    NEXT_HEAD = 10                 # symbols of the head of a further segment
    SENTINEL = -0x7FFFFFFF - 1     # no id, and no complement of one


cdef struct segment:               # a stretch of a pre-token
    uint64_t start                 # its first slot
    uint64_t size                  # slots
    int64_t weight                 # how often the pre-token occurs


cdef inline uint64_t head_of(uint32_t number) noexcept nogil:
    return <uint64_t> number * 2


cdef inline segment read_segment(const int32_t* symbols, uint32_t number) noexcept nogil:
    cdef const int32_t* head = symbols + head_of(number)
    cdef segment found
    memcpy(&found.weight, head + 2, sizeof(int64_t))
    if head[1]:
        found.start = head_of(number) + HEAD
        found.size = head[1]
    else:
        found.size = head[5]
        memcpy(&found.start, head + 6, sizeof(uint64_t))
    return found


cdef inline uint32_t segment_at(const int32_t* symbols, uint32_t number, uint64_t at) noexcept nogil:
    """The segment in which a slot lies, in the same word as segment `number` and not after it."""
    cdef const int32_t* head = symbols + head_of(number)
    cdef uint64_t start, word
    if head[1]:
        return number
    memcpy(&start, head + 6, sizeof(uint64_t))
    if at >= start:
        return number
    memcpy(&word, head + 8, sizeof(uint64_t))
    if at < word + HEAD + SEGMENT:
        return <uint32_t> (word // 2)
    return number - <uint32_t> ((start - at + SEGMENT - 1) // SEGMENT * (NEXT_HEAD // 2))


cdef inline uint64_t even(uint64_t at) noexcept nogil:
    return at + (at & 1)


cdef inline uint64_t symbols_of(uint64_t words, uint64_t slots) noexcept nogil:
    """Room for so many words of so many slots together, and for the SENTINEL after the last."""
    return words * (HEAD + 1) + slots + slots // SEGMENT * NEXT_HEAD + 1


cdef inline uint32_t segment_after(const int32_t* symbols, uint32_t number) noexcept nogil:
    """The segment whose head comes next, also after joins: these leave the size of the first segment, and SENTINEL."""
    cdef uint64_t at = head_of(number)
    if symbols[at + 1] == 0:
        return number + NEXT_HEAD // 2
    at += HEAD + symbols[at + 1]
    while symbols[at] != SENTINEL:                 # after SEGMENT slots of a long word
        at += 1
    return <uint32_t> (even(at) // 2)
