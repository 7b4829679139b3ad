/* Vectors of sixteen bytes: the operations that every instruction set with a byte shuffle has, under one name. The code
   that uses them is compiled for one set or another by the target attribute of its functions. */
#ifndef BPETITE_SIMD_VEC16_H
#define BPETITE_SIMD_VEC16_H

#include "simd.h"

#ifdef BP_HAS_SSSE3
#define BP_HAS_VEC16 1
typedef __m128i bp_vec16;

#define bp_vec_load(p) _mm_loadu_si128((const __m128i *)(p))
#define bp_vec_store(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define bp_vec_store8(p, v) _mm_storel_epi64((__m128i *)(p), v)  /* the lower eight bytes */
#define bp_vec_row(p) _mm_loadu_si128((const __m128i *)(p))     /* the same sixteen bytes in every cell */
#define bp_vec_cells(p, apart) bp_vec_load(p)                   /* a cell from p, one from p + apart, ... */
#define bp_vec_store_cells(p, apart, v) bp_vec_store(p, v)
#define bp_vec_each8(x) _mm_set1_epi8((char)(x))
#define bp_vec_each16(x) _mm_set1_epi16((short)(x))
#define bp_vec_each32(x) _mm_set1_epi32((int)(x))
#define bp_vec_or(a, b) _mm_or_si128(a, b)
#define bp_vec_and(a, b) _mm_and_si128(a, b)
#define bp_vec_choose(mask, a, b) _mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b))
#define bp_vec_right16(v, n) _mm_srli_epi16(v, n)
#define bp_vec_left16(v, n) _mm_slli_epi16(v, n)
#define bp_vec_right32(v, n) _mm_srli_epi32(v, n)
#define bp_vec_left32(v, n) _mm_slli_epi32(v, n)
#define bp_vec_xor(a, b) _mm_xor_si128(a, b)
#define bp_vec_add8(a, b) _mm_add_epi8(a, b)
#define bp_vec_equal8(a, b) _mm_cmpeq_epi8(a, b)
#define bp_vec_signs(v) ((uint64_t)(uint32_t)_mm_movemask_epi8(v))  /* the topmost bit of each byte */
#define bp_vec_equal32(a, b) _mm_cmpeq_epi32(a, b)
#define bp_vec_above16(a, b) _mm_cmpgt_epi16(a, b)               /* values below 2^15 */
#define bp_vec_above32(a, b) _mm_cmpgt_epi32(a, b)               /* values below 2^31 */
#define bp_vec_shuffle(v, at) _mm_shuffle_epi8(v, at)            /* v[at]; 0 where the topmost bit of `at` is set */
#define bp_vec_narrow16(a, b) _mm_packus_epi16(a, b)             /* to bytes; values below 256 */
#define bp_vec_narrow32(a, b) _mm_packs_epi32(a, b)              /* to 16 bits; values below 2^15 */
#define bp_vec_zip_low(a, b) _mm_unpacklo_epi8(a, b)              /* a[0], b[0], a[1], b[1], ... */
#define bp_vec_zip_high(a, b) _mm_unpackhi_epi8(a, b)            /* ... a[15], b[15] */
#define bp_vec_widen_low(v) _mm_unpacklo_epi16(v, _mm_setzero_si128())
#define bp_vec_widen_high(v) _mm_unpackhi_epi16(v, _mm_setzero_si128())
#define bp_vec_bits16(mask) ((unsigned)_mm_movemask_epi8(_mm_packs_epi16(mask, mask)) & 0xFF)  /* one bit a lane */
#define bp_vec_bits32(mask) ((unsigned)_mm_movemask_ps(_mm_castsi128_ps(mask)))
#define bp_vec_any(v) (_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) != 0xFFFF)    /* some bit is set */
#endif

#endif
