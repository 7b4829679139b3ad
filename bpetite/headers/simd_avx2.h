/* AVX2 with the bit instructions that every processor of the kind has (Intel since Haswell, AMD since Zen). `pext` and
   `pdep` are left alone: Zen 1 and 2 take hundreds of cycles for them. */
#ifndef BPETITE_SIMD_AVX2_H
#define BPETITE_SIMD_AVX2_H

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)
#include <immintrin.h>

#define BP_HAS_AVX2 1
#define BP_AVX2_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define BP_AVX2_INLINE BP_AVX2_TARGET static inline __attribute__((always_inline))

static inline int bp_avx2_supported(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
           && __builtin_cpu_supports("popcnt");
}
#else
static inline int bp_avx2_supported(void) { return 0; }
#endif

#endif
