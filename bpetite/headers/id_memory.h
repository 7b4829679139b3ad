/* Memory for token ids, with only an upper bound of their number known beforehand.

   From MAPPED_IDS on, it is a mapping of its own on Linux: asked for in large pages before the first touch, reserved
   beyond the need, since unwritten pages cost nothing, and cut to size without a copy. malloc did this for some
   sizes only: a result of 8 MB came in 2,000 page faults, a tenth of the whole time. The mapping freed last is kept, up
   to KEPT_IDS, so that results that follow each other are written to the same pages; fresh ones have to be cleared.

   `capacity` tells a mapping from memory of malloc, so it goes with the pointer wherever that goes. */
#ifndef BPETITE_ID_MEMORY_H
#define BPETITE_ID_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#if defined(__linux__) && (defined(__GNUC__) || defined(__clang__))
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <sys/mman.h>
#if defined(MREMAP_MAYMOVE) && defined(MADV_HUGEPAGE) && defined(MAP_NORESERVE)
#define BP_MAPS_IDS 1
#endif
#endif

enum {
    MAPPED_IDS = 1 << 20,
    KEPT_IDS = 1 << 22
};

#ifdef BP_MAPS_IDS
enum { ID_PAGE = 1 << 16, ID_LARGE_PAGE = 1 << 21 }; /* a multiple of every page size in use, and of most large ones */

static inline size_t bp_id_bytes(ptrdiff_t ids, size_t page) {
    return ((size_t)ids * sizeof(uint32_t) + page - 1) & ~(page - 1);
}

/* The mapping kept; its size in bytes is its first word. Exchanged as a whole, so threads need no lock. */
static void *bp_kept_mapping = NULL;

static inline void bp_keep_mapping(void *mapping, size_t bytes) {
    if (bytes > KEPT_IDS * sizeof(uint32_t)) {
        munmap(mapping, bytes);
        return;
    }
    memcpy(mapping, &bytes, sizeof bytes);
    void *other = __atomic_exchange_n(&bp_kept_mapping, mapping, __ATOMIC_ACQ_REL);
    if (other) {
        memcpy(&bytes, other, sizeof bytes);
        munmap(other, bytes);
    }
}

/* The mapping kept, grown where it is. OUT: *bytes, its size. NULL where there is none that can be as large. */
static inline void *bp_take_mapping(size_t *bytes) {
    size_t size;
    void *mapping = __atomic_exchange_n(&bp_kept_mapping, NULL, __ATOMIC_ACQ_REL);
    if (mapping == NULL) return NULL;
    memcpy(&size, mapping, sizeof size);
    if (size >= *bytes) {
        *bytes = size;
        return mapping;
    }
    if (mremap(mapping, size, *bytes, 0) != MAP_FAILED) return mapping;
    munmap(mapping, size);
    return NULL;
}

static inline void *bp_map(size_t *bytes) {
    void *mapping = bp_take_mapping(bytes);
    if (mapping) return mapping;
    char *all = (char *)mmap(NULL, *bytes + ID_LARGE_PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == (char *)MAP_FAILED) return NULL;
    const size_t before = -(uintptr_t)all & (ID_LARGE_PAGE - 1), after = ID_LARGE_PAGE - before;
    if (before) munmap(all, before);
    if (after) munmap(all + before + *bytes, after);
    madvise(all + before, *bytes, MADV_HUGEPAGE);
    return all + before;
}
#endif

static inline void bp_ids_free(uint32_t *ids, ptrdiff_t capacity) {
    if (ids == NULL) return;
#ifdef BP_MAPS_IDS
    if (capacity >= MAPPED_IDS) {
        bp_keep_mapping(ids, (size_t)capacity * sizeof(uint32_t));
        return;
    }
#endif
    (void)capacity;
    free(ids);
}

/* Memory for `wanted` ids or more, which begins with the first `used` of ids. INOUT: *capacity. NULL where there is
   none; then the memory given is as it was. */
static inline uint32_t *bp_ids_grow(uint32_t *ids, ptrdiff_t used, ptrdiff_t *capacity, ptrdiff_t wanted) {
#ifdef BP_MAPS_IDS
    if (wanted >= MAPPED_IDS) {
        size_t bytes = bp_id_bytes(wanted, ID_LARGE_PAGE);
        void *grown;
        if (*capacity >= MAPPED_IDS) {
            const size_t had = (size_t)*capacity * sizeof(uint32_t);
            grown = mremap(ids, had, bytes, MREMAP_MAYMOVE);
            if (grown == MAP_FAILED) { /* a user's mlock or madvise on a part of it has made several mappings of it */
                grown = bp_map(&bytes);
                if (grown == NULL) return NULL;
                if (used) memcpy(grown, ids, (size_t)used * sizeof(uint32_t));
                munmap(ids, had);
            }
        } else {
            grown = bp_map(&bytes);
            if (grown == NULL) return NULL;
            if (used) memcpy(grown, ids, (size_t)used * sizeof(uint32_t));
            free(ids);
        }
        *capacity = (ptrdiff_t)(bytes / sizeof(uint32_t));
        return (uint32_t *)grown;
    }
#endif
    (void)used;
    uint32_t *grown = (uint32_t *)realloc(ids, (size_t)wanted * sizeof(uint32_t));
    if (grown) *capacity = wanted;
    return grown;
}

/* Give back what lies behind the first `used` ids. INOUT: *capacity, smaller than before or the same. */
static inline uint32_t *bp_ids_trim(uint32_t *ids, ptrdiff_t used, ptrdiff_t *capacity) {
#ifdef BP_MAPS_IDS
    if (*capacity >= MAPPED_IDS) {
        const size_t bytes = bp_id_bytes(used < MAPPED_IDS ? MAPPED_IDS : used, ID_PAGE);
        const size_t had = (size_t)*capacity * sizeof(uint32_t);
        if (used < MAPPED_IDS / 2) { /* few ids in the mapping of an earlier, longer result */
            uint32_t *copy = (uint32_t *)malloc((size_t)(used + 1) * sizeof(uint32_t));
            if (copy) {
                if (used) memcpy(copy, ids, (size_t)used * sizeof(uint32_t));
                bp_keep_mapping(ids, had);
                *capacity = used + 1;
                return copy;
            }
        }
        if (bytes < had && munmap((char *)ids + bytes, had - bytes) == 0) *capacity = (ptrdiff_t)(bytes / sizeof(uint32_t));
        return ids;
    }
#endif
    if (used + 1 < *capacity) {
        uint32_t *trimmed = (uint32_t *)realloc(ids, (size_t)(used + 1) * sizeof(uint32_t));
        if (trimmed) {
            *capacity = used + 1;
            return trimmed;
        }
    }
    return ids;
}

#endif
