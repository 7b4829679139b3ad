/* Which vector instructions this process uses.

   Loops that gain by them are written once, in headers without a name of an instruction set in theirs, and compiled once
   for each set: simd_ssse3.h, simd_avx2.h, simd_avx512.h and simd_neon.h say how a function is compiled for theirs, and
   whether the processor has it. Each form gives the same results as the plain one, bit for bit. A compiler without
   target attributes gives the plain forms. The choice is made when the first function asks; BPETITE_SIMD names another
   (_simd.pyx raises the error where it cannot be had). */
#ifndef BPETITE_SIMD_H
#define BPETITE_SIMD_H

#include <stdlib.h>
#include <string.h>

#include "simd_avx2.h"
#include "simd_avx512.h"
#include "simd_neon.h"
#include "simd_ssse3.h"

enum { BP_SIMD_PLAIN, BP_SIMD_SSSE3, BP_SIMD_AVX2, BP_SIMD_NEON, BP_SIMD_AVX512, BP_SIMD_FORMS };

/* The form's name in BPETITE_SIMD. */
static inline const char *bp_simd_name(int form) {
    static const char *const names[BP_SIMD_FORMS] = {"plain", "ssse3", "avx2", "neon", "avx512"};
    return names[form];
}

/* Whether this build and this machine have the form. */
static inline int bp_simd_has(int form) {
    switch (form) {
    case BP_SIMD_PLAIN: return 1;
    case BP_SIMD_SSSE3: return bp_ssse3_supported();
    case BP_SIMD_AVX2: return bp_avx2_supported();
    case BP_SIMD_NEON: return bp_neon_supported();
    case BP_SIMD_AVX512: return bp_avx512_supported();
    default: return 0;
    }
}

/* The form in use: the one that BPETITE_SIMD names, or the last in order that the machine has. */
static inline int bp_simd(void) {
    static int chosen = -1;
    if (chosen < 0) {
        const char *asked = getenv("BPETITE_SIMD");
        int best = BP_SIMD_PLAIN;
        for (int form = 0; form < BP_SIMD_FORMS; form++) {
            if (!bp_simd_has(form)) continue;
            best = form;
            if (asked && !strcmp(asked, bp_simd_name(form))) break;
        }
        chosen = best;
    }
    return chosen;
}

#endif
