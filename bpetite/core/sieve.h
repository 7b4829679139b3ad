/* A prefilter: the positions in a text where one of many strings may start, judged by their first two bytes.

   Up to four distinct pairs are compared one by one, sixteen positions at a time. More go through four shuffles:
   each pair belongs to one of eight groups, and each nibble of the text says which groups it allows. What passes is
   looked up in a bitmap of all 65,536 pairs. Without such instructions that bitmap is all there is. */
#ifndef BPETITE_SIEVE_H
#define BPETITE_SIEVE_H

#include "../headers/utf8.h"

/* How far ahead text is fetched, in bytes: a page, since processors do not read ahead into the next one by themselves. */
enum { BP_SIEVE_AHEAD = 4096 };

typedef struct {
    uint8_t pair[65536 / 8];       /* first byte << 8 | second byte -> a string starts with them */
    int few;                       /* distinct pairs; 5 if more than four */
    uint8_t first[4], second[4];
    uint8_t nibbles[4][16];        /* low and high nibble of the first byte, of the second -> groups */
    int simd;                      /* the form in use: bp_simd() */
} bp_sieve;

static inline void bp_sieve_add(bp_sieve *sieve, uint8_t first, uint8_t second) {
    unsigned at = (unsigned)first << 8 | second;
    if (sieve->pair[at >> 3] >> (at & 7) & 1) return;
    sieve->pair[at >> 3] |= (uint8_t)(1u << (at & 7));
    if (sieve->few < 4) {
        sieve->first[sieve->few] = first;
        sieve->second[sieve->few] = second;
    }
    if (sieve->few < 5) sieve->few++;
    uint8_t group = (uint8_t)(1u << ((first * 7u + second) & 7));
    sieve->nibbles[0][first & 15] |= group;
    sieve->nibbles[1][first >> 4] |= group;
    sieve->nibbles[2][second & 15] |= group;
    sieve->nibbles[3][second >> 4] |= group;
    sieve->simd = bp_simd();
}

BP_INLINE int bp_sieve_pair(const bp_sieve *sieve, const uint8_t *p) {
    unsigned at = (unsigned)p[0] << 8 | p[1];
    return sieve->pair[at >> 3] >> (at & 7) & 1;
}

#ifdef BP_SSE2
static inline ptrdiff_t bp_sieve_few(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at, ptrdiff_t length) {
    for (; at + 17 <= length; at += 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)(text + at));
        __m128i next = _mm_loadu_si128((const __m128i *)(text + at + 1));
        __m128i found = _mm_setzero_si128();
        for (int i = 0; i < sieve->few; i++)
            found = _mm_or_si128(found, _mm_and_si128(_mm_cmpeq_epi8(here, _mm_set1_epi8((char)sieve->first[i])),
                                                      _mm_cmpeq_epi8(next, _mm_set1_epi8((char)sieve->second[i]))));
        int mask = _mm_movemask_epi8(found);
        if (mask) {
            while (!(mask & 1)) mask >>= 1, at++;
            break;
        }
    }
    return at;
}
#endif

#ifdef BP_HAS_AVX2
/* IN: few, those of the sieve: a constant that is inlined. */
BP_AVX2_INLINE ptrdiff_t bp_sieve_few_of(const bp_sieve *sieve, int few, const uint8_t *text, ptrdiff_t at,
                                         ptrdiff_t length) {
    __m256i first[4], second[4];
    for (int i = 0; i < few; i++) {
        first[i] = _mm256_set1_epi8((char)sieve->first[i]);
        second[i] = _mm256_set1_epi8((char)sieve->second[i]);
    }
    for (; at + 65 <= length; at += 64) {
        __m256i found[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        BP_PREFETCH(text + at + BP_SIEVE_AHEAD);
        for (int half = 0; half < 2; half++) {
            const __m256i here = _mm256_loadu_si256((const __m256i *)(text + at + 32 * half));
            const __m256i next = _mm256_loadu_si256((const __m256i *)(text + at + 32 * half + 1));
            for (int i = 0; i < few; i++)
                found[half] = _mm256_or_si256(found[half], _mm256_and_si256(_mm256_cmpeq_epi8(here, first[i]),
                                                                            _mm256_cmpeq_epi8(next, second[i])));
        }
        if (!_mm256_movemask_epi8(_mm256_or_si256(found[0], found[1]))) continue;
        return at + __builtin_ctzll((uint64_t)(uint32_t)_mm256_movemask_epi8(found[1]) << 32
                                    | (uint32_t)_mm256_movemask_epi8(found[0]));
    }
    return at;
}

/* The same, 64 positions at a time, as long as a byte follows them all. */
BP_AVX2_TARGET static ptrdiff_t bp_sieve_few_avx2(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at,
                                                  ptrdiff_t length) {
    switch (sieve->few) {
    case 1: return bp_sieve_few_of(sieve, 1, text, at, length);
    case 2: return bp_sieve_few_of(sieve, 2, text, at, length);
    case 3: return bp_sieve_few_of(sieve, 3, text, at, length);
    default: return bp_sieve_few_of(sieve, 4, text, at, length);
    }
}
#endif

#ifdef BP_HAS_SSSE3
BP_SSSE3_TARGET static ptrdiff_t bp_sieve_many(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at, ptrdiff_t length) {
    const __m128i low = _mm_set1_epi8(15), zero = _mm_setzero_si128();
    const __m128i t0 = _mm_loadu_si128((const __m128i *)sieve->nibbles[0]);
    const __m128i t1 = _mm_loadu_si128((const __m128i *)sieve->nibbles[1]);
    const __m128i t2 = _mm_loadu_si128((const __m128i *)sieve->nibbles[2]);
    const __m128i t3 = _mm_loadu_si128((const __m128i *)sieve->nibbles[3]);
    for (; at + 17 <= length; at += 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)(text + at));
        __m128i next = _mm_loadu_si128((const __m128i *)(text + at + 1));
        __m128i groups = _mm_and_si128(
            _mm_and_si128(_mm_shuffle_epi8(t0, _mm_and_si128(here, low)),
                          _mm_shuffle_epi8(t1, _mm_and_si128(_mm_srli_epi16(here, 4), low))),
            _mm_and_si128(_mm_shuffle_epi8(t2, _mm_and_si128(next, low)),
                          _mm_shuffle_epi8(t3, _mm_and_si128(_mm_srli_epi16(next, 4), low))));
        unsigned mask = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(groups, zero)) & 0xFFFF;
        for (; mask; mask &= mask - 1) {
            ptrdiff_t found = at + __builtin_ctz(mask);
            if (bp_sieve_pair(sieve, text + found)) return found;
        }
    }
    return at;
}
#endif

#ifdef BP_HAS_NEON
/* Which of sixteen positions may start a string. */
BP_NEON_INLINE uint8x16_t bp_sieve_sixteen_neon(const bp_sieve *sieve, const uint8x16_t *nibbles, int few,
                                                const uint8_t *p) {
    const uint8x16_t here = vld1q_u8(p), next = vld1q_u8(p + 1), low = vdupq_n_u8(15);
    uint8x16_t found = vdupq_n_u8(0);
    if (few) {
        for (int i = 0; i < sieve->few; i++)
            found = vorrq_u8(found, vandq_u8(vceqq_u8(here, vdupq_n_u8(sieve->first[i])),
                                             vceqq_u8(next, vdupq_n_u8(sieve->second[i]))));
        return found;
    }
    found = vandq_u8(vqtbl1q_u8(nibbles[0], vandq_u8(here, low)), vqtbl1q_u8(nibbles[1], vshrq_n_u8(here, 4)));
    return vtstq_u8(found, vandq_u8(vqtbl1q_u8(nibbles[2], vandq_u8(next, low)),
                                    vqtbl1q_u8(nibbles[3], vshrq_n_u8(next, 4))));
}

/* Either of the two, 64 positions at a time, as long as a byte follows them all. */
BP_INLINE ptrdiff_t bp_sieve_neon_of(const bp_sieve *sieve, int few, const uint8_t *text, ptrdiff_t at,
                                     ptrdiff_t length) {
    uint8x16_t nibbles[4], found[4];
    for (int i = 0; i < 4; i++) nibbles[i] = vld1q_u8(sieve->nibbles[i]);
    for (; at + 65 <= length; at += 64) {
        BP_PREFETCH(text + at + BP_SIEVE_AHEAD);
        for (int i = 0; i < 4; i++) found[i] = bp_sieve_sixteen_neon(sieve, nibbles, few, text + at + 16 * i);
        if (!bp_vec_any(vorrq_u8(vorrq_u8(found[0], found[1]), vorrq_u8(found[2], found[3])))) continue;
        for (uint64_t mask = bp_vec_bits64(found[0], found[1], found[2], found[3]); mask; mask &= mask - 1) {
            const ptrdiff_t place = at + __builtin_ctzll(mask);
            if (bp_sieve_pair(sieve, text + place)) return place;
        }
    }
    return at;
}

static inline ptrdiff_t bp_sieve_neon(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at, ptrdiff_t length) {
    return sieve->few <= 4 ? bp_sieve_neon_of(sieve, 1, text, at, length) : bp_sieve_neon_of(sieve, 0, text, at, length);
}
#endif

#ifdef BP_HAS_AVX512
BP_AVX512_INLINE __mmask64 bp_sieve_compare(const bp_sieve *sieve, __mmask64 valid, __m512i here, __m512i next) {
    __mmask64 found = 0;
    for (int i = 0; i < sieve->few; i++) {
        const __mmask64 first = _mm512_mask_cmpeq_epi8_mask(valid, here, _mm512_set1_epi8((char)sieve->first[i]));
        found |= _mm512_mask_cmpeq_epi8_mask(first, next, _mm512_set1_epi8((char)sieve->second[i]));
    }
    return found;
}

BP_AVX512_INLINE __mmask64 bp_sieve_shuffle(const __m512i *table, __mmask64 valid, __m512i here, __m512i next) {
    const __m512i low = _mm512_set1_epi8(15);
    const __m512i of_here = _mm512_and_si512(
        _mm512_shuffle_epi8(table[0], _mm512_and_si512(here, low)),
        _mm512_shuffle_epi8(table[1], _mm512_and_si512(_mm512_srli_epi16(here, 4), low)));
    const __m512i of_next = _mm512_and_si512(
        _mm512_shuffle_epi8(table[2], _mm512_and_si512(next, low)),
        _mm512_shuffle_epi8(table[3], _mm512_and_si512(_mm512_srli_epi16(next, 4), low)));
    return _mm512_mask_test_epi8_mask(valid, of_here, of_next);
}

/* Either of the two, 64 positions at a time. */
BP_AVX512_TARGET static ptrdiff_t bp_sieve_avx512(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at,
                                              ptrdiff_t length) {
    __m512i table[4];
    for (int i = 0; i < 4; i++)
        table[i] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)sieve->nibbles[i]));
    for (; at + 1 < length; at += 64) {
        BP_PREFETCH(text + at + BP_SIEVE_AHEAD);
        const ptrdiff_t left = length - at - 1; /* positions with a byte after them */
        const __mmask64 valid = left >= 64 ? ~(__mmask64)0 : _bzhi_u64(~UINT64_C(0), (unsigned)left);
        const __m512i here = _mm512_maskz_loadu_epi8(valid, text + at);
        const __m512i next = _mm512_maskz_loadu_epi8(valid, text + at + 1);
        uint64_t mask = sieve->few <= 4 ? bp_sieve_compare(sieve, valid, here, next)
                                        : bp_sieve_shuffle(table, valid, here, next);
        for (; mask; mask &= mask - 1) {
            const ptrdiff_t found = at + (ptrdiff_t)_tzcnt_u64(mask);
            if (bp_sieve_pair(sieve, text + found)) return found;
        }
    }
    return length - 1;
}
#endif

/* The first position from `at` on where a string may start; `stop` or more where there is none before it. The last byte
   of the text, which has no byte after it, always passes. */
static inline ptrdiff_t bp_sieve_next(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at, ptrdiff_t stop,
                                      ptrdiff_t length) {
#ifdef BP_HAS_AVX512
    if (sieve->simd == BP_SIMD_AVX512 && at + 1 < length) return bp_sieve_avx512(sieve, text, at, length);
#endif
#ifdef BP_HAS_NEON
    if (sieve->simd == BP_SIMD_NEON) at = bp_sieve_neon(sieve, text, at, length);
#endif
#ifdef BP_HAS_AVX2
    if (sieve->simd == BP_SIMD_AVX2 && sieve->few <= 4) at = bp_sieve_few_avx2(sieve, text, at, length);
#endif
#ifdef BP_SSE2
    if (sieve->few <= 4) at = bp_sieve_few(sieve, text, at, length);
#endif
#ifdef BP_HAS_SSSE3
    if (sieve->few > 4 && (sieve->simd == BP_SIMD_SSSE3 || sieve->simd == BP_SIMD_AVX2)) at = bp_sieve_many(sieve, text, at, length);
#endif
    for (; at < stop && at + 1 < length; at++)
        if (bp_sieve_pair(sieve, text + at)) return at;
    return at;
}

#endif
