/* Sums of counts that may not fit. */
#ifndef BPETITE_SUMS_H
#define BPETITE_SUMS_H

#include <stdint.h>

/* *sum += x; returns 1, and leaves *sum undefined, where the sum does not fit. */
static inline int bp_add_overflows(int64_t *sum, int64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_add_overflow(*sum, x, sum);
#else
    if ((x > 0 && *sum > INT64_MAX - x) || (x < 0 && *sum < INT64_MIN - x)) return 1;
    *sum += x;
    return 0;
#endif
}

#endif
