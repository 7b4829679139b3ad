/* Hashes of byte strings and of pairs of ids, keyed with a secret of the process.

   A hash decides the place of a look-up, never equality, so no result depends on the secret. Without one, whoever writes a
   text or a vocabulary could choose keys that all belong into one slot, and each look-up would pass all of them.

   - Strings: folded multiplications, as in wyhash, which Go's maps use where there are no AES instructions. No keys are
     known that collide whatever the secret. (Sums of products modulo 2^64 would not do: keys whose halves differ in their
     topmost bits only would meet under every secret.)
   - Pairs of ids: bp_mix. Two pairs meet in a slot of a table of m with a probability of at most 2 / m, whatever they
     are (Dietzfelbinger and others, A reliable randomized algorithm for the closest-pair problem, 1997).

   All bits of the former are good, of the latter the topmost. */
#ifndef BPETITE_HASHING_H
#define BPETITE_HASHING_H

#include "bytes.h"

/* Independent random numbers; those in `odd` are odd. */
typedef struct { uint64_t random[4], odd[2]; } bp_secret;

/* Spread the bits of x over all 64; the topmost are the best. */
BP_INLINE uint64_t bp_mix(const bp_secret *secret, uint64_t x) {
    x *= secret->odd[0];
    x ^= x >> 32;
    return x * secret->odd[1];
}

/* The two halves of a product, one on the other. */
BP_INLINE uint64_t bp_fold(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return a * b ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

/* Hash a bp_key. */
BP_INLINE uint64_t bp_hash_key(const bp_secret *secret, uint64_t low, uint64_t high) {
    return bp_fold(low ^ secret->random[0], high ^ secret->random[1]);
}

/* Hash a bp_key for a table that looks at a bounded number of entries and may forget; the topmost bits are the best. Keys
   that differ in the topmost bytes of both halves only can meet whatever the secret, and then some are not held. */
BP_INLINE uint64_t bp_hash_word(const bp_secret *secret, uint64_t low, uint64_t high) {
    return (low * secret->odd[0]) ^ (high * secret->odd[1]);
}

/* Hash 16 or more bytes; the last step overlaps the one before it. */
BP_INLINE uint64_t bp_hash_long(const bp_secret *secret, const uint8_t *p, size_t n) {
    uint64_t hash = secret->random[0] ^ n;
    for (size_t at = 0; at < n; at += 16) {
        const size_t from = at + 16 <= n ? at : n - 16;
        hash = bp_fold(bp_load64(p + from) ^ secret->random[1], bp_load64(p + from + 8) ^ hash);
    }
    return bp_fold(hash ^ secret->random[2], secret->random[3]);
}

/* Hash n bytes. */
static inline uint64_t bp_hash_bytes(const bp_secret *secret, const uint8_t *p, size_t n) {
    if (n > BP_KEY_BYTES) return bp_hash_long(secret, p, n);
    const bp_key key = bp_load_last_key(p, n);
    return bp_hash_key(secret, key.low, key.high);
}

#endif
