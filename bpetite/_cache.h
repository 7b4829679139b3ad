/* The word cache: pre-token -> token ids, one per worker, never shared between threads.

   Two open-addressing tables. Up to 15 bytes the key lies in the entry, with its length, so a hit is one cache line and
   one comparison of sixteen bytes; one to three ids lie there too. Longer keys, and longer lists of ids, lie in an arena
   that the entries point into. Equality is always decided on the bytes, never on a hash.

   Look-up works in two steps over a block of pre-tokens: bp_prepare loads every key without a branch on its length,
   hashes it and prefetches its entry; bp_emit compares and copies. By then the line has come in from wherever it was.
   A single step over each pre-token in turn was 1.2 times slower on English and four times slower on mixed languages,
   where the table does not fit the second-level cache.

   The cache is bounded. It grows by doubling up to its bound; where it is full, or no memory is to be had for growing,
   it forgets everything and fills again. It never answers differently for that: it only answers less often. */
#ifndef BPETITE_CACHE_H
#define BPETITE_CACHE_H

#include "_memory.h"

#include "_bytes.h"
#include "_wide.h"


enum {
    BP_BLOCK = 192,        /* pre-tokens in flight between the two steps */
    BP_INLINE_IDS = 3,
    BP_INLINE_BYTES = 15,
    BP_LONGEST = 256,      /* longer pre-tokens are not remembered */
    BP_SLACK = 4,          /* words that a hit may write behind its ids */
    BP_PROBES = 32         /* an entry lies at most so far from its place, whatever the keys are */
};

typedef struct {
    uint64_t low, high;            /* the bytes, zeros behind them; the length in the last byte, 0 in an empty entry */
    uint32_t ids[BP_INLINE_IDS];   /* or ids[0] = place in the arena where count is larger */
    uint32_t count;
} bp_short;

typedef struct {
    uint64_t hash;
    uint32_t length;               /* bytes; 0 in an empty entry */
    uint32_t key;                  /* place in the arena, ids behind the key */
    uint32_t count;
    uint32_t unused;
} bp_long;

typedef struct {
    bp_short *shorts;
    bp_long *longs;
    uint32_t *arena;
    int short_shift, long_shift;   /* entry = hash >> shift */
    size_t short_used, long_used, arena_used, arena_capacity;
    size_t short_bound, long_bound, arena_bound;  /* entries, entries, words */
    size_t forgotten;              /* how often it was full */
    int wide;                      /* the machine has wide shuffles, see _wide.h */
} bp_cache;

/* The keys of a block of pre-tokens. */
typedef struct {
    uint64_t bytes[BP_BLOCK][2];   /* low and high as in bp_short; the hash and BP_IS_LONG for more than 15 bytes */
    uint64_t at[BP_BLOCK];         /* where its entry should be, in bytes from the table's begin; 0 for a long one */
} bp_keys;

/* No entry has it: a long key need not be told from a short one before its look-up has failed. */
#define BP_IS_LONG UINT64_MAX

static const uint8_t bp_masks[16][16] = {
    {0},
    {255},
    {255, 255},
    {255, 255, 255},
    {255, 255, 255, 255},
    {255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
    {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
};

#ifdef BP_WIDE
/* The same masks, and what sets the length. */
#define BP_FORM(n) {{n < 8 ? (UINT64_C(1) << 8 * (n % 8)) - 1 : UINT64_MAX, \
                     n > 8 ? (UINT64_C(1) << 8 * (n % 8)) - 1 : 0}, {0, (uint64_t)n << 56}}
static const uint64_t bp_forms[16][2][2] = {
    BP_FORM(0), BP_FORM(1), BP_FORM(2), BP_FORM(3), BP_FORM(4), BP_FORM(5), BP_FORM(6), BP_FORM(7),
    BP_FORM(8), BP_FORM(9), BP_FORM(10), BP_FORM(11), BP_FORM(12), BP_FORM(13), BP_FORM(14), BP_FORM(15),
};
#endif

#define BP_SHORT_START 4096
#define BP_LONG_START 512
#define BP_ARENA_START 4096

static inline void bp_cache_free(bp_cache *cache) {
    free(cache->shorts);
    free(cache->longs);
    free(cache->arena);
    memset(cache, 0, sizeof *cache);
}

static inline size_t bp_power_below(size_t n) {
    size_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

/* Make an empty cache that stays within `bytes`: half for short entries, a quarter each for long ones and the arena.
   Below what a start needs it is no cache: it holds nothing. Returns 0 where there is no memory at all. */
static inline int bp_cache_init(bp_cache *cache, size_t bytes) {
    memset(cache, 0, sizeof *cache);
    cache->wide = bp_wide_supported();
    cache->short_bound = bp_power_below(bytes / 2 / sizeof(bp_short));
    cache->long_bound = bp_power_below(bytes / 4 / sizeof(bp_long));
    cache->arena_bound = bytes / 4 / sizeof(uint32_t);
    if (cache->arena_bound > UINT32_MAX) cache->arena_bound = UINT32_MAX;
    size_t shorts = cache->short_bound < BP_SHORT_START ? cache->short_bound : BP_SHORT_START;
    size_t longs = cache->long_bound < BP_LONG_START ? cache->long_bound : BP_LONG_START;
    if (shorts < 2) shorts = 2;
    if (longs < 2) longs = 2;
    cache->shorts = (bp_short *)calloc(shorts, sizeof(bp_short));
    cache->longs = (bp_long *)calloc(longs, sizeof(bp_long));
    if (!cache->shorts || !cache->longs) {
        bp_cache_free(cache);
        return 0;
    }
    cache->short_shift = cache->long_shift = 64;
    while (shorts > 1) shorts /= 2, cache->short_shift--;
    while (longs > 1) longs /= 2, cache->long_shift--;
    return 1;
}

BP_INLINE size_t bp_shorts(const bp_cache *cache) { return (size_t)1 << (64 - cache->short_shift); }
BP_INLINE size_t bp_longs(const bp_cache *cache) { return (size_t)1 << (64 - cache->long_shift); }

#define BP_FACTOR_LOW UINT64_C(0x9E3779B97F4A7C15)
#define BP_FACTOR_HIGH UINT64_C(0x9FB21C651E98DF25)

BP_INLINE uint64_t bp_hash_short(uint64_t low, uint64_t high) {
    return low * BP_FACTOR_LOW ^ high * BP_FACTOR_HIGH;
}

/* 16 to BP_LONGEST bytes; the last step overlaps the one before it. */
BP_INLINE uint64_t bp_hash_long(const uint8_t *p, size_t n) {
    uint64_t a = bp_load64(p) ^ n, b = bp_load64(p + 8);
    for (size_t at = 16; at < n; at += 16) {
        size_t from = at + 16 <= n ? at : n - 16;
        a = (a ^ (a >> 32)) * 0x9E3779B97F4A7C15u + bp_load64(p + from);
        b = (b ^ (b >> 32)) * 0xD6E8FEB86659FD93u + bp_load64(p + from + 8);
    }
    a = (a ^ (a >> 29)) * 0x9FB21C651E98DF25u;
    b = (b ^ (b >> 31)) * 0x9E3779B97F4A7C15u;
    a = (a ^ (b >> 17) ^ b) * 0xD6E8FEB86659FD93u;
    return a;
}

/* Sixteen or more bytes, equal? */
BP_INLINE int bp_equal_long(const uint8_t *p, const uint8_t *q, size_t n) {
    uint64_t differ = 0;
    for (size_t at = 0; at < n; at += 16) {
        size_t from = at + 16 <= n ? at : n - 16;
        differ |= (bp_load64(p + from) ^ bp_load64(q + from)) | (bp_load64(p + from + 8) ^ bp_load64(q + from + 8));
    }
    return differ == 0;
}

BP_INLINE void bp_prepare_long(const bp_cache *cache, const uint8_t *p, size_t length, ptrdiff_t i, bp_keys *keys) {
    const uint64_t hash = length <= BP_LONGEST ? bp_hash_long(p, length) : 0;
    keys->bytes[i][0] = hash;
    keys->bytes[i][1] = BP_IS_LONG;
    keys->at[i] = 0;
    BP_PREFETCH(&cache->longs[hash >> cache->long_shift]);
}

#ifdef BP_WIDE
/* bp_prepare_block in two passes: the bytes of the keys; their hashes, eight side by side. */
BP_WIDE_TARGET static void bp_prepare_wide(const bp_cache *cache, const uint8_t *text, ptrdiff_t start,
                                           const ptrdiff_t *ends, ptrdiff_t n, bp_keys *keys) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    uint8_t longs[BP_BLOCK];
    const ptrdiff_t first = start;
    ptrdiff_t long_count = 0, i;
#pragma GCC unroll 4
    for (i = 0; i < n; i++) {
        const size_t length = (size_t)(ends[i] - start);
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(text + start));
        start = ends[i];
        if (BP_UNLIKELY(length > BP_INLINE_BYTES)) {
            longs[long_count++] = (uint8_t)i;
            continue;
        }
        _mm_storeu_si128((__m128i *)keys->bytes[i],
                         _mm_or_si128(_mm_and_si128(bytes, _mm_loadu_si128((const __m128i *)bp_forms[length][0])),
                                      _mm_loadu_si128((const __m128i *)bp_forms[length][1])));
    }
    const __m512i factors = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)BP_FACTOR_HIGH, (long long)BP_FACTOR_LOW));
    const __m512i evens = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
    const __m128i shift = _mm_cvtsi32_si128(cache->short_shift);
    for (i = 0; i < n; i += 8) { /* the last few perhaps in vain */
        __m512i a = _mm512_mullo_epi64(_mm512_loadu_si512(keys->bytes[i]), factors);
        __m512i b = _mm512_mullo_epi64(_mm512_loadu_si512(keys->bytes[i + 4]), factors);
        a = _mm512_xor_si512(a, _mm512_shuffle_epi32(a, (_MM_PERM_ENUM)0x4E));
        b = _mm512_xor_si512(b, _mm512_shuffle_epi32(b, (_MM_PERM_ENUM)0x4E));
        a = _mm512_srl_epi64(_mm512_permutex2var_epi64(a, evens, b), shift);
        _mm512_storeu_si512(keys->at + i, _mm512_slli_epi64(a, 5));
        for (int j = 0; j < 8; j++) BP_PREFETCH(shorts + keys->at[i + j]);
    }
    for (i = 0; i < long_count; i++) {
        const ptrdiff_t at = longs[i];
        const uint8_t *p = text + (at ? ends[at - 1] : first);
        bp_prepare_long(cache, p, (size_t)(text + ends[at] - p), at, keys);
    }
}
#endif

/* IN: pre-tokens text[start:ends[0]], text[ends[0]:ends[1]], ...; with `padded`, sixteen bytes can be read from the
   start of each. OUT: keys of the first n. */
BP_INLINE void bp_prepare_block(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                                ptrdiff_t n, int padded, bp_keys *keys) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    const int shift = cache->short_shift;
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint8_t *p = text + start;
        size_t length = (size_t)(ends[i] - start);
        start = ends[i];
        if (BP_LIKELY(length <= BP_INLINE_BYTES)) {
            uint64_t low, high;
            if (padded) {
                low = bp_load64(p) & bp_load64(bp_masks[length]);
                high = bp_load64(p + 8) & bp_load64(bp_masks[length] + 8);
            } else {
                uint8_t copy[16] = {0};
                memcpy(copy, p, length);
                low = bp_load64(copy);
                high = bp_load64(copy + 8);
            }
            high |= (uint64_t)length << 56;
            keys->bytes[i][0] = low;
            keys->bytes[i][1] = high;
            keys->at[i] = (bp_hash_short(low, high) >> shift) * sizeof(bp_short);
            BP_PREFETCH(shorts + keys->at[i]);
        } else {
            bp_prepare_long(cache, p, length, i, keys);
        }
    }
}

static inline void bp_prepare(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                              ptrdiff_t n, ptrdiff_t readable, bp_keys *keys) {
    ptrdiff_t last = n > 1 ? ends[n - 2] : start;
    if (BP_UNLIKELY(last + 16 > readable))
        bp_prepare_block(cache, text, start, ends, n, 0, keys);
#ifdef BP_WIDE
    else if (cache->wide)
        bp_prepare_wide(cache, text, start, ends, n, keys);
#endif
    else
        bp_prepare_block(cache, text, start, ends, n, 1, keys);
}

BP_INLINE int bp_same(const bp_short *entry, const uint64_t *key) {
#ifdef BP_SSE2
    __m128i a = _mm_loadu_si128((const __m128i *)&entry->low), b = _mm_loadu_si128((const __m128i *)key);
    return _mm_movemask_epi8(_mm_cmpeq_epi8(a, b)) == 0xFFFF;
#else
    return entry->low == key[0] && entry->high == key[1];
#endif
}

/* The entry of a key that is not in its first place, or NULL. It changes places with the one that is: words come back
   soon, and the more frequent of two that want one place should have it. Both are found there as before, since no place
   between where either belongs and where it comes to lie is empty. */
static inline const bp_short *bp_find_short(bp_cache *cache, const uint64_t *key, uint64_t home) {
    const size_t mask = bp_shorts(cache) - 1, first = home / sizeof(bp_short);
    for (size_t probe = 0; probe < BP_PROBES; probe++) {
        bp_short *entry = &cache->shorts[(first + probe) & mask];
        if (entry->low == key[0] && entry->high == key[1]) {
            bp_short *const best = &cache->shorts[first], other = *best;
            const size_t belongs = bp_hash_short(other.low, other.high) >> cache->short_shift;
            if (((first + probe - belongs) & mask) >= BP_PROBES) return entry;
            *best = *entry;
            *entry = other;
            return best;
        }
        if (entry->high == 0) break;
    }
    return NULL;
}

static inline const bp_long *bp_find_long(const bp_cache *cache, uint64_t hash, const uint8_t *p, size_t length) {
    size_t mask = bp_longs(cache) - 1, at = hash >> cache->long_shift;
    for (int probe = 0; probe < BP_PROBES; probe++, at++) {
        const bp_long *entry = &cache->longs[at & mask];
        if (entry->length == 0) break;
        if (entry->hash == hash && entry->length == length
            && bp_equal_long((const uint8_t *)(cache->arena + entry->key), p, length))
            return entry;
    }
    return NULL;
}

/* The ids of a pre-token that is not in its first place, or NULL. Not inlined: it would cost the loop its registers. */
BP_NOINLINE static const uint32_t *bp_find_far(bp_cache *cache, const bp_keys *keys, const uint8_t *p,
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
    return entry->count <= BP_INLINE_IDS ? entry->ids : cache->arena + entry->ids[0];
}

/* The entry to write a new key to: the first empty one, or its own place where all near it are taken. */
static inline bp_short *bp_place_short(bp_short *shorts, size_t mask, size_t home) {
    for (size_t at = home; at < home + BP_PROBES; at++)
        if (shorts[at & mask].high == 0) return &shorts[at & mask];
    return &shorts[home & mask];
}

static inline bp_long *bp_place_long(bp_long *longs, size_t mask, size_t home) {
    for (size_t at = home; at < home + BP_PROBES; at++)
        if (longs[at & mask].length == 0) return &longs[at & mask];
    return &longs[home & mask];
}

/* Put out the ids of pre-tokens i, i + 1, ... while the cache knows them; returns the first it does not know, or n.
   INOUT: *used, the words of out that are taken. Where the rest of its capacity does not do, *starved is set and the
   pre-token returned may be known. */
BP_INLINE ptrdiff_t bp_emit_block(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                  const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, uint32_t *out, ptrdiff_t capacity,
                                  ptrdiff_t *used, int *starved) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    uint32_t *at = out + *used;
    /* Every remaining pre-token may put out its inline ids without a look at the room that is left. */
    const uint32_t *limit = out + capacity - BP_INLINE_IDS * (n - i) - BP_SLACK;
    *starved = at > limit;
    if (!*starved)
        for (; i < n; i++) {
            const bp_short *entry = (const bp_short *)(shorts + keys->at[i]);
            const uint32_t *ids;
            size_t count;
            if (BP_LIKELY(bp_same(entry, keys->bytes[i]))) {
                count = entry->count;
                memcpy(at, entry->ids, 16);
                if (BP_LIKELY(count <= BP_INLINE_IDS)) {
                    at += count;
                    continue;
                }
                ids = cache->arena + entry->ids[0];
            } else {
                ids = bp_find_far(cache, keys, text + (i ? ends[i - 1] : start), text + ends[i], i, &count);
                if (!ids) break;
            }
            if (at + count > limit) {
                *starved = 1;
                break;
            }
            for (size_t done = 0; done < count; done += 4) memcpy(at + done, ids + done, 16);
            at += count;
        }
    *used = at - out;
    return i;
}

#ifdef BP_WIDE
/* bp_emit_block with the comparison of such a machine, and one counter for all that it walks over. */
BP_WIDE_TARGET static ptrdiff_t bp_emit_wide(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                             const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, uint32_t *out,
                                             ptrdiff_t capacity, ptrdiff_t *used, int *starved) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    uint32_t *at = out + *used;
    const uint32_t *limit = out + capacity - BP_INLINE_IDS * (n - i) - BP_SLACK;
    *starved = at > limit;
    if (!*starved)
        for (; i < n; i++) {
            const bp_short *entry = (const bp_short *)(shorts + keys->at[i]);
            const __m128i differ = _mm_xor_si128(_mm_loadu_si128((const __m128i *)keys->bytes[i]),
                                                 _mm_loadu_si128((const __m128i *)&entry->low));
            size_t count = entry->count;
            const uint32_t *ids = entry->ids;
            _mm_storeu_si128((__m128i *)at, _mm_loadu_si128((const __m128i *)ids));
            if (BP_LIKELY(_mm_testz_si128(differ, differ))) {
                if (BP_LIKELY(count <= BP_INLINE_IDS)) {
                    at += count;
                    continue;
                }
                ids = cache->arena + ids[0];
            } else {
                ids = bp_find_far(cache, keys, text + (i ? ends[i - 1] : start), text + ends[i], i, &count);
                if (!ids) break;
            }
            if (at + count > limit) {
                *starved = 1;
                break;
            }
            for (size_t done = 0; done < count; done += 4) memcpy(at + done, ids + done, 16);
            at += count;
        }
    *used = at - out;
    return i;
}
#endif

static inline ptrdiff_t bp_emit(bp_cache *cache, const bp_keys *keys, const uint8_t *text, ptrdiff_t start,
                                const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, uint32_t *out, ptrdiff_t capacity,
                                ptrdiff_t *used, int *starved) {
#ifdef BP_WIDE
    if (cache->wide) return bp_emit_wide(cache, keys, text, start, ends, i, n, out, capacity, used, starved);
#endif
    return bp_emit_block(cache, keys, text, start, ends, i, n, out, capacity, used, starved);
}

static inline void bp_cache_forget(bp_cache *cache) {
    memset(cache->shorts, 0, bp_shorts(cache) * sizeof(bp_short));
    memset(cache->longs, 0, bp_longs(cache) * sizeof(bp_long));
    cache->short_used = cache->long_used = cache->arena_used = 0;
    cache->forgotten++;
}

/* Room for `words` more in the arena; 0 where there is none within the bound. */
static inline int bp_arena_room(bp_cache *cache, size_t words) {
    size_t wanted = cache->arena_used + words + BP_SLACK, capacity = cache->arena_capacity;
    if (wanted <= capacity) return 1;
    if (wanted > cache->arena_bound) return 0;
    capacity = capacity ? 2 * capacity : BP_ARENA_START;
    if (capacity < wanted) capacity = wanted;
    if (capacity > cache->arena_bound) capacity = cache->arena_bound;
    uint32_t *grown = (uint32_t *)realloc(cache->arena, capacity * sizeof(uint32_t));
    if (!grown) return 0;
    cache->arena = grown;
    cache->arena_capacity = capacity;
    return 1;
}

/* Place for one more entry at a load of at most a half; 0 where there is none within the bound. */
static inline int bp_shorts_room(bp_cache *cache) {
    size_t size = bp_shorts(cache);
    if (2 * (cache->short_used + 1) <= size) return 1;
    size_t larger = 2 * size;
    int shift = cache->short_shift - 1;
    if (larger > cache->short_bound) return 0;
    bp_short *grown = (bp_short *)bp_allocate_zeros(larger, sizeof(bp_short));
    if (!grown) return 0;
    for (size_t i = 0; i < size; i++) {
        const bp_short *entry = &cache->shorts[i];
        if (entry->high == 0) continue;
        *bp_place_short(grown, larger - 1, bp_hash_short(entry->low, entry->high) >> shift) = *entry;
    }
    free(cache->shorts);
    cache->shorts = grown;
    cache->short_shift = shift;
    return 1;
}

static inline int bp_longs_room(bp_cache *cache) {
    size_t size = bp_longs(cache), larger = 2 * size;
    if (2 * (cache->long_used + 1) <= size) return 1;
    if (larger > cache->long_bound) return 0;
    bp_long *grown = (bp_long *)bp_allocate_zeros(larger, sizeof(bp_long));
    if (!grown) return 0;
    for (size_t i = 0; i < size; i++) {
        const bp_long *entry = &cache->longs[i];
        if (entry->length == 0) continue;
        *bp_place_long(grown, larger - 1, entry->hash >> (cache->long_shift - 1)) = *entry;
    }
    free(cache->longs);
    cache->longs = grown;
    cache->long_shift--;
    return 1;
}

/* Remember a pre-token that bp_emit did not find. It may be forgotten at once. Returns 1 where the table of short
   entries was replaced, so that keys have to be prepared again. */
static inline int bp_remember(bp_cache *cache, const uint64_t *key, const uint8_t *p, size_t length, const uint32_t *ids,
                        size_t count) {
    size_t words = (length > BP_INLINE_BYTES ? (length + 3) / 4 : 0)
                   + (count > BP_INLINE_IDS || length > BP_INLINE_BYTES ? count : 0);
    const bp_short *table = cache->shorts;
    if (length > BP_LONGEST) return 0;
    if (cache->arena_bound < 64 || cache->short_bound < 4 || cache->long_bound < 4) return 0;  /* none wanted */
    if (!bp_arena_room(cache, words) || !(length > BP_INLINE_BYTES ? bp_longs_room(cache) : bp_shorts_room(cache))) {
        bp_cache_forget(cache);
        if (!bp_arena_room(cache, words)) return 0;
    }
    uint32_t place = (uint32_t)cache->arena_used;
    uint32_t *to = cache->arena + place;
    cache->arena_used += words;
    if (length > BP_INLINE_BYTES) {
        bp_long *entry = bp_place_long(cache->longs, bp_longs(cache) - 1, key[0] >> cache->long_shift);
        entry->hash = key[0];
        entry->length = (uint32_t)length;
        entry->key = place;
        entry->count = (uint32_t)count;
        memcpy(to, p, length);
        memcpy(to + (length + 3) / 4, ids, count * sizeof(uint32_t));
        cache->long_used++;
        return 0;
    }
    bp_short *entry = bp_place_short(
        cache->shorts, bp_shorts(cache) - 1, bp_hash_short(key[0], key[1]) >> cache->short_shift);
    entry->low = key[0];
    entry->high = key[1];
    entry->count = (uint32_t)count;
    if (count > BP_INLINE_IDS) {
        memcpy(to, ids, count * sizeof(uint32_t));
        entry->ids[0] = place;
    } else {
        memcpy(entry->ids, ids, count * sizeof(uint32_t));
    }
    cache->short_used++;
    return cache->shorts != table;
}

#endif
