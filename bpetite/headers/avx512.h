/* Code for processors with wide byte shuffles: x86-64 with AVX-512 VBMI, VBMI2, GFNI (Intel since Ice Lake, AMD since
   Zen 4). It is compiled beside a plain form that gives the same results, and chosen at run time. */
#ifndef BPETITE_WIDE_H
#define BPETITE_WIDE_H

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)
#define BP_WIDE 1
#include <immintrin.h>
#include <stdlib.h>

#define BP_WIDE_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,gfni,bmi,bmi2,popcnt")))
#define BP_WIDE_INLINE BP_WIDE_TARGET static inline __attribute__((always_inline))

/* Whether this processor is one of them, and BPETITE_PLAIN=1 does not ask for the plain forms. */
static inline int bp_wide_supported(void) {
    static int known = -1;
    if (known < 0) {
        const char *plain = getenv("BPETITE_PLAIN");
        known = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
                && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
                && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2")
                && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("bmi")
                && __builtin_cpu_supports("bmi2")
                && __builtin_cpu_supports("popcnt") && !(plain && plain[0] == '1');
    }
    return known;
}
#else
static inline int bp_wide_supported(void) { return 0; }
#endif

#endif
