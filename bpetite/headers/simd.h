/* The vector instructions of this process.

   Loops that gain by them are written once, in headers without a name of an instruction set in theirs, and compiled once
   for each set. Each form gives the same results as the plain one, bit for bit. A compiler without target attributes gives
   the plain forms. Loops with vectors of more than sixteen bytes include immintrin.h themselves, which takes half a second
   to compile. */
#ifndef BPETITE_SIMD_H
#define BPETITE_SIMD_H

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__)
#include <tmmintrin.h>

/* AVX2 with the bit instructions that every processor of the kind has (Intel since Haswell, AMD since Zen). `pext` and
   `pdep` are left alone: Zen 1 and 2 take hundreds of cycles for them. */
#define BP_HAS_AVX2 1
#define BP_AVX2_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define BP_AVX2_INLINE BP_AVX2_TARGET static inline __attribute__((always_inline))

/* AVX-512 with byte shuffles: VBMI, VBMI2, GFNI (Intel since Ice Lake, AMD since Zen 4). */
#define BP_HAS_AVX512 1
#define BP_AVX512_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,gfni,bmi,bmi2,popcnt")))
#define BP_AVX512_INLINE BP_AVX512_TARGET static inline __attribute__((always_inline))
#endif

/* NEON, which every 64-bit ARM processor has: no target attribute is needed. */
#if defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#include <arm_neon.h>

#define BP_HAS_NEON 1
#endif

enum { BP_SIMD_PLAIN, BP_SIMD_AVX2, BP_SIMD_NEON, BP_SIMD_AVX512, BP_SIMD_FORMS };

/* The form's name in BPETITE_SIMD. */
static inline const char *bp_simd_name(int form) {
    static const char *const names[BP_SIMD_FORMS] = {"plain", "avx2", "neon", "avx512"};
    return names[form];
}

/* True if this build and this machine have the form. */
static inline int bp_simd_has(int form) {
    switch (form) {
    case BP_SIMD_PLAIN: return 1;
#ifdef BP_HAS_AVX2
    case BP_SIMD_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
               && __builtin_cpu_supports("popcnt");
    case BP_SIMD_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
               && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
               && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2")
               && __builtin_cpu_supports("gfni") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
               && __builtin_cpu_supports("popcnt");
#endif
#ifdef BP_HAS_NEON
    case BP_SIMD_NEON: return 1;
#endif
    default: return 0;
    }
}

/* The form in use: the one that BPETITE_SIMD names, or the last in order that the machine has. Chosen when the module is
   loaded, before a thread can ask for it and without a look at an environment that changes later. Where the variable
   names what cannot be had, _simd.pyx raises the error. */
#ifdef __GNUC__
static int bp_simd_chosen;

__attribute__((constructor)) static void bp_simd_choose(void) {
    const char *asked = getenv("BPETITE_SIMD");
#ifdef BP_HAS_AVX2
    __builtin_cpu_init();
#endif
    for (int form = 0; form < BP_SIMD_FORMS; form++) {
        if (!bp_simd_has(form)) continue;
        bp_simd_chosen = form;
        if (asked && !strcmp(asked, bp_simd_name(form))) break;
    }
}

static inline int bp_simd(void) { return bp_simd_chosen; }
#else
static inline int bp_simd(void) { return BP_SIMD_PLAIN; }
#endif

#endif
