/* Memory for hash tables, and sums that may not fit. */
#ifndef BPETITE_TABLES_H
#define BPETITE_TABLES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#define BP_MMAP 1
#endif

/* A hash table of `size` bytes, each `fill` (0 or 255); bp_free_table releases it. Large ones come from the system and
   go back to it at once: freed by another thread than the one that allocated them, they would stay with malloc. */
#define BP_LARGE_TABLE ((size_t)1 << 20)

static inline void *bp_new_table(size_t size, int fill) {
    void *table;
#ifdef BP_MMAP
    if (size >= BP_LARGE_TABLE) {
        table = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (table == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
        madvise(table, size, MADV_HUGEPAGE);
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
#ifdef BP_MMAP
    if (size >= BP_LARGE_TABLE) {
        if (table) munmap(table, size);
        return;
    }
#endif
    (void)size;
    free(table);
}

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
