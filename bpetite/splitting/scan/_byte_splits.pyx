"""Splits of pre-tokens that see bytes, not characters: the steps of a tokenizer.json behind its ByteLevel.

There, a pattern sees text in GPT-2's printable form, a character for each byte: the second byte of "²" is the digit "²"
of that form, and a split at digits cuts between the two bytes. So these splits have a transducer of their own, over
bytes. It runs on a pre-token that the scanner has found when the word cache lacks it, and the cache then holds the ids
of all its parts: other pre-tokens cost nothing more.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from ...headers.python cimport PyBytes_AS_STRING

from array import array

cdef enum:
    ASCII = 128
    CUT_BITS = 4               # of an output
    CUTS = (1 << CUT_BITS) - 1
    LAST = CUT_BITS - 1
    END = 256                  # the column of the end
    WIDTH = END + 1


cdef class ByteSplits:
    """A compiled pattern over the printable form of bytes, immutable and safe to share between threads.

    `tables` is a `ScannerTables`, without marks, and `alphabet` holds the character of each byte.
    """

    def __cinit__(self, tables, str alphabet not None):
        states, stage, codes, steps = tables.states, memoryview(tables.stage).cast("H"), array("L"), array("H")
        for one in map(ord, alphabet):
            codes.append(one if one < ASCII else tables.pages[64 * stage[one // 64] + one % 64])
        codes.append(tables.end)
        if tables.used_bits >> CUT_BITS:
            raise ValueError("a pattern that needs marks cannot cut bytes")
        for state in range(states):
            for code in codes:
                steps.append(tables.next[code * states + state] << CUT_BITS | tables.out[code * states + state])
        self.owner = steps.tobytes()
        self.steps = <const uint16_t*> PyBytes_AS_STRING(self.owner)

    def ends(self, bytes data not None):
        """The ends of the parts of one pre-token, ascending, the last one at its length.

        >>> from bpetite.splitting.pretokenizer import compiled
        >>> ByteSplits(compiled((r"\\p{N}",)), "".join(map(chr, range(256)))).ends(b"a12 b")
        [1, 2, 3, 5]
        """
        cdef byte_cut cut
        cdef Py_ssize_t ends[2 * CUT_BITS]
        cdef Py_ssize_t count = 1, i
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        found = []
        self.begin(&cut, 0, len(data))
        while count and data:
            count = self.next_ends(&cut, text, ends, 2 * CUT_BITS)
            for i in range(count):
                found.append(ends[i])
        return found

    cdef void begin(self, byte_cut* cut, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cut.start = cut.at = start
        cut.end = end
        cut.state = 0
        cut.cuts = 0

    cdef Py_ssize_t next_ends(self, byte_cut* cut, const uint8_t* text, Py_ssize_t* ends,
                              Py_ssize_t capacity) noexcept nogil:
        cdef Py_ssize_t at = cut.at, count = 0
        cdef uint32_t state = cut.state, cuts = cut.cuts, step
        cdef int back
        while at < cut.end and count < capacity - CUT_BITS:
            step = self.steps[state * WIDTH + text[at]]
            state = step >> CUT_BITS
            cuts |= step & CUTS
            # A cut is certain once no later output can be before it.
            if cuts >> LAST & 1 and at - LAST > cut.start:
                ends[count] = at - LAST
                count += 1
            cuts <<= 1
            at += 1
        if at == cut.end:
            cuts |= self.steps[state * WIDTH + END] & CUTS
            for back in range(LAST, 0, -1):
                if cuts >> back & 1 and at - back > cut.start:
                    ends[count] = at - back
                    count += 1
            ends[count] = at
            count += 1
            cut.end = -1
        cut.at, cut.state, cut.cuts = at, state, cuts
        return count
