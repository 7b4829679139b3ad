/* The inner loops of the scanner: run a folded machine over codes of one byte, gather its outputs as bit masks.

   A code is an ASCII character itself, or from 128 on the group of another character, or STAY for the later bytes of a
   character, or END behind the text. An output is one byte too: bits 0..3 say that a pre-token begins that many
   characters back, SCAN_MARK that the mark is to be set, SCAN_COMMIT that the mark is a cut (transducer.py). */
#ifndef BPETITE_SCAN_BLOCKS_H
#define BPETITE_SCAN_BLOCKS_H

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    SCAN_BLOCK = 64,  /* codes whose outputs fill a mask */
    SCAN_LANES = 4,   /* places of the text read side by side */
    SCAN_LANE = 128,  /* codes a lane reads */
    SCAN_SPAN = SCAN_LANES * SCAN_LANE,
    SCAN_LONGEST = 4096, /* codes of a span, however it is read */
    SCAN_BLOCKS = SCAN_LONGEST / SCAN_BLOCK,
    SCAN_MARK = 4,
    SCAN_COMMIT = 5,
    SCAN_KINDS = 6,
    SCAN_PAGES = 0x110000 / 64, /* entries of `stage` */
    SCAN_SEARCH = 32 /* how far before a lane to look for a place where its state is known */
};

typedef struct {
    const uint8_t *next;   /* next[code * states + state] */
    const uint8_t *out;    /* the output of that step */
    const uint8_t *column; /* code -> a number for all codes that do the same in every state */
    const uint8_t *forget; /* [column * columns + column]: 1 + the state after these two, whatever it was before; or 0 */
    uint32_t states, columns;
    uint32_t kinds;        /* which bits occur in any output */
    uint32_t mark_back;    /* how many characters back the mark is set */
    const uint16_t *stage; /* code point / 64 -> page */
    const uint8_t *pages;  /* page * 64 + code point % 64 -> code */
    uint8_t stay, end;
} scan_tables;

/* For scanning 64 places side by side (scan_avx512.h).

   A function of a code and a state: steps[page[code]][place[code] + state]. The rows of ASCII codes come first, so that
   text of ASCII alone needs only the first `ascii_pages`. */
typedef struct {
    const uint8_t *place, *page; /* 256 each */
    const uint8_t *steps;        /* 128 a page */
    uint32_t pages, ascii_pages;
} scan_paged;

typedef struct {
    scan_paged run;              /* the step of the machine, by number */
    const uint8_t *following;    /* step -> the state after it, 128 */
    const uint8_t *output;       /* step -> its output, 128 */
    scan_paged find;             /* sets of states; the first `states` are those of one */
    uint8_t every;               /* the set of all */
} scan_wide;

/* One scan over one text; see _scan.pxd. */
typedef struct {
    const uint8_t *text;
    Py_ssize_t length;
    Py_ssize_t done;
    int final;
    int ended;           /* the machine has read the end of the text */
    Py_ssize_t position; /* of the next byte it reads */
    uint64_t leads;      /* which of the 64 bytes before `position` begin a character */
    Py_ssize_t mark;
    uint32_t state;
    /* Ends found and not given out yet, in this order: one far back, or -1; those in the block before `base`; those in
       the blocks from number `block` up to `blocks`, counted from `base`. */
    Py_ssize_t early;
    uint64_t before;
    Py_ssize_t base;
    int block, blocks;
    uint64_t ready[SCAN_BLOCKS];
} scan_cursor;

#if defined(_MSC_VER)
#include <intrin.h>
static inline int scan_lowest(uint64_t mask)
{
    unsigned long at;
    _BitScanForward64(&at, mask);
    return (int)at;
}
#else
static inline int scan_lowest(uint64_t mask) { return __builtin_ctzll(mask); }
#endif

/* How many bits are set; written out, because without -mpopcnt the builtin is a call. */
static inline int scan_population(uint64_t mask)
{
    mask -= mask >> 1 & UINT64_C(0x5555555555555555);
    mask = (mask & UINT64_C(0x3333333333333333)) + (mask >> 2 & UINT64_C(0x3333333333333333));
    mask = (mask + (mask >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (int)(mask * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint64_t scan_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

#define SCAN_EACH(byte) ((byte) * UINT64_C(0x0101010101010101))

/* The lowest bits of eight bytes as eight bits. */
static inline uint64_t scan_gather(uint64_t word)
{
    return ((word & SCAN_EACH(1)) * UINT64_C(0x0102040810204080)) >> 56;
}

/* One mask for each kind of output and block of a span. */
typedef uint64_t scan_masks[SCAN_KINDS][SCAN_BLOCKS];

/* Bit `kind` of 64 output bytes as a mask. */
static inline uint64_t scan_mask(const uint8_t *out, int kind)
{
    uint64_t mask = 0;
#ifdef __SSE2__
    const __m128i shift = _mm_cvtsi32_si128(7 - kind);
    for (int i = 0; i < SCAN_BLOCK; i += 16) {
        const __m128i bytes = _mm_sll_epi16(_mm_loadu_si128((const __m128i *)(out + i)), shift);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << i;
    }
#else
    for (int i = 0; i < SCAN_BLOCK; i += 8)
        mask |= scan_gather(scan_word(out + i) >> kind) << i;
#endif
    return mask;
}

/* The masks of `blocks` blocks of outputs. */
static inline void scan_gather_masks(const scan_tables *tables, const uint8_t *out, int blocks, scan_masks masks)
{
    for (int kind = 0; kind < SCAN_KINDS; kind++)
        if (tables->kinds >> kind & 1)
            for (int block = 0; block < blocks; block++)
                masks[kind][block] = scan_mask(out + block * SCAN_BLOCK, kind);
}

static inline int scan_is_ascii(const uint8_t *text, Py_ssize_t size)
{
    uint64_t any = 0;
    for (Py_ssize_t i = 0; i < size; i += 8) /* a multiple of 8 */
        any |= scan_word(text + i);
    return (any & SCAN_EACH(0x80)) == 0;
}

/* Write the codes of the characters that begin at the bits of `others` and are not ASCII; see scan_encode. */
static inline void scan_encode_others(const scan_tables *tables, const uint8_t *text, Py_ssize_t size, uint64_t others,
                                      uint8_t *codes)
{
    while (others) {
        const int i = scan_lowest(others);
        const uint8_t *at = text + i;
        uint32_t page, last;
        others &= others - 1;
        if (at[0] < 0xE0 && i + 2 <= size) {
            page = at[0] & 0x1F;
            last = at[1];
        } else if (at[0] < 0xF0 && i + 3 <= size) {
            page = (uint32_t)(at[0] & 0x0F) << 6 | (at[1] & 0x3F);
            last = at[2];
        } else if (at[0] < 0xF5 && i + 4 <= size) {
            page = (uint32_t)(at[0] & 0x07) << 12 | (uint32_t)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
            last = at[3];
            if (page >= SCAN_PAGES)
                continue;
        } else {
            continue; /* not UTF-8: the ends found mean nothing, but nothing outside the text is read */
        }
        codes[i] = tables->pages[(uint32_t)tables->stage[page] << 6 | (last & 0x3F)];
    }
}

/* Rewrite up to 64 bytes as codes; returns which of them begin a character. Only `text[0:size]` is read, where one
   may reach past 64: its group is known from its first byte on, and the next block begins with codes that stay. */
static inline uint64_t scan_encode(const scan_tables *tables, const uint8_t *text, Py_ssize_t size, uint8_t *codes)
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
        const uint64_t word = scan_word(block + i);
        const uint64_t high = word >> 7 & SCAN_EACH(1), later = high & ~(word >> 6);
        const uint64_t fill = high * 0xFF;
        uint64_t code = (word & ~fill) | (SCAN_EACH(tables->stay) & fill);
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

/* Run `count` codes through the machine; returns its state after them. */
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

/* The machine's state before codes[at], without having read the text before it: after certain pairs of characters it is
   the same whatever it was before them. Returns -1 where the codes from `at` - SCAN_SEARCH on hold no such pair. */
static inline int scan_known_state(const scan_tables *tables, const uint8_t *codes, int at)
{
    const int limit = at > SCAN_SEARCH ? at - SCAN_SEARCH : 0;
    int first, second = at, forget;
    do {
        if (--second < limit)
            return -1;
    } while (codes[second] == tables->stay);
    for (;;) {
        first = second;
        do {
            if (--first < limit)
                return -1;
        } while (codes[first] == tables->stay);
        forget = tables->forget[tables->column[codes[first]] * tables->columns + tables->column[codes[second]]];
        if (forget)
            break;
        second = first;
    }
    uint32_t state = (uint32_t)forget - 1;
    while (++second < at)
        state = tables->next[codes[second] * tables->states + state];
    return (int)state;
}

/* Run 4 * `lane` codes, four lanes side by side, so that four chains of dependent loads overlap instead of one waiting
   for itself. Returns the state after them, or -1, nothing done, where the state in front of some lane is not known. */
static inline int scan_run_lanes(const scan_tables *tables, const uint8_t *codes, int lane, uint32_t state, uint8_t *out)
{
    const uint8_t *next = tables->next, *outs = tables->out;
    const uint32_t states = tables->states;
    const int known1 = scan_known_state(tables, codes, lane);
    const int known2 = scan_known_state(tables, codes, 2 * lane);
    const int known3 = scan_known_state(tables, codes, 3 * lane);
    if ((known1 | known2 | known3) < 0)
        return -1;
    uint32_t state0 = state, state1 = (uint32_t)known1, state2 = (uint32_t)known2, state3 = (uint32_t)known3;
    for (int i = 0; i < lane; i++) {
        const uint32_t at0 = codes[i] * states + state0;
        const uint32_t at1 = codes[i + lane] * states + state1;
        const uint32_t at2 = codes[i + 2 * lane] * states + state2;
        const uint32_t at3 = codes[i + 3 * lane] * states + state3;
        out[i] = outs[at0];
        state0 = next[at0];
        out[i + lane] = outs[at1];
        state1 = next[at1];
        out[i + 2 * lane] = outs[at2];
        state2 = next[at2];
        out[i + 3 * lane] = outs[at3];
        state3 = next[at3];
    }
    return (int)state3;
}

/* Move every bit of `bits`, which stand at characters of a block, back by `count` characters. Bits that leave the block
   go to `*before`, the block in front of it. `leads` and `leads_before` are the first bytes of the blocks' characters. */
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

/* Gather the cuts of a span of `blocks` blocks in the cursor, those that lie up to three characters before an output
   moved back to where they belong. */
static inline void scan_find_cuts(const scan_tables *tables, scan_cursor *cursor, scan_masks masks, int blocks,
                                  const uint64_t *leads)
{
    for (int block = 0; block < blocks; block++)
        cursor->ready[block] = tables->kinds & 1 ? masks[0][block] : 0;
    for (int kind = 1; kind < SCAN_MARK; kind++) {
        uint64_t leads_before = cursor->leads;
        if (!(tables->kinds >> kind & 1))
            continue;
        for (int block = 0; block < blocks; block++) {
            uint64_t before = 0;
            cursor->ready[block] |= scan_back(masks[kind][block], kind, leads_before, leads[block], &before);
            leads_before = leads[block];
            *(block ? &cursor->ready[block - 1] : &cursor->before) |= before;
        }
    }
}

/* Turn the bits of a mask into offsets, as far as there is room; returns the new count. */
static inline Py_ssize_t scan_put(uint64_t *mask, Py_ssize_t base, Py_ssize_t *ends, Py_ssize_t count,
                                  Py_ssize_t capacity)
{
    uint64_t bits = *mask;
    if (capacity - count >= SCAN_BLOCK) { /* room for all: four at a time, the last few perhaps in vain */
        Py_ssize_t *to = ends + count;
        const int found = scan_population(bits);
        for (int i = 0; i < found; i += 4)
            for (int j = 0; j < 4; j++) {
                to[i + j] = base + scan_lowest(bits | UINT64_C(1) << 63);
                bits &= bits - 1;
            }
        *mask = 0;
        return count + found;
    }
    while (bits && count < capacity) {
        ends[count++] = base + scan_lowest(bits);
        bits &= bits - 1;
    }
    *mask = bits;
    return count;
}

#endif
