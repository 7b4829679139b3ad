/* Looking up a block of pre-tokens in the word cache (word_cache.h).

   Look-up takes two steps over a block of pre-tokens: bp_prepare loads every key without a branch on its length, hashes
   it and prefetches its entry; bp_emit compares and copies. By then the cache line has arrived. Doing both for one
   pre-token after the other was 1.2 times slower on English and four times slower on mixed languages, where the table
   does not fit the second-level cache. */
#ifndef BPETITE_CACHE_BLOCKS_H
#define BPETITE_CACHE_BLOCKS_H

#include "word_cache.h"
#include "../headers/simd.h"

/* The keys of a block of pre-tokens. */
typedef struct {
    uint64_t bytes[BP_BLOCK][2];   /* a bp_key; the hash and BP_IS_LONG for more than 15 bytes */
    uint64_t at[BP_BLOCK];         /* byte offset of the home slot in the table; 0 for a long key */
} bp_keys;

/* Not inlined: it would cost the loops their registers. */
BP_NOINLINE static void bp_prepare_long(const bp_cache *cache, const uint8_t *p, size_t length, ptrdiff_t i, bp_keys *keys) {
    const uint64_t hash = length <= BP_LONGEST ? bp_hash_long(&cache->secret, p, length) : 0;
    keys->bytes[i][0] = hash;
    keys->bytes[i][1] = BP_IS_LONG;
    keys->at[i] = 0;
    BP_PREFETCH(&cache->longs[hash >> cache->long_shift]);
}

#ifdef BP_HAS_AVX2
/* The first of two passes of bp_prepare: keys->bytes of all but the long pre-tokens. OUT: longs, which these are.
   Returns how many they are. */
BP_INLINE ptrdiff_t bp_load_keys(const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends, ptrdiff_t n,
                                 bp_keys *keys, uint8_t *longs) {
    ptrdiff_t long_count = 0;
#pragma GCC unroll 4
    for (ptrdiff_t i = 0; i < n; i++) {
        const size_t length = (size_t)(ends[i] - start);
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(text + start));
        start = ends[i];
        if (BP_UNLIKELY(length > BP_KEY_BYTES)) {
            longs[long_count++] = (uint8_t)i;
            continue;
        }
        _mm_storeu_si128((__m128i *)keys->bytes[i],
                         _mm_or_si128(_mm_and_si128(bytes, _mm_loadu_si128((const __m128i *)bp_key_forms[length][0])),
                                      _mm_loadu_si128((const __m128i *)bp_key_forms[length][1])));
    }
    return long_count;
}

BP_INLINE void bp_prepare_longs(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                                const uint8_t *longs, ptrdiff_t long_count, bp_keys *keys) {
    for (ptrdiff_t i = 0; i < long_count; i++) {
        const ptrdiff_t at = longs[i];
        const uint8_t *p = text + (at ? ends[at - 1] : start);
        bp_prepare_long(cache, p, (size_t)(text + ends[at] - p), at, keys);
    }
}
BP_AVX2_TARGET static void bp_prepare_avx2(const bp_cache *cache, const uint8_t *text, ptrdiff_t start,
                                           const ptrdiff_t *ends, ptrdiff_t n, bp_keys *keys) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    const int shift = cache->short_shift;
    const bp_secret secret = cache->secret;
    uint8_t longs[BP_BLOCK];
    const ptrdiff_t long_count = bp_load_keys(text, start, ends, n, keys, longs);
#pragma GCC unroll 4
    for (ptrdiff_t i = 0; i < n; i++) {
        keys->at[i] = (bp_hash_word(&secret, keys->bytes[i][0], keys->bytes[i][1]) >> shift) * sizeof(bp_short);
        BP_PREFETCH(shorts + keys->at[i]);
    }
    bp_prepare_longs(cache, text, start, ends, longs, long_count, keys);
}
#endif

/* IN: pre-tokens text[start:ends[0]], text[ends[0]:ends[1]], ...; with `padded`, sixteen bytes can be read from the
   start of each. OUT: keys[i:n]. */
BP_INLINE void bp_prepare_block(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                                ptrdiff_t i, ptrdiff_t n, int padded, bp_keys *keys) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    const int shift = cache->short_shift;
    const bp_secret secret = cache->secret;
    if (i) start = ends[i - 1];
    for (; i < n; i++) {
        const uint8_t *p = text + start;
        size_t length = (size_t)(ends[i] - start);
        start = ends[i];
        if (BP_LIKELY(length <= BP_KEY_BYTES)) {
            const bp_key key = padded ? bp_load_key(p, length) : bp_load_last_key(p, length);
            keys->bytes[i][0] = key.low;
            keys->bytes[i][1] = key.high;
            keys->at[i] = (bp_hash_word(&secret, key.low, key.high) >> shift) * sizeof(bp_short);
            BP_PREFETCH(shorts + keys->at[i]);
        } else {
            bp_prepare_long(cache, p, length, i, keys);
        }
    }
}

/* Not inlined, as bp_emit is not: their loops need the registers. */
BP_NOINLINE static void bp_prepare(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                                   ptrdiff_t n, ptrdiff_t readable, bp_keys *keys) {
    ptrdiff_t padded = n; /* pre-tokens with sixteen readable bytes: all but the last few of a text */
    while (padded > 0 && (padded > 1 ? ends[padded - 2] : start) + 16 > readable) padded--;
#ifdef BP_HAS_AVX2
    if (cache->simd != BP_SIMD_PLAIN && padded >= 16)
        bp_prepare_avx2(cache, text, start, ends, padded, keys);
    else
#endif
        bp_prepare_block(cache, text, start, ends, 0, padded, 1, keys);
    if (padded < n) bp_prepare_block(cache, text, start, ends, padded, n, 0, keys);
}

BP_INLINE int bp_same(const bp_short *entry, const uint64_t *key) {
#ifdef BP_SSE2
    __m128i a = _mm_loadu_si128((const __m128i *)&entry->low), b = _mm_loadu_si128((const __m128i *)key);
    return _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xFFFF;
#else
    return ((entry->low ^ key[0]) | (entry->high ^ key[1])) == 0;
#endif
}

/* The ids of a pre-token that is not in its home slot, as the cache holds them, or NULL. Not inlined: it would cost the
   loop its registers. */
BP_NOINLINE static const void *bp_find_far(bp_cache *cache, const bp_keys *keys, const uint8_t *p,
                                           const uint8_t *end, ptrdiff_t i, size_t *count) {
    const uint64_t *key = keys->bytes[i];
    if (key[1] == BP_IS_LONG) {
        const size_t length = (size_t)(end - p);
        const bp_long *known = length <= BP_LONGEST ? bp_find_long(cache, key[0], p, length) : NULL;
        if (!known) return NULL;
        *count = known->count;
        return cache->arena + known->key + (length + 3) / 4;
    }
    const bp_short *entry = bp_find_short(cache, key, keys->at[i]);
    if (!entry) return NULL;
    *count = entry->count;
    return entry->count <= bp_inline_ids(cache) ? (const void *)entry->ids : cache->arena + bp_arena_index(entry);
}

/* Write the ids in sixteen bytes of the cache. */
BP_INLINE void bp_put_ids(uint32_t *to, const void *from, int narrow) {
    uint16_t eight[8];
    if (!narrow) {
        memcpy(to, from, 16);
        return;
    }
    memcpy(eight, from, 16);
    for (int i = 0; i < 8; i++) to[i] = eight[i];
}

/* Write the ids of pre-tokens i, i + 1, ... as long as the cache knows them; returns the first it does not know, or n.
   INOUT: *used, the words of out that are taken. If the remaining capacity may not be enough, *starved is set, and the
   cache may know the pre-token returned. `narrow` is cache->narrow, a constant that is inlined. */
BP_INLINE ptrdiff_t bp_emit_block(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                  const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, uint32_t *out, ptrdiff_t capacity,
                                  ptrdiff_t *used, int *starved, const int narrow) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    const size_t held = narrow ? BP_NARROW_IDS : BP_WIDE_IDS, group = narrow ? 8 : 4; /* ids in an entry, in 16 bytes */
    uint32_t *at = out + *used;
    /* Up to here, every remaining pre-token can write its inline ids without a check of the capacity. */
    const uint32_t *limit = out + capacity - (ptrdiff_t)held * (n - i) - BP_SLACK;
    *starved = at > limit;
    if (*starved) return i;
    for (; i < n; i++) {
        const bp_short *entry = (const bp_short *)(shorts + keys->at[i]);
        const uint8_t *ids;
        size_t count = entry->count;
        /* before it is known whether the entry is the right one: a store off the critical path */
        bp_put_ids(at, entry->ids, narrow);
        if (BP_LIKELY(bp_same(entry, keys->bytes[i]))) {
            if (BP_LIKELY(count <= held)) {
                at += count;
                continue;
            }
            ids = (const uint8_t *)(cache->arena + bp_arena_index(entry));
        } else {
            size_t found; /* `count` itself would be kept in memory, as bp_find_far takes its address */
            ids = (const uint8_t *)bp_find_far(cache, keys, text + (i ? ends[i - 1] : start), text + ends[i], i, &found);
            if (!ids) break;
            count = found;
        }
        if (at + count > limit) {
            *starved = 1;
            break;
        }
        for (size_t done = 0; done < count; done += group, ids += 16) bp_put_ids(at + done, ids, narrow);
        at += count;
    }
    *used = at - out;
    return i;
}

/* bp_emit_block without output: adds to *total how many ids the pre-tokens have. */
BP_INLINE ptrdiff_t bp_tally_block(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                   const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, ptrdiff_t *total) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    const uint64_t (*key)[2] = keys->bytes + i;
    size_t sum = 0, found;
    for (; i < n; i++, key++) {
        const bp_short *entry = (const bp_short *)(shorts + keys->at[i]);
        if (BP_LIKELY(bp_same(entry, *key))) {
            sum += entry->count;
        } else {
            if (!bp_find_far(cache, keys, text + (i ? ends[i - 1] : start), text + ends[i], i, &found)) break;
            sum += found;
        }
    }
    *total += (ptrdiff_t)sum;
    return i;
}

#ifdef BP_HAS_AVX2
BP_AVX2_TARGET static ptrdiff_t bp_emit_avx2(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                             const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, uint32_t *out,
                                             ptrdiff_t capacity, ptrdiff_t *used, int *starved) {
    return cache->narrow ? bp_emit_block(cache, keys, text, start, ends, i, n, out, capacity, used, starved, 1)
                         : bp_emit_block(cache, keys, text, start, ends, i, n, out, capacity, used, starved, 0);
}

BP_AVX2_TARGET static ptrdiff_t bp_tally_avx2(bp_cache *cache, const bp_keys *keys, const uint8_t *text,
                                              ptrdiff_t start, const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n,
                                              ptrdiff_t *total) {
    return bp_tally_block(cache, keys, text, start, ends, i, n, total);
}
#endif

BP_NOINLINE static ptrdiff_t bp_emit(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                     const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, uint32_t *out, ptrdiff_t capacity,
                                     ptrdiff_t *used, int *starved) {
#ifdef BP_HAS_AVX2
    if (cache->simd != BP_SIMD_PLAIN)
        return bp_emit_avx2(cache, keys, text, start, ends, i, n, out, capacity, used, starved);
#endif
    return cache->narrow ? bp_emit_block(cache, keys, text, start, ends, i, n, out, capacity, used, starved, 1)
                         : bp_emit_block(cache, keys, text, start, ends, i, n, out, capacity, used, starved, 0);
}

BP_NOINLINE static ptrdiff_t bp_tally(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                      const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, ptrdiff_t *total) {
#ifdef BP_HAS_AVX2
    if (cache->simd != BP_SIMD_PLAIN)
        return bp_tally_avx2(cache, keys, text, start, ends, i, n, total);
#endif
    return bp_tally_block(cache, keys, text, start, ends, i, n, total);
}

#endif
