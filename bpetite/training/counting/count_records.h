/* Records of counts, as files have them: u32 length of the pre-token, u64 count, the pre-token's bytes. Numbers are
   little-endian. The order of the records is that of their stable hashes; equal ones are ordered by bytes. */
#ifndef BPETITE_COUNT_RECORDS_H
#define BPETITE_COUNT_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    BP_RECORD_HEAD = 12, /* bytes before those of the pre-token */
    BP_PARTITION_SHIFT = 58 /* the topmost 6 bits of the hash are the number of the partition */
};

/* Compilers make one load or store of each. */
static inline uint64_t bp_get_little(const uint8_t *p, int bytes) {
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static inline void bp_put_little(uint8_t *p, uint64_t x, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(x >> 8 * i);
}

static inline uint8_t *bp_put_record(uint8_t *p, const uint8_t *data, size_t length, int64_t count) {
    bp_put_little(p, length, 4);
    bp_put_little(p + 4, (uint64_t)count, 8);
    memcpy(p + BP_RECORD_HEAD, data, length);
    return p + BP_RECORD_HEAD + length;
}

/* A hash that is the same on every machine and in every release: FNV-1a, and a last step that spreads its bits. */
static inline uint64_t bp_stable_hash(const uint8_t *p, size_t length) {
    uint64_t x = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < length; i++) x = (x ^ p[i]) * UINT64_C(0x100000001B3);
    return (x ^ x >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

/* *sum += x; returns 1, and leaves *sum undefined, where the sum does not fit. */
static inline int bp_add_overflows(int64_t *sum, int64_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_add_overflow(*sum, x, sum);
#else
    if ((x > 0 && *sum > INT64_MAX - x) || (x < 0 && *sum < INT64_MIN - x)) return 1;
    *sum += x;
    return 0;
#endif
}

#endif
