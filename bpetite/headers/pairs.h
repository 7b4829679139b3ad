/* Pairs of token ids and their ranks: one open-addressing hash table, and an array rank -> resulting id.

   The table does not fit into the first caches. Two smaller ones keep most look-ups away from it: pairs of ids below 256,
   the single bytes in most vocabularies, have a table of their own, and a Bloom filter with one hash function answers for
   most pairs that have no rank. */
#ifndef BPETITE_PAIRS_H
#define BPETITE_PAIRS_H

#include "bytes.h"
#include "hashing.h"
#include "memory.h"

#define BP_NO_MERGE UINT32_MAX

enum { BP_LOW_IDS = 256 }; /* pairs of ids below it have a table of their own */

typedef struct {
    uint64_t pair;         /* left id << 32 | right id */
    uint32_t rank;         /* BP_NO_MERGE in an empty entry */
    uint32_t unused;
} bp_pair_entry;

typedef struct {
    bp_pair_entry *entries; /* mask + 1, and one more, which is always empty */
    uint32_t *low;         /* left * BP_LOW_IDS + right -> rank or BP_NO_MERGE, of ids below BP_LOW_IDS */
    uint64_t *filter;      /* a bit for each pair, at its hash */
    uint64_t filter_mask;
    uint32_t *joined;      /* rank -> id of the token that a pair of this rank becomes; one more than ranks */
    uint64_t mask;
    int shift;             /* a pair belongs into entry hash >> shift */
    bp_secret secret;
} bp_pairs;

static inline void bp_pairs_free(bp_pairs *pairs) {
    bp_free(pairs->entries);
    bp_free(pairs->low);
    bp_free(pairs->filter);
    bp_free(pairs->joined);
}

/* Make an empty table for `count` pairs with ranks below `ranks`. Returns 0 without memory; call bp_pairs_free then,
   too. */
static inline int bp_pairs_init(bp_pairs *pairs, const bp_secret *secret, uint64_t count, uint64_t ranks) {
    uint64_t capacity = 16;
    memset(pairs, 0, sizeof *pairs);
    pairs->secret = *secret;
    pairs->shift = 60;
    /* A load of up to 0.8: a smaller table, which misses the caches less often, is worth more than shorter probes. */
    for (; capacity < count + count / 4; capacity *= 2) pairs->shift--;
    pairs->mask = capacity - 1;
    pairs->filter_mask = 8 * capacity - 1;
    pairs->entries = (bp_pair_entry *)bp_resize(NULL, (size_t)(capacity + 1) * sizeof(bp_pair_entry));
    pairs->joined = (uint32_t *)bp_zeros((size_t)(ranks + 1) * sizeof(uint32_t));
    pairs->low = (uint32_t *)bp_resize(NULL, BP_LOW_IDS * BP_LOW_IDS * sizeof(uint32_t));
    pairs->filter = (uint64_t *)bp_zeros((size_t)capacity);
    if (!pairs->entries || !pairs->joined || !pairs->low || !pairs->filter) return 0;
    memset(pairs->low, 0xFF, BP_LOW_IDS * BP_LOW_IDS * sizeof(uint32_t));
    for (uint64_t at = 0; at <= capacity; at++) {
        const bp_pair_entry empty = {0, BP_NO_MERGE, 0};
        pairs->entries[at] = empty;
    }
    return 1;
}

BP_INLINE uint64_t bp_pair_hash(const bp_pairs *pairs, uint32_t left, uint32_t right) {
    return bp_mix(&pairs->secret, (uint64_t)left << 32 | right);
}

/* 1 if a pair of this hash may be in the table, else 0. */
BP_INLINE uint64_t bp_pair_likely(const bp_pairs *pairs, uint64_t hash) {
    return pairs->filter[(hash & pairs->filter_mask) >> 6] >> (hash & 63) & 1;
}

/* Returns 0 where the pair is there already; then it keeps its rank. */
static inline int bp_pairs_add(bp_pairs *pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t joined) {
    const uint64_t pair = (uint64_t)left << 32 | right, hash = bp_pair_hash(pairs, left, right);
    uint64_t at = hash >> pairs->shift;
    pairs->joined[rank] = joined;
    for (; pairs->entries[at].rank != BP_NO_MERGE; at = (at + 1) & pairs->mask)
        if (pairs->entries[at].pair == pair) return 0;
    pairs->entries[at].pair = pair;
    pairs->entries[at].rank = rank;
    pairs->filter[(hash & pairs->filter_mask) >> 6] |= UINT64_C(1) << (hash & 63);
    if (left < BP_LOW_IDS && right < BP_LOW_IDS) pairs->low[left * BP_LOW_IDS + right] = rank;
    return 1;
}

/* The rank of a pair, or BP_NO_MERGE. */
BP_INLINE uint32_t bp_pair_rank(const bp_pairs *pairs, uint32_t left, uint32_t right) {
    if (left < BP_LOW_IDS && right < BP_LOW_IDS) return pairs->low[left * BP_LOW_IDS + right];
    const uint64_t pair = (uint64_t)left << 32 | right, hash = bp_pair_hash(pairs, left, right);
    if (!bp_pair_likely(pairs, hash)) return BP_NO_MERGE;
    for (uint64_t at = hash >> pairs->shift;; at = (at + 1) & pairs->mask) {
        const bp_pair_entry *entry = &pairs->entries[at];
        if (entry->pair == pair || entry->rank == BP_NO_MERGE) return entry->rank;
    }
}

#endif
