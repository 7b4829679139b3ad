"""How often each token occurs in counted pre-tokens."""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from .._merge cimport MergeTable, merge_space, space_free, space_reserve
from ..headers cimport bp_watch, bp_watch_begin, bp_watch_check, bp_work, token_t
from ..vocabulary._tokens cimport TokenTable
from ._count_table cimport CountTable, check, slot_bytes
from ._learned_tokens cimport NO_MEMORY, OK, OVERFLOW
from .tables cimport bp_add_overflows

from array import array

cdef enum:
    SLOT_WORK = 32              # bytes of text whose encoding takes as long as a slot of a count table


def token_uses(CountTable table not None, TokenTable tokens not None, MergeTable merges not None):
    """How many pre-tokens each token is, and how often it is inside of pre-tokens that are no token.

    Args:
        table: The pre-tokens.
        tokens: Tokens with the ids 0..n-1, all bytes among them, each found by its bytes.
        merges: What pre-tokens that are no token are encoded by.

    Returns:
        Two arrays of int64, by id.

    Raises:
        OverflowError: A token occurs more than 2^63 - 1 times.
    """
    cdef bytes nothing = bytes(8 * tokens.size)
    whole_array, inside_array = array("q", nothing), array("q", nothing)
    cdef int64_t[::1] whole = whole_array
    cdef int64_t[::1] inside = inside_array
    cdef token_t byte_ids[256]
    cdef merge_space space
    cdef bp_watch watch
    cdef const uint8_t* data
    cdef uint8_t byte
    cdef uint64_t i
    cdef Py_ssize_t length, slot, at, n
    cdef int64_t count
    cdef int value, result = OK
    for value in range(256):
        byte = <uint8_t> value
        slot = tokens.find(&byte, 1)
        if slot < 0:
            raise ValueError(f"there is no token for the byte 0x{value:02x}")
        byte_ids[value] = <token_t> slot
    if tokens.slot(<token_t> (tokens.size - 1)) != tokens.size - 1:
        raise ValueError("ids are 0 to the number of tokens")
    bp_watch_begin(&watch, NULL)
    memset(&space, 0, sizeof(space))
    with nogil:
        for i in range(table.mask + 1):
            if result != OK or bp_work(&watch, SLOT_WORK):
                break
            count = table.slots[i].count
            if table.slots[i].key.high == 0 or count == 0:
                continue
            data = slot_bytes(&table.slots[i], &length)
            slot = tokens.find(data, length)
            if slot >= 0:
                if bp_add_overflows(&whole[slot], count):
                    result = OVERFLOW
                continue
            if not space_reserve(&space, length):
                result = NO_MEMORY
                break
            for at in range(length):
                space.ids[at] = byte_ids[data[at]]
            n = merges.merge(&space, length, &watch)
            if n < 0:
                result = OK if watch.interrupted else NO_MEMORY
                break
            for at in range(n):
                slot = tokens.slot(space.ids[at])
                if slot >= 0 and bp_add_overflows(&inside[slot], count):
                    result = OVERFLOW
        space_free(&space)
    bp_watch_check(&watch)
    if result == OVERFLOW:
        raise OverflowError("a token occurs more than 2^63 - 1 times: divide the counts by a common factor")
    check(result)
    return whole_array, inside_array
