/* Token ids to bytes: sizes first, one allocation by the caller, one copy. */
#ifndef BPETITE_JOIN_H
#define BPETITE_JOIN_H

#include "bytes.h"

enum { BP_LONG_TOKEN = 0x7FFF, BP_NOT_ASCII = 0x8000, BP_INLINE_JOIN = 16 };

/* place -> the first sixteen bytes of a token, zeros behind a shorter one */
typedef struct {
    uint8_t bytes[BP_INLINE_JOIN];
} bp_piece;

typedef struct {
    const bp_piece *pieces;
    const uint16_t *sizes;         /* bytes of a token, 0 for no token, BP_LONG_TOKEN for BP_LONG_TOKEN or more; | BP_NOT_ASCII */
    const uint64_t *starts;        /* slot -> first byte in blob */
    const uint8_t *blob;
    const uint32_t *slot_of;       /* place -> slot + 1; NULL where a place is a slot */
    size_t places;
} bp_joiner;

BP_INLINE size_t bp_slot(const bp_joiner *joiner, uint32_t place) {
    return joiner->slot_of ? joiner->slot_of[place] - 1 : place;
}

/* Bytes that n places give; *not_ascii is not 0 where any of them is no ASCII. Stops at a place without a token and
   returns -1 - its index. */
static inline int64_t bp_join_size(const bp_joiner *joiner, const uint32_t *places, ptrdiff_t n, unsigned *not_ascii) {
    const uint16_t *sizes = joiner->sizes;
    const size_t limit = joiner->places;
    uint64_t total = 0;
    unsigned flags = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (BP_UNLIKELY(places[i] >= limit)) return -1 - i;
        unsigned size = sizes[places[i]];
        flags |= size;
        size &= BP_LONG_TOKEN;
        if (BP_UNLIKELY(size == 0)) return -1 - i;
        if (BP_UNLIKELY(size == BP_LONG_TOKEN)) {
            size_t slot = bp_slot(joiner, places[i]);
            total += joiner->starts[slot + 1] - joiner->starts[slot];
        } else {
            total += size;
        }
    }
    *not_ascii = flags & BP_NOT_ASCII;
    return (int64_t)total;
}

static inline void bp_join(const bp_joiner *joiner, const uint32_t *places, ptrdiff_t n, uint8_t *out, int64_t total) {
    uint8_t *at = out;
    /* Sixteen bytes are written for each token, whatever its size, as long as that stays inside. */
    uint8_t *safe = total >= BP_INLINE_JOIN ? out + total - BP_INLINE_JOIN : NULL;
    for (ptrdiff_t i = 0; i < n; i++) {
        size_t size = joiner->sizes[places[i]] & BP_LONG_TOKEN;
        if (BP_LIKELY(safe && at <= safe && size <= BP_INLINE_JOIN)) {
            memcpy(at, joiner->pieces[places[i]].bytes, BP_INLINE_JOIN);
            at += size;
        } else {
            size_t slot = bp_slot(joiner, places[i]);
            size = (size_t)(joiner->starts[slot + 1] - joiner->starts[slot]);
            memcpy(at, joiner->blob + joiner->starts[slot], size);
            at += size;
        }
    }
}

#endif
