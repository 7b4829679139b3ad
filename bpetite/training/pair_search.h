/* The search for a pair of tokens in several slots at once. */
#ifndef BPETITE_PAIR_SEARCH_H
#define BPETITE_PAIR_SEARCH_H

#include "../headers/bytes.h"

/* Slots that bp_find_pairs may read after the last of its n. */
#define BP_OVERREAD 8

/* Bit i is set where first[i] == left and second[i] == right, for i below n; n is at most 64. */
static inline uint64_t bp_find_pairs(const int32_t *first, const int32_t *second, int32_t left, int32_t right,
                                     uint64_t n) {
    uint64_t found = 0;
#ifdef BP_SSE2
    const __m128i lefts = _mm_set1_epi32(left), rights = _mm_set1_epi32(right), none = _mm_setzero_si128();
    for (uint64_t i = 0; i < n; i += 8) {
        __m128i low = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(first + i)), lefts),
                                    _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(second + i)), rights));
        __m128i high = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(first + i + 4)), lefts),
                                     _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(second + i + 4)), rights));
        found |= (uint64_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high), none)) << i;
    }
#else
    for (uint64_t i = 0; i < n; i++) found |= (uint64_t)(first[i] == left && second[i] == right) << i;
#endif
    return n < 64 ? found & (((uint64_t)1 << n) - 1) : found;
}

static inline int bp_lowest_bit(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(x);
#else
    int at = 0;
    for (; !(x & 1); x >>= 1) at++;
    return at;
#endif
}

#endif
