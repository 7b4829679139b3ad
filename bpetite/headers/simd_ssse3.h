/* SSSE3, the first byte shuffle of x86-64 (Intel since 2006, AMD since 2011). */
#ifndef BPETITE_SIMD_SSSE3_H
#define BPETITE_SIMD_SSSE3_H

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)
#include <tmmintrin.h>

#define BP_HAS_SSSE3 1
#define BP_SSSE3_TARGET __attribute__((target("ssse3")))
#define BP_SSSE3_INLINE BP_SSSE3_TARGET static inline __attribute__((always_inline))

static inline int bp_ssse3_supported(void) { return __builtin_cpu_supports("ssse3") != 0; }
#else
static inline int bp_ssse3_supported(void) { return 0; }
#endif

#endif
