/* Records of a table of counts, as files have them: u32 length of the pre-token, u64 count, the pre-token's bytes; after
   the last a trailer that begins with the length 0. Numbers are little-endian, records ascend by their bytes. */
#ifndef BPETITE_COUNT_RECORDS_H
#define BPETITE_COUNT_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    BP_RECORD_HEAD = 12, /* bytes before those of the pre-token */
    BP_TRAILER = 24      /* u32 0, u64 records, u64 documents, u32 CRC-32 */
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

/* The first eight bytes as a number that is greater where they come later; zeros follow a shorter string. */
static inline uint64_t bp_prefix(const uint8_t *p, size_t length) {
    uint8_t bytes[8] = {0};
    uint64_t x = 0;
    memcpy(bytes, p, length < 8 ? length : 8);
    for (int i = 0; i < 8; i++) x = x << 8 | bytes[i];
    return x;
}

/* Below, equal to or above 0 as a comes before b in the order of bytes. */
static inline int bp_compare_bytes(const uint8_t *a, size_t n, const uint8_t *b, size_t m) {
    const int order = memcmp(a, b, n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

#endif
