/* Vectors of 32 bytes, two cells of sixteen, for AVX2: the operations of simd_vec16.h that the scanner uses. */
#ifndef BPETITE_SIMD_VEC32_H
#define BPETITE_SIMD_VEC32_H

#include "simd.h"

#ifdef BP_HAS_AVX2
#include <immintrin.h>

typedef __m256i bp_vec32;

#define bp_vec32_load(p) _mm256_loadu_si256((const __m256i *)(p))
#define bp_vec32_store(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define bp_vec32_row(p) _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(p)))
#define bp_vec32_cells(p, apart) \
    _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p))), \
                            _mm_loadu_si128((const __m128i *)((p) + (apart))), 1)
#define bp_vec32_store_cells(p, apart, v) \
    (_mm_storeu_si128((__m128i *)(p), _mm256_castsi256_si128(v)), \
     _mm_storeu_si128((__m128i *)((p) + (apart)), _mm256_extracti128_si256(v, 1)))
#define bp_vec32_each8(x) _mm256_set1_epi8((char)(x))
#define bp_vec32_or(a, b) _mm256_or_si256(a, b)
#define bp_vec32_and(a, b) _mm256_and_si256(a, b)
#define bp_vec32_xor(a, b) _mm256_xor_si256(a, b)
#define bp_vec32_add8(a, b) _mm256_add_epi8(a, b)
#define bp_vec32_equal8(a, b) _mm256_cmpeq_epi8(a, b)
#define bp_vec32_choose(mask, a, b) _mm256_blendv_epi8(b, a, mask)
#define bp_vec32_right16(v, n) _mm256_srli_epi16(v, n)
#define bp_vec32_left16(v, n) _mm256_slli_epi16(v, n)
#define bp_vec32_shuffle(v, at) _mm256_shuffle_epi8(v, at)
#define bp_vec32_zip_low(a, b) _mm256_unpacklo_epi8(a, b)
#define bp_vec32_zip_high(a, b) _mm256_unpackhi_epi8(a, b)
#define bp_vec32_signs(v) ((uint64_t)(uint32_t)_mm256_movemask_epi8(v))
#endif

#endif
