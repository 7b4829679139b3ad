/* UTF-8: checking it, making it from the arrays of code points inside a str, counting in it. */
#ifndef BPETITE_UTF8_H
#define BPETITE_UTF8_H

#include "_bytes.h"

/* The offset of the first byte that is not valid UTF-8, n where all are. Overlong forms, surrogates and values above
   U+10FFFF are not valid, as in Python's strict decoder. */
static inline ptrdiff_t bp_utf8_valid(const uint8_t *p, ptrdiff_t n) {
    const uint64_t high = 0x8080808080808080u;
    ptrdiff_t at = 0;
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

/* Characters in n bytes of valid UTF-8. */
static inline ptrdiff_t bp_utf8_count(const uint8_t *p, ptrdiff_t n) {
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < n; i++) count += (int8_t)p[i] >= -64;
    return count;
}

BP_INLINE uint8_t *bp_utf8_put(uint8_t *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return to;
}

/* Code points units[from:to] of a str whose units are `kind` (1, 2 or 4) bytes wide, as UTF-8. The caller gives room
   for 2, 3 or 4 bytes each. Returns the bytes written; *bad is the index of a lone surrogate, where it stops, or -1. */
static inline ptrdiff_t bp_utf8_from_units(int kind, const void *units, ptrdiff_t from, ptrdiff_t to, uint8_t *out,
                                    ptrdiff_t *bad) {
    uint8_t *at = out;
    *bad = -1;
    if (kind == 1) {
        const uint8_t *p = (const uint8_t *)units;
        while (from < to) {
            while (from + 8 <= to && !(bp_load64(p + from) & 0x8080808080808080u)) {
                memcpy(at, p + from, 8);
                at += 8;
                from += 8;
            }
            for (ptrdiff_t stop = from + 8 < to ? from + 8 : to; from < stop; from++) at = bp_utf8_put(at, p[from]);
        }
    } else if (kind == 2) {
        const uint16_t *p = (const uint16_t *)units;
        while (from < to) {
#ifdef BP_SSE2
            while (from + 8 <= to) {
                __m128i eight = _mm_loadu_si128((const __m128i *)(p + from));
                __m128i above = _mm_and_si128(eight, _mm_set1_epi16((short)0xFF80));
                if (_mm_movemask_epi8(_mm_cmpeq_epi16(above, _mm_setzero_si128())) != 0xFFFF) break;
                _mm_storel_epi64((__m128i *)at, _mm_packus_epi16(eight, eight));
                at += 8;
                from += 8;
            }
#endif
            for (ptrdiff_t stop = from + 8 < to ? from + 8 : to; from < stop; from++) {
                if ((p[from] & 0xF800) == 0xD800) {
                    *bad = from;
                    return at - out;
                }
                at = bp_utf8_put(at, p[from]);
            }
        }
    } else {
        const uint32_t *p = (const uint32_t *)units;
        for (; from < to; from++) {
            if ((p[from] & 0xFFFFF800u) == 0xD800) {
                *bad = from;
                return at - out;
            }
            at = bp_utf8_put(at, p[from]);
        }
    }
    return at - out;
}

#endif
