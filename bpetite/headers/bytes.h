/* Loads, hashes and comparisons of byte strings, shared by the compiled modules. */
#ifndef BPETITE_BYTES_H
#define BPETITE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define BP_SSE2 1
#endif

#if defined(__GNUC__) || defined(__clang__)
#define BP_LIKELY(x) __builtin_expect(!!(x), 1)
#define BP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BP_PREFETCH(p) __builtin_prefetch(p)
#define BP_INLINE static inline __attribute__((always_inline))
#define BP_NOINLINE __attribute__((noinline))
#else
#define BP_LIKELY(x) (x)
#define BP_UNLIKELY(x) (x)
#define BP_PREFETCH(p) ((void)0)
#define BP_INLINE static __forceinline
#define BP_NOINLINE __declspec(noinline)
#endif

BP_INLINE uint64_t bp_load64(const void *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

#define BP_FACTOR_LOW UINT64_C(0x9E3779B97F4A7C15)
#define BP_FACTOR_HIGH UINT64_C(0x9FB21C651E98DF25)
#define BP_FACTOR_LAST UINT64_C(0xD6E8FEB86659FD93)

/* Hashes decide where to look, never what is equal. Tables take their slot from the high bits, which are the best: of
   bp_mix and bp_hash_bytes any bits from 20 up, of bp_hash_key and bp_hash_long the topmost ones. */

/* Spread the bits of x over the whole word. */
BP_INLINE uint64_t bp_mix(uint64_t x) {
    x *= BP_FACTOR_LOW;
    x ^= x >> 32;
    x *= BP_FACTOR_LAST;
    return x;
}

enum {
    BP_KEY_BYTES = 15, /* bytes that a key holds */
    BP_KEY_READ = 16   /* bytes that bp_load_key reads, whatever the length */
};

/* A string of up to 15 bytes as two words: its bytes, zeros, and its length in the last byte. No two share a key. */
typedef struct { uint64_t low, high; } bp_key;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BP_KEY_LENGTH_SHIFT 0
#else
#define BP_KEY_LENGTH_SHIFT 56
/* By length: which bits of the sixteen bytes to keep, and what sets the length. */
#define BP_KEY_FORM(n) {{n < 8 ? (UINT64_C(1) << 8 * (n % 8)) - 1 : UINT64_MAX, \
                         n > 8 ? (UINT64_C(1) << 8 * (n % 8)) - 1 : 0}, {0, (uint64_t)n << BP_KEY_LENGTH_SHIFT}}
static const uint64_t bp_key_forms[16][2][2] = {
    BP_KEY_FORM(0), BP_KEY_FORM(1), BP_KEY_FORM(2), BP_KEY_FORM(3), BP_KEY_FORM(4), BP_KEY_FORM(5), BP_KEY_FORM(6),
    BP_KEY_FORM(7), BP_KEY_FORM(8), BP_KEY_FORM(9), BP_KEY_FORM(10), BP_KEY_FORM(11), BP_KEY_FORM(12), BP_KEY_FORM(13),
    BP_KEY_FORM(14), BP_KEY_FORM(15),
};
#endif

/* The key of a string after which the text may end. */
BP_INLINE bp_key bp_load_last_key(const uint8_t *p, size_t n) {
    uint8_t bytes[BP_KEY_READ] = {0};
    memcpy(bytes, p, n);
    bp_key key = {bp_load64(bytes), bp_load64(bytes + 8)};
    key.high |= (uint64_t)n << BP_KEY_LENGTH_SHIFT;
    return key;
}

/* The key of a string from whose start BP_KEY_READ bytes can be read, without a branch on its length. */
BP_INLINE bp_key bp_load_key(const uint8_t *p, size_t n) {
#if BP_KEY_LENGTH_SHIFT
    bp_key key = {bp_load64(p) & bp_key_forms[n][0][0], bp_load64(p + 8) & bp_key_forms[n][0][1]};
    key.high |= (uint64_t)n << BP_KEY_LENGTH_SHIFT;
    return key;
#else
    return bp_load_last_key(p, n);
#endif
}

BP_INLINE uint64_t bp_hash_key(uint64_t low, uint64_t high) {
    return low * BP_FACTOR_LOW ^ high * BP_FACTOR_HIGH;
}

/* Hash 16 or more bytes; the last step overlaps the one before it. */
BP_INLINE uint64_t bp_hash_long(const uint8_t *p, size_t n) {
    uint64_t a = bp_load64(p) ^ n, b = bp_load64(p + 8);
    for (size_t at = 16; at < n; at += 16) {
        size_t from = at + 16 <= n ? at : n - 16;
        a = (a ^ (a >> 32)) * BP_FACTOR_LOW + bp_load64(p + from);
        b = (b ^ (b >> 32)) * BP_FACTOR_LAST + bp_load64(p + from + 8);
    }
    a = (a ^ (a >> 29)) * BP_FACTOR_HIGH;
    b = (b ^ (b >> 31)) * BP_FACTOR_LOW;
    a = (a ^ (b >> 17) ^ b) * BP_FACTOR_LAST;
    return a;
}

/* Hash n bytes. */
static inline uint64_t bp_hash_bytes(const uint8_t *p, size_t n) {
    if (n > BP_KEY_BYTES) return bp_hash_long(p, n);
    const bp_key key = bp_load_last_key(p, n);
    return bp_mix(bp_hash_key(key.low, key.high));
}

#endif
