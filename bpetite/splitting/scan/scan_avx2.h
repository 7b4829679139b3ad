/* Loops of the scanner with AVX2. */
#ifndef BPETITE_SCAN_AVX2_H
#define BPETITE_SCAN_AVX2_H

#include "scan_blocks.h"
#include "../../headers/simd.h"

#ifdef BP_HAS_AVX2
#include <immintrin.h>

/* scan_encode for `blocks` whole blocks. */
BP_AVX2_TARGET static void scan_encode_avx2(const scan_tables *tables, const uint8_t *text, Py_ssize_t left, int blocks,
                                            uint8_t *codes, uint64_t *leads)
{
    const __m256i zero = _mm256_setzero_si256(), later = _mm256_set1_epi8((char)tables->continuation);
    for (int block = 0; block < blocks; block++, text += SCAN_BLOCK, left -= SCAN_BLOCK, codes += SCAN_BLOCK) {
        uint64_t high = 0, second = 0, known = 0;
        for (int at = 0; at < SCAN_BLOCK; at += 32) {
            const __m256i bytes = _mm256_loadu_si256((const __m256i *)(text + at));
            const uint32_t here = (uint32_t)_mm256_movemask_epi8(bytes);
            __m256i alike = zero;
            high |= (uint64_t)here << at;
            if (!here) {
                _mm256_storeu_si256((__m256i *)(codes + at), bytes);
                continue;
            }
            second |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(bytes, 1)) << at;
            for (int row = 0; row < 3; row++) { /* C, D, E */
                const __m256i own = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, _mm256_set1_epi8((char)0xF0)),
                                                      _mm256_set1_epi8((char)(0xC0 + 16 * row)));
                const __m128i codes_of = _mm_loadu_si128((const __m128i *)(tables->alike + 16 * row));
                const __m256i found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(codes_of),
                                                          _mm256_and_si256(bytes, _mm256_set1_epi8(0x0F)));
                alike = _mm256_or_si256(alike, _mm256_and_si256(own, found));
            }
            known |= (uint64_t)(uint32_t)_mm256_movemask_epi8(alike) << at; /* such codes are 128 or more */
            const __m256i others = _mm256_blendv_epi8(bytes, later, bytes); /* where the top bit is set */
            _mm256_storeu_si256((__m256i *)(codes + at),
                                _mm256_blendv_epi8(alike, others, _mm256_cmpeq_epi8(alike, zero)));
        }
        leads[block] = ~high | second;
        if (high)
            scan_encode_others(tables, text, left, high & leads[block] & ~known, codes);
    }
}

/* scan_put_blocks with the instructions for bits. */
BP_AVX2_TARGET static Py_ssize_t scan_put_blocks_avx2(scan_cursor *cursor, Py_ssize_t *ends, Py_ssize_t count,
                                                      Py_ssize_t capacity)
{
    for (; cursor->block < cursor->blocks && capacity - count >= SCAN_BLOCK; cursor->block++) {
        uint64_t bits = cursor->ready[cursor->block];
        const Py_ssize_t base = cursor->base + cursor->block * SCAN_BLOCK;
        const int found = (int)_mm_popcnt_u64(bits);
        Py_ssize_t *to = ends + count;
        for (int i = 0; i < 16; i++, bits = _blsr_u64(bits)) /* more are rare; what is too much is written over */
            to[i] = base + (Py_ssize_t)_tzcnt_u64(bits);
        for (int done = 16; BP_UNLIKELY(done < found); done += 8)
            for (int i = 0; i < 8; i++, bits = _blsr_u64(bits))
                to[done + i] = base + (Py_ssize_t)_tzcnt_u64(bits);
        count += found;
    }
    return count;
}
#endif

#endif
