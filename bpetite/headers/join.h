/* Token ids to bytes: sizes first, one allocation by the caller, one copy. */
#ifndef BPETITE_JOIN_H
#define BPETITE_JOIN_H

#include "bytes.h"

enum {
    BP_HEAD = 16,           /* bytes of each token that lie in the array of heads */
    BP_LONG_TOKEN = 0x7FFF, /* stands for this size, all larger ones, and that of a token without bytes */
    BP_NOT_ASCII = 0x8000
};

/* position -> the first sixteen bytes of a token, zeros after a shorter one */
typedef struct {
    uint8_t bytes[BP_HEAD];
} bp_head;

typedef struct {
    bp_head *heads;
    uint16_t *sizes;               /* bytes of a token | BP_NOT_ASCII; 0 for no token, BP_LONG_TOKEN where `starts` tells */
    const uint64_t *starts;        /* slot -> first byte in blob */
    const uint8_t *blob;
    const uint32_t *slot_of;       /* position -> slot + 1; NULL where a position is a slot */
    size_t size;                   /* positions are below it */
} bp_joiner;

BP_INLINE size_t bp_slot(const bp_joiner *joiner, uint32_t position) {
    return joiner->slot_of ? joiner->slot_of[position] - 1 : position;
}

/* The positions may be the caller's array, which another thread or process may change meanwhile: each pass reads a value
   once, and the second checks what it read, so that no size or bound comes from another value than the bytes. */
BP_INLINE uint32_t bp_read_once(const uint32_t *at) {
    return *(const volatile uint32_t *)at;
}

/* Bytes that n positions give; *not_ascii becomes other than 0 where any of them is no ASCII. Stops at a position without
   a token, returns -1 - its index and puts it into *unknown. */
static inline int64_t bp_join_size(const bp_joiner *joiner, const uint32_t *positions, ptrdiff_t n, unsigned *not_ascii,
                                   uint32_t *unknown) {
    const uint16_t *sizes = joiner->sizes;
    const size_t limit = joiner->size;
    uint64_t total = 0;
    unsigned flags = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t position = bp_read_once(positions + i);
        unsigned size = BP_LIKELY(position < limit) ? sizes[position] : 0;
        flags |= size;
        size &= BP_LONG_TOKEN;
        if (BP_UNLIKELY(size == 0)) {
            *unknown = position;
            return -1 - i;
        }
        if (BP_UNLIKELY(size == BP_LONG_TOKEN)) {
            size_t slot = bp_slot(joiner, position);
            total += joiner->starts[slot + 1] - joiner->starts[slot];
        } else {
            total += size;
        }
    }
    *not_ascii |= flags & BP_NOT_ASCII;
    return (int64_t)total;
}

/* Copy the bytes of n positions to `at`, up to `end`; returns where they end. NULL if bp_join_size has counted others:
   there are too many bytes, there is no token, or a byte is not ASCII and not_ascii is 0. */
BP_INLINE uint8_t *bp_join_of(const bp_joiner *joiner, const uint32_t *positions, ptrdiff_t n, uint8_t *at, uint8_t *end,
                              const int not_ascii) {
    const size_t limit = joiner->size;
    const uint16_t *sizes = joiner->sizes;
    const bp_head *heads = joiner->heads;
    unsigned flags = 0;
    ptrdiff_t i = 0;
    while (i < n) {
        /* Write sixteen bytes for each token, whatever its size, while there is room for as many for each one left. */
        const ptrdiff_t room = (end - at) / BP_HEAD, stop = n - i < room ? n : i + room;
        for (; i < stop; i++) {
            const uint32_t position = bp_read_once(positions + i);
            if (BP_UNLIKELY(position >= limit)) return NULL;
            const unsigned size = sizes[position] & BP_LONG_TOKEN;
            if (BP_UNLIKELY(size - 1 >= BP_HEAD)) break;
            if (!not_ascii) flags |= sizes[position];
            memcpy(at, heads[position].bytes, BP_HEAD);
            at += size;
        }
        if (i == n) break;
        if (i == stop && room) continue;
        /* A longer token, a position without one, or one close to the end. */
        const uint32_t position = bp_read_once(positions + i);
        if (position >= limit || sizes[position] == 0) return NULL;
        flags |= sizes[position];
        const size_t slot = bp_slot(joiner, position);
        const size_t size = (size_t)(joiner->starts[slot + 1] - joiner->starts[slot]);
        if (size > (size_t)(end - at)) return NULL;
        memcpy(at, joiner->blob + joiner->starts[slot], size);
        at += size;
        i++;
    }
    return not_ascii || !(flags & BP_NOT_ASCII) ? at : NULL;
}

static inline uint8_t *bp_join(const bp_joiner *joiner, const uint32_t *positions, ptrdiff_t n, uint8_t *at,
                               uint8_t *end, unsigned not_ascii) {
    return not_ascii ? bp_join_of(joiner, positions, n, at, end, 1) : bp_join_of(joiner, positions, n, at, end, 0);
}

#endif
