/* The loops of the scanner that have forms for vector instructions, and which form runs (simd.h). */
#ifndef BPETITE_SCAN_FORMS_H
#define BPETITE_SCAN_FORMS_H

#include "scan_avx2.h"
#include "scan_avx512.h"
#include "scan_neon.h"

/* scan_encode for `blocks` whole blocks; returns how many it did. */
static inline int scan_encode_blocks(int simd, const scan_tables *tables, const uint8_t *text, Py_ssize_t left,
                                     int blocks, uint8_t *codes, uint64_t *leads)
{
    switch (simd) {
    case BP_SIMD_AVX512: scan_encode_avx512(tables, text, left, blocks, codes, leads); return blocks;
#ifdef BP_HAS_AVX2
    case BP_SIMD_AVX2: scan_encode_avx2(tables, text, left, blocks, codes, leads); return blocks;
#endif
#ifdef BP_HAS_NEON
    case BP_SIMD_NEON: scan_encode_neon(tables, text, left, blocks, codes, leads); return blocks;
#endif
    default: return 0;
    }
}

/* Give out the ends of the cursor's blocks as long as there is room for a whole block, or none; returns the new count. */
static inline Py_ssize_t scan_put_blocks(int simd, scan_cursor *cursor, Py_ssize_t *ends, Py_ssize_t count,
                                         Py_ssize_t capacity)
{
    switch (simd) {
    case BP_SIMD_AVX512: return scan_put_blocks_avx512(cursor, ends, count, capacity);
#ifdef BP_HAS_AVX2
    case BP_SIMD_AVX2: return scan_put_blocks_avx2(cursor, ends, count, capacity);
#endif
    default: return count;
    }
}

#endif
