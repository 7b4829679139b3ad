/* AVX-512 with byte shuffles: VBMI, VBMI2, GFNI (Intel since Ice Lake, AMD since Zen 4). */
#ifndef BPETITE_SIMD_AVX512_H
#define BPETITE_SIMD_AVX512_H

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)
#include <immintrin.h>

#define BP_HAS_AVX512 1
#define BP_AVX512_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,gfni,bmi,bmi2,popcnt")))
#define BP_AVX512_INLINE BP_AVX512_TARGET static inline __attribute__((always_inline))

static inline int bp_avx512_supported(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
           && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2")
           && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
           && __builtin_cpu_supports("popcnt");
}
#else
static inline int bp_avx512_supported(void) { return 0; }
#endif

#endif
