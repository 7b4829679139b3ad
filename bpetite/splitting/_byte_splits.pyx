"""Splits of pre-tokens that see bytes, not characters: what tokenizer.json has behind its ByteLevel.

There, a pattern sees text in GPT-2's printable form, a character for each byte: the second byte of "²" is the digit "²"
of that form, and a split at digits cuts between the two bytes. So these splits have a transducer of their own, over
bytes, that runs on each pre-token after the scanner has found it. Most pre-tokens need no look: a transducer does
nothing on those that consist of *quiet* bytes, those that it reads as it reads the letter "a".
"""
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    ASCII = 128
    CUT_BITS = 4               # of an output
    END = 256                  # the column of the end in `out`
    WIDTH = END + 1


cdef class ByteSplits:
    """A compiled pattern over the printable form of bytes, immutable and safe to share between threads.

    `tables` is a `scanner_tables.ScannerTables`, without marks, and `alphabet` holds the character of each byte.
    """

    def __cinit__(self, tables, str alphabet not None):
        cdef bytes following, outputs
        states, stage = tables.states, memoryview(tables.stage).cast("H")
        codes = [ord(one) if ord(one) < ASCII else tables.pages[64 * stage[ord(one) // 64] + ord(one) % 64]
                 for one in alphabet]
        if tables.used_bits >> CUT_BITS:
            raise ValueError("a pattern that needs marks cannot cut bytes")
        following = bytes([tables.next[code * states + state] for state in range(states) for code in codes])
        outputs = bytes([tables.out[code * states + state] for state in range(states) for code in (*codes, tables.end)])
        self.owner = following, outputs
        self.next, self.out = following, outputs
        silent = self._is_silent(ord("a"))
        for byte, code in enumerate(codes):
            self.quiet[byte] = silent and tables.column[code] == tables.column[ord("a")]

    cdef bint _is_silent(self, int byte):
        """Whether pre-tokens of this byte alone, repeated, are never cut."""
        state, seen = 0, set()
        while state not in seen:
            seen.add(state)
            if self.out[state * WIDTH + byte] or self.out[state * WIDTH + END]:
                return False
            state = self.next[state * END + byte]
        return True

    def ends(self, bytes data not None):
        """The ends of the parts of one pre-token, ascending, the last one at its length.

        >>> from bpetite.splitting.pretokenizer import compiled
        >>> ByteSplits(compiled((r"\\p{N}",), None), "".join(map(chr, range(256)))).ends(b"a12 b")
        [1, 2, 3, 5]
        """
        cdef byte_cut cut
        cdef Py_ssize_t ends[2 * CUT_BITS]
        cdef Py_ssize_t count = 1, i
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(data)
        found = []
        self.begin(&cut, 0, len(data))
        if self.find(text, 0, len(data)) == len(data):
            return [len(data)] if data else []
        while count:
            count = self.next_ends(&cut, text, ends, 2 * CUT_BITS)
            found += [ends[i] for i in range(count)]
        return found

    cdef Py_ssize_t find(self, const uint8_t* text, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
        while at < end and self.quiet[text[at]]:
            at += 1
        return at

    cdef void begin(self, byte_cut* cut, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
        cut.start = cut.at = start
        cut.end = end
        cut.state = 0
        cut.found = 0

    cdef Py_ssize_t next_ends(self, byte_cut* cut, const uint8_t* text, Py_ssize_t* ends,
                              Py_ssize_t capacity) noexcept nogil:
        cdef Py_ssize_t at = cut.at, count = 0
        cdef uint32_t state = cut.state, found = cut.found
        cdef int back
        # A cut is certain once no later output can be before it.
        while at < cut.end and count < capacity - CUT_BITS:
            found |= self.out[state * WIDTH + text[at]]
            state = self.next[state * END + text[at]]
            if found >> (CUT_BITS - 1) & 1 and at - (CUT_BITS - 1) > cut.start:
                ends[count] = at - (CUT_BITS - 1)
                count += 1
            found <<= 1
            at += 1
        if at == cut.end:
            found |= self.out[state * WIDTH + END]
            for back in range(CUT_BITS - 1, 0, -1):
                if found >> back & 1 and at - back > cut.start:
                    ends[count] = at - back
                    count += 1
            ends[count] = at
            count += 1
            cut.end = -1
        cut.at, cut.state, cut.found = at, state, found
        return count
