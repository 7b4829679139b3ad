/* Memory in large pages where the system offers them, and growing arrays.

   Random reads of a table of some megabytes in 4 KiB pages often wait for a walk of the page tables, and the first
   write to each page of a result is a page fault. */
#ifndef BPETITE_MEMORY_H
#define BPETITE_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/mman.h>
#endif

enum { BP_LARGE_PAGE = 1 << 21 };

/* Like malloc; free releases it. */
static inline void *bp_allocate(size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    void *memory = NULL;
    if (bytes >= 2 * (size_t)BP_LARGE_PAGE) {
        if (posix_memalign(&memory, BP_LARGE_PAGE, bytes)) return NULL;
        madvise(memory, bytes & ~(size_t)(BP_LARGE_PAGE - 1), MADV_HUGEPAGE);
        return memory;
    }
#endif
    return malloc(bytes);
}

/* Like calloc; free releases it. */
static inline void *bp_allocate_zeros(size_t count, size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (count * size >= 2 * (size_t)BP_LARGE_PAGE) {
        void *memory = bp_allocate(count * size);
        if (memory) memset(memory, 0, count * size);
        return memory;
    }
#endif
    return calloc(count, size);
}

/* Ask for large pages for memory that has not been written to: it is read at random, or so large that small pages would
   come in thousands of page faults. */
static inline void bp_use_large_pages(void *memory, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = BP_LARGE_PAGE, start = ((uintptr_t)memory + page - 1) & ~(page - 1);
    const uintptr_t end = ((uintptr_t)memory + bytes) & ~(page - 1);
    if (start < end) madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

/* Make room in an array from malloc for `needed` items of `item` bytes, growing it by a half at least. Returns 0, or -1
   without memory; then the array is as it was. */
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

/* Move ids[at + 1:n + 1] and ranks[at + 1:n + 1] one to the front. Compilers would make two calls of memmove, which take
   longer than the few items. */
static inline void bp_close_gap(uint32_t *ids, uint32_t *ranks, ptrdiff_t at, ptrdiff_t n) {
    for (; at < n; at++) {
        ids[at] = ids[at + 1];
        ranks[at] = ranks[at + 1];
#if defined(__GNUC__) || defined(__clang__)
        __asm__("" : "+r"(at));
#endif
    }
}

#endif
