/* The loops of the scanner that have forms for vector instructions, and which form runs (simd.h). */
#ifndef BPETITE_SCAN_FORMS_H
#define BPETITE_SCAN_FORMS_H

#include "scan_avx512.h"
#include "scan_neon.h"
#include "../../headers/simd_vec16.h"
#include "../../headers/simd_vec32.h"

enum { SCAN_SYNCHRONIZE_ASCII = 8 /* codes that the first pass reads where each is a character */ };

#ifdef BP_HAS_AVX2
#define BP_FORM(name) name##_avx2
#define BP_FORM_TARGET BP_AVX2_TARGET
#define V(operation) bp_vec32_##operation
#define SCAN_VEC bp_vec32
#define SCAN_WIDTH 32
#include "scan_lanes.h"

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

#ifdef BP_HAS_NEON
#define BP_FORM(name) name##_neon
#define BP_FORM_TARGET BP_NEON_TARGET
#define V(operation) bp_vec_##operation
#define SCAN_VEC bp_vec16
#define SCAN_WIDTH 16
#define SCAN_OWN_LOOK_UPS
#include "scan_lanes.h"
#endif

/* True if the transducer runs in 64 lanes: its tables fit the form. */
static inline int scan_has_lanes(int simd, const scan_vector *vector)
{
    switch (simd) {
    case BP_SIMD_AVX512: return vector->transition.values != NULL;
    case BP_SIMD_NEON:
    case BP_SIMD_AVX2: return vector->rows.transition != NULL;
    default: return 0;
    }
}

/* Run the transducer over a span in 64 lanes; returns the state after it. */
static inline uint32_t scan_run_in_lanes(int simd, const scan_tables *tables, const scan_vector *vector,
                                         scan_span *span, uint32_t state)
{
    switch (simd) {
    case BP_SIMD_AVX512: return scan_run_avx512(tables, vector, span, state);
#ifdef BP_HAS_AVX2
    case BP_SIMD_AVX2: return scan_run_avx2(tables, &vector->rows, span, state);
#endif
#ifdef BP_HAS_NEON
    case BP_SIMD_NEON: return scan_run_neon(tables, &vector->rows, span, state);
#endif
    default: return state;
    }
}

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
