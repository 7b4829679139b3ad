/* The inner loops of the scanner: run a transducer over codes and gather its outputs as bit masks. */
#ifndef BPETITE_SCAN_BLOCKS_H
#define BPETITE_SCAN_BLOCKS_H

#include "scanner.h"
#include "../../headers/bytes.h"

/* The number of bits set. Written out: without -mpopcnt the builtin is a call. */
static inline int scan_population(uint64_t mask)
{
    mask -= mask >> 1 & UINT64_C(0x5555555555555555);
    mask = (mask & UINT64_C(0x3333333333333333)) + (mask >> 2 & UINT64_C(0x3333333333333333));
    mask = (mask + (mask >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (int)(mask * UINT64_C(0x0101010101010101) >> 56);
}

#define SCAN_EACH(byte) ((byte) * UINT64_C(0x0101010101010101))

/* The lowest bits of eight bytes as eight bits. */
static inline uint64_t scan_gather(uint64_t eight)
{
    return ((eight & SCAN_EACH(1)) * UINT64_C(0x0102040810204080)) >> 56;
}

/* For each bit of an output, one mask per block of a pass. */
typedef uint64_t scan_masks[SCAN_BITS][SCAN_BLOCKS];

/* A pass: the text that the transducer reads in one go. */
typedef struct {
    const uint8_t *codes;  /* the text itself if it is ASCII and fills the pass, else `rewritten` */
    int ascii;             /* all codes are ASCII characters */
    int lane;              /* codes in each of 64 lanes, or 0 for four lanes or one */
    int size;              /* bytes of text */
    int count;             /* codes: `size`, and one for the end of the text */
    int blocks;            /* that `count` codes touch */
    int before_end;        /* the state before the end of an ASCII text, which then is not among the codes; or -1 */
    uint8_t rewritten[SCAN_LONGEST + SCAN_BLOCK]; /* codes and padding: continuation codes, or ASCII where all are */
    uint64_t leads[SCAN_BLOCKS]; /* which bytes begin a character; those after the text are set too */
    scan_masks masks;
} scan_pass;

/* Bit `bit` of 64 output bytes as a mask. */
static inline uint64_t scan_mask(const uint8_t *out, int bit)
{
    uint64_t mask = 0;
#ifdef BP_SSE2
    const __m128i shift = _mm_cvtsi32_si128(7 - bit);
    for (int i = 0; i < SCAN_BLOCK; i += 16) {
        const __m128i bytes = _mm_sll_epi16(_mm_loadu_si128((const __m128i *)(out + i)), shift);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << i;
    }
#else
    for (int i = 0; i < SCAN_BLOCK; i += 8)
        mask |= scan_gather(bp_load_little64(out + i) >> bit) << i;
#endif
    return mask;
}

/* The masks of `blocks` blocks of outputs. */
static inline void scan_gather_masks(const scan_tables *tables, const uint8_t *out, int blocks, scan_masks masks)
{
    for (int bit = 0; bit < SCAN_BITS; bit++)
        if (tables->used_bits >> bit & 1)
            for (int block = 0; block < blocks; block++)
                masks[bit][block] = scan_mask(out + block * SCAN_BLOCK, bit);
}

/* Fetch text that is needed soon. Processors do so by themselves, but not over the edge of a page. */
static inline void scan_prefetch(const uint8_t *text, int size)
{
    for (int i = 0; i < size; i += SCAN_BLOCK)
        BP_PREFETCH(text + i);
}

static inline int scan_is_ascii(const uint8_t *text, int size)
{
    uint64_t any = 0;
    int i = 0;
    for (; i + 8 <= size; i += 8)
        any |= bp_load_little64(text + i);
    for (; i < size; i++)
        any |= text[i];
    return (any & SCAN_EACH(0x80)) == 0;
}

/* Set tables->alike for characters of two and three bytes: all of Hangul syllables and most Chinese ones have one code. */
static inline void scan_find_alike(scan_tables *tables)
{
    memset(tables->alike, 0, sizeof tables->alike);
    for (int first = 0xC2; first < 0xF0; first++) {
        const int from = first == 0xE0 ? 32 : (first & 0x0F) << 6; /* pages of 64 characters */
        const int page = first < 0xE0 ? first & 0x1F : from, stop = first < 0xE0 ? page + 1 : (first & 0x0F) * 64 + 64;
        const uint8_t code = tables->pages[(uint32_t)tables->page_of[page] << 6];
        int alike = 1;
        for (int i = page; i < stop && alike; i++)
            for (int j = 0; j < 64 && alike; j++)
                alike = tables->pages[((uint32_t)tables->page_of[i] << 6) + j] == code;
        tables->alike[first & 0x3F] = alike ? code : 0;
    }
}

/* Write the codes of the characters that begin at the bits of `others` and are not ASCII; see scan_encode. */
BP_INLINE void scan_encode_others(const scan_tables *tables, const uint8_t *text, Py_ssize_t size, uint64_t others,
                                      uint8_t *codes)
{
    while (others) {
        const int i = bp_lowest_bit(others);
        uint32_t code;
        others &= others - 1;
        if (i + 4 > size && i + bp_utf8_size(text[i]) > size)
            continue; /* not UTF-8: the ends found mean nothing, but nothing outside the text is read */
        bp_utf8_read(text + i, &code);
        if (code < BP_CODE_POINTS)
            codes[i] = tables->pages[(uint32_t)tables->page_of[code >> 6] << 6 | (code & 0x3F)];
    }
}

/* Rewrite up to 64 bytes as codes; returns which of them begin a character. Only text[0:size] is read. The last
   character may reach past byte 64: its first byte gives its code, and the next block begins with continuation
   codes. */
BP_INLINE uint64_t scan_encode(const scan_tables *tables, const uint8_t *text, Py_ssize_t size, uint8_t *codes)
{
    uint8_t padded[SCAN_BLOCK];
    const uint8_t *block = text;
    const int count = size < SCAN_BLOCK ? (int)size : SCAN_BLOCK;
    uint64_t leads = 0, others = 0;
    if (count < SCAN_BLOCK) {
        memset(padded + (count & ~7), 0, 8);
        memcpy(padded, text, (size_t)count);
        block = padded;
    }
    for (int i = 0; i < count; i += 8) {
        const uint64_t eight = bp_load_little64(block + i);
        const uint64_t high = eight >> 7 & SCAN_EACH(1), later = high & ~(eight >> 6);
        const uint64_t fill = high * 0xFF;
        uint64_t code = (eight & ~fill) | (SCAN_EACH(tables->continuation) & fill);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        code = __builtin_bswap64(code);
#endif
        memcpy(codes + i, &code, 8);
        leads |= scan_gather(~later) << i;
        others |= scan_gather(high & ~later) << i;
    }
    if (count < SCAN_BLOCK)
        leads |= ~UINT64_C(0) << count;
    scan_encode_others(tables, text, size, others, codes);
    return leads;
}

/* Run the transducer over `count` codes; returns the state after them. */
static inline uint32_t scan_run(const scan_tables *tables, const uint8_t *codes, int count, uint32_t state, uint8_t *out)
{
    const uint8_t *next = tables->next, *outs = tables->out;
    const uint32_t states = tables->states;
    for (int i = 0; i < count; i++) {
        const uint32_t at = codes[i] * states + state;
        out[i] = outs[at];
        state = next[at];
    }
    return state;
}

/* The state before codes[at], found without reading the text from its beginning: a synchronizing word of two characters
   leads to one state from every state. Returns -1 if there is none in the SCAN_SEARCH codes before `at`. */
static inline int scan_known_state(const scan_tables *tables, const uint8_t *codes, int at)
{
    const int limit = at > SCAN_SEARCH ? at - SCAN_SEARCH : 0;
    int first, second = at, known;
    do {
        if (--second < limit)
            return -1;
    } while (codes[second] == tables->continuation);
    for (;;) {
        first = second;
        do {
            if (--first < limit)
                return -1;
        } while (codes[first] == tables->continuation);
        known = tables->synchronized[tables->column[codes[first]] * tables->columns + tables->column[codes[second]]];
        if (known)
            break;
        second = first;
    }
    uint32_t state = (uint32_t)known - 1;
    while (++second < at)
        state = tables->next[codes[second] * tables->states + state];
    return (int)state;
}

/* Two steps of one lane. */
BP_INLINE uint32_t scan_step_twice(const scan_twos *twos, const uint8_t *codes, uint32_t state, uint8_t *out)
{
    const scan_two *at = twos->steps + twos->first[codes[0]] + twos->second[codes[1]] + state;
    memcpy(out, at->out, 2);
    return at->next;
}

/* Run 4 * `lane` codes in four lanes, so that four chains of dependent loads overlap; `lane` is even. Returns the state
   after them, or -1 with nothing done if the state before some lane cannot be found. With a constant for `lane`, one
   register is an offset into all lanes and into their outputs. */
BP_INLINE int scan_run_lanes(const scan_tables *tables, const uint8_t *codes, const int lane, uint32_t state, uint8_t *out)
{
    const scan_twos *twos = tables->twos;
    const int known1 = scan_known_state(tables, codes, lane);
    const int known2 = scan_known_state(tables, codes, 2 * lane);
    const int known3 = scan_known_state(tables, codes, 3 * lane);
    if ((known1 | known2 | known3) < 0)
        return -1;
    uint32_t state0 = state, state1 = (uint32_t)known1, state2 = (uint32_t)known2, state3 = (uint32_t)known3;
    for (ptrdiff_t i = 0; i < lane; i += 2) {
        state0 = scan_step_twice(twos, codes + i, state0, out + i);
        state1 = scan_step_twice(twos, codes + i + lane, state1, out + i + lane);
        state2 = scan_step_twice(twos, codes + i + 2 * lane, state2, out + i + 2 * lane);
        state3 = scan_step_twice(twos, codes + i + 3 * lane, state3, out + i + 3 * lane);
    }
    return (int)state3;
}

/* Run the transducer over a pass, in four lanes or in one; returns the state after it. Not inlined: in a larger function
   the loops run out of registers. */
BP_NOINLINE static uint32_t scan_run_pass(const scan_tables *tables, scan_pass *pass, uint32_t state)
{
    const uint8_t *codes = pass->codes;
    uint8_t out[SCAN_LONGEST + SCAN_BLOCK];
    int done = pass->count, at = 0, after = -1;
    if (tables->twos && done >= SCAN_SHORTEST_IN_LANES) {
        done = (done + 7) / 8 * 8; /* the padding does nothing */
        for (; done - at >= SCAN_IN_FOUR; at += SCAN_IN_FOUR) {
            after = scan_run_lanes(tables, codes + at, SCAN_IN_FOUR / 4, state, out + at);
            state = after < 0 ? scan_run(tables, codes + at, SCAN_IN_FOUR, state, out + at) : (uint32_t)after;
        }
        after = -1;
        if (done - at >= SCAN_SHORTEST_IN_LANES)
            after = scan_run_lanes(tables, codes + at, (done - at) / 4, state, out + at);
    }
    if (after < 0)
        after = (int)scan_run(tables, codes + at, done - at, state, out + at);
    memset(out + done, 0, (size_t)(pass->blocks * SCAN_BLOCK - done));
    scan_gather_masks(tables, out, pass->blocks, pass->masks);
    return (uint32_t)after;
}

/* Write the outputs at the end of a text, in state pass->before_end, in place of the padding's. */
static inline void scan_put_end(const scan_tables *tables, scan_pass *pass)
{
    const uint8_t out = tables->out[tables->end * tables->states + (uint32_t)pass->before_end];
    const int block = pass->size / SCAN_BLOCK, at = pass->size % SCAN_BLOCK;
    for (int bit = 0; bit < SCAN_BITS; bit++)
        if (tables->used_bits >> bit & 1) {
            const uint64_t before = pass->masks[bit][block] & ((UINT64_C(1) << at) - 1);
            pass->masks[bit][block] = before | (uint64_t)(out >> bit & 1) << at;
        }
}

/* Move every bit of a block, set at the first byte of a character, back by `count` characters. Bits that leave the
   block go to `*before`, the block before it. `leads` and `leads_before` are the first bytes of their characters. */
static inline uint64_t scan_back(uint64_t bits, int count, uint64_t leads_before, uint64_t leads, uint64_t *before)
{
    uint64_t low = 0;
    if ((leads & leads_before) == ~UINT64_C(0)) {
        *before |= bits << (SCAN_BLOCK - count);
        return bits >> count;
    }
    while (count--) {
        low = low >> 1 | bits << 63;
        bits >>= 1;
        for (int i = 0; i < 3; i++) { /* a character has at most three more bytes */
            const uint64_t loose_low = low & ~leads_before, loose = bits & ~leads;
            low = (low & leads_before) | loose_low >> 1 | loose << 63;
            bits = (bits & leads) | loose >> 1;
        }
    }
    *before |= low;
    return bits;
}

/* Put the cuts of a pass into cursor->ready, and those before the pass into cursor->before: an output up to three
   characters after its cut moves back to it. */
static inline void scan_find_cuts(const scan_tables *tables, scan_cursor *cursor, const scan_pass *pass)
{
    for (int block = 0; block < pass->blocks; block++)
        cursor->ready[block] = tables->used_bits & 1 ? pass->masks[0][block] : 0;
    for (int back = 1; back < SCAN_MARK; back++) {
        uint64_t leads_before = cursor->leads;
        if (!(tables->used_bits >> back & 1))
            continue;
        for (int block = 0; block < pass->blocks; block++) {
            const uint64_t leads = pass->leads[block];
            uint64_t before = 0;
            cursor->ready[block] |= scan_back(pass->masks[back][block], back, leads_before, leads, &before);
            leads_before = leads;
            *(block ? &cursor->ready[block - 1] : &cursor->before) |= before;
        }
    }
}

/* Cut at the mark: before this pass, or in a block of it. */
static inline void scan_commit(scan_cursor *cursor)
{
    const Py_ssize_t offset = cursor->mark - cursor->base;
    if (offset < -SCAN_BLOCK)
        cursor->early = cursor->mark;
    else if (offset < 0)
        cursor->before |= UINT64_C(1) << (offset + SCAN_BLOCK);
    else
        cursor->ready[offset / SCAN_BLOCK] |= UINT64_C(1) << (offset % SCAN_BLOCK);
}

/* Set the mark at the fixed distance before the character at `bit` of a block. */
static inline void scan_set_mark(const scan_tables *tables, scan_cursor *cursor, int block, uint64_t bit,
                                 uint64_t leads_before, uint64_t leads)
{
    const Py_ssize_t base = cursor->base + block * SCAN_BLOCK;
    uint64_t before = 0;
    bit = scan_back(bit, (int)tables->mark_back, leads_before, leads, &before);
    cursor->mark = bit ? base + bp_lowest_bit(bit) : base - SCAN_BLOCK + bp_lowest_bit(before);
}

/* Set the mark where the outputs of a pass say so, and cut there where they do, in the order of the text. Not inline:
   most patterns have no marks. */
BP_NOINLINE static void scan_follow_marks(const scan_tables *tables, scan_cursor *cursor, const scan_pass *pass)
{
    uint64_t leads_before = cursor->leads;
    for (int block = 0; block < pass->blocks; block++) {
        uint64_t marks = pass->masks[SCAN_MARK][block];
        uint64_t commits = tables->used_bits >> SCAN_COMMIT ? pass->masks[SCAN_COMMIT][block] : 0;
        while (marks || commits) {
            /* A commit at the character that sets a new mark is for the old one. */
            if (commits && (!marks || bp_lowest_bit(commits) <= bp_lowest_bit(marks))) {
                commits &= commits - 1;
                scan_commit(cursor);
            } else {
                scan_set_mark(tables, cursor, block, marks & ~(marks - 1), leads_before, pass->leads[block]);
                marks &= marks - 1;
            }
        }
        leads_before = pass->leads[block];
    }
}

/* Write the positions of a mask's bits while there is room, and clear them; returns the new count. */
static inline Py_ssize_t scan_put(uint64_t *mask, Py_ssize_t base, Py_ssize_t *ends, Py_ssize_t count,
                                  Py_ssize_t capacity)
{
    uint64_t bits = *mask;
    if (capacity - count >= SCAN_BLOCK) { /* room for all: four at a time, the last round may write more than `found` */
        Py_ssize_t *to = ends + count;
        const int found = scan_population(bits);
        for (int i = 0; i < found; i += 4)
            for (int j = 0; j < 4; j++) {
                to[i + j] = base + bp_lowest_bit(bits | UINT64_C(1) << 63);
                bits &= bits - 1;
            }
        *mask = 0;
        return count + found;
    }
    while (bits && count < capacity) {
        ends[count++] = base + bp_lowest_bit(bits);
        bits &= bits - 1;
    }
    *mask = bits;
    return count;
}

#endif
