/* Keys of the pre-token table, UTF-8 in and out of str, and the search for special tokens. */
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

static inline uint64_t bp_hash_long(const uint8_t *p, size_t n) {
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

/* Offset of the first byte that is not part of valid UTF-8 (RFC 3629), or n. */
static inline size_t bp_utf8_valid(const uint8_t *p, size_t n) {
    size_t at = 0;
    while (at < n) {
        uint64_t word;
        if (p[at] < 0x80) {
            at++;
            while (at + 8 <= n && (memcpy(&word, p + at, 8), !(word & 0x8080808080808080u))) at += 8;
            continue;
        }
        uint8_t first = p[at];
        size_t more = first >= 0xC2 && first <= 0xDF ? 1 : (first & 0xF0) == 0xE0 ? 2 : first >= 0xF0 && first <= 0xF4 ? 3 : 0;
        if (more == 0 || n - at <= more || (p[at + 1] & 0xC0) != 0x80) return at;
        if ((first == 0xE0 && p[at + 1] < 0xA0) || (first == 0xED && p[at + 1] > 0x9F) ||
            (first == 0xF0 && p[at + 1] < 0x90) || (first == 0xF4 && p[at + 1] > 0x8F)) return at;
        if (more >= 2 && (p[at + 2] & 0xC0) != 0x80) return at;
        if (more == 3 && (p[at + 3] & 0xC0) != 0x80) return at;
        at += more + 1;
    }
    return n;
}

/* Characters in valid UTF-8. */
static inline size_t bp_utf8_length(const uint8_t *p, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += (p[i] & 0xC0) != 0x80;
    return count;
}

/* Write n characters of the given width as UTF-8 into room for 4 * n bytes; return how many, or -1 - i for a lone
   surrogate at character i. */
#define BP_WRITE(name, type)                                                                \
    static inline ptrdiff_t name(const type *p, size_t n, uint8_t *out) {                  \
        uint8_t *begin = out;                                                               \
        for (size_t i = 0; i < n; i++) {                                                    \
            uint32_t c = p[i];                                                              \
            if (c < 0x80) {                                                                 \
                *out++ = (uint8_t)c;                                                        \
            } else if (c < 0x800) {                                                         \
                *out++ = (uint8_t)(0xC0 | c >> 6);                                          \
                *out++ = (uint8_t)(0x80 | (c & 0x3F));                                      \
            } else if (c < 0x10000) {                                                       \
                if (c - 0xD800 < 0x800) return -1 - (ptrdiff_t)i;                           \
                *out++ = (uint8_t)(0xE0 | c >> 12);                                         \
                *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));                                 \
                *out++ = (uint8_t)(0x80 | (c & 0x3F));                                      \
            } else {                                                                        \
                *out++ = (uint8_t)(0xF0 | c >> 18);                                         \
                *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));                                \
                *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));                                 \
                *out++ = (uint8_t)(0x80 | (c & 0x3F));                                      \
            }                                                                               \
        }                                                                                   \
        return out - begin;                                                                 \
    }
BP_WRITE(bp_write_1, uint8_t)
BP_WRITE(bp_write_2, uint16_t)
BP_WRITE(bp_write_4, uint32_t)

static inline ptrdiff_t bp_write(const void *data, int width, size_t start, size_t n, uint8_t *out) {
    if (width == 1) return bp_write_1((const uint8_t *)data + start, n, out);
    if (width == 2) return bp_write_2((const uint16_t *)data + start, n, out);
    return bp_write_4((const uint32_t *)data + start, n, out);
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
