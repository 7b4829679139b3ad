/* The bytes of a JSON text, sixteen at a time: where strings, objects and arrays begin and end, and what a string holds. */
#ifndef BPETITE_JSON_MARKS_H
#define BPETITE_JSON_MARKS_H

#include "../headers/bytes.h"

enum { BP_JSON_BYTES = 16 }; /* that are looked at together */

/* The first quote or backslash, inside a string; elsewhere the first quote or bracket. Returns `end` without one. */
static inline const uint8_t *bp_json_mark(const uint8_t *p, const uint8_t *end, int inside) {
#ifdef BP_SSE2
    for (; end - p >= 16; p += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)p), folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        const __m128i others = inside ? _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))
                                      : _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
                                                     _mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
        const int found = _mm_movemask_epi8(_mm_or_si128(others, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))));
        if (found) return p + bp_lowest_bit((uint64_t)found);
    }
#endif
    for (; p < end; p++)
        if (*p == '"' || (inside ? *p == '\\' : (*p | 0x20) == '{' || (*p | 0x20) == '}')) break;
    return p;
}

/* Copy what a JSON string holds up to a quote, a backslash, a space or a control character, a byte that is `other`, and,
   if only that is wanted, one that is not ASCII; not all of it is copied, and where it cannot be done quickly, nothing.
   Returns the number of bytes. OUT: to, with room for BP_JSON_BYTES. */
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
