/* A prefilter: the positions in a text where one of many strings may start, judged by their first two bytes.

   Sixteen positions at a time go through four shuffles: each pair belongs to one of eight groups, and each nibble of
   the text allows some groups. A position that passes is looked up in a bitmap of all 65,536 pairs. Without such
   instructions the bitmap works alone. */
#ifndef BPETITE_SIEVE_H
#define BPETITE_SIEVE_H

#include "bytes.h"
#include "simd_vec16.h"

/* Bytes by which text is prefetched: a page, since processors do not read ahead into the next one by themselves. */
enum { BP_SIEVE_AHEAD = 4096 };

typedef struct {
    uint8_t pair[65536 / 8];       /* first byte << 8 | second byte -> a string starts with them */
    uint8_t nibbles[4][16];        /* low and high nibble of the first byte, of the second -> groups */
    int shuffles;                  /* the form in use has byte shuffles */
} bp_sieve;

/* Few of the characters of one script are among those of normal forms: the first bytes of longer characters have groups
   of their own, and so have two of Chinese punctuation and of kana. */
BP_INLINE uint8_t bp_sieve_group(uint8_t first, uint8_t second) {
    const unsigned group = first < 0xC0                        ? (first * 7u + second) & 7
                           : first < 0xE0                      ? (first >> 4) - 0xCu
                           : first == 0xE3 && second == 0x82   ? 7
                           : first > 0xEF || (first == 0xEF && second < 0xB0) ? 6
                                                               : 2u + (first & 3);
    return (uint8_t)(1u << group);
}

static inline void bp_sieve_add(bp_sieve *sieve, uint8_t first, uint8_t second) {
    unsigned at = (unsigned)first << 8 | second;
    if (sieve->pair[at >> 3] >> (at & 7) & 1) return;
    sieve->pair[at >> 3] |= (uint8_t)(1u << (at & 7));
    const uint8_t group = bp_sieve_group(first, second);
    sieve->nibbles[0][first & 15] |= group;
    sieve->nibbles[1][first >> 4] |= group;
    sieve->nibbles[2][second & 15] |= group;
    sieve->nibbles[3][second >> 4] |= group;
    sieve->shuffles = bp_simd() != BP_SIMD_PLAIN;
}

BP_INLINE int bp_sieve_pair(const bp_sieve *sieve, const uint8_t *p) {
    unsigned at = (unsigned)p[0] << 8 | p[1];
    return sieve->pair[at >> 3] >> (at & 7) & 1;
}

#ifdef BP_SHUFFLE_TARGET
/* A bit for each of sixteen bytes other than zero. */
BP_INLINE uint64_t bp_sieve_bits(bp_vec16 found) {
    return bp_vec_signs(bp_vec_equal8(found, bp_vec_each8(0))) ^ 0xFFFF;
}

/* Nonzero bytes for the positions, of sixteen, that may start a string. */
BP_SHUFFLE_TARGET BP_INLINE bp_vec16 bp_sieve_shuffle(const bp_sieve *sieve, const uint8_t *p) {
    const bp_vec16 here = bp_vec_load(p), next = bp_vec_load(p + 1), low = bp_vec_each8(15);
    return bp_vec_and(
        bp_vec_and(bp_vec_shuffle(bp_vec_load(sieve->nibbles[0]), bp_vec_and(here, low)),
                   bp_vec_shuffle(bp_vec_load(sieve->nibbles[1]), bp_vec_and(bp_vec_right16(here, 4), low))),
        bp_vec_and(bp_vec_shuffle(bp_vec_load(sieve->nibbles[2]), bp_vec_and(next, low)),
                   bp_vec_shuffle(bp_vec_load(sieve->nibbles[3]), bp_vec_and(bp_vec_right16(next, 4), low))));
}

/* A bit for each of 64 positions that may start a string. IN: third: high nibble of the third byte -> groups; or NULL. */
BP_SHUFFLE_TARGET BP_INLINE uint64_t bp_sieve_mask(const bp_sieve *sieve, const uint8_t *p, const uint8_t *third) {
    bp_vec16 found[4];
    BP_PREFETCH(p + BP_SIEVE_AHEAD);
    for (int i = 0; i < 4; i++) found[i] = bp_sieve_shuffle(sieve, p + 16 * i);
    if (!bp_vec_any(bp_vec_or(bp_vec_or(found[0], found[1]), bp_vec_or(found[2], found[3])))) return 0;
    for (int i = 0; third && i < 4; i++)
        found[i] = bp_vec_and(found[i], bp_vec_shuffle(bp_vec_load(third),
                                                       bp_vec_and(bp_vec_right16(bp_vec_load(p + 16 * i + 2), 4),
                                                                  bp_vec_each8(15))));
    return bp_sieve_bits(found[0]) | bp_sieve_bits(found[1]) << 16 | bp_sieve_bits(found[2]) << 32
           | bp_sieve_bits(found[3]) << 48;
}

/* The first position that passes, 64 of them at a time and then sixteen, as long as a byte follows them all; else where
   to go on. */
BP_SHUFFLE_TARGET static ptrdiff_t bp_sieve_shuffled(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at,
                                                     ptrdiff_t length) {
    uint64_t mask;
    for (; at + 65 <= length; at += 64) {
        mask = bp_sieve_mask(sieve, text + at, NULL);
        for (; mask; mask &= mask - 1)
            if (bp_sieve_pair(sieve, text + at + bp_lowest_bit(mask))) return at + bp_lowest_bit(mask);
    }
    for (; at + 17 <= length; at += 16)
        for (mask = bp_sieve_bits(bp_sieve_shuffle(sieve, text + at)); mask; mask &= mask - 1)
            if (bp_sieve_pair(sieve, text + at + bp_lowest_bit(mask))) return at + bp_lowest_bit(mask);
    return at;
}
#endif

/* The first position from `at` on where a string may start; `stop` or more where there is none before it. The last byte
   of the text, which has no byte after it, always passes. */
static inline ptrdiff_t bp_sieve_next(const bp_sieve *sieve, const uint8_t *text, ptrdiff_t at, ptrdiff_t stop,
                                      ptrdiff_t length) {
#ifdef BP_SHUFFLE_TARGET
    if (sieve->shuffles) at = bp_sieve_shuffled(sieve, text, at, length);
#endif
    for (; at < stop && at + 1 < length; at++)
        if (bp_sieve_pair(sieve, text + at)) return at;
    return at;
}

#endif
