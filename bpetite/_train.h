/* What the merging loop needs from C and Cython cannot say: checked 64-bit addition and prefetch. */
#ifndef BPETITE_TRAIN_H
#define BPETITE_TRAIN_H

#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define BP_TRAIN_PREFETCH(p) __builtin_prefetch(p)
/* *sum += x; true when the sum does not fit. */
static inline int bp_add_overflows(int64_t *sum, int64_t x) { return __builtin_add_overflow(*sum, x, sum); }
/* *sum += x * y; true when it does not fit. */
static inline int bp_multiply_add_overflows(int64_t *sum, int64_t x, int64_t y) {
    int64_t product;
    return __builtin_mul_overflow(x, y, &product) || __builtin_add_overflow(*sum, product, sum);
}
#else
#define BP_TRAIN_PREFETCH(p) ((void)(p))
static inline int bp_add_overflows(int64_t *sum, int64_t x) {
    if ((x > 0 && *sum > INT64_MAX - x) || (x < 0 && *sum < INT64_MIN - x)) return 1;
    *sum += x;
    return 0;
}
static inline int bp_multiply_add_overflows(int64_t *sum, int64_t x, int64_t y) { /* x, y >= 0 */
    if (y != 0 && x > INT64_MAX / y) return 1;
    return bp_add_overflows(sum, x * y);
}
#endif

#endif
