/* Loads and keys of byte strings, and characters as UTF-8. */
#ifndef BPETITE_BYTES_H
#define BPETITE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#include <intrin.h>
#endif
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define BP_SSE2 1
#endif

#if defined(__GNUC__) || defined(__clang__)
#define BP_LIKELY(x) __builtin_expect(!!(x), 1)
#define BP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BP_PREFETCH(p) __builtin_prefetch(p)
#define BP_INLINE static inline __attribute__((always_inline))
#define BP_NOINLINE __attribute__((noinline, unused))
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

/* The first byte is the lowest one, on any machine. */
BP_INLINE uint64_t bp_load_little64(const void *p) {
    uint64_t x = bp_load64(p);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The place of the lowest set bit; one is set. */
BP_INLINE int bp_lowest_bit(uint64_t mask) {
#ifdef _MSC_VER
    unsigned long at;
    _BitScanForward64(&at, mask);
    return (int)at;
#else
    return __builtin_ctzll(mask);
#endif
}

enum {
    BP_KEY_BYTES = 15, /* bytes that a key holds */
    BP_KEY_READ = 16   /* bytes that bp_load_key reads, whatever the length */
};

/* A string of up to 15 bytes as two numbers: its bytes, zeros, and its length in the last byte. No two share a key. */
typedef struct { uint64_t low, high; } bp_key;

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BP_KEY_LENGTH_SHIFT 0
#else
#define BP_KEY_LENGTH_SHIFT 56
#define BP_LOW_BYTES(n) ((UINT64_C(1) << 8 * (n)) - 1)
/* [8 + n]: the first n of eight bytes; none of them below that, all of them from eight on. */
static const uint64_t bp_first_bytes[24] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, BP_LOW_BYTES(1), BP_LOW_BYTES(2), BP_LOW_BYTES(3), BP_LOW_BYTES(4), BP_LOW_BYTES(5),
    BP_LOW_BYTES(6), BP_LOW_BYTES(7), UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
    UINT64_MAX,
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
    bp_key key = {bp_load64(p) & bp_first_bytes[8 + n], bp_load64(p + 8) & bp_first_bytes[n]};
    key.high |= (uint64_t)n << BP_KEY_LENGTH_SHIFT;
    return key;
#else
    return bp_load_last_key(p, n);
#endif
}

enum { BP_CODE_POINTS = 0x110000 };

/* The bytes of a character in UTF-8, by the first. */
BP_INLINE ptrdiff_t bp_utf8_size(uint8_t first) { return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0); }

/* Read a character of valid UTF-8; returns its size. OUT: *code: its code point; of other bytes a number below 2^21.
   IN: bp_utf8_size(*p) bytes can be read. */
BP_INLINE ptrdiff_t bp_utf8_read(const uint8_t *p, uint32_t *code) {
    if (p[0] >= 0xF0) {
        *code = (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
        return 4;
    }
    if (p[0] >= 0xE0) {
        *code = (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        return 3;
    }
    if (p[0] >= 0x80) {
        *code = (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
        return 2;
    }
    *code = p[0];
    return 1;
}

/* The size of the character that text[0:n] begins with, n > 0. OUT: *code: its code point. Bytes that are not UTF-8 have
   the size 1 and no code point: UINT32_MAX. */
BP_INLINE ptrdiff_t bp_utf8_character(const uint8_t *text, ptrdiff_t n, uint32_t *code) {
    const ptrdiff_t size = bp_utf8_size(text[0]);
    *code = text[0];
    if (*code < 0x80) return 1;
    int whole = *code >= 0xC0 && size <= n;
    for (ptrdiff_t i = 1; whole && i < size; i++) whole = (text[i] & 0xC0) == 0x80;
    if (whole && bp_utf8_read(text, code) && *code < BP_CODE_POINTS) return size;
    *code = UINT32_MAX;
    return 1;
}

/* Write a character as UTF-8; returns the end. */
BP_INLINE uint8_t *bp_utf8_put(uint8_t *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xC0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xE0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *to++ = (uint8_t)(0xF0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return to;
}

#endif
