"""Runs the transducer of a split pattern over UTF-8 text and gives out the ends of pre-tokens.

The transducer (transducer.py) reads every character once and gives at each one the cuts that are now certain: here, one
character back, two back, at the mark. This module has its shape for these reasons:

* A branch per byte on "is there a cut" costs more than all the rest: cuts come every four or five bytes, with no period
  that a processor could predict. So the transducer runs over a span without looking at its outputs; these are gathered
  as bit masks of 64, "two back" becomes a shift, and the bits of the masks are walked at the end.
* ASCII is read as it is, one code a byte. Blocks with other characters are rewritten first: the first byte of a
  character becomes the code of its group, its continuation bytes a code that changes nothing.
* Each state depends on the one before, a chain of loads of five cycles a step on current processors. So a step reads
  two codes, where the tables for that are small (scan_twos.h), and four lanes of a span are read in parallel (kind
  "vector"). The state at the start of a lane is known without the text before it, because most pairs of characters,
  such as a letter and a space, are a synchronizing word: they lead to one state from every state. A table made with the
  pattern lists them. A span without such pairs before its lanes is read in one lane, as kind "tables" always does.
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
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from array import array as new_array

cdef extern from "splitting/scan/scan_blocks.h" nogil:
    enum:
        SCAN_BLOCK
        SCAN_LONGEST
        SCAN_MARK
        SCAN_COMMIT

    ctypedef struct scan_span:
        const uint8_t* codes
        bint ascii
        int lane, size, count, blocks, before_end
        uint8_t rewritten[1]
        uint64_t leads[1]
        uint64_t masks[6][64]

    void scan_prefetch(const uint8_t* text, int size)
    bint scan_is_ascii(const uint8_t* text, int size)
    int scan_known_state(const scan_tables* tables, const uint8_t* codes, int at)
    void scan_put_end(const scan_tables* tables, scan_span* span)
    void scan_find_alike(scan_tables* tables)
    uint64_t scan_encode(const scan_tables* tables, const uint8_t* text, Py_ssize_t size, uint8_t* codes)
    uint32_t scan_run_span(const scan_tables* tables, scan_span* span, uint32_t state)
    void scan_follow_marks(const scan_tables* tables, scan_cursor* cursor, const scan_span* span)
    void scan_find_cuts(const scan_tables* tables, scan_cursor* cursor, const scan_span* span)
    uint64_t scan_back(uint64_t bits, int count, uint64_t leads_before, uint64_t leads, uint64_t* before)
    Py_ssize_t scan_put(uint64_t* mask, Py_ssize_t base, Py_ssize_t* ends, Py_ssize_t count, Py_ssize_t capacity)

cdef extern from "splitting/scan/scan_short.h" nogil:
    Py_ssize_t scan_short(const scan_tables* tables, const uint8_t* text, int size, Py_ssize_t* ends)

cdef extern from "splitting/scan/scan_twos.h" nogil:
    scan_twos* scan_make_twos(const scan_tables* tables, int* failed)

cdef extern from "headers/simd.h" nogil:
    enum:
        BP_SIMD_PLAIN
        BP_SIMD_AVX512
    int bp_simd()

cdef extern from "splitting/scan/scan_forms.h" nogil:
    uint32_t scan_run_avx512(const scan_tables* tables, const scan_vector* vector, scan_span* span, uint32_t state)
    int scan_encode_blocks(int simd, const scan_tables* tables, const uint8_t* text, Py_ssize_t left, int blocks,
                           uint8_t* codes, uint64_t* leads)
    Py_ssize_t scan_put_blocks(int simd, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t count, Py_ssize_t capacity)

cdef uint64_t ALL = ~<uint64_t>0
NO_PATTERN = object()

cdef enum:
    WIDE_LANES = 64
    SHORTEST_WIDE = 400  # codes; below, transposing the text into 64 lanes costs more than it saves
    ROOM = 512  # ends found at a time: few enough to stay in the first-level cache


cdef class Scanner:
    """A compiled pattern, immutable and safe to share between threads; built by `pretokenizer.pretokenizer`.

    `tables` is a `ScannerTables`; `kind` is "vector" (64 parallel lanes of the text if the processor and
    the pattern allow it, else, or with `lanes=4`, four) or "tables" (one).
    """

    def __cinit__(self, kind=None, tables=None, *, int lanes=WIDE_LANES):
        cdef bytes following, out, column, pages, synchronized, stage
        cdef int failed = 0
        if kind is NO_PATTERN:
            return
        if kind not in ("vector", "tables"):
            raise ValueError(f"a scanner is of kind 'vector' or 'tables', not {kind!r}")
        self.lanes = 1 if kind == "tables" else 4
        self.simd = bp_simd() if kind == "vector" and lanes == WIDE_LANES else BP_SIMD_PLAIN
        if tables.vector is not None and self.simd == BP_SIMD_AVX512:
            self.vector = vector_of(tables.vector)
            self.lanes = WIDE_LANES
        following, out, column, pages = tables.next, tables.out, tables.column, tables.pages
        synchronized, stage = tables.synchronized, tables.stage
        self.owner = tables
        self.tables.next = following
        self.tables.out = out
        self.tables.column = column
        self.tables.synchronized = synchronized
        self.tables.stage = <const uint16_t*> <const uint8_t*> stage
        self.tables.pages = pages
        self.tables.states, self.tables.columns = tables.states, tables.columns
        self.tables.used_bits, self.tables.mark_back = tables.used_bits, tables.mark_back
        self.tables.continuation, self.tables.end = tables.continuation, tables.end
        scan_find_alike(&self.tables)
        if self.lanes > 1:
            self.tables.twos = self.twos = scan_make_twos(&self.tables, &failed)
            if failed:
                raise MemoryError()
            if self.twos == NULL and self.lanes == 4:
                self.lanes = 1

    def __dealloc__(self):
        free(self.twos)

    def ends(self, const uint8_t[::1] data not None, *, Py_ssize_t capacity=ROOM):
        """The ends of the pre-tokens of `data`, which must be valid UTF-8, as byte offsets in an ``array('q')``.

        They are found `capacity` (1 to 512) at a time; the result does not depend on it.
        """
        cdef array result = clone(new_array("q"), 0, False)
        cdef scan_cursor cursor
        if not 1 <= capacity <= ROOM:
            raise ValueError(f"capacity must be 1 to {ROOM}, not {capacity}")
        self.begin(&cursor, &data[0] if data.shape[0] else NULL, data.shape[0], True)
        append_ends(self, &cursor, result, capacity)
        return result

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
        cursor.text = text
        cursor.length = length
        cursor.final = final
        cursor.ended = length == 0 and final
        cursor.position = 0
        cursor.leads = ALL
        cursor.mark = 0
        cursor.state = 0
        cursor.early = -1
        cursor.before = 0
        cursor.base = 0
        cursor.block = cursor.blocks = 0

    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil:
        cdef Py_ssize_t count = 0
        while count < capacity:
            if cursor.early >= 0:
                ends[count] = cursor.early
                cursor.early = -1
                count += 1
            if cursor.before:
                count = scan_put(&cursor.before, cursor.base - SCAN_BLOCK, ends, count, capacity)
                if cursor.before:
                    break
            count = scan_put_blocks(self.simd, cursor, ends, count, capacity)
            while cursor.block < cursor.blocks:
                if count and capacity - count < SCAN_BLOCK <= capacity:
                    return count  # the next call has room for a whole block, which is faster
                count = scan_put(&cursor.ready[cursor.block], cursor.base + cursor.block * SCAN_BLOCK, ends, count,
                                 capacity)
                if cursor.ready[cursor.block]:
                    break
                cursor.block += 1
            if cursor.block == cursor.blocks and not read_span(self, cursor):
                break
        return count

    cdef Py_ssize_t short_ends(self, const uint8_t* text, Py_ssize_t length, Py_ssize_t* ends) noexcept nogil:
        return scan_short(&self.tables, text, <int> length, ends)


cdef bint read_span(Scanner scanner, scan_cursor* cursor) noexcept nogil:
    """Find the ends in the next span of the text, once all found before are given out. False if no text is left."""
    cdef scan_span span
    if cursor.ended or (cursor.position == cursor.length and not cursor.final):
        return False
    measure_span(scanner, cursor, &span)
    if cursor.length - cursor.position > SCAN_LONGEST:
        scan_prefetch(cursor.text + cursor.position + SCAN_LONGEST, span.size)
    encode_span(scanner, cursor, &span)
    if span.lane:
        cursor.state = scan_run_avx512(&scanner.tables, &scanner.vector, &span, cursor.state)
    else:
        cursor.state = scan_run_span(&scanner.tables, &span, cursor.state)
    if span.before_end >= 0:
        scan_put_end(&scanner.tables, &span)
    cursor.base = cursor.position
    cursor.position += span.size
    cursor.block = 0
    cursor.blocks = span.blocks
    scan_find_cuts(&scanner.tables, cursor, &span)
    if scanner.tables.used_bits >> SCAN_MARK:
        scan_follow_marks(&scanner.tables, cursor, &span)
    if cursor.ended:
        cursor.ready[span.blocks - 1] |= <uint64_t>1 << (span.size % SCAN_BLOCK)
    else:
        keep_leads(cursor, &span)
    return True


cdef void measure_span(Scanner scanner, scan_cursor* cursor, scan_span* span) noexcept nogil:
    """Choose the method and the length of the next span. The end of the text is a code, which must fit into it."""
    cdef Py_ssize_t left = cursor.length - cursor.position
    cdef Py_ssize_t codes = left + cursor.final
    cdef const uint8_t* text = cursor.text + cursor.position
    cdef int longest = SCAN_LONGEST
    span.lane = 0
    if scanner.lanes == WIDE_LANES and codes >= SHORTEST_WIDE:
        span.lane = SCAN_LONGEST // WIDE_LANES
        while span.lane > 16 and codes * 4 <= span.lane * WIDE_LANES * 3:  # less than three quarters full
            span.lane //= 2
        longest = span.lane * WIDE_LANES
    cursor.ended = left < longest and cursor.final
    span.size = <int>min(left, <Py_ssize_t>longest)
    span.count = span.size + cursor.ended
    span.blocks = (span.count + SCAN_BLOCK - 1) // SCAN_BLOCK
    span.before_end = -1
    span.ascii = (span.size == longest or cursor.ended) and scan_is_ascii(text, span.size)
    if span.ascii and span.size < longest:
        # Without a code for its end, the text is read as ASCII, which is less work.
        span.before_end = scan_known_state(&scanner.tables, text, span.size)
        span.ascii = span.before_end >= 0


cdef void encode_span(Scanner scanner, const scan_cursor* cursor, scan_span* span) noexcept nogil:
    """Turn the text of a span into codes, and mark the bytes that begin a character."""
    cdef const uint8_t* text = cursor.text + cursor.position
    cdef Py_ssize_t left = cursor.length - cursor.position
    cdef const scan_tables* tables = &scanner.tables
    cdef int block, whole
    if span.ascii:
        span.codes = text
        for block in range(span.blocks):
            span.leads[block] = ALL
        if span.before_end >= 0:
            span.codes = span.rewritten
            memcpy(span.rewritten, text, span.size)
            memset(span.rewritten + span.size, 0, span.lane * WIDE_LANES - span.size if span.lane else SCAN_BLOCK)
        return
    span.codes = span.rewritten
    whole = scan_encode_blocks(scanner.simd, tables, text, left, span.size // SCAN_BLOCK, span.rewritten, span.leads)
    for block in range(whole, (span.size + SCAN_BLOCK - 1) // SCAN_BLOCK):
        span.leads[block] = scan_encode(tables, text + block * SCAN_BLOCK, left - block * SCAN_BLOCK,
                                        span.rewritten + block * SCAN_BLOCK)
    if cursor.ended:
        span.rewritten[span.size] = tables.end
        if span.size % SCAN_BLOCK == 0:
            span.leads[span.size // SCAN_BLOCK] = ALL
    memset(span.rewritten + span.count, tables.continuation,
           span.lane * WIDE_LANES - span.count if span.lane else SCAN_BLOCK)


cdef void keep_leads(scan_cursor* cursor, const scan_span* span) noexcept nogil:
    """Keep the leads of the 64 bytes before the next span, which begins inside a block or where one ends."""
    cdef int size = span.size % SCAN_BLOCK
    cdef uint64_t last = span.leads[span.blocks - 1]
    cdef uint64_t before = span.leads[span.blocks - 2] if span.blocks > 1 else cursor.leads
    cursor.leads = before >> size | last << (SCAN_BLOCK - size) if size else last


cdef scan_paged paged(tables):
    """Pointers into a `vector_tables.Paged`, which the caller keeps."""
    cdef bytes row = tables.row, page = tables.page, values = tables.values
    cdef scan_paged pointers
    pointers.row = row
    pointers.page = page
    pointers.values = values
    pointers.pages, pointers.ascii_pages = tables.pages, tables.ascii_pages
    return pointers


cdef scan_vector vector_of(tables):
    """Pointers into a `vector_tables.VectorTables`, which the caller keeps."""
    cdef bytes following = tables.next, out = tables.out
    cdef scan_vector pointers
    pointers.transition = paged(tables.transition)
    pointers.next = following
    pointers.out = out
    pointers.subset = paged(tables.subset)
    pointers.all_states = tables.all_states
    return pointers


cdef int append_ends(Scanner scanner, scan_cursor* cursor, array result, Py_ssize_t capacity) except -1:
    """Find all ends and append them to an ``array('q')``."""
    cdef Py_ssize_t ends[ROOM]
    cdef Py_ssize_t count, filled = len(result), i
    while True:
        with nogil:
            count = scanner.next_ends(cursor, ends, capacity)
        if count == 0:
            return 0
        resize_smart(result, filled + count)
        for i in range(count):
            result.data.as_longlongs[filled + i] = ends[i]
        filled += count
