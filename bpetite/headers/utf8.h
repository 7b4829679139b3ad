/* UTF-8: validation, transcoding from and to the code units of a str, counting characters. */
#ifndef BPETITE_UTF8_H
#define BPETITE_UTF8_H

#include "bytes.h"
#include "simd_vec16.h"

enum { BP_UTF8_SLACK = 64 /* bytes after a result that may be overwritten */ };

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

/* Write a character of valid UTF-8 as one unit of `kind` bytes; advances *at and returns the end of the unit. */
BP_INLINE uint8_t *bp_unit_from_utf8(int kind, const uint8_t *p, ptrdiff_t *at, uint8_t *to) {
    uint32_t c = p[*at];
    ptrdiff_t size = 1;
    if (c >= 0xF0) {
        c = (c & 0x07) << 18 | (p[*at + 1] & 0x3Fu) << 12 | (p[*at + 2] & 0x3Fu) << 6 | (p[*at + 3] & 0x3Fu);
        size = 4;
    } else if (c >= 0xE0) {
        c = (c & 0x0F) << 12 | (p[*at + 1] & 0x3Fu) << 6 | (p[*at + 2] & 0x3Fu);
        size = 3;
    } else if (c >= 0x80) {
        c = (c & 0x1F) << 6 | (p[*at + 1] & 0x3Fu);
        size = 2;
    }
    *at += size;
    if (kind == 1) {
        *to = (uint8_t)c;
    } else if (kind == 2) {
        const uint16_t unit = (uint16_t)c;
        memcpy(to, &unit, 2);
    } else {
        memcpy(to, &c, 4);
    }
    return to + kind;
}

/* bp_utf8_from_units on any processor. */
static inline ptrdiff_t bp_utf8_from_units_plain(int kind, const void *units, ptrdiff_t from, ptrdiff_t to, uint8_t *out,
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

#ifdef BP_SHUFFLE_TARGET
/* Which bytes to keep of four characters with two bytes each: bit j of the row's number says that character j has two.
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

/* Of two characters with four bytes each: bits j and 2 + j say that character j has two bytes or more, and three. */
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

/* bp_utf8_faults: faults that the upper half of a byte is compatible with, the lower half, the upper of the next byte. */
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

/* The number of bits set. */
static const uint8_t bp_utf8_bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
#endif

#ifdef BP_HAS_NEON
#define BP_FORM(name) name##_neon
#define BP_FORM_TARGET BP_NEON_TARGET
#include "utf8_units.h"
#include "utf8_read.h"
#undef BP_FORM
#undef BP_FORM_TARGET
#endif

#ifdef BP_HAS_AVX2
#define BP_FORM(name) name##_avx2
#define BP_FORM_TARGET BP_AVX2_TARGET
#include "utf8_units.h"
#include "utf8_read.h"
#undef BP_FORM
#undef BP_FORM_TARGET
#endif

#if defined(BP_HAS_NEON)
#define BP_UTF8_FORM(name) name##_neon
#elif defined(BP_HAS_AVX2)
#define BP_UTF8_FORM(name) name##_avx2
#endif

#ifdef BP_HAS_AVX512
/* Sixteen code points, none a surrogate, as UTF-8. Writes 64 bytes; returns the end of the valid ones. */
BP_AVX512_INLINE uint8_t *bp_utf8_put_sixteen(uint8_t *to, __m512i c) {
    const __mmask16 two = _mm512_cmpgt_epu32_mask(c, _mm512_set1_epi32(0x7F));
    const __mmask16 three = _mm512_cmpgt_epu32_mask(c, _mm512_set1_epi32(0x7FF));
    const __mmask16 four = _mm512_cmpgt_epu32_mask(c, _mm512_set1_epi32(0xFFFF));
    /* Four groups of six bits, the highest first; then the marks of the bytes, and which of them are kept. */
    const __m512i groups = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x20262C3200060C12), c);
    const __m512i marked = _mm512_or_si512(_mm512_and_si512(groups, _mm512_set1_epi8(0x3F)),
                                           _mm512_set1_epi8((char)0x80));
    __m512i bytes = _mm512_mask_mov_epi32(_mm512_slli_epi32(c, 24), two, marked);
    __m512i kept = _mm512_set1_epi32((int)0xFF000000);
    bytes = _mm512_mask_or_epi32(bytes, two & ~three, bytes, _mm512_set1_epi32(0x00C00000));
    kept = _mm512_mask_mov_epi32(kept, two, _mm512_set1_epi32((int)0xFFFF0000));
    bytes = _mm512_mask_or_epi32(bytes, three & ~four, bytes, _mm512_set1_epi32(0x0000E000));
    kept = _mm512_mask_mov_epi32(kept, three, _mm512_set1_epi32((int)0xFFFFFF00));
    bytes = _mm512_mask_or_epi32(bytes, four, bytes, _mm512_set1_epi32(0x000000F0));
    kept = _mm512_mask_mov_epi32(kept, four, _mm512_set1_epi32(-1));
    const __mmask64 kept_bytes = _mm512_movepi8_mask(kept);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(kept_bytes, bytes));
    return to + _mm_popcnt_u64(kept_bytes);
}

BP_AVX512_INLINE int bp_utf8_surrogate_among(__m512i c) {
    return _mm512_cmpeq_epi32_mask(_mm512_and_si512(c, _mm512_set1_epi32((int)0xFFFFF800)), _mm512_set1_epi32(0xD800))
           != 0;
}

/* bp_utf8_from_units for whole groups of sixteen, up to a surrogate; advances *from and returns the end. */
BP_AVX512_TARGET static uint8_t *bp_utf8_from_units_avx512(int kind, const void *units, ptrdiff_t *from, ptrdiff_t to,
                                                       uint8_t *at) {
    ptrdiff_t i = *from;
    if (kind == 1) {
        for (; i + 16 <= to; i += 16) {
            const __m128i c = _mm_loadu_si128((const __m128i *)((const uint8_t *)units + i));
            if (_mm_movemask_epi8(c) == 0) {
                _mm_storeu_si128((__m128i *)at, c);
                at += 16;
            } else {
                at = bp_utf8_put_sixteen(at, _mm512_cvtepu8_epi32(c));
            }
        }
    } else if (kind == 2) {
        for (; i + 16 <= to; i += 16) {
            const __m256i c = _mm256_loadu_si256((const __m256i *)((const uint16_t *)units + i));
            if (_mm256_test_epi16_mask(c, _mm256_set1_epi16((short)0xFF80)) == 0) {
                _mm_storeu_si128((__m128i *)at, _mm256_cvtepi16_epi8(c));
                at += 16;
            } else {
                const __m512i wider = _mm512_cvtepu16_epi32(c);
                if (bp_utf8_surrogate_among(wider)) break;
                at = bp_utf8_put_sixteen(at, wider);
            }
        }
    } else {
        for (; i + 16 <= to; i += 16) {
            const __m512i c = _mm512_loadu_si512((const uint32_t *)units + i);
            if (_mm512_cmpgt_epu32_mask(c, _mm512_set1_epi32(0x7F)) == 0) {
                _mm_storeu_si128((__m128i *)at, _mm512_cvtepi32_epi8(c));
                at += 16;
            } else {
                if (bp_utf8_surrogate_among(c)) break;
                at = bp_utf8_put_sixteen(at, c);
            }
        }
    }
    *from = i;
    return at;
}
#endif

/* Code points units[from:to] of a str whose units are `kind` (1, 2 or 4) bytes wide, as UTF-8. The caller has
   room for 2, 3 or 4 bytes each, and BP_UTF8_SLACK. Returns the number of bytes written; *bad is the index of a lone
   surrogate, where it stops, or -1. */
static inline ptrdiff_t bp_utf8_from_units(int kind, const void *units, ptrdiff_t from, ptrdiff_t to, uint8_t *out,
                                           ptrdiff_t *bad) {
    uint8_t *at = out;
    if (to - from >= 16)
        switch (bp_simd()) {
#ifdef BP_HAS_AVX512
        case BP_SIMD_AVX512: at = bp_utf8_from_units_avx512(kind, units, &from, to, at); break;
#endif
#ifdef BP_HAS_AVX2
        case BP_SIMD_AVX2: at = bp_utf8_from_units_avx2(kind, units, &from, to, at); break;
#endif
#ifdef BP_HAS_NEON
        case BP_SIMD_NEON: at = bp_utf8_from_units_neon(kind, units, &from, to, at); break;
#endif
        }
    return at - out + bp_utf8_from_units_plain(kind, units, from, to, at, bad);
}

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
        at = BP_UTF8_FORM(bp_utf8_valid_groups)(p, at, n);
        for (int back = 1; back <= 3; back++) /* to the start of a character that is cut, or may be */
            if (p[at - back] >= 0xC0) {
                at -= back;
                break;
            }
    }
#endif
    return bp_utf8_valid_plain(p, at, n);
}

/* The units of n bytes of valid UTF-8, `kind` (1, 2 or 4) bytes each, which all characters fit into; returns how many. */
static inline ptrdiff_t bp_units_from_utf8(int kind, const uint8_t *p, ptrdiff_t n, void *units) {
    uint8_t *to = (uint8_t *)units;
    ptrdiff_t at = 0;
#ifdef BP_SHUFFLE_TARGET
    if (n >= 64 && bp_simd() != BP_SIMD_PLAIN) to = BP_UTF8_FORM(bp_units_from_utf8)(kind, p, &at, n, to);
#endif
    while (at < n) to = bp_unit_from_utf8(kind, p, &at, to);
    return (to - (uint8_t *)units) / kind;
}

#endif
