/* The search for a pair of tokens in several slots at once. */
#ifndef BPETITE_PAIR_SEARCH_H
#define BPETITE_PAIR_SEARCH_H

#include "../../headers/bytes.h"

/* Slots that bp_find_pairs may read after the last of its n. */
#define BP_OVERREAD 16

#ifdef BP_SSE2
/* Eight slots: bit i is set where first[i] == left and second[i] == right. */
static inline uint64_t bp_find_eight(const int32_t *first, const int32_t *second, __m128i lefts, __m128i rights) {
    __m128i low = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)first), lefts),
                                _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)second), rights));
    __m128i high = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(first + 4)), lefts),
                                 _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(second + 4)), rights));
    return (uint64_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128()));
}
#endif

/* Bit i is set where first[i] == left and second[i] == right, for i below n; n is from 1 to 64. Most pre-tokens
   have up to sixteen slots, which are searched without a branch. */
static inline uint64_t bp_find_pairs(const int32_t *first, const int32_t *second, int32_t left, int32_t right,
                                     uint64_t n) {
#ifdef BP_SSE2
    const __m128i lefts = _mm_set1_epi32(left), rights = _mm_set1_epi32(right);
    uint64_t places = bp_find_eight(first, second, lefts, rights) |
                     bp_find_eight(first + 8, second + 8, lefts, rights) << 8;
    for (uint64_t i = 16; i < n; i += 8) places |= bp_find_eight(first + i, second + i, lefts, rights) << i;
#else
    uint64_t places = 0;
    for (uint64_t i = 0; i < n; i++) places |= (uint64_t)(first[i] == left && second[i] == right) << i;
#endif
    return places & (~(uint64_t)0 >> (64 - n));
}

#endif
