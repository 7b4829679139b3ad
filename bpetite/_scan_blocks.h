/* The inner loops of the scanner: run the folded machine over a block of 64 codes and gather its output as bit masks.

   A code is one byte: an ASCII character itself, or 128 and up for the groups of other characters, STAY for the rest of
   their bytes and END behind the text. An output is one byte too: bits 0..3 say that a pre-token begins that many
   characters back, bit 4 that the mark is to be set, bit 5 that the mark is a cut (bpetite/folding.py has the meaning). */
#ifndef BPETITE_SCAN_BLOCKS_H
#define BPETITE_SCAN_BLOCKS_H

#include <stdint.h>
#include <string.h>

enum { SCAN_BLOCK = 64, SCAN_KINDS = 6, SCAN_MARK = 4, SCAN_COMMIT = 5 };

typedef struct {
    uint64_t of[SCAN_KINDS]; /* one mask for each bit of an output; bit i is the block's code i */
} scan_masks;

typedef struct {
    const uint8_t *next; /* next[code * states + state] */
    const uint8_t *out;  /* the output of that step */
    uint32_t states;
    uint32_t kinds; /* which bits occur in any output */
} scan_tables;

static inline int scan_lowest(uint64_t mask) { return __builtin_ctzll(mask); }
static inline int scan_highest(uint64_t mask) { return 63 - __builtin_clzll(mask); }
static inline int scan_count(uint64_t mask) { return __builtin_popcountll(mask); }

/* Bit `kind` of eight output bytes as eight bits. */
static inline uint64_t scan_gather(const uint8_t *out, int kind)
{
    uint64_t eight;
    memcpy(&eight, out, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    return ((eight >> kind & 0x0101010101010101u) * 0x0102040810204080u) >> 56;
}

/* Run `count` codes (a multiple of 8) through the tables; returns the state after them. */
static uint32_t scan_by_tables(const scan_tables *tables, const uint8_t *codes, int count, uint32_t state,
                               scan_masks *masks)
{
    uint8_t out[SCAN_BLOCK];
    const uint32_t states = tables->states;
    for (int i = 0; i < count; i++) {
        const uint32_t row = codes[i] * states;
        out[i] = tables->out[row + state];
        state = tables->next[row + state];
    }
    for (int kind = 0; kind < SCAN_KINDS; kind++) {
        uint64_t mask = 0;
        if (tables->kinds >> kind & 1)
            for (int i = 0; i < count; i += 8)
                mask |= scan_gather(out + i, kind) << i;
        masks->of[kind] = mask;
    }
    return state;
}

/* Move every bit of `bits`, which stand at characters of the block behind `leads_before`, back by `count` characters.
   Bits that leave the block go to `*before`, the 64 bytes in front of it. `leads` are the first bytes of characters. */
static inline uint64_t scan_back(uint64_t bits, int count, uint64_t leads_before, uint64_t leads, uint64_t *before)
{
    uint64_t low = 0;
    if ((leads & leads_before) == ~UINT64_C(0)) {
        *before |= bits << (64 - count); /* count is at least 1 */
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

#endif
