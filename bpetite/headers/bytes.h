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

/* Spread the bits of x over the whole word; the high bits are the best. */
BP_INLINE uint64_t bp_mix(uint64_t x) {
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x;
}

/* Hash n bytes, eight at a time. Tables that use it also compare the bytes: it decides where to look, never what is
   equal. */
static inline uint64_t bp_hash_bytes(const uint8_t *p, size_t n) {
    uint64_t h = (uint64_t)n * 0x9FB21C651E98DF25u;
    for (; n >= 8; p += 8, n -= 8) {
        h = (h ^ bp_load64(p)) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    if (n) {
        uint64_t tail = 0;
        memcpy(&tail, p, n);
        h = (h ^ tail) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h * 0xD6E8FEB86659FD93u;
}

#endif
