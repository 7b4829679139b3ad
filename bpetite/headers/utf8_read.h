/* Reading UTF-8: checking it, counting in it, the code units of a str from it. */
#ifndef BPETITE_UTF8_READ_H
#define BPETITE_UTF8_READ_H

#include "bytes.h"
#include "simd_vec16.h"

/* Characters in n bytes of valid UTF-8. */
static inline ptrdiff_t bp_utf8_count(const uint8_t *p, ptrdiff_t n) {
    ptrdiff_t count = 0, at = 0;
#ifdef BP_SSE2
    const __m128i last = _mm_set1_epi8(-65); /* the largest of the bytes that go on with a character, as a signed one */
    while (n - at >= 16) {
        const ptrdiff_t stop = n - at < 255 * 16 ? n - 15 : at + 254 * 16 + 1; /* no more than a byte can count */
        __m128i sums = _mm_setzero_si128();
        for (; at < stop; at += 16)
            sums = _mm_sub_epi8(sums, _mm_cmpgt_epi8(_mm_loadu_si128((const __m128i *)(p + at)), last));
        sums = _mm_sad_epu8(sums, _mm_setzero_si128());
        count += _mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4);
    }
#endif
    for (; at < n; at++) count += (int8_t)p[at] >= -64;
    return count;
}

/* The largest of n bytes. */
static inline uint8_t bp_utf8_top(const uint8_t *p, ptrdiff_t n) {
    uint8_t top = 0;
    for (ptrdiff_t at = 0; at < n; at++) top = p[at] > top ? p[at] : top;
    return top;
}

/* The offset of the first byte from `at` on, where a character begins, that is not valid UTF-8, or n. */
static inline ptrdiff_t bp_utf8_valid_plain(const uint8_t *p, ptrdiff_t at, ptrdiff_t n) {
    const uint64_t high = 0x8080808080808080u;
    while (at < n) {
        while (at + 32 <= n
               && !((bp_load64(p + at) | bp_load64(p + at + 8) | bp_load64(p + at + 16) | bp_load64(p + at + 24)) & high))
            at += 32;
        while (at < n && p[at] < 0x80) at++;
        while (at < n && p[at] >= 0x80) {
            uint8_t first = p[at];
            uint8_t low = 0x80, top = 0xBF;
            int more;
            if (first >= 0xC2 && first <= 0xDF) more = 1;
            else if (first >= 0xE0 && first <= 0xEF) more = 2;
            else if (first >= 0xF0 && first <= 0xF4) more = 3;
            else return at;
            if (first == 0xE0) low = 0xA0;
            else if (first == 0xED) top = 0x9F;
            else if (first == 0xF0) low = 0x90;
            else if (first == 0xF4) top = 0x8F;
            if (at + more >= n || p[at + 1] < low || p[at + 1] > top) return at;
            if (more > 1 && (p[at + 2] & 0xC0) != 0x80) return at;
            if (more > 2 && (p[at + 3] & 0xC0) != 0x80) return at;
            at += more + 1;
        }
    }
    return n;
}

/* Write a character of valid UTF-8 as one unit of `width` bytes; advances *at and returns the end of the unit. */
BP_INLINE uint8_t *bp_unit_from_utf8(int width, const uint8_t *p, ptrdiff_t *at, uint8_t *to) {
    uint32_t c;
    *at += bp_utf8_read(p + *at, &c);
    if (width == 1) {
        *to = (uint8_t)c;
    } else if (width == 2) {
        const uint16_t unit = (uint16_t)c;
        memcpy(to, &unit, 2);
    } else {
        memcpy(to, &c, 4);
    }
    return to + width;
}

#ifdef BP_SHUFFLE_TARGET
/* For bp_utf8_faults: the faults compatible with the upper half of a byte, its lower half, the upper half of the next. */
enum {
    BP_CUT = 1 << 0,          /* a character ends early */
    BP_STRAY = 1 << 1,        /* a continuation byte after ASCII */
    BP_OVERLONG_3 = 1 << 2,
    BP_ABOVE = 1 << 3,        /* above U+10FFFF: F4 90 and more, or a first byte above F4 */
    BP_SURROGATE = 1 << 4,
    BP_OVERLONG_2 = 1 << 5,
    BP_OVERLONG_4 = 1 << 6,   /* or F5 80 and more */
    BP_TWO_MORE = 1 << 7,     /* two continuation bytes */
    BP_ANY_LOW = BP_CUT | BP_STRAY | BP_TWO_MORE,
    BP_HIGH_LOW = BP_ANY_LOW | BP_ABOVE | BP_OVERLONG_4,
    BP_AFTER = BP_STRAY | BP_OVERLONG_2 | BP_TWO_MORE
};
static const uint8_t bp_utf8_fault[3][16] = {
    {BP_STRAY, BP_STRAY, BP_STRAY, BP_STRAY, BP_STRAY, BP_STRAY, BP_STRAY, BP_STRAY, BP_TWO_MORE, BP_TWO_MORE,
     BP_TWO_MORE, BP_TWO_MORE, BP_CUT | BP_OVERLONG_2, BP_CUT, BP_CUT | BP_OVERLONG_3 | BP_SURROGATE,
     BP_CUT | BP_ABOVE | BP_OVERLONG_4},
    {BP_ANY_LOW | BP_OVERLONG_2 | BP_OVERLONG_3 | BP_OVERLONG_4, BP_ANY_LOW | BP_OVERLONG_2, BP_ANY_LOW, BP_ANY_LOW,
     BP_ANY_LOW | BP_ABOVE, BP_HIGH_LOW, BP_HIGH_LOW, BP_HIGH_LOW, BP_HIGH_LOW, BP_HIGH_LOW, BP_HIGH_LOW, BP_HIGH_LOW,
     BP_HIGH_LOW, BP_HIGH_LOW | BP_SURROGATE, BP_HIGH_LOW, BP_HIGH_LOW},
    {BP_CUT, BP_CUT, BP_CUT, BP_CUT, BP_CUT, BP_CUT, BP_CUT, BP_CUT, BP_AFTER | BP_OVERLONG_3 | BP_OVERLONG_4,
     BP_AFTER | BP_OVERLONG_3 | BP_ABOVE, BP_AFTER | BP_SURROGATE | BP_ABOVE, BP_AFTER | BP_SURROGATE | BP_ABOVE, BP_CUT,
     BP_CUT, BP_CUT, BP_CUT},
};

/* Four characters of three bytes: which bits mark them, the marks, each one's bytes with the last lowest in 32 bits, and
   the lower halves of these. */
static const uint8_t bp_utf8_threes[4][16] = {
    {0xF0, 0xC0, 0xC0, 0xF0, 0xC0, 0xC0, 0xF0, 0xC0, 0xC0, 0xF0, 0xC0, 0xC0, 0, 0, 0, 0},
    {0xE0, 0x80, 0x80, 0xE0, 0x80, 0x80, 0xE0, 0x80, 0x80, 0xE0, 0x80, 0x80, 0, 0, 0, 0},
    {2, 1, 0, 0xFF, 5, 4, 3, 0xFF, 8, 7, 6, 0xFF, 11, 10, 9, 0xFF},
    {0, 1, 4, 5, 8, 9, 12, 13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
};

/* Other than zero in each byte of p[0:16] that cannot stand after the three before it, p[-3:0]. The tables give the
   faults that the upper and the lower half of the byte before and the upper half of this one are compatible with; a bit
   that is in all three is a fault. Two continuation bytes in a row are none where a character of three or four bytes
   began two or three before (Keiser, Lemire: Validating UTF-8 in less than one instruction per byte, 2020). */
BP_SHUFFLE_TARGET static inline bp_vec16 bp_utf8_faults(const uint8_t *p) {
    const bp_vec16 half = bp_vec_each8(0x0F), e0 = bp_vec_each8(0xE0), f0 = bp_vec_each8(0xF0);
    const bp_vec16 c = bp_vec_load(p), before = bp_vec_load(p - 1);
    const bp_vec16 high = bp_vec_shuffle(bp_vec_load(bp_utf8_fault[0]), bp_vec_and(bp_vec_right16(before, 4), half));
    const bp_vec16 low = bp_vec_shuffle(bp_vec_load(bp_utf8_fault[1]), bp_vec_and(before, half));
    const bp_vec16 next = bp_vec_shuffle(bp_vec_load(bp_utf8_fault[2]), bp_vec_and(bp_vec_right16(c, 4), half));
    const bp_vec16 third = bp_vec_equal8(bp_vec_and(bp_vec_load(p - 2), e0), e0);
    const bp_vec16 fourth = bp_vec_equal8(bp_vec_and(bp_vec_load(p - 3), f0), f0);
    return bp_vec_xor(bp_vec_and(bp_vec_and(high, low), next),
                      bp_vec_and(bp_vec_or(third, fourth), bp_vec_each8(BP_TWO_MORE)));
}

/* The end of the valid part of p[at:n], by groups of 64 bytes; a character begins at `at`, which is at least 3. The last
   character may be cut. */
BP_SHUFFLE_TARGET static ptrdiff_t bp_utf8_valid_groups(const uint8_t *p, ptrdiff_t at, ptrdiff_t n) {
    for (; n - at >= 64; at += 64) {
        const bp_vec16 any = bp_vec_or(bp_vec_or(bp_vec_load(p + at), bp_vec_load(p + at + 16)),
                                       bp_vec_or(bp_vec_load(p + at + 32), bp_vec_load(p + at + 48)));
        if (!bp_vec_signs(any)) {
            if (p[at - 1] >= 0xC0 || p[at - 2] >= 0xE0 || p[at - 3] >= 0xF0) break;
        } else {
            const bp_vec16 faults = bp_vec_or(
                bp_vec_or(bp_utf8_faults(p + at), bp_utf8_faults(p + at + 16)),
                bp_vec_or(bp_utf8_faults(p + at + 32), bp_utf8_faults(p + at + 48)));
            if (bp_vec_any(faults)) break;
        }
    }
    return at;
}

/* Sixteen ASCII characters as units. */
BP_SHUFFLE_TARGET static inline void bp_units_of_ascii(int width, uint8_t *to, bp_vec16 c) {
    const bp_vec16 zero = bp_vec_each16(0);
    if (width == 1) {
        bp_vec_store(to, c);
    } else if (width == 2) {
        bp_vec_store(to, bp_vec_zip_low(c, zero));
        bp_vec_store(to + 16, bp_vec_zip_high(c, zero));
    } else {
        const bp_vec16 low = bp_vec_zip_low(c, zero), high = bp_vec_zip_high(c, zero);
        bp_vec_store(to, bp_vec_widen_low(low));
        bp_vec_store(to + 16, bp_vec_widen_high(low));
        bp_vec_store(to + 32, bp_vec_widen_low(high));
        bp_vec_store(to + 48, bp_vec_widen_high(high));
    }
}

/* Four characters of three bytes each as units; returns 0 if p[0:12] is anything else. */
BP_SHUFFLE_TARGET static inline int bp_units_of_threes(int width, uint8_t *to, bp_vec16 c) {
    const bp_vec16 marks = bp_vec_and(c, bp_vec_load(bp_utf8_threes[0]));
    if ((bp_vec_signs(bp_vec_equal8(marks, bp_vec_load(bp_utf8_threes[1]))) & 0xFFF) != 0xFFF) return 0;
    const bp_vec16 each = bp_vec_shuffle(c, bp_vec_load(bp_utf8_threes[2])); /* last byte of the character lowest */
    const bp_vec16 points = bp_vec_or(
        bp_vec_and(each, bp_vec_each32(0x3F)),
        bp_vec_or(bp_vec_and(bp_vec_right32(each, 2), bp_vec_each32(0xFC0)),
                  bp_vec_and(bp_vec_right32(each, 4), bp_vec_each32(0xF000))));
    if (width == 2)
        bp_vec_store8(to, bp_vec_shuffle(points, bp_vec_load(bp_utf8_threes[3])));
    else
        bp_vec_store(to, points);
    return 1;
}

/* Units of p[*at:n], valid UTF-8, as long as 64 bytes follow; advances *at and returns the end of the units. Stores of
   sixteen units stay inside: 64 bytes have as many characters at least. */
BP_SHUFFLE_TARGET static inline uint8_t *bp_units_from_utf8_of(int width, const uint8_t *p, ptrdiff_t *at,
                                                               ptrdiff_t n, uint8_t *to) {
    ptrdiff_t i = *at;
    while (n - i >= 64) {
        const bp_vec16 c = bp_vec_load(p + i);
        const uint64_t signs = bp_vec_signs(c);
        if (!(signs & 1)) {
            const int ascii = signs ? __builtin_ctzll(signs) : 16;
            bp_units_of_ascii(width, to, c);
            i += ascii;
            to += ascii * width;
        } else if (width > 1 && bp_units_of_threes(width, to, c)) {
            i += 12;
            to += 4 * width;
        } else {
            do to = bp_unit_from_utf8(width, p, &i, to);
            while (p[i] >= 0x80 && n - i >= 64);
        }
    }
    *at = i;
    return to;
}

BP_SHUFFLE_TARGET static uint8_t *bp_units_from_many(int width, const uint8_t *p, ptrdiff_t *at, ptrdiff_t n,
                                                     uint8_t *to) {
    if (width == 1) return bp_units_from_utf8_of(1, p, at, n, to);
    if (width == 2) return bp_units_from_utf8_of(2, p, at, n, to);
    return bp_units_from_utf8_of(4, p, at, n, to);
}
#endif

/* The offset of the first byte that is not valid UTF-8, or n. Overlong forms, surrogates and values above U+10FFFF are
   invalid, as in Python's strict decoder. */
static inline ptrdiff_t bp_utf8_valid(const uint8_t *p, ptrdiff_t n) {
    ptrdiff_t at = 0;
    if (n < 96) return bp_utf8_valid_plain(p, 0, n);
#ifdef BP_SHUFFLE_TARGET
    if (bp_simd() != BP_SIMD_PLAIN) {
        while (at < 3) { /* bytes that groups look back at */
            const ptrdiff_t more = p[at] < 0x80 ? 1 : p[at] < 0xE0 ? 2 : p[at] < 0xF0 ? 3 : 4;
            if (bp_utf8_valid_plain(p + at, 0, more) < more) return bp_utf8_valid_plain(p, at, n);
            at += more;
        }
        at = bp_utf8_valid_groups(p, at, n);
        for (int back = 1; back <= 3; back++) /* to the start of a character that is cut, or may be */
            if (p[at - back] >= 0xC0) {
                at -= back;
                break;
            }
    }
#endif
    return bp_utf8_valid_plain(p, at, n);
}

/* The units of n bytes of valid UTF-8, `width` (1, 2 or 4) bytes each, which all characters fit into; returns how many. */
static inline ptrdiff_t bp_units_from_utf8(int width, const uint8_t *p, ptrdiff_t n, void *units) {
    uint8_t *to = (uint8_t *)units;
    ptrdiff_t at = 0;
#ifdef BP_SHUFFLE_TARGET
    if (n >= 64 && bp_simd() != BP_SIMD_PLAIN) to = bp_units_from_many(width, p, &at, n, to);
#endif
    while (at < n) to = bp_unit_from_utf8(width, p, &at, to);
    return (to - (uint8_t *)units) / width;
}

#endif
