/* The bytes of a JSON text, many at a time: where values end, what is between them, and what a string holds. */
#ifndef BPETITE_JSON_MARKS_H
#define BPETITE_JSON_MARKS_H

#include "../headers/bytes.h"

enum { BP_JSON_BYTES = 16 }; /* that are looked at together */

/* The first byte that is no white space. */
BP_INLINE const uint8_t *bp_json_blanks(const uint8_t *p, const uint8_t *end) {
    if (end - p > 1 && p[*p == ' '] > ' ') return p + (*p == ' ');
#ifdef BP_SSE2
    for (; end - p >= 16; p += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
                                          _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
        const __m128i gaps = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
                                          _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t')));
        const int found = _mm_movemask_epi8(_mm_or_si128(ends, gaps));
        if (found != 0xFFFF) return p + bp_lowest_bit(~(uint64_t)found);
    }
#endif
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

/* A bit for each of 64 bytes that is this one, or, folded, this one without its bit 0x20. */
BP_INLINE uint64_t bp_json_bits(const uint8_t *p, uint8_t byte, uint8_t fold) {
    uint64_t bits = 0;
#ifdef BP_SSE2
    for (int i = 0; i < 4; i++) {
        const __m128i bytes = _mm_or_si128(_mm_loadu_si128((const __m128i *)p + i), _mm_set1_epi8((char)fold));
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte))) << 16 * i;
    }
#else
    for (int i = 0; i < 64; i++) bits |= (uint64_t)((p[i] | fold) == byte) << i;
#endif
    return bits;
}

/* The end of the object or array that begins here; NULL where it has none. Only brackets and strings are looked at. */
static inline const uint8_t *bp_json_skip(const uint8_t *p, const uint8_t *end) {
    const uint64_t even = UINT64_C(0x5555555555555555);
    uint64_t inside = 0, escaped = 0; /* what goes on in the next bytes: all bits in a string; after a backslash, one */
    ptrdiff_t depth = 0;
    uint8_t last[64] = {0};
    for (; p < end; p += 64) {
        const uint8_t *block = end - p < 64 ? memcpy(last, p, (size_t)(end - p)) : p;
        const uint64_t opening = bp_json_bits(block, '{', 0x20), backslashes = bp_json_bits(block, '\\', 0);
        uint64_t marks = opening | bp_json_bits(block, '}', 0x20), strings = bp_json_bits(block, '"', 0);
        if (backslashes | escaped) { /* the bytes after an odd number of them, as simdjson finds them */
            const uint64_t odd = backslashes & ~escaped, follows = odd << 1 | escaped;
            const uint64_t starts = odd & ~even & ~follows, runs = starts + odd;
            strings &= ~((even ^ runs << 1) & follows);
            escaped = runs < starts;
        }
        for (int shift = 1; shift < 64; shift *= 2) strings ^= strings << shift;
        strings ^= inside;
        inside = 0 - (strings >> 63);
        for (marks &= ~strings; marks; marks &= marks - 1) {
            const int at = bp_lowest_bit(marks);
            depth += opening >> at & 1 ? 1 : -1;
            if (depth == 0) return p + at + 1;
        }
    }
    return NULL;
}

/* Copy the next bytes of a JSON string, none where that is slow; at most up to a quote, a backslash, a space, a control
   character, a byte `other`, or, if `only_ascii`, one that is not. Returns their number. OUT: to, with room for
   BP_JSON_BYTES. */
BP_INLINE ptrdiff_t bp_json_copy(const uint8_t *p, const uint8_t *end, uint8_t other, int only_ascii, uint8_t *to) {
#ifdef BP_SSE2
    if (end - p >= 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        const __m128i stops = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                                           _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)other)),
                                                        _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes)));
        const int found = _mm_movemask_epi8(only_ascii ? _mm_or_si128(stops, bytes) : stops);
        _mm_storeu_si128((__m128i *)to, bytes);
        return bp_lowest_bit((uint64_t)found | 1 << BP_JSON_BYTES);
    }
#endif
    return 0;
}

#endif
