/* Where the first byte of a text is that a set does not hold, sixteen bytes at a time where the processor has SSSE3. */
#ifndef BPETITE_QUIET_BYTES_H
#define BPETITE_QUIET_BYTES_H

#include "../headers/bytes.h"

#if defined(BP_SSE2) && (defined(__GNUC__) || defined(__clang__))
#include <tmmintrin.h>
#define BP_QUIET_SHUFFLES 1
#endif

typedef struct {
    uint8_t quiet[256];
    uint8_t others[2][16]; /* [first bit][low nibble]: bit k says that the byte with the other three bits k is not in it */
    int shuffles;          /* the processor has SSSE3 */
} bp_quiet_bytes;

/* Complete a set whose `quiet` is filled in. */
static inline void bp_quiet_init(bp_quiet_bytes *set)
{
    memset(set->others, 0, sizeof set->others);
    for (int byte = 0; byte < 256; byte++)
        if (!set->quiet[byte])
            set->others[byte >> 7][byte & 15] |= (uint8_t)(1u << (byte >> 4 & 7));
    set->shuffles = 0;
#ifdef BP_QUIET_SHUFFLES
    set->shuffles = __builtin_cpu_supports("ssse3");
#endif
}

#ifdef BP_QUIET_SHUFFLES
/* A shuffle gives 0 where bit 7 of an index is set, so each of the two tables sees half of the bytes. */
__attribute__((target("ssse3")))
static inline ptrdiff_t bp_quiet_shuffle(const bp_quiet_bytes *set, const uint8_t *text, ptrdiff_t at, ptrdiff_t end)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)set->others[0]);
    const __m128i high = _mm_loadu_si128((const __m128i *)set->others[1]);
    const __m128i bits = _mm_set1_epi64x((long long)UINT64_C(0x8040201008040201));
    const __m128i index = _mm_set1_epi8((char)0x8F), first = _mm_set1_epi8((char)0x80), three = _mm_set1_epi8(7);
    for (; at + 16 <= end; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(text + at));
        const __m128i of_low = _mm_shuffle_epi8(low, _mm_and_si128(bytes, index));
        const __m128i of_high = _mm_shuffle_epi8(high, _mm_and_si128(_mm_xor_si128(bytes, first), index));
        const __m128i bit = _mm_shuffle_epi8(bits, _mm_and_si128(_mm_srli_epi16(bytes, 4), three));
        const __m128i others = _mm_and_si128(_mm_or_si128(of_low, of_high), bit);
        const int quiet = _mm_movemask_epi8(_mm_cmpeq_epi8(others, _mm_setzero_si128()));
        if (quiet != 0xFFFF)
            return at + __builtin_ctz(~(unsigned)quiet);
    }
    return at;
}
#endif

/* The index of the first byte of text[at:end] that is not in the set, or `end`. */
static inline ptrdiff_t bp_quiet_until(const bp_quiet_bytes *set, const uint8_t *text, ptrdiff_t at, ptrdiff_t end)
{
#ifdef BP_QUIET_SHUFFLES
    if (set->shuffles)
        at = bp_quiet_shuffle(set, text, at, end);
#endif
    while (at < end && set->quiet[text[at]])
        at++;
    return at;
}

#endif
