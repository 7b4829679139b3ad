"""Runs a folded split pattern over UTF-8 text and gives out where pre-tokens end.

The machine (transducer.py) reads every character once and says at each one which cuts are now certain: here, one
character back, two back, at the mark. These things shape this module:

* A branch per byte on "is there a cut" costs more than all the rest: cuts come every four or five bytes and at no
  period that a processor could predict. So the machine runs over a span without looking at its outputs; these are
  gathered as bit masks of 64, "two back" becomes a shift, and the bits of the masks are walked at the end.
* ASCII is read as it stands, one code a byte. Blocks with other characters are first rewritten: the first byte of a
  character becomes the code of its group, the others a code that changes nothing.
* The next state depends on the state before: one look-up waits for the other, five cycles a byte on current processors
  whatever else they could do meanwhile. So four places of a span are read side by side (kind "vector"). The state in
  front of a place is known without the text before it, because the machine forgets: after most pairs of characters,
  such as a letter and a space, it is in one state wherever it came from. A table made with the pattern says which; a
  span without such pairs in the right places is read in one row (which is all that kind "tables" does).
* Where a machine looks up 64 bytes in a table of 128 by one instruction, 64 places are read side by side
  (scan_avx512.h), 0.3 cycles a byte for any pattern whose table is small, as all in use are.
* Nothing is allocated and nothing is kept in the scanner: the whole state of a scan is in the caller's cursor, so a
  scan of twenty characters costs little, threads share a scanner, and a text may arrive in pieces.

The whole scan of English on one core of a Zen 5: 4.2 GB/s by 64 lanes, 1.5 by four, 0.5 by one. Rejected there: one
byte shuffle per byte (SSSE3 pshufb, the state as its index) runs 2.0 GB/s before anything is made of its outputs, with
at most 16 states, which of the patterns in use only GPT-2's has, and 0.69 GB/s with the two shuffles that 32 states
need; four look-ups side by side run 3.2 GB/s with any number of states, on any processor. A branch at every cut: 0.24.
"""
from cpython.array cimport array, clone, resize_smart
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from array import array as new_array

cdef extern from "splitting/scan_blocks.h" nogil:
    enum:
        SCAN_BLOCK
        SCAN_SPAN
        SCAN_LANE
        SCAN_BLOCKS
        SCAN_MARK
        SCAN_COMMIT
        SCAN_LONGEST
    int scan_lowest(uint64_t mask)
    void scan_gather_masks(const scan_tables* tables, const uint8_t* out, int blocks, scan_masks masks)
    bint scan_is_ascii(const uint8_t* text, Py_ssize_t size)
    uint64_t scan_encode(const scan_tables* tables, const uint8_t* text, Py_ssize_t size, uint8_t* codes)
    uint32_t scan_run(const scan_tables* tables, const uint8_t* codes, int count, uint32_t state, uint8_t* out)
    int scan_run_lanes(const scan_tables* tables, const uint8_t* codes, int lane, uint32_t state, uint8_t* out)
    void scan_find_cuts(const scan_tables* tables, scan_cursor* cursor, scan_masks masks, int blocks,
                        const uint64_t* leads)
    uint64_t scan_back(uint64_t bits, int count, uint64_t leads_before, uint64_t leads, uint64_t* before)
    Py_ssize_t scan_put(uint64_t* mask, Py_ssize_t base, Py_ssize_t* ends, Py_ssize_t count, Py_ssize_t capacity)

cdef extern from "headers/avx512.h" nogil:
    bint bp_wide_supported()

cdef extern from "splitting/scan_avx512.h" nogil:
    uint32_t scan_run_wide(const scan_tables* tables, const scan_wide* wide, const uint8_t* codes, int lane, int count,
                           bint ascii, uint32_t state, scan_masks masks)
    void scan_encode_wide(const scan_tables* tables, const uint8_t* text, Py_ssize_t left, int blocks, uint8_t* codes,
                          uint64_t* leads)
    Py_ssize_t scan_put_blocks_wide(scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t count, Py_ssize_t capacity)

cdef uint64_t ALL = ~<uint64_t>0

cdef enum:
    SHORTEST_IN_LANES = 96  # codes; below, finding the states in front of the lanes costs more than they save
    SHORTEST_WIDE = 400  # codes; below, turning the text into 64 lanes costs more than it saves
    ROOM = 512  # ends found at a time: few enough to stay in the first-level cache


cdef class Scanner:
    """A compiled pattern, immutable and safe to share between threads; built by `pretokenizer.pretokenizer`.

    `tables` is a `scanner_tables.Tables`; `kind` is "vector" (64 places of the text side by side where the machine and
    the pattern allow it, else, or with `lanes=4`, four) or "tables" (one).
    """

    def __cinit__(self, str kind, tables, *, int lanes=64):
        cdef bytes following, outputs, column, forget, stage, pages
        if kind not in ("vector", "tables"):
            raise ValueError(f"a scanner is of kind 'vector' or 'tables', not {kind!r}")
        following, outputs, column, forget, stage, pages, states, columns, kinds, mark_back, stay, end, wide = tables
        self.kind = kind
        self.lanes = 1 if kind == "tables" else 64 if lanes == 64 and wide is not None and bp_wide_supported() else 4
        if self.lanes == 64:
            self._set_wide(wide)
        self.owner = tuple(tables)
        self.tables.next = following
        self.tables.out = outputs
        self.tables.column = column
        self.tables.forget = forget
        self.tables.stage = <const uint16_t*> <const uint8_t*> stage
        self.tables.pages = pages
        self.tables.states, self.tables.columns = states, columns
        self.tables.kinds, self.tables.mark_back = kinds, mark_back
        self.tables.stay, self.tables.end = stay, end

    cdef void _set_wide(self, wide):
        cdef bytes following, output
        run, following, output, find, every = wide
        self.wide.run = paged(run)
        self.wide.following = following
        self.wide.output = output
        self.wide.find = paged(find)
        self.wide.every = every

    def ends(self, const uint8_t[::1] data not None, *, Py_ssize_t capacity=ROOM):
        """The ends of the pre-tokens of `data`, which must be valid UTF-8, in bytes, as an ``array('q')``.

        They are found `capacity` (1 to 512) at a time; the result does not depend on it.
        """
        cdef array result = clone(new_array("q"), 0, False)
        cdef scan_cursor cursor
        if not 1 <= capacity <= ROOM:
            raise ValueError(f"capacity must be 1 to {ROOM}, not {capacity}")
        self.begin(&cursor, &data[0] if data.shape[0] else NULL, data.shape[0], True)
        append_ends(self, &cursor, result, capacity)
        return result

    def count(self, const uint8_t[::1] data not None):
        """How many pre-tokens `data` (valid UTF-8) has: a scan that keeps nothing of what it finds."""
        cdef scan_cursor cursor
        cdef Py_ssize_t ends[ROOM]
        cdef Py_ssize_t count = 1, total = 0
        self.begin(&cursor, &data[0] if data.shape[0] else NULL, data.shape[0], True)
        with nogil:
            while count:
                count = self.next_ends(&cursor, ends, ROOM)
                total += count
        return total

    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil:
        cursor.text = text
        cursor.length = length
        cursor.done = 0
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

    cdef void extend(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, Py_ssize_t dropped,
                     bint final) noexcept nogil:
        cursor.text = text
        cursor.length = length
        cursor.done -= dropped
        cursor.final = final
        cursor.position -= dropped
        cursor.mark -= dropped
        if cursor.early >= 0:
            cursor.early -= dropped
        cursor.base -= dropped
        # A text that turns out to be empty has no end to give out, nor has one whose last pre-token is closed.
        cursor.ended = final and length == 0

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
            if self.lanes == 64:
                count = scan_put_blocks_wide(cursor, ends, count, capacity)
            while cursor.block < cursor.blocks:
                if count and capacity - count < SCAN_BLOCK <= capacity:
                    cursor.done = ends[count - 1]
                    return count  # the next call has room for a whole block, which takes no looking at each bit
                count = scan_put(&cursor.ready[cursor.block], cursor.base + cursor.block * SCAN_BLOCK, ends, count,
                                 capacity)
                if cursor.ready[cursor.block]:
                    break
                cursor.block += 1
            if cursor.block == cursor.blocks and not self.read_span(cursor):
                break
        if count:
            cursor.done = ends[count - 1]
        return count

    cdef bint read_span(self, scan_cursor* cursor) noexcept nogil:
        """Run the machine over the next stretch of text; all ends found before are given out. False at the end."""
        cdef uint8_t rewritten[SCAN_LONGEST + SCAN_BLOCK]
        cdef scan_masks masks
        cdef uint64_t leads[SCAN_BLOCKS]
        cdef uint64_t leads_before
        cdef const uint8_t* text = cursor.text + cursor.position
        cdef const uint8_t* codes = rewritten
        cdef Py_ssize_t left = cursor.length - cursor.position, size
        cdef int span = SCAN_SPAN, lane = 0, blocks, block, whole, count
        cdef bint ascii = False
        if cursor.ended or (left == 0 and not cursor.final):
            return False
        if self.lanes == 64 and left + cursor.final >= SHORTEST_WIDE:
            lane = 64 if left + cursor.final > 3072 else 32 if left + cursor.final > 1536 else 16
            span = 64 * lane
        size = min(left, <Py_ssize_t>span)
        if size == span and scan_is_ascii(text, span):
            codes = text
            ascii = True
            for block in range(span // SCAN_BLOCK):
                leads[block] = ALL
        else:
            whole = 0
            if lane:
                whole = <int>size // SCAN_BLOCK
                scan_encode_wide(&self.tables, text, left, whole, rewritten, leads)
            for block in range(whole, <int>(size + SCAN_BLOCK - 1) // SCAN_BLOCK):
                leads[block] = scan_encode(&self.tables, text + block * SCAN_BLOCK, left - block * SCAN_BLOCK,
                                           rewritten + block * SCAN_BLOCK)
        count = <int>size
        if size < span and cursor.final:
            rewritten[size] = self.tables.end  # the end of the text is a code of its own
            count += 1
            cursor.ended = True
            if size % SCAN_BLOCK == 0:
                leads[size // SCAN_BLOCK] = ALL
        blocks = (count + SCAN_BLOCK - 1) // SCAN_BLOCK
        if lane:
            memset(rewritten + count, self.tables.stay, span - count)
            cursor.state = scan_run_wide(&self.tables, &self.wide, codes, lane, count, ascii, cursor.state, masks)
        else:
            if codes is rewritten:
                memset(rewritten + count, self.tables.stay, SCAN_BLOCK)
            cursor.state = self.run(codes, count, cursor.state, masks)
        cursor.base = cursor.position
        cursor.position += size
        cursor.block = 0
        cursor.blocks = blocks
        scan_find_cuts(&self.tables, cursor, masks, blocks, leads)
        if self.tables.kinds >> SCAN_MARK:
            leads_before = cursor.leads
            for block in range(blocks):
                self.follow_marks(cursor, block, masks, leads_before, leads[block])
                leads_before = leads[block]
        if cursor.ended:
            cursor.ready[blocks - 1] |= <uint64_t>1 << (size % SCAN_BLOCK)
        elif size % SCAN_BLOCK == 0:
            cursor.leads = leads[blocks - 1]
        else:
            if blocks > 1:
                cursor.leads = leads[blocks - 2]
            cursor.leads = cursor.leads >> (size % SCAN_BLOCK) | leads[blocks - 1] << (SCAN_BLOCK - size % SCAN_BLOCK)
        return True

    cdef uint32_t run(self, const uint8_t* codes, int count, uint32_t state, scan_masks masks) noexcept nogil:
        """Run the machine over at most 512 codes, in four lanes or one; behind them codes that stay can be read."""
        cdef uint8_t out[SCAN_SPAN + SCAN_BLOCK]
        cdef int done = count, after = -1, blocks = (count + SCAN_BLOCK - 1) // SCAN_BLOCK
        if self.lanes > 1 and count >= SHORTEST_IN_LANES:
            done = (count + 3) // 4 * 4
            after = scan_run_lanes(&self.tables, codes, done // 4, state, out)
        if after < 0:
            after = <int>scan_run(&self.tables, codes, done, state, out)
        memset(out + done, 0, blocks * SCAN_BLOCK - done)
        scan_gather_masks(&self.tables, out, blocks, masks)
        return <uint32_t>after

    cdef void follow_marks(self, scan_cursor* cursor, int block, const scan_masks masks, uint64_t leads_before,
                           uint64_t leads) noexcept nogil:
        """Set the mark where the outputs of a block say so, and cut there where they do."""
        cdef uint64_t marks = masks[SCAN_MARK][block]
        cdef uint64_t commits = masks[SCAN_COMMIT][block] if self.tables.kinds >> SCAN_COMMIT else 0
        cdef int at
        while marks or commits:
            # In the order of the text; where both stand at one character the old mark is meant.
            if commits and (not marks or scan_lowest(commits) <= scan_lowest(marks)):
                commits &= commits - 1
                self.commit(cursor)
            else:
                at = scan_lowest(marks)
                marks &= marks - 1
                self.set_mark(cursor, block, <uint64_t>1 << at, leads_before, leads)

    cdef void commit(self, scan_cursor* cursor) noexcept nogil:
        """The mark is a cut: before this span, or in a block of it."""
        cdef Py_ssize_t offset = cursor.mark - cursor.base
        if offset < -SCAN_BLOCK:
            cursor.early = cursor.mark
        elif offset < 0:
            cursor.before |= <uint64_t>1 << (offset + SCAN_BLOCK)
        else:
            cursor.ready[offset // SCAN_BLOCK] |= <uint64_t>1 << (offset % SCAN_BLOCK)

    cdef void set_mark(self, scan_cursor* cursor, int block, uint64_t at, uint64_t leads_before,
                       uint64_t leads) noexcept nogil:
        """Mark the place some characters before the one at bit `at` of the block."""
        cdef uint64_t before = 0
        cdef Py_ssize_t base = cursor.base + block * SCAN_BLOCK
        at = scan_back(at, <int>self.tables.mark_back, leads_before, leads, &before)
        cursor.mark = base + scan_lowest(at) if at else base - SCAN_BLOCK + scan_lowest(before)


cdef scan_paged paged(tables):
    """Pointers into a `bpetite.splitting.vector_tables.Paged`, which the caller keeps."""
    cdef bytes place, page, steps
    cdef scan_paged function
    place, page, steps, function.pages, function.ascii_pages = tables
    function.place = place
    function.page = page
    function.steps = steps
    return function


cdef int append_ends(Scanner scanner, scan_cursor* cursor, array result, Py_ssize_t capacity) except -1:
    """Find all ends that there are and append them to an ``array('q')``."""
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


cdef class Scan:
    """A scan over a text that arrives in pieces; holds the text whose last pre-token is open, and no more.

    >>> from bpetite.pretokenize import pretokenizer
    >>> scan = Scan(pretokenizer().scanner)
    >>> scan.feed(b"one tw")
    (b'one', array('q', [3]))
    >>> scan.feed(b"o", final=True)
    (b' two', array('q', [4]))
    """

    def __cinit__(self, Scanner scanner not None):
        self.scanner = scanner
        self.text = bytearray()
        self.scanner.begin(&self.cursor, NULL, 0, False)

    def feed(self, const uint8_t[::1] data not None, *, bint final=False):
        """Go on with `data`, valid UTF-8 that ends between characters.

        Returns (text, ends): the pre-tokens that nothing behind `data` can change any more, joined, and where they end
        in it. `final` says that nothing follows; the scan is then at an end and cannot go on.
        """
        cdef array ends = clone(new_array("q"), 0, False)
        if self.cursor.final:
            raise ValueError("the scan has ended")
        self.text += data
        self.scanner.extend(&self.cursor, <const uint8_t*> PyByteArray_AS_STRING(self.text),
                            PyByteArray_GET_SIZE(self.text), self.cursor.done, final)
        append_ends(self.scanner, &self.cursor, ends, ROOM)
        closed = bytes(self.text[:self.cursor.done])
        del self.text[:self.cursor.done]
        return closed, ends

    @property
    def held(self):
        """Bytes whose pre-token is still open."""
        return len(self.text)
