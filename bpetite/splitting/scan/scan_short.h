/* The ends of a whole text of less than 64 bytes, in one pass.

   Cursor, passes and lanes cost such a text more than its reading, which is one chain of dependent loads; what gathers the
   outputs runs beside it. */
#ifndef BPETITE_SCAN_SHORT_H
#define BPETITE_SCAN_SHORT_H

#include "scan_blocks.h"

/* Read up to eight codes; returns their outputs, one a byte. */
BP_INLINE uint64_t scan_short_eight(const scan_tables *tables, const uint8_t *codes, int count, uint32_t *state)
{
    uint64_t eight = 0;
    for (int i = 0; i < count; i++) {
        const uint32_t at = codes[i] * tables->states + *state;
        eight |= (uint64_t)tables->out[at] << 8 * i;
        *state = tables->next[at];
    }
    return eight;
}

/* Write the ends of the pre-tokens of text[0:size], 0 < size < SCAN_BLOCK, and return how many; 0 where a mark is needed
   to find them, and the text has to be read in passes. */
static inline Py_ssize_t scan_short(const scan_tables *given, const uint8_t *text, int size, Py_ssize_t *ends)
{
    const scan_tables tables = *given; /* nothing that is written here can change them */
    uint8_t rewritten[SCAN_BLOCK];
    uint64_t leads = ~UINT64_C(0), masks[SCAN_MARK] = {0}, all = 0, cuts;
    const uint8_t *codes = text;
    uint32_t state = 0;
    if (!scan_is_ascii(text, size)) {
        leads = scan_encode(given, text, size, rewritten);
        codes = rewritten;
    }
    for (int at = 0; at <= size; at += 8) {
        uint64_t eight;
        if (at + 8 <= size) {
            eight = scan_short_eight(&tables, codes + at, 8, &state);
        } else {
            eight = scan_short_eight(&tables, codes + at, size - at, &state);
            eight |= (uint64_t)tables.out[tables.end * tables.states + state] << 8 * (size - at);
        }
        all |= eight;
        masks[0] |= scan_gather(eight) << at;
        masks[1] |= scan_gather(eight >> 1) << at;
        if (tables.used_bits >> 2 & 3) {
            masks[2] |= scan_gather(eight >> 2) << at;
            masks[3] |= scan_gather(eight >> 3) << at;
        }
    }
    if (all & SCAN_EACH(1 << SCAN_MARK | 1 << SCAN_COMMIT))
        return 0;
    cuts = masks[0] | UINT64_C(1) << size;
    for (int back = 1; back < SCAN_MARK; back++) {
        uint64_t before = 0;
        if (masks[back])
            cuts |= scan_back(masks[back], back, ~UINT64_C(0), leads, &before);
    }
    Py_ssize_t found = 0;
    for (; cuts; cuts &= cuts - 1)
        ends[found++] = bp_lowest_bit(cuts);
    return found;
}

#endif
