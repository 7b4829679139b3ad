/* Which vector instructions this process uses.

   Loops that gain by them are written once, in headers without a name of an instruction set in theirs, and compiled once
   for each set: simd_avx2.h, simd_avx512.h and simd_neon.h say how a function is compiled for theirs, and whether the
   processor has it. Each form gives the same results as the plain one, bit for bit. A compiler without target attributes
   gives the plain forms. */
#ifndef BPETITE_SIMD_H
#define BPETITE_SIMD_H

#include <stdlib.h>
#include <string.h>

#include "simd_avx2.h"
#include "simd_avx512.h"
#include "simd_neon.h"

enum { BP_SIMD_PLAIN, BP_SIMD_AVX2, BP_SIMD_NEON, BP_SIMD_AVX512, BP_SIMD_FORMS };

/* The form's name in BPETITE_SIMD. */
static inline const char *bp_simd_name(int form) {
    static const char *const names[BP_SIMD_FORMS] = {"plain", "avx2", "neon", "avx512"};
    return names[form];
}

/* Whether this build and this machine have the form. */
static inline int bp_simd_has(int form) {
    switch (form) {
    case BP_SIMD_PLAIN: return 1;
    case BP_SIMD_AVX2: return bp_avx2_supported();
    case BP_SIMD_NEON: return bp_neon_supported();
    case BP_SIMD_AVX512: return bp_avx512_supported();
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
