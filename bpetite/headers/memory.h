/* Memory in large pages where the system has them for the asking.

   A table of some megabytes, read at random, costs a walk of the page tables at many of its reads when its pages have
   4 KiB; and a result of some megabytes costs an interrupt for each page when it is first written. */
#ifndef BPETITE_MEMORY_H
#define BPETITE_MEMORY_H

#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { BP_LARGE_PAGE = 1 << 21 };

/* Like malloc; to be freed by free. */
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

/* Like calloc; to be freed by free. */
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

#endif
