/* The word cache: pre-token -> token ids, one per worker, never shared between threads.

   Two open-addressing tables. A key of up to 15 bytes is in the entry, with its length, so a hit is one cache line and
   one comparison of sixteen bytes; one to three ids are there too, or up to seven where all ids fit into two bytes. Longer
   keys, and longer lists of ids, are in an arena that the entries point into. Equality is always decided on the bytes,
   never on a hash.

   The cache is bounded. It grows by doubling up to its bound. When it is full, or there is no memory to grow, it forgets
   everything and fills again: it then answers less often, never differently.

   Look-up takes two steps over a block of pre-tokens: bp_prepare loads every key without a branch on its length, hashes
   it and prefetches its entry; bp_emit compares and copies. By then the cache line has arrived. Doing both for one
   pre-token after the other was 1.2 times slower on English and four times slower on mixed languages, where the table
   does not fit the second-level cache. */
#ifndef BPETITE_CACHE_H
#define BPETITE_CACHE_H

#include "../headers/hashing.h"
#include "../headers/memory.h"
#include "../headers/words.h"

enum {
    BP_BLOCK = 192,        /* pre-tokens in flight between the two steps */
    BP_WIDE_IDS = 3,       /* in an entry, of four bytes each */
    BP_NARROW_IDS = 7,     /* in an entry, of two bytes each */
    BP_LONGEST = 256,      /* longer pre-tokens are not remembered */
    BP_SLACK = 8,          /* words that a hit may write after its ids */
    BP_LOOSE_ENTRIES = 1 << 17, /* a table that is moved for a lower load has fewer */
    BP_PROBES = 32         /* entries that are looked at for a key: the home entry and those after it */
};

typedef struct {
    uint64_t low, high;            /* its bp_key; high is 0 in an empty entry */
    uint8_t ids[14];               /* or the index in the arena when count is larger than what fits */
    uint16_t count;
} bp_short;

typedef struct {
    uint64_t hash;
    uint32_t length;               /* bytes; 0 in an empty entry */
    uint32_t key;                  /* index in the arena; the ids follow the key */
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
    int narrow;                    /* ids are held in two bytes, here and in the arena */
    bp_secret secret;
} bp_cache;

/* The high word of a long key. No entry has it, so a look-up among the short ones fails without a test for long keys. */
#define BP_IS_LONG UINT64_MAX

#define BP_SHORT_START 1024
#define BP_LONG_START 128
#define BP_ARENA_START 4096

static inline void bp_cache_free(bp_cache *cache) {
    bp_free(cache->shorts);
    bp_free(cache->longs);
    bp_free(cache->arena);
    memset(cache, 0, sizeof *cache);
}

static inline size_t bp_power_below(size_t n) {
    size_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

/* Make an empty cache that stays within `bytes`: half for short entries, a quarter each for long ones and the arena.
   Below what a start needs it is no cache: it holds nothing. With `narrow`, all ids are below 2^16. Returns 0 where there
   is no memory at all. */
static inline int bp_cache_init(bp_cache *cache, size_t bytes, int narrow, const bp_secret *secret) {
    memset(cache, 0, sizeof *cache);
    cache->secret = *secret;
    cache->narrow = narrow;
    cache->short_bound = bp_power_below(bytes / 2 / sizeof(bp_short));
    cache->long_bound = bp_power_below(bytes / 4 / sizeof(bp_long));
    cache->arena_bound = bytes / 4 / sizeof(uint32_t);
    if (cache->arena_bound > UINT32_MAX) cache->arena_bound = UINT32_MAX;
    size_t shorts = cache->short_bound < BP_SHORT_START ? cache->short_bound : BP_SHORT_START;
    size_t longs = cache->long_bound < BP_LONG_START ? cache->long_bound : BP_LONG_START;
    if (shorts < 2) shorts = 2;
    if (longs < 2) longs = 2;
    cache->shorts = (bp_short *)bp_zeros(shorts * sizeof(bp_short));
    cache->longs = (bp_long *)bp_zeros(longs * sizeof(bp_long));
    if (!cache->shorts || !cache->longs) {
        bp_cache_free(cache);
        return 0;
    }
    cache->short_shift = cache->long_shift = 64;
    while (shorts > 1) shorts /= 2, cache->short_shift--;
    while (longs > 1) longs /= 2, cache->long_shift--;
    return 1;
}

BP_INLINE size_t bp_short_entries(const bp_cache *cache) { return (size_t)1 << (64 - cache->short_shift); }
BP_INLINE size_t bp_long_entries(const bp_cache *cache) { return (size_t)1 << (64 - cache->long_shift); }

/* Sixteen or more bytes, equal? */
BP_INLINE int bp_equal_long(const uint8_t *p, const uint8_t *q, size_t n) {
    uint64_t differ = 0;
    for (size_t at = 0; at < n; at += 16) {
        size_t from = at + 16 <= n ? at : n - 16;
        differ |= (bp_load64(p + from) ^ bp_load64(q + from)) | (bp_load64(p + from + 8) ^ bp_load64(q + from + 8));
    }
    return differ == 0;
}

/* The entries that are looked at for a key: its home, the other one of the same cache line, and those of the lines after
   it. */
BP_INLINE size_t bp_probe_short(size_t home, size_t probe) {
    return probe < 2 ? home ^ probe : (home & ~(size_t)1) + probe;
}

/* The entry of a key that is not in its home entry, or NULL. It is swapped with the entry that is there: words come
   back soon, and the more frequent of two with one home should have it. The swap keeps both reachable: every
   slot between each key's home line and its new slot is in use. */
static inline const bp_short *bp_find_short(bp_cache *cache, const uint64_t *key, uint64_t home) {
    const size_t mask = bp_short_entries(cache) - 1, first = home / sizeof(bp_short);
    for (size_t probe = 0; probe < BP_PROBES; probe++) {
        const size_t at = bp_probe_short(first, probe) & mask;
        bp_short *entry = &cache->shorts[at];
        if (entry->low == key[0] && entry->high == key[1]) {
            bp_short *const best = &cache->shorts[first], other = *best;
            const size_t belongs = bp_hash_word(&cache->secret, other.low, other.high) >> cache->short_shift;
            if (((at - (belongs & ~(size_t)1)) & mask) >= BP_PROBES) return entry;
            *best = *entry;
            *entry = other;
            return best;
        }
        if (entry->high == 0) break;
    }
    return NULL;
}

static inline const bp_long *bp_find_long(const bp_cache *cache, uint64_t hash, const uint8_t *p, size_t length) {
    size_t mask = bp_long_entries(cache) - 1, at = hash >> cache->long_shift;
    for (int probe = 0; probe < BP_PROBES; probe++, at++) {
        const bp_long *entry = &cache->longs[at & mask];
        if (entry->length == 0) break;
        if (entry->hash == hash && entry->length == length
            && bp_equal_long((const uint8_t *)(cache->arena + entry->key), p, length))
            return entry;
    }
    return NULL;
}

/* The entry to write a new key to: the first empty one, or its home when all within reach are taken. */
static inline bp_short *bp_place_short(bp_short *shorts, size_t mask, size_t home) {
    for (size_t probe = 0; probe < BP_PROBES; probe++) {
        bp_short *entry = &shorts[bp_probe_short(home, probe) & mask];
        if (entry->high == 0) return entry;
    }
    return &shorts[home & mask];
}

static inline bp_long *bp_place_long(bp_long *longs, size_t mask, size_t home) {
    for (size_t at = home; at < home + BP_PROBES; at++)
        if (longs[at & mask].length == 0) return &longs[at & mask];
    return &longs[home & mask];
}

static inline void bp_cache_forget(bp_cache *cache) {
    memset(cache->shorts, 0, bp_short_entries(cache) * sizeof(bp_short));
    memset(cache->longs, 0, bp_long_entries(cache) * sizeof(bp_long));
    cache->short_used = cache->long_used = cache->arena_used = 0;
}

/* Room for `words` more in the arena; 0 where there is none within the bound. */
static inline int bp_arena_room(bp_cache *cache, size_t words) {
    size_t wanted = cache->arena_used + words + BP_SLACK, capacity = cache->arena_capacity;
    if (wanted <= capacity) return 1;
    if (wanted > cache->arena_bound) return 0;
    capacity = capacity ? 2 * capacity : BP_ARENA_START;
    if (capacity < wanted) capacity = wanted;
    if (capacity > cache->arena_bound) capacity = cache->arena_bound;
    uint32_t *grown = (uint32_t *)bp_resize(cache->arena, capacity * sizeof(uint32_t));
    if (!grown) return 0;
    cache->arena = grown;
    cache->arena_capacity = capacity;
    return 1;
}

/* Make the table of short entries twice as large; 0 where the bound or the memory does not allow it. */
static inline int bp_shorts_double(bp_cache *cache) {
    size_t size = bp_short_entries(cache), larger = 2 * size;
    int shift = cache->short_shift - 1;
    if (larger > cache->short_bound) return 0;
    bp_short *grown = (bp_short *)bp_zeros(larger * sizeof(bp_short));
    if (!grown) return 0;
    for (size_t i = 0; i < size; i++) {
        const bp_short *entry = &cache->shorts[i];
        if (entry->high == 0) continue;
        *bp_place_short(grown, larger - 1, bp_hash_word(&cache->secret, entry->low, entry->high) >> shift) = *entry;
    }
    bp_free(cache->shorts);
    cache->shorts = grown;
    cache->short_shift = shift;
    return 1;
}

/* Place for one more entry at a load of at most a half; 0 where there is none within the bound. */
static inline int bp_shorts_room(bp_cache *cache) {
    return 2 * (cache->short_used + 1) <= bp_short_entries(cache) || bp_shorts_double(cache);
}

/* Before a long call: at a load of at most a quarter fewer keys share a home. For a first call, which begins with an empty
   table, the larger one would cost more than that gains; so would moving a large table, which took as long as encoding
   megabytes. */
static inline void bp_cache_loosen(bp_cache *cache) {
    const size_t entries = bp_short_entries(cache);
    if (BP_UNLIKELY(4 * cache->short_used > entries) && entries < BP_LOOSE_ENTRIES) bp_shorts_double(cache);
}

static inline int bp_longs_room(bp_cache *cache) {
    size_t size = bp_long_entries(cache), larger = 2 * size;
    if (2 * (cache->long_used + 1) <= size) return 1;
    if (larger > cache->long_bound) return 0;
    bp_long *grown = (bp_long *)bp_zeros(larger * sizeof(bp_long));
    if (!grown) return 0;
    for (size_t i = 0; i < size; i++) {
        const bp_long *entry = &cache->longs[i];
        if (entry->length == 0) continue;
        *bp_place_long(grown, larger - 1, entry->hash >> (cache->long_shift - 1)) = *entry;
    }
    bp_free(cache->longs);
    cache->longs = grown;
    cache->long_shift--;
    return 1;
}

/* The number of ids in an entry. */
BP_INLINE size_t bp_inline_ids(const bp_cache *cache) { return cache->narrow ? BP_NARROW_IDS : BP_WIDE_IDS; }

/* The index in the arena of an entry that does not hold its ids. */
BP_INLINE uint32_t bp_arena_index(const bp_short *entry) {
    uint32_t index;
    memcpy(&index, entry->ids, sizeof index);
    return index;
}

/* Write ids, in two bytes each where `narrow`, as the cache holds them. */
static inline void bp_store_ids(void *to, const uint32_t *ids, size_t count, int narrow) {
    if (!narrow) {
        memcpy(to, ids, count * sizeof(uint32_t));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint16_t id = (uint16_t)ids[i];
        memcpy((uint8_t *)to + i * sizeof id, &id, sizeof id);
    }
}

/* Remember a pre-token that bp_emit did not find. It may be forgotten at once. Returns 1 where the table of short
   entries was replaced, so that keys have to be prepared again. */
static inline int bp_remember(bp_cache *cache, const uint64_t *key, const uint8_t *p, size_t length, const uint32_t *ids,
                        size_t count) {
    size_t words = (length > BP_KEY_BYTES ? (length + 3) / 4 : 0)
                   + (count > bp_inline_ids(cache) || length > BP_KEY_BYTES ? cache->narrow ? (count + 1) / 2 : count : 0);
    const bp_short *table = cache->shorts;
    if (length > BP_LONGEST) return 0;
    if (cache->arena_bound < 64 || cache->short_bound < 4 || cache->long_bound < 4) return 0;  /* none wanted */
    if (!bp_arena_room(cache, words) || !(length > BP_KEY_BYTES ? bp_longs_room(cache) : bp_shorts_room(cache))) {
        bp_cache_forget(cache);
        if (!bp_arena_room(cache, words)) return 0;
    }
    uint32_t index = (uint32_t)cache->arena_used;
    uint32_t *to = cache->arena + index;
    cache->arena_used += words;
    if (length > BP_KEY_BYTES) {
        bp_long *entry = bp_place_long(cache->longs, bp_long_entries(cache) - 1, key[0] >> cache->long_shift);
        entry->hash = key[0];
        entry->length = (uint32_t)length;
        entry->key = index;
        entry->count = (uint32_t)count;
        memcpy(to, p, length);
        bp_store_ids(to + (length + 3) / 4, ids, count, cache->narrow);
        cache->long_used++;
        return 0;
    }
    bp_short *entry = bp_place_short(
        cache->shorts, bp_short_entries(cache) - 1, bp_hash_word(&cache->secret, key[0], key[1]) >> cache->short_shift);
    entry->low = key[0];
    entry->high = key[1];
    entry->count = (uint16_t)count;
    if (count > bp_inline_ids(cache)) {
        bp_store_ids(to, ids, count, cache->narrow);
        memcpy(entry->ids, &index, sizeof index);
    } else {
        bp_store_ids(entry->ids, ids, count, cache->narrow);
    }
    cache->short_used++;
    return cache->shorts != table;
}

/* Blocks of pre-tokens. */

/* A pre-token that bp_prepare has seen. */
typedef struct {
    uint64_t key[2];               /* a bp_key; the hash and BP_IS_LONG for more than 15 bytes */
    uint64_t at;                   /* byte offset of the home slot in the table; 0 for a long key */
} bp_prepared;

/* Not inlined: it would cost the loops their registers. */
BP_NOINLINE static void bp_prepare_long(const bp_cache *cache, const uint8_t *p, size_t length, bp_prepared *one) {
    const uint64_t hash = length <= BP_LONGEST ? bp_hash_long(&cache->secret, p, length) : 0;
    one->key[0] = hash;
    one->key[1] = BP_IS_LONG;
    one->at = 0;
    BP_PREFETCH(&cache->longs[hash >> cache->long_shift]);
}

/* IN: pre-tokens text[start:ends[0]], text[ends[0]:ends[1]], ...; with `padded`, sixteen bytes can be read from the
   start of each. OUT: prepared[i:n]. */
BP_INLINE void bp_prepare_block(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                                ptrdiff_t i, ptrdiff_t n, int padded, bp_prepared *prepared) {
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
            prepared[i].key[0] = key.low;
            prepared[i].key[1] = key.high;
            prepared[i].at = (bp_hash_word(&secret, key.low, key.high) >> shift) * sizeof(bp_short);
            BP_PREFETCH(shorts + prepared[i].at);
        } else {
            bp_prepare_long(cache, p, length, &prepared[i]);
        }
    }
}

/* Not inlined, as bp_emit is not: their loops need the registers. */
BP_NOINLINE static void bp_prepare(const bp_cache *cache, const uint8_t *text, ptrdiff_t start, const ptrdiff_t *ends,
                                   ptrdiff_t n, ptrdiff_t readable, bp_prepared *prepared) {
    ptrdiff_t padded = n; /* pre-tokens with sixteen readable bytes: all but the last few of a text */
    while (padded > 0 && (padded > 1 ? ends[padded - 2] : start) + 16 > readable) padded--;
    bp_prepare_block(cache, text, start, ends, 0, padded, 1, prepared);
    if (padded < n) bp_prepare_block(cache, text, start, ends, padded, n, 0, prepared);
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
BP_NOINLINE static const void *bp_find_far(bp_cache *cache, const bp_prepared *one, const uint8_t *p,
                                           const uint8_t *end, size_t *count) {
    const uint64_t *key = one->key;
    if (key[1] == BP_IS_LONG) {
        const size_t length = (size_t)(end - p);
        const bp_long *known = length <= BP_LONGEST ? bp_find_long(cache, key[0], p, length) : NULL;
        if (!known) return NULL;
        *count = known->count;
        return cache->arena + known->key + (length + 3) / 4;
    }
    const bp_short *entry = bp_find_short(cache, key, one->at);
    if (!entry) return NULL;
    *count = entry->count;
    return entry->count <= bp_inline_ids(cache) ? (const void *)entry->ids : cache->arena + bp_arena_index(entry);
}

/* Write the ids in sixteen bytes of the cache, in two bytes each or four. */
BP_INLINE void bp_put_ids(uint8_t *to, const void *from, const int widen) {
    uint16_t eight[8];
    if (!widen) {
        memcpy(to, from, 16);
        return;
    }
    memcpy(eight, from, 16);
    for (int i = 0; i < 8; i++) {
        const uint32_t id = eight[i];
        memcpy(to + i * sizeof id, &id, sizeof id);
    }
}

/* Write the ids of pre-tokens i, i + 1, ... as long as the cache knows them; returns the first it does not know, or n.
   INOUT: *used, the ids in out. If the remaining capacity, in ids, may not be enough, *starved is set, and the cache may
   know the pre-token returned. `narrow` is cache->narrow, `width` the bytes of an id in out: constants that are inlined.
   */
BP_INLINE ptrdiff_t bp_emit_block(bp_cache *cache, const bp_prepared *prepared, const uint8_t *text, ptrdiff_t start,
                                  const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, void *out, ptrdiff_t capacity,
                                  ptrdiff_t *used, int *starved, const int narrow, const size_t width) {
    const uint8_t *shorts = (const uint8_t *)cache->shorts;
    const size_t held = narrow ? BP_NARROW_IDS : BP_WIDE_IDS, group = narrow ? 8 : 4; /* ids in an entry, in 16 bytes */
    const int widen = narrow && width == 4;
    uint8_t *at = (uint8_t *)out + (size_t)*used * width;
    /* Up to here, every remaining pre-token can write its inline ids without a check of the capacity. */
    const uint8_t *limit = (uint8_t *)out + (capacity - (ptrdiff_t)held * (n - i) - BP_SLACK) * (ptrdiff_t)width;
    *starved = at > limit;
    if (*starved) return i;
    for (; i < n; i++) {
        const bp_short *entry = (const bp_short *)(shorts + prepared[i].at);
        const uint8_t *ids;
        size_t count = entry->count;
        /* before it is known whether the entry is the right one: a store off the critical path */
        bp_put_ids(at, entry->ids, widen);
        if (BP_LIKELY(bp_same(entry, prepared[i].key))) {
            if (BP_LIKELY(count <= held)) {
                at += count * width;
                continue;
            }
            ids = (const uint8_t *)(cache->arena + bp_arena_index(entry));
        } else {
            size_t found; /* `count` itself would be kept in memory, as bp_find_far takes its address */
            ids = (const uint8_t *)bp_find_far(cache, &prepared[i], text + (i ? ends[i - 1] : start), text + ends[i], &found);
            if (!ids) break;
            count = found;
        }
        if (at + count * width > limit) {
            *starved = 1;
            break;
        }
        for (size_t done = 0; done < count; done += group, ids += 16) bp_put_ids(at + done * width, ids, widen);
        at += count * width;
    }
    *used = (at - (uint8_t *)out) / (ptrdiff_t)width;
    return i;
}

/* `width` is 4, or 2 where the cache is narrow. */
BP_NOINLINE static ptrdiff_t bp_emit(bp_cache *cache, const bp_prepared *prepared, const uint8_t *text, ptrdiff_t start,
                                     const ptrdiff_t *ends, ptrdiff_t i, ptrdiff_t n, void *out, ptrdiff_t capacity,
                                     ptrdiff_t *used, int *starved, int width) {
    return width == 2 ? bp_emit_block(cache, prepared, text, start, ends, i, n, out, capacity, used, starved, 1, 2)
         : cache->narrow ? bp_emit_block(cache, prepared, text, start, ends, i, n, out, capacity, used, starved, 1, 4)
                         : bp_emit_block(cache, prepared, text, start, ends, i, n, out, capacity, used, starved, 0, 4);
}

/* Pre-tokens that the cache does not know wait to be merged in parallel (merge_words.h). The output already has the ids
   after them, but not their own, which belong at `at`. After the merging, the ids after each of these places move up,
   the last place first. */

enum { BP_WAITING_SPAN = 4096 }; /* ids after the first place: moved ids stay in the first-level cache */

typedef struct {
    uint64_t key[2];               /* as in bp_prepared */
    const uint8_t *text;           /* its bytes */
    ptrdiff_t length;
    ptrdiff_t at;                  /* where its ids belong in the output */
    ptrdiff_t same;                /* the first one waiting that has the same bytes: only that is merged */
    bp_word word;
} bp_waiting;

/* Let text[0:length], up to BP_WORD_IDS bytes, wait after `count` others. */
BP_INLINE void bp_wait(bp_waiting *waiting, ptrdiff_t count, const uint64_t *key, const uint8_t *text, ptrdiff_t length,
                       ptrdiff_t at) {
    bp_waiting *one = &waiting[count];
    ptrdiff_t same = 0;
    for (; same < count; same++) {
        const bp_waiting *other = &waiting[same];
        if (other->key[0] == key[0] && other->key[1] == key[1]
            && (key[1] != BP_IS_LONG
                || (other->length == length && !memcmp(other->text, text, (size_t)length))))
            break;
    }
    one->key[0] = key[0];
    one->key[1] = key[1];
    one->text = text;
    one->length = length;
    one->at = at;
    one->same = same;
}

/* Remember the merged words; returns 1 if the table of short entries was replaced. */
static inline int bp_remember_waiting(bp_cache *cache, const bp_waiting *waiting, ptrdiff_t count) {
    int moved = 0;
    for (ptrdiff_t i = 0; i < count; i++, waiting++)
        if (waiting->same == i)
            moved |= bp_remember(cache, waiting->key, waiting->text, (size_t)waiting->length, waiting->word.ids,
                                 waiting->word.size);
    return moved;
}

/* The sum of their ids. */
BP_INLINE ptrdiff_t bp_count_waiting(const bp_waiting *waiting, ptrdiff_t count) {
    ptrdiff_t total = 0;
    for (ptrdiff_t i = 0; i < count; i++) total += waiting[waiting[i].same].word.size;
    return total;
}

/* Put their ids, `total` in all, to their places in the output; out[0:used] is written, in ids of `width` bytes. */
static inline void bp_put_waiting(const bp_waiting *waiting, ptrdiff_t count, ptrdiff_t total, void *out, ptrdiff_t used,
                                  int width) {
    while (count-- > 0) {
        const bp_word *word = &waiting[waiting[count].same].word;
        uint8_t *const at = (uint8_t *)out + waiting[count].at * width;
        memmove(at + total * width, at, (size_t)(used - waiting[count].at) * (size_t)width);
        total -= word->size;
        bp_store_ids(at + total * width, word->ids, word->size, width == 2);
        used = waiting[count].at;
    }
}

#endif
