"""Runs the transducer of a split pattern over UTF-8 text and gives out the ends of pre-tokens.

The transducer (transducer.py) reads every character once and gives at each one the cuts that are now certain: here, one
character back, two back, at the mark. This module has its shape for these reasons:

* A branch per byte on "is there a cut" costs more than all the rest: cuts come every four or five bytes, with no period
  that a processor could predict. So the transducer runs over a pass without looking at its outputs; these are gathered
  as bit masks of 64, "two back" becomes a shift, and the bits of the masks are walked at the end.
* ASCII is read as it is, one code a byte. Blocks with other characters are rewritten first: the first byte of a
  character becomes the code of its group, its continuation bytes a code that changes nothing.
* Each state depends on the one before, a chain of loads of five cycles a step on current processors. So a step reads
  two codes, where the tables for that are small (scan_twos.h), and four lanes of a pass are read in parallel. The state
  at the start of a lane is known without the text before it, because most pairs of characters,
  such as a letter and a space, are a synchronizing word: they lead to one state from every state. A table made with the
  pattern lists them. A pass without such pairs before its lanes is read in one lane.
* Where one instruction looks up 64 bytes in a table of 128, 64 lanes are read in parallel (scan_avx512.h), in 0.3
  cycles a byte for any pattern whose table is small, as all in use are.
* Nothing is allocated and nothing is kept in the scanner: the whole state of a scan is in the caller's cursor. So a
  scan of twenty characters costs little, threads share a scanner, and a text may arrive in chunks.

A whole scan of English on one core of a Zen 5: 4.2 GB/s in 64 lanes, 1.5 in four of one code a step, 0.5 in one.
Rejected there: one byte shuffle per byte (SSSE3 pshufb, the state as its index). It runs at 2.0 GB/s before any work on
its outputs, with at most 16 states, which only GPT-2's pattern keeps, and at 0.69 GB/s with the two shuffles that 32
states need; four parallel look-ups run at 3.2 GB/s with any number of states, on any processor. With a branch at every
cut, 0.24. On a Zen 3, 64 lanes with AVX2's shuffles of sixteen bytes ran at 1.5 GB/s (cl100k: 1.1) and four lanes at
0.75. Encoding gained at most 8 % by them, which is not worth 400 lines.
"""
from cpython.array cimport array, clone, resize_smart
from libc.stdint cimport uint8_t, uint16_t
from libc.stdlib cimport free

from array import array as new_array

cdef extern from "headers/simd.h" nogil:
    enum:
        BP_SIMD_PLAIN
        BP_SIMD_AVX512
    int bp_simd()

cdef extern from "splitting/scan/scan_short.h" nogil:
    Py_ssize_t scan_short(const scan_tables* tables, const uint8_t* text, int size, Py_ssize_t* ends)

cdef extern from "splitting/scan/scan_twos.h" nogil:
    bint scan_make_twos(scan_tables* tables)

cdef extern from "splitting/scan/scan.h" nogil:
    enum:
        SCAN_MARK
        SCAN_COMMIT
        SCAN_WIDE_LANES
    void scan_find_alike(scan_tables* tables)
    void scan_begin(scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final)
    Py_ssize_t scan_next_ends(const scan_tables* tables, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity)

NO_PATTERN = object()

#: Bits of an output byte; lower ones are cuts (scanner.h).
MARK_BIT, COMMIT_BIT = SCAN_MARK, SCAN_COMMIT

cdef enum:
    ROOM = 512  # ends found at a time: few enough to stay in the first-level cache


cdef class Scanner:
    """A compiled pattern, immutable and safe to share between threads; built by `pretokenizer.pretokenizer`.

    Args:
        tables: A `ScannerTables`.
        lanes: The most parallel lanes of a long text: 64, which takes a processor with AVX-512, 4 or 1. As many as the
            processor and the pattern allow are used.
    """

    def __cinit__(self, tables, *, int lanes=SCAN_WIDE_LANES):
        cdef bytes following, out, column, pages, synchronized, page_of
        if tables is NO_PATTERN:
            return
        following, out, column, pages = tables.next, tables.out, tables.column, tables.pages
        synchronized, page_of = tables.synchronized, tables.page_of
        self.owner = tables
        self.tables.next = following
        self.tables.out = out
        self.tables.column = column
        self.tables.synchronized = synchronized
        self.tables.page_of = <const uint16_t*> <const uint8_t*> page_of
        self.tables.pages = pages
        self.tables.states, self.tables.columns = tables.states, tables.columns
        self.tables.used_bits, self.tables.mark_back = tables.used_bits, tables.mark_back
        self.tables.continuation, self.tables.end = tables.continuation, tables.end
        scan_find_alike(&self.tables)
        self.tables.simd = bp_simd() if lanes == SCAN_WIDE_LANES else BP_SIMD_PLAIN
        self.tables.lanes = min(lanes, 4)
        if tables.vector is not None and self.tables.simd == BP_SIMD_AVX512:
            self.tables.vector = vector_of(tables.vector)
            self.tables.lanes = SCAN_WIDE_LANES
        if lanes > 1 and not scan_make_twos(&self.tables):
            raise MemoryError()
        if self.tables.twos == NULL and self.tables.lanes == 4:
            self.tables.lanes = 1

    def __dealloc__(self):
        free(<void*> self.tables.twos)

    @property
    def lanes(self):
        return self.tables.lanes

    def ends(self, const uint8_t[::1] data not None, *, Py_ssize_t capacity=ROOM):
        """The ends of the pre-tokens of `data`, which must be valid UTF-8, as byte offsets in an ``array('q')``.

        They are found `capacity` (1 to 512) at a time; the result does not depend on it.
        """
        cdef array result = clone(new_array("q"), 0, False)
        cdef scan_cursor cursor
        cdef Py_ssize_t ends[ROOM]
        cdef Py_ssize_t count, filled = 0, i
        if not 1 <= capacity <= ROOM:
            raise ValueError(f"capacity must be 1 to {ROOM}, not {capacity}")
        self.begin(&cursor, &data[0] if data.shape[0] else NULL, data.shape[0], True)
        while True:
            with nogil:
                count = self.next_ends(&cursor, ends, capacity)
            if count == 0:
                return result
            resize_smart(result, filled + count)
            for i in range(count):
                result.data.as_longlongs[filled + i] = ends[i]
            filled += count

    def ends_of_short(self, const uint8_t[::1] data not None):
        """The ends for 1 to 63 bytes in one pass, as in the encoder; none if only a scan finds them. For tests."""
        cdef Py_ssize_t ends[SCAN_SHORT]
        if not 0 < data.shape[0] < SCAN_SHORT:
            raise ValueError(f"a short text has 1 to {SCAN_SHORT - 1} bytes, not {data.shape[0]}")
        found = new_array("q")
        for i in range(self.short_ends(&data[0], data.shape[0], ends)):
            found.append(ends[i])
        return found

    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil:
        scan_begin(cursor, text, length, final)

    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil:
        return scan_next_ends(&self.tables, cursor, ends, capacity)

    cdef Py_ssize_t short_ends(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t* ends) noexcept nogil:
        return scan_short(&self.tables, text, <int> length, ends)


cdef scan_vector vector_of(tables):
    """Pointers into a `vector_tables.VectorTables`, which the caller keeps."""
    cdef bytes following = tables.next, out = tables.out
    return scan_vector(paged(tables.transition), paged(tables.subset), following, out, tables.all_states)


cdef scan_paged paged(tables):
    """Pointers into a `vector_tables.Paged`, which the caller keeps."""
    cdef bytes row = tables.row, page = tables.page, values = tables.values
    return scan_paged(row, page, values, tables.pages, tables.ascii_pages)
