/* What the merging loop needs from C and Cython cannot say: checked 64-bit addition, prefetch, and the search for a pair
   in a few slots at once. */
#ifndef BPETITE_TRAIN_H
#define BPETITE_TRAIN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define BP_TRAIN_SSE2 1
#endif

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

/* Slots that bp_find_pairs may read behind the last of the n it is asked about. */
#define BP_OVERREAD 8

/* Bit i is set where first[i] == left and second[i] == right, for i below n; n is at most 64. */
static inline uint64_t bp_find_pairs(const int32_t *first, const int32_t *second, int32_t left, int32_t right,
                                     uint64_t n) {
    uint64_t found = 0;
#ifdef BP_TRAIN_SSE2
    const __m128i lefts = _mm_set1_epi32(left), rights = _mm_set1_epi32(right), none = _mm_setzero_si128();
    for (uint64_t i = 0; i < n; i += 8) {
        __m128i low = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(first + i)), lefts),
                                    _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(second + i)), rights));
        __m128i high = _mm_and_si128(_mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(first + i + 4)), lefts),
                                     _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(second + i + 4)), rights));
        found |= (uint64_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high), none)) << i;
    }
#else
    for (uint64_t i = 0; i < n; i++) found |= (uint64_t)(first[i] == left && second[i] == right) << i;
#endif
    return n < 64 ? found & (((uint64_t)1 << n) - 1) : found;
}

static inline int bp_lowest_bit(uint64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(x);
#else
    int at = 0;
    for (; !(x & 1); x >>= 1) at++;
    return at;
#endif
}

/* A hash table of `size` bytes, each `fill`; to be given to free(). Tables of megabytes are entered at random places, so on
   Linux they ask for huge pages: half the time of a look-up goes into translating addresses otherwise. */
static inline void *bp_new_table(size_t size, int fill) {
    void *table;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t huge = (size_t)1 << 21;
    if (size >= huge) {
        if (posix_memalign(&table, huge, size)) return NULL;
        madvise(table, size, MADV_HUGEPAGE); /* a wish: where it is not granted nothing changes */
        memset(table, fill, size);
        return table;
    }
#endif
    table = malloc(size);
    if (table) memset(table, fill, size);
    return table;
}

#endif
