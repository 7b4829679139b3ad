/* A heap of pairs to merge: rank in the upper half, position in the lower, so that the lowest rank comes first and of
   equal ranks the leftmost position. */
#ifndef BPETITE_HEAP_H
#define BPETITE_HEAP_H

#include <stddef.h>
#include <stdint.h>

static inline void bp_sift_down(uint64_t *heap, ptrdiff_t size, ptrdiff_t at) {
    uint64_t value = heap[at];
    for (;;) {
        ptrdiff_t child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= value) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static inline void bp_sift_up(uint64_t *heap, ptrdiff_t at) {
    uint64_t value = heap[at];
    while (at > 0) {
        ptrdiff_t parent = (at - 1) >> 1;
        if (heap[parent] <= value) break;
        heap[at] = heap[parent];
        at = parent;
    }
    heap[at] = value;
}

/* Add an entry for a pair, unless it has no rank; returns the new size. IN: the heap has room for one more. */
static inline ptrdiff_t bp_push(uint64_t *heap, ptrdiff_t size, uint32_t rank, uint32_t position) {
    if (rank == UINT32_MAX) return size;
    heap[size] = (uint64_t)rank << 32 | position;
    bp_sift_up(heap, size);
    return size + 1;
}

#endif
