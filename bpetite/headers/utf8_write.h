/* Writing UTF-8: from the code units of a str.

   Sixteen at a time: most groups are ASCII and are narrowed. In others the bytes of four or of two characters are made in
   parallel, with room for the longest, and a byte shuffle, chosen by the lengths of the characters, moves them
   together. */
#ifndef BPETITE_UTF8_WRITE_H
#define BPETITE_UTF8_WRITE_H

#include "simd_vec16.h"

enum { BP_UTF8_SLACK = 64 /* bytes after a result that may be overwritten */ };

/* Code unit `at` of a str. */
BP_INLINE uint32_t bp_unit(const int width, const void *units, ptrdiff_t at) {
    if (width == 1) return ((const uint8_t *)units)[at];
    if (width == 2) return ((const uint16_t *)units)[at];
    return ((const uint32_t *)units)[at];
}

/* bp_utf8_from_units on any processor. */
BP_INLINE ptrdiff_t bp_utf8_from_units_plain(const int width, const void *units, ptrdiff_t from, ptrdiff_t to,
                                             uint8_t *out, ptrdiff_t *bad) {
    uint8_t *at = out;
    *bad = -1;
    while (from < to) {
        for (; width == 1 && from + 8 <= to; from += 8, at += 8) {
            const uint8_t *eight = (const uint8_t *)units + from;
            if (bp_load64(eight) & 0x8080808080808080u) break;
            memcpy(at, eight, 8);
        }
        for (ptrdiff_t stop = from + 8 < to ? from + 8 : to; from < stop; from++) {
            const uint32_t c = bp_unit(width, units, from);
            if (width > 1 && (c & 0xFFFFF800u) == 0xD800) {
                *bad = from;
                return at - out;
            }
            at = bp_utf8_put(at, c);
        }
    }
    return at - out;
}

#ifdef BP_SHUFFLE_TARGET
/* The bytes to keep of four characters with two bytes each: bit j of the row's number is set if character j has two.
   The second half is for the upper eight bytes of a vector. */
static const uint8_t bp_utf8_fours[32][16] = {
    {0, 2, 4, 6, 0, 0, 0, 0}, {0, 1, 2, 4, 6, 0, 0, 0}, {0, 2, 3, 4, 6, 0, 0, 0}, {0, 1, 2, 3, 4, 6, 0, 0},
    {0, 2, 4, 5, 6, 0, 0, 0}, {0, 1, 2, 4, 5, 6, 0, 0}, {0, 2, 3, 4, 5, 6, 0, 0}, {0, 1, 2, 3, 4, 5, 6, 0},
    {0, 2, 4, 6, 7, 0, 0, 0}, {0, 1, 2, 4, 6, 7, 0, 0}, {0, 2, 3, 4, 6, 7, 0, 0}, {0, 1, 2, 3, 4, 6, 7, 0},
    {0, 2, 4, 5, 6, 7, 0, 0}, {0, 1, 2, 4, 5, 6, 7, 0}, {0, 2, 3, 4, 5, 6, 7, 0}, {0, 1, 2, 3, 4, 5, 6, 7},
    {8, 10, 12, 14, 0, 0, 0, 0}, {8, 9, 10, 12, 14, 0, 0, 0}, {8, 10, 11, 12, 14, 0, 0, 0}, {8, 9, 10, 11, 12, 14, 0, 0},
    {8, 10, 12, 13, 14, 0, 0, 0}, {8, 9, 10, 12, 13, 14, 0, 0}, {8, 10, 11, 12, 13, 14, 0, 0}, {8, 9, 10, 11, 12, 13, 14, 0},
    {8, 10, 12, 14, 15, 0, 0, 0}, {8, 9, 10, 12, 14, 15, 0, 0}, {8, 10, 11, 12, 14, 15, 0, 0}, {8, 9, 10, 11, 12, 14, 15, 0},
    {8, 10, 12, 13, 14, 15, 0, 0}, {8, 9, 10, 12, 13, 14, 15, 0}, {8, 10, 11, 12, 13, 14, 15, 0}, {8, 9, 10, 11, 12, 13, 14, 15},
};

/* For two characters with four bytes each, bits j and 2 + j say that character j has two bytes or more, and three. */
static const uint8_t bp_utf8_twos[32][16] = {
    {0, 4, 0, 0, 0, 0, 0, 0}, {0, 1, 4, 0, 0, 0, 0, 0}, {0, 4, 5, 0, 0, 0, 0, 0}, {0, 1, 4, 5, 0, 0, 0, 0},
    {0, 1, 4, 0, 0, 0, 0, 0}, {0, 1, 2, 4, 0, 0, 0, 0}, {0, 1, 4, 5, 0, 0, 0, 0}, {0, 1, 2, 4, 5, 0, 0, 0},
    {0, 4, 5, 0, 0, 0, 0, 0}, {0, 1, 4, 5, 0, 0, 0, 0}, {0, 4, 5, 6, 0, 0, 0, 0}, {0, 1, 4, 5, 6, 0, 0, 0},
    {0, 1, 4, 5, 0, 0, 0, 0}, {0, 1, 2, 4, 5, 0, 0, 0}, {0, 1, 4, 5, 6, 0, 0, 0}, {0, 1, 2, 4, 5, 6, 0, 0},
    {8, 12, 0, 0, 0, 0, 0, 0}, {8, 9, 12, 0, 0, 0, 0, 0}, {8, 12, 13, 0, 0, 0, 0, 0}, {8, 9, 12, 13, 0, 0, 0, 0},
    {8, 9, 12, 0, 0, 0, 0, 0}, {8, 9, 10, 12, 0, 0, 0, 0}, {8, 9, 12, 13, 0, 0, 0, 0}, {8, 9, 10, 12, 13, 0, 0, 0},
    {8, 12, 13, 0, 0, 0, 0, 0}, {8, 9, 12, 13, 0, 0, 0, 0}, {8, 12, 13, 14, 0, 0, 0, 0}, {8, 9, 12, 13, 14, 0, 0, 0},
    {8, 9, 12, 13, 0, 0, 0, 0}, {8, 9, 10, 12, 13, 0, 0, 0}, {8, 9, 12, 13, 14, 0, 0, 0}, {8, 9, 10, 12, 13, 14, 0, 0},
};

/* The number of bits set. */
static const uint8_t bp_utf8_bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

/* Eight code points below 0x800, in 16 bits each. */
BP_SHUFFLE_TARGET static inline uint8_t *bp_utf8_put_eight(uint8_t *to, bp_vec16 c) {
    const bp_vec16 two = bp_vec_above16(c, bp_vec_each16(0x7F));
    const bp_vec16 marked = bp_vec_or(bp_vec_or(bp_vec_right16(c, 6), bp_vec_each16(0x80C0)),
                                      bp_vec_left16(bp_vec_and(c, bp_vec_each16(0x3F)), 8));
    const bp_vec16 bytes = bp_vec_choose(two, marked, c);
    const unsigned longer = bp_vec_bits16(two), low = longer & 15, high = longer >> 4;
    bp_vec_store8(to, bp_vec_shuffle(bytes, bp_vec_load(bp_utf8_fours[low])));
    to += 4 + bp_utf8_bits[low];
    bp_vec_store8(to, bp_vec_shuffle(bytes, bp_vec_load(bp_utf8_fours[16 + high])));
    return to + 4 + bp_utf8_bits[high];
}

/* Four code points below 0x10000, none a surrogate. */
BP_SHUFFLE_TARGET static inline uint8_t *bp_utf8_put_four(uint8_t *to, bp_vec16 c) {
    const bp_vec16 six = bp_vec_each32(0x3F);
    const bp_vec16 last = bp_vec_and(c, six), rest = bp_vec_right32(c, 6);
    const bp_vec16 two = bp_vec_above32(c, bp_vec_each32(0x7F)), three = bp_vec_above32(c, bp_vec_each32(0x7FF));
    const bp_vec16 of_two = bp_vec_or(bp_vec_or(rest, bp_vec_each32(0x80C0)), bp_vec_left32(last, 8));
    const bp_vec16 of_three = bp_vec_or(
        bp_vec_or(bp_vec_right32(c, 12), bp_vec_each32(0x8080E0)),
        bp_vec_or(bp_vec_left32(bp_vec_and(rest, six), 8), bp_vec_left32(last, 16)));
    const unsigned twos = bp_vec_bits32(two), threes = bp_vec_bits32(three);
    if (threes == 15) { /* most of Chinese and Japanese: no table, and no length that the next address waits for */
        static const uint8_t thirds[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14};
        bp_vec_store(to, bp_vec_shuffle(of_three, bp_vec_load(thirds)));
        return to + 12;
    }
    const bp_vec16 bytes = bp_vec_choose(three, of_three, bp_vec_choose(two, of_two, c));
    const unsigned low = (twos & 3) | (threes & 3) << 2, high = twos >> 2 | (threes & 12);
    bp_vec_store8(to, bp_vec_shuffle(bytes, bp_vec_load(bp_utf8_twos[low])));
    to += 2 + bp_utf8_bits[low];
    bp_vec_store8(to, bp_vec_shuffle(bytes, bp_vec_load(bp_utf8_twos[16 + high])));
    return to + 2 + bp_utf8_bits[high];
}

/* Sixteen code points in four vectors; NULL where one is a surrogate. */
BP_SHUFFLE_TARGET static inline uint8_t *bp_utf8_put_sixteen(uint8_t *to, const bp_vec16 *c) {
    const bp_vec16 any = bp_vec_or(bp_vec_or(c[0], c[1]), bp_vec_or(c[2], c[3]));
    if (!bp_vec_any(bp_vec_and(any, bp_vec_each32(~0x7FFu)))) {
        to = bp_utf8_put_eight(to, bp_vec_narrow32(c[0], c[1]));
        return bp_utf8_put_eight(to, bp_vec_narrow32(c[2], c[3]));
    }
    for (int i = 0; i < 4; i++) {
        const bp_vec16 high = bp_vec_and(c[i], bp_vec_each32(~0x7FFu));
        if (bp_vec_any(bp_vec_equal32(high, bp_vec_each32(0xD800)))) return NULL;
        if (bp_vec_any(bp_vec_and(high, bp_vec_each32(~0xFFFFu)))) {
            uint32_t points[4];
            bp_vec_store(points, c[i]);
            for (int j = 0; j < 4; j++) to = bp_utf8_put(to, points[j]);
        } else {
            to = bp_utf8_put_four(to, c[i]);
        }
    }
    return to;
}

/* bp_utf8_from_units for whole groups of sixteen, up to a surrogate; advances *from and returns the end. */
BP_SHUFFLE_TARGET static uint8_t *bp_utf8_from_sixteens(int width, const void *units, ptrdiff_t *from, ptrdiff_t to,
                                                        uint8_t *at) {
    ptrdiff_t i = *from;
    if (width == 1) {
        for (; i + 16 <= to; i += 16) {
            const bp_vec16 c = bp_vec_load((const uint8_t *)units + i);
            if (!bp_vec_any(bp_vec_and(c, bp_vec_each16(0x8080)))) {
                bp_vec_store(at, c);
                at += 16;
            } else {
                const bp_vec16 zero = bp_vec_each16(0);
                at = bp_utf8_put_eight(at, bp_vec_zip_low(c, zero));
                at = bp_utf8_put_eight(at, bp_vec_zip_high(c, zero));
            }
        }
    } else if (width == 2) {
        for (; i + 16 <= to; i += 16) {
            const bp_vec16 a = bp_vec_load((const uint16_t *)units + i), b = bp_vec_load((const uint16_t *)units + i + 8);
            const bp_vec16 any = bp_vec_or(a, b);
            if (!bp_vec_any(bp_vec_and(any, bp_vec_each16(0xFF80)))) {
                bp_vec_store(at, bp_vec_narrow16(a, b));
                at += 16;
            } else if (!bp_vec_any(bp_vec_and(any, bp_vec_each16(0xF800)))) {
                at = bp_utf8_put_eight(at, a);
                at = bp_utf8_put_eight(at, b);
            } else {
                const bp_vec16 c[4] = {bp_vec_widen_low(a), bp_vec_widen_high(a), bp_vec_widen_low(b),
                                       bp_vec_widen_high(b)};
                uint8_t *end = bp_utf8_put_sixteen(at, c);
                if (!end) break;
                at = end;
            }
        }
    } else {
        for (; i + 16 <= to; i += 16) {
            const uint32_t *p = (const uint32_t *)units + i;
            const bp_vec16 c[4] = {bp_vec_load(p), bp_vec_load(p + 4), bp_vec_load(p + 8), bp_vec_load(p + 12)};
            const bp_vec16 any = bp_vec_or(bp_vec_or(c[0], c[1]), bp_vec_or(c[2], c[3]));
            if (!bp_vec_any(bp_vec_and(any, bp_vec_each32(~0x7Fu)))) {
                bp_vec_store(at, bp_vec_narrow16(bp_vec_narrow32(c[0], c[1]), bp_vec_narrow32(c[2], c[3])));
                at += 16;
            } else {
                uint8_t *end = bp_utf8_put_sixteen(at, c);
                if (!end) break;
                at = end;
            }
        }
    }
    *from = i;
    return at;
}
#endif

/* Code points units[from:to] of a str whose units are `width` (1, 2 or 4) bytes wide, as UTF-8. The caller has
   room for 2, 3 or 4 bytes each, and BP_UTF8_SLACK. Returns the number of bytes written; *bad is the index of a lone
   surrogate, where it stops, or -1. */
static inline ptrdiff_t bp_utf8_from_units(int width, const void *units, ptrdiff_t from, ptrdiff_t to, uint8_t *out,
                                           ptrdiff_t *bad) {
    uint8_t *at = out;
#ifdef BP_SHUFFLE_TARGET
    if (to - from >= 16 && bp_simd() != BP_SIMD_PLAIN) at = bp_utf8_from_sixteens(width, units, &from, to, at);
#endif
    at += width == 1   ? bp_utf8_from_units_plain(1, units, from, to, at, bad)
          : width == 2 ? bp_utf8_from_units_plain(2, units, from, to, at, bad)
                      : bp_utf8_from_units_plain(4, units, from, to, at, bad);
    return at - out;
}

#endif
