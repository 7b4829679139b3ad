/* What the merging loop needs from C and Cython cannot say: checked 64-bit addition, prefetch, and the search for a pair
   in a few slots at once. */
#ifndef BPETITE_TRAIN_H
#define BPETITE_TRAIN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#define BP_TRAIN_MAPS 1
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

/* A hash table of `size` bytes, each `fill` (0 or 255), and its end. Large ones come from the system and go back to it at
   once: freed by another thread than the one that asked, they would stay with malloc. They are entered at random places,
   so on Linux they ask for huge pages, without which a good part of a look-up is the translation of its address. */
#define BP_LARGE_TABLE ((size_t)1 << 20)

static inline void *bp_new_table(size_t size, int fill) {
    void *table;
#if defined(BP_TRAIN_MAPS)
    if (size >= BP_LARGE_TABLE) {
        table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (table == MAP_FAILED) return NULL;
#if defined(MADV_HUGEPAGE)
        madvise(table, size, MADV_HUGEPAGE); /* a wish: where it is not granted nothing changes */
#endif
        if (fill) memset(table, fill, size);
        return table;
    }
#endif
    if (fill == 0) return calloc(size, 1);
    table = malloc(size);
    if (table) memset(table, fill, size);
    return table;
}

static inline void bp_free_table(void *table, size_t size) {
#if defined(BP_TRAIN_MAPS)
    if (size >= BP_LARGE_TABLE) {
        if (table) munmap(table, size);
        return;
    }
#endif
    (void)size;
    free(table);
}

/* Make room in an array from malloc for `needed` items of `item` bytes, half as much again as before; 0, or -1 without
   memory, and then the array is as it was. */
static inline int bp_grow(void **array, uint64_t *capacity, uint64_t needed, size_t item) {
    uint64_t wanted = *capacity + *capacity / 2 + 64;
    void *larger;
    if (needed <= *capacity) return 0;
    if (wanted < needed) wanted = needed;
    if (wanted > SIZE_MAX / item) return -1;
    larger = realloc(*array, (size_t)wanted * item);
    if (!larger) return -1;
    *array = larger;
    *capacity = wanted;
    return 0;
}

/* Spread the bits of x over the whole word. */
static inline uint64_t bp_train_mix(uint64_t x) {
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x ^ x >> 32;
}

#endif
