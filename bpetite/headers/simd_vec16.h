/* Vectors of sixteen bytes: operations of x86 and ARM under one name. Any x86-64 processor has them but for the shuffle:
   functions with it have the attribute BP_SHUFFLE_TARGET, and run where bp_simd() is not BP_SIMD_PLAIN. */
#ifndef BPETITE_SIMD_VEC16_H
#define BPETITE_SIMD_VEC16_H

#include "bytes.h"
#include "simd.h"

#if defined(BP_HAS_AVX2)
#define BP_SHUFFLE_TARGET BP_AVX2_TARGET
#elif defined(BP_HAS_NEON)
#define BP_SHUFFLE_TARGET
#endif

#ifdef BP_SSE2
#define BP_HAS_VEC16 1
typedef __m128i bp_vec16;

#define bp_vec_load(p) _mm_loadu_si128((const __m128i *)(p))
#define bp_vec_store(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define bp_vec_store8(p, v) _mm_storel_epi64((__m128i *)(p), v)  /* the lower eight bytes */
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
#define bp_vec_equal8(a, b) _mm_cmpeq_epi8(a, b)
#define bp_vec_signs(v) ((uint64_t)(uint32_t)_mm_movemask_epi8(v))  /* the topmost bit of each byte */
#define bp_vec_equal32(a, b) _mm_cmpeq_epi32(a, b)
#define bp_vec_above16(a, b) _mm_cmpgt_epi16(a, b)               /* values below 2^15 */
#define bp_vec_above32(a, b) _mm_cmpgt_epi32(a, b)               /* values below 2^31 */
#define bp_vec_shuffle(v, at) _mm_shuffle_epi8(v, at)            /* v[at] for `at` below 16; 0 where its topmost bit is set */
#define bp_vec_narrow16(a, b) _mm_packus_epi16(a, b)             /* to bytes; values below 256 */
#define bp_vec_narrow32(a, b) _mm_packs_epi32(a, b)              /* to 16 bits; values below 2^15 */
#define bp_vec_zip_low(a, b) _mm_unpacklo_epi8(a, b)              /* a[0], b[0], a[1], b[1], ... */
#define bp_vec_zip_high(a, b) _mm_unpackhi_epi8(a, b)            /* ... a[15], b[15] */
#define bp_vec_widen_low(v) _mm_unpacklo_epi16(v, _mm_setzero_si128())
#define bp_vec_widen_high(v) _mm_unpackhi_epi16(v, _mm_setzero_si128())
#define bp_vec_bits16(mask) ((unsigned)_mm_movemask_epi8(_mm_packs_epi16(mask, mask)) & 0xFF)  /* one bit a lane */
#define bp_vec_bits32(mask) ((unsigned)_mm_movemask_ps(_mm_castsi128_ps(mask)))
#define bp_vec_any(v) (_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) != 0xFFFF)    /* some bit is set */
#elif defined(BP_HAS_NEON)
#define BP_HAS_VEC16 1
typedef uint8x16_t bp_vec16;

#define BP_U16(v) vreinterpretq_u16_u8(v)
#define BP_U32(v) vreinterpretq_u32_u8(v)
#define BP_OF16(v) vreinterpretq_u8_u16(v)
#define BP_OF32(v) vreinterpretq_u8_u32(v)

#define bp_vec_load(p) vld1q_u8((const uint8_t *)(p))
#define bp_vec_store(p, v) vst1q_u8((uint8_t *)(p), v)
#define bp_vec_store8(p, v) vst1_u8((uint8_t *)(p), vget_low_u8(v))
#define bp_vec_each8(x) vdupq_n_u8((uint8_t)(x))
#define bp_vec_each16(x) BP_OF16(vdupq_n_u16((uint16_t)(x)))
#define bp_vec_each32(x) BP_OF32(vdupq_n_u32((uint32_t)(x)))
#define bp_vec_or(a, b) vorrq_u8(a, b)
#define bp_vec_and(a, b) vandq_u8(a, b)
#define bp_vec_xor(a, b) veorq_u8(a, b)
#define bp_vec_choose(mask, a, b) vbslq_u8(mask, a, b)
#define bp_vec_right16(v, n) BP_OF16(vshrq_n_u16(BP_U16(v), n))
#define bp_vec_left16(v, n) BP_OF16(vshlq_n_u16(BP_U16(v), n))
#define bp_vec_right32(v, n) BP_OF32(vshrq_n_u32(BP_U32(v), n))
#define bp_vec_left32(v, n) BP_OF32(vshlq_n_u32(BP_U32(v), n))
#define bp_vec_equal8(a, b) vceqq_u8(a, b)
#define bp_vec_equal32(a, b) BP_OF32(vceqq_u32(BP_U32(a), BP_U32(b)))
#define bp_vec_above16(a, b) BP_OF16(vcgtq_u16(BP_U16(a), BP_U16(b)))
#define bp_vec_above32(a, b) BP_OF32(vcgtq_u32(BP_U32(a), BP_U32(b)))
#define bp_vec_shuffle(v, at) vqtbl1q_u8(v, at)                 /* 0 from index 16 on */
#define bp_vec_narrow16(a, b) vuzp1q_u8(a, b)
#define bp_vec_narrow32(a, b) BP_OF16(vuzp1q_u16(BP_U16(a), BP_U16(b)))
#define bp_vec_zip_low(a, b) vzip1q_u8(a, b)
#define bp_vec_zip_high(a, b) vzip2q_u8(a, b)
#define bp_vec_widen_low(v) BP_OF32(vmovl_u16(vget_low_u16(BP_U16(v))))
#define bp_vec_widen_high(v) BP_OF32(vmovl_high_u16(BP_U16(v)))
#define bp_vec_any(v) (vmaxvq_u32(BP_U32(v)) != 0)

/* There is no instruction that takes one bit from each byte: masked with powers of two, neighbours add up. */
static const uint8_t bp_vec_powers[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
static const uint16_t bp_vec_powers16[8] = {1, 2, 4, 8, 16, 32, 64, 128};
static const uint32_t bp_vec_powers32[4] = {1, 2, 4, 8};

static inline uint64_t bp_vec_signs(bp_vec16 v) {
    const uint8x16_t each = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(v), 7));
    const uint8x16_t bits = vandq_u8(each, vld1q_u8(bp_vec_powers));
    return (uint64_t)vaddv_u8(vget_low_u8(bits)) | (uint64_t)vaddv_u8(vget_high_u8(bits)) << 8;
}

static inline unsigned bp_vec_bits16(bp_vec16 mask) {
    return vaddvq_u16(vandq_u16(BP_U16(mask), vld1q_u16(bp_vec_powers16)));
}

static inline unsigned bp_vec_bits32(bp_vec16 mask) {
    return vaddvq_u32(vandq_u32(BP_U32(mask), vld1q_u32(bp_vec_powers32)));
}

/* One bit of each of 64 bytes, which are 0 or 0xFF. */
static inline uint64_t bp_vec_bits64(bp_vec16 a, bp_vec16 b, bp_vec16 c, bp_vec16 d) {
    const uint8x16_t powers = vld1q_u8(bp_vec_powers);
    const uint8x16_t pairs = vpaddq_u8(vpaddq_u8(vandq_u8(a, powers), vandq_u8(b, powers)),
                                       vpaddq_u8(vandq_u8(c, powers), vandq_u8(d, powers)));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
}
#endif

#endif
