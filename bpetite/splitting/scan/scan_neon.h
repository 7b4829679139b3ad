/* A loop of the scanner with NEON, which looks up sixteen bytes in a table of 64. */
#ifndef BPETITE_SCAN_NEON_H
#define BPETITE_SCAN_NEON_H

#include "scan_blocks.h"
#include "../../headers/simd_vec16.h"

#ifdef BP_HAS_NEON
/* scan_encode for `blocks` whole blocks. */
BP_NOINLINE static void scan_encode_neon(const scan_tables *tables, const uint8_t *text, Py_ssize_t left, int blocks,
                                         uint8_t *codes, uint64_t *leads)
{
    const uint8x16_t later = vdupq_n_u8(tables->continuation);
    const int8x16_t last_later = vdupq_n_s8((int8_t)0xBF);
    const uint8x16x4_t firsts = vld1q_u8_x4(tables->alike);
    for (int block = 0; block < blocks; block++, text += SCAN_BLOCK, left -= SCAN_BLOCK, codes += SCAN_BLOCK) {
        uint8x16_t high[4], lead[4], known[4];
        for (int k = 0; k < 4; k++) {
            const uint8x16_t bytes = vld1q_u8(text + 16 * k);
            const int8x16_t number = vreinterpretq_s8_u8(bytes);
            high[k] = vcltzq_s8(number);
            lead[k] = vcgtq_s8(number, last_later);
            /* From C0 on; others have an index that no table has. Such codes are 128 or more. */
            const uint8x16_t alike = vqtbl4q_u8(firsts, vsubq_u8(bytes, vdupq_n_u8(0xC0)));
            known[k] = vcltzq_s8(vreinterpretq_s8_u8(alike));
            vst1q_u8(codes + 16 * k, vbslq_u8(known[k], alike, vbslq_u8(high[k], later, bytes)));
        }
        leads[block] = ~UINT64_C(0);
        if (!bp_vec_any(vorrq_u8(vorrq_u8(high[0], high[1]), vorrq_u8(high[2], high[3]))))
            continue;
        leads[block] = bp_vec_bits64(lead[0], lead[1], lead[2], lead[3]);
        scan_encode_others(tables, text, left, bp_vec_bits64(high[0], high[1], high[2], high[3]) & leads[block]
                           & ~bp_vec_bits64(known[0], known[1], known[2], known[3]), codes);
    }
}
#endif

#endif
