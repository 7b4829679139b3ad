/* Keys of the pre-token table, and the search for special tokens. */
#ifndef BPETITE_COUNT_H
#define BPETITE_COUNT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define BP_COUNT_PREFETCH(p) __builtin_prefetch((p), 1)
#else
#define BP_COUNT_PREFETCH(p) ((void)(p))
#endif

/* A pre-token of up to 15 bytes as two words: its bytes, zeros, and its length in the last byte. No two share a key. */
typedef struct { uint64_t low, high; } bp_key;

#define BP_SHORT 15             /* bytes a key holds itself */
#define BP_READ 16              /* bytes bp_load_key reads, whatever the length */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
static inline bp_key bp_load_key(const uint8_t *p, size_t n) {
    uint8_t bytes[16] = {0};
    bp_key key;
    memcpy(bytes, p, n);
    bytes[15] = (uint8_t)n;
    memcpy(&key, bytes, 16);
    return key;
}
#else
/* Keeping n of 16 bytes is a shift by 8 * (8 - n) in one word and none or all of the other: no branch on n. */
static inline bp_key bp_load_key(const uint8_t *p, size_t n) {
    static const uint64_t keep[24] = {0, 0, 0, 0, 0, 0, 0, 0, 0,
        0xFFu, 0xFFFFu, 0xFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFFFu, 0xFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFu,
        0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu,
        0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu};
    bp_key key;
    memcpy(&key.low, p, 8);
    memcpy(&key.high, p + 8, 8);
    key.low &= keep[n + 8];
    key.high = (key.high & keep[n]) | (uint64_t)n << 56;
    return key;
}
#endif

/* The same for text that ends within 16 bytes of p. */
static inline bp_key bp_load_last_key(const uint8_t *p, size_t n) {
    uint8_t bytes[16] = {0};
    memcpy(bytes, p, n);
    return bp_load_key(bytes, n);
}

static inline uint64_t bp_hash_key(bp_key key) {
    uint64_t h = key.low ^ (key.high * 0x9E3779B97F4A7C15u);
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

static inline uint64_t bp_hash_text(const uint8_t *p, size_t n) {
    uint64_t h = n, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, p, n);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

/* Special tokens, longest first, so that the first one found at a place is the one to take. */
typedef struct {
    const uint8_t *bytes;       /* all of them, one behind the other */
    const size_t *ends;         /* where each one ends */
    size_t count;
    size_t longest;
    int only_first;             /* the first byte of all of them, or -1 */
    uint8_t is_first[256];
} bp_specials;

/* Where the leftmost special token at or after `from` begins, its length in *length; n where there is none. */
static inline size_t bp_find_special(const bp_specials *s, const uint8_t *p, size_t from, size_t n, size_t *length) {
    if (s->count == 0) return n;
    for (size_t at = from; at < n; at++) {
        if (s->only_first >= 0) {
            const uint8_t *hit = (const uint8_t *)memchr(p + at, s->only_first, n - at);
            if (!hit) return n;
            at = (size_t)(hit - p);
        } else {
            while (at < n && !s->is_first[p[at]]) at++;
            if (at == n) return n;
        }
        for (size_t i = 0, start = 0; i < s->count; start = s->ends[i++]) {
            size_t wanted = s->ends[i] - start;
            if (wanted <= n - at && memcmp(p + at, s->bytes + start, wanted) == 0) {
                *length = wanted;
                return at;
            }
        }
    }
    return n;
}

#endif
