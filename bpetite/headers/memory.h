/* Memory for tables and results, and growing arrays.

   From BP_MAPPED bytes on, a block is a mapping of its own. It goes back to the system when it is freed, by whichever
   thread: malloc keeps what threads have freed, and eight of them left 170 MB in a process. It is in large pages where
   the system has them: random reads of some megabytes in pages of 4 KiB often wait for a walk of the page tables, and the
   first write to each page is a page fault. It grows and shrinks without a copy on Linux. Its unwritten pages take no
   memory, so a block may be much larger than what it holds. */
#ifndef BPETITE_MEMORY_H
#define BPETITE_MEMORY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* mremap */
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

enum {
    BP_BLOCK_HEAD = 64,       /* bytes before the memory, which hold the size of the block; a cache line */
    BP_PAGE = 1 << 16,        /* a multiple of every page size in use */
    BP_LARGE_PAGE = 1 << 21,
    BP_MAPPED = 1 << 20
};

/* Ask for large pages for memory that has not been written to. */
static inline void bp_use_large_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = BP_LARGE_PAGE, start = ((uintptr_t)memory + page - 1) & ~(page - 1);
    const uintptr_t end = ((uintptr_t)memory + bytes) & ~(page - 1);
    if (start < end) madvise((void *)start, end - start, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

#ifdef MAP_NORESERVE
static inline int bp_is_mapped(size_t size) { return size >= BP_MAPPED; }

/* A block of zeros that begins with a large page, or NULL. */
static inline char *bp_map(size_t size) {
    const size_t spare = size < BP_LARGE_PAGE ? 0 : BP_LARGE_PAGE;
    const int private_zeros = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *all = (char *)mmap(NULL, size + spare, PROT_READ | PROT_WRITE, private_zeros, -1, 0);
    if (all == (char *)MAP_FAILED) return NULL;
    const size_t before = spare ? -(uintptr_t)all & (BP_LARGE_PAGE - 1) : 0;
    if (before) munmap(all, before);
    if (spare > before) munmap(all + before + size, spare - before);
    bp_use_large_pages(all + before, size);
    return all + before;
}

/* The mapped block in another size, perhaps moved; NULL where the system cannot do that, and the block is as it was. */
static inline char *bp_remap(char *block, size_t had, size_t size) {
#ifdef MREMAP_MAYMOVE
    char *moved = (char *)mremap(block, had, size, MREMAP_MAYMOVE);
    if (moved == (char *)MAP_FAILED) return NULL; /* a user's mlock or madvise on a part of it has split it */
    if (size > had) bp_use_large_pages(moved, size);
    return moved;
#else
    (void)block, (void)had, (void)size;
    return NULL;
#endif
}

static inline void bp_release(char *block, size_t size) {
    if (bp_is_mapped(size)) munmap(block, size);
    else free(block);
}
#else /* the system has no such mappings */
static inline int bp_is_mapped(size_t size) { return (void)size, 0; }
static inline char *bp_map(size_t size) { return (void)size, NULL; }
static inline char *bp_remap(char *block, size_t had, size_t size) { return (void)block, (void)had, (void)size, NULL; }
static inline void bp_release(char *block, size_t size) { (void)size, free(block); }
#endif

/* The size of a block for so many bytes of memory; too large for any system where these are too many. */
static inline size_t bp_block_size(size_t bytes) {
    const size_t size = bytes < SIZE_MAX / 2 ? bytes + BP_BLOCK_HEAD : SIZE_MAX / 2;
    return bp_is_mapped(size) ? (size + BP_PAGE - 1) & ~(size_t)(BP_PAGE - 1) : size;
}

static inline void *bp_memory_of(char *block, size_t size) {
    if (!block) return NULL;
    memcpy(block, &size, sizeof size);
    return block + BP_BLOCK_HEAD;
}

/* Like calloc; bp_free releases it. */
static inline void *bp_zeros(size_t bytes) {
    const size_t size = bp_block_size(bytes);
    return bp_memory_of(bp_is_mapped(size) ? bp_map(size) : (char *)calloc(1, size), size);
}

/* Like realloc, of memory from here or NULL. */
static inline void *bp_resize(void *memory, size_t bytes) {
    const size_t size = bp_block_size(bytes);
    char *old = memory ? (char *)memory - BP_BLOCK_HEAD : NULL, *block = NULL;
    size_t had = 0;
    if (old) memcpy(&had, old, sizeof had);
    if (!bp_is_mapped(had) && !bp_is_mapped(size)) return bp_memory_of((char *)realloc(old, size), size);
    if (bp_is_mapped(had) && bp_is_mapped(size)) block = had == size ? old : bp_remap(old, had, size);
    if (!block) {
        block = bp_is_mapped(size) ? bp_map(size) : (char *)malloc(size);
        if (block && old) {
            memcpy(block, old, had < size ? had : size);
            bp_release(old, had);
        }
    }
    return bp_memory_of(block, size);
}

/* Like free. */
static inline void bp_free(void *memory) {
    size_t size;
    if (!memory) return;
    memcpy(&size, (char *)memory - BP_BLOCK_HEAD, sizeof size);
    bp_release((char *)memory - BP_BLOCK_HEAD, size);
}

/* Make room in an array for `needed` items of `item` bytes, growing it by a half at least. Returns 0, or -1 without
   memory; then the array is as it was. Such arrays are small or short-lived: they come from malloc, and `free` releases
   them, not bp_free. */
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
