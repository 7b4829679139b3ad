"""Runs a folded split pattern over UTF-8 text and gives out where pre-tokens end.

The machine (bpetite/folding.py) reads every character once and says at each one which cuts are now certain: here, one
character back, two back, at the mark. Three things shape this module.

* A branch per byte on "is there a cut" costs more than all the rest: cuts come every four or five bytes and at no
  period a processor could predict. So the machine runs over a block of 64 bytes without looking at its outputs; these
  are gathered as bit masks, "two back" becomes a shift, and the bits of one mask are walked at the end.
* ASCII is read as it stands, one code a byte. A block with other characters is first rewritten: the first byte of a
  character becomes the code of its group, the others a code that changes nothing.
* Nothing is allocated and nothing is kept in the scanner: the whole state of a scan is in the caller's cursor, so a
  scan of twenty characters costs little, threads share a scanner, and a text may arrive in pieces.
"""
from cpython.array cimport array, clone, resize_smart
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from array import array as new_array

cdef extern from "_scan_blocks.h" nogil:
    int SCAN_BLOCK, SCAN_KINDS, SCAN_MARK, SCAN_COMMIT
    ctypedef struct scan_masks:
        uint64_t of[6]
    int scan_lowest(uint64_t mask)
    int scan_highest(uint64_t mask)
    int scan_count(uint64_t mask)
    uint32_t scan_by_tables(const scan_tables* tables, const uint8_t* codes, int count, uint32_t state,
                            scan_masks* masks)
    uint64_t scan_back(uint64_t bits, int count, uint64_t leads_before, uint64_t leads, uint64_t* before)

cdef uint64_t ALL = ~<uint64_t>0
cdef uint64_t HIGH_BITS = 0x8080808080808080u


cdef inline bint is_ascii(const uint8_t* text) noexcept nogil:
    """Whether a whole block is ASCII."""
    cdef uint64_t word[8]
    memcpy(word, text, 64)
    return ((word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7]) & HIGH_BITS) == 0


cdef inline Py_ssize_t put(uint64_t* mask, Py_ssize_t base, Py_ssize_t* ends, Py_ssize_t count,
                           Py_ssize_t capacity) noexcept nogil:
    """Turn the bits of a mask into offsets, as far as there is room; returns the new count."""
    cdef uint64_t bits = mask[0]
    while bits and count < capacity:
        ends[count] = base + scan_lowest(bits)
        bits &= bits - 1
        count += 1
    mask[0] = bits
    return count


cdef class Scanner:
    """A compiled pattern. Built by `bpetite.pretokenize`; immutable, and safe to share between threads.

    `tables` are (next, out, states, kinds, mark_back, stay, end, stage, pages), as `bpetite.tables` makes them.
    """

    def __cinit__(self, str kind, tuple tables not None):
        cdef bytes following, outputs, stage, pages
        following, outputs, states, kinds, mark_back, stay, end, stage, pages = tables
        if kind != "tables":
            raise ValueError(f"unknown kind of scanner {kind!r}")
        self.kind = kind
        self.owner = tables
        self.tables.next = following
        self.tables.out = outputs
        self.tables.states = states
        self.tables.kinds = kinds
        self.mark_back, self.stay, self.end = mark_back, stay, end
        self.stage = <const uint16_t*> <const uint8_t*> stage
        self.pages = pages

    def ends(self, const uint8_t[::1] data not None):
        """The ends of the pre-tokens of `data` (valid UTF-8), in bytes, as an ``array('q')``."""
        cdef array result = clone(new_array("q"), 0, False)
        cdef scan_cursor cursor
        cdef Py_ssize_t ends[256]
        cdef Py_ssize_t count, filled = 0, i
        cdef Py_ssize_t length = data.shape[0]
        cdef long long* target
        self.begin(&cursor, &data[0] if length else NULL, length, True)
        while True:
            with nogil:
                count = self.next_ends(&cursor, ends, 256)
            if count == 0:
                return result
            resize_smart(result, filled + count)
            target = result.data.as_longlongs
            for i in range(count):
                target[filled + i] = ends[i]
            filled += count

    cdef void begin(self, scan_cursor* cursor, const uint8_t* text, Py_ssize_t length, bint final) noexcept nogil:
        cursor.text = text
        cursor.length = length
        cursor.done = 0
        cursor.final = final
        cursor.position = 0
        cursor.leads = ALL
        cursor.mark = 0
        cursor.state = 0
        cursor.ended = length == 0 and final
        cursor.early = -1
        cursor.before = 0
        cursor.ready = 0
        cursor.base = 0

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
        # A text that turns out to be empty has no end to give out.
        cursor.ended = final and length == 0 and cursor.position == 0 and cursor.done == 0 and dropped == 0

    cdef Py_ssize_t next_ends(self, scan_cursor* cursor, Py_ssize_t* ends, Py_ssize_t capacity) noexcept nogil:
        cdef Py_ssize_t count = 0
        while True:
            if cursor.early >= 0 and count < capacity:
                ends[count] = cursor.early
                cursor.early = -1
                count += 1
            if cursor.before:
                count = put(&cursor.before, cursor.base - SCAN_BLOCK, ends, count, capacity)
            count = put(&cursor.ready, cursor.base, ends, count, capacity)
            if count == capacity or not self.read_block(cursor):
                break
        if count:
            cursor.done = ends[count - 1]
        return count

    cdef bint read_block(self, scan_cursor* cursor) noexcept nogil:
        """Run the machine over the next block, when all ends found so far are given out; False at the end."""
        cdef uint8_t rewritten[64]
        cdef scan_masks masks
        cdef const uint8_t* text = cursor.text + cursor.position
        cdef const uint8_t* codes = text
        cdef Py_ssize_t size = cursor.length - cursor.position
        cdef uint64_t leads = ALL, cuts, commits, earlier, marked
        cdef int count = SCAN_BLOCK, kind, at
        if size < SCAN_BLOCK:
            if cursor.ended or (size == 0 and not cursor.final):
                return False
            leads = self.encode_block(text, size, rewritten)
            codes = rewritten
            if cursor.final:
                rewritten[size] = self.end
                leads |= <uint64_t>1 << size
                cursor.ended = True
            count = (<int>size + 8) & ~7
        else:
            size = SCAN_BLOCK
            if not is_ascii(text):
                leads = self.encode_block(text, size, rewritten)
                codes = rewritten
        cursor.state = scan_by_tables(&self.tables, codes, count, cursor.state, &masks)
        cursor.base = cursor.position
        cursor.position += size

        cursor.before = 0
        cuts = masks.of[0]
        if cursor.ended:
            cuts |= <uint64_t>1 << size
        for kind in range(1, SCAN_MARK):
            if masks.of[kind]:
                cuts |= scan_back(masks.of[kind], kind, cursor.leads, leads, &cursor.before)
        commits = masks.of[SCAN_COMMIT]
        while commits:
            at = scan_lowest(commits)
            commits &= commits - 1
            earlier = masks.of[SCAN_MARK] & ((<uint64_t>1 << at) - 1)
            if earlier:
                cuts |= self.mark_of(earlier, cursor.leads, leads, &cursor.before)
            else:
                cursor.early = cursor.mark
        if masks.of[SCAN_MARK]:
            earlier = 0
            marked = self.mark_of(masks.of[SCAN_MARK], cursor.leads, leads, &earlier)
            if marked:
                cursor.mark = cursor.base + scan_lowest(marked)
            else:
                cursor.mark = cursor.base - SCAN_BLOCK + scan_lowest(earlier)
        cursor.ready = cuts
        cursor.leads = leads if size == SCAN_BLOCK else leads << (64 - size) | cursor.leads >> size
        return True

    cdef uint64_t mark_of(self, uint64_t marks, uint64_t leads_before, uint64_t leads,
                          uint64_t* before) noexcept nogil:
        """The place of the last of the block's marks, as a bit of the block or of the one before it."""
        cdef uint64_t last = <uint64_t>1 << scan_highest(marks)
        return scan_back(last, self.mark_back, leads_before, leads, before) if self.mark_back else last

    cdef uint64_t encode_block(self, const uint8_t* text, Py_ssize_t size, uint8_t* codes) noexcept nogil:
        """Rewrite up to 64 bytes as codes; the rest of the block changes nothing. Returns where characters begin.

        A character may reach past the block: its group is known from its first byte on, and the next block begins with
        bytes that change nothing.
        """
        cdef Py_ssize_t i = 0
        cdef uint64_t leads = ALL << size if size < SCAN_BLOCK else 0
        cdef uint32_t byte, page, last
        memset(codes, self.stay, SCAN_BLOCK)
        while i < size:
            byte = text[i]
            if byte < 0x80:
                codes[i] = byte
                leads |= <uint64_t>1 << i
                i += 1
                continue
            if byte < 0xC0:
                i += 1
                continue
            leads |= <uint64_t>1 << i
            if byte < 0xE0:
                page, last = byte & 0x1F, text[i + 1]
                codes[i] = self.pages[self.stage[page] << 6 | (last & 0x3F)]
                i += 2
            elif byte < 0xF0:
                page, last = (byte & 0x0F) << 6 | (text[i + 1] & 0x3F), text[i + 2]
                codes[i] = self.pages[self.stage[page] << 6 | (last & 0x3F)]
                i += 3
            else:
                page = (byte & 0x07) << 12 | (text[i + 1] & 0x3F) << 6 | (text[i + 2] & 0x3F)
                last = text[i + 3]
                codes[i] = self.pages[self.stage[page] << 6 | (last & 0x3F)]
                i += 4
        return leads
