/* NEON, which every 64-bit ARM processor has: no target attribute is needed. */
#ifndef BPETITE_SIMD_NEON_H
#define BPETITE_SIMD_NEON_H

#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#include <arm_neon.h>

#define BP_HAS_NEON 1
#define BP_NEON_TARGET
#define BP_NEON_INLINE static inline __attribute__((always_inline))

static inline int bp_neon_supported(void) { return 1; }
#else
static inline int bp_neon_supported(void) { return 0; }
#endif

#endif
