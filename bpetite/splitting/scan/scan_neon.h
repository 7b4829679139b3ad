/* The NEON part of scan_lanes.h: NEON looks up sixteen bytes in a table of 64, and has no bit mask of a vector. */
#ifndef BPETITE_SCAN_NEON_H
#define BPETITE_SCAN_NEON_H

#include "scan_blocks.h"
#include "../../headers/simd_vec16.h"

#ifdef BP_HAS_NEON
enum { SCAN_ROWS_AT_ONCE = 4 /* rows of sixteen bytes in a table of 64; scan_rows has a multiple of them */ };

/* Four tables of sixteen bytes, `apart` from one another, as one. */
BP_NEON_INLINE uint8x16x4_t scan_table_neon(const uint8_t *from, ptrdiff_t apart)
{
    uint8x16x4_t table;
    for (int i = 0; i < 4; i++)
        table.val[i] = vld1q_u8(from + i * apart);
    return table;
}

/* The class of each code. */
BP_NEON_INLINE uint8x16_t scan_classes_neon(const scan_rows *rows, uint8x16_t codes, int ascii)
{
    uint8x16_t found = vqtbl4q_u8(scan_table_neon(rows->classes, 16), codes);
    found = vqtbx4q_u8(found, scan_table_neon(rows->classes + 64, 16), vsubq_u8(codes, vdupq_n_u8(64)));
    if (!ascii)
        found = vqtbx1q_u8(found, vld1q_u8(rows->classes + SCAN_PAGE), vsubq_u8(codes, vdupq_n_u8(SCAN_PAGE)));
    return found;
}

/* The entries of the states in the rows of up to sixteen classes from `table` on: `at` is sixteen times the class and
   the state's lower four bits. A table holds four classes, and an index outside it leaves what was found before. */
BP_NEON_INLINE void scan_sixteen_rows_neon(const uint8_t *table, const int halves, int count, const uint8x16_t *states,
                                           const uint8x16_t *index, uint8x16_t *found)
{
    uint8x16_t at[4], upper[4];
    for (int k = 0; k < 4; k++) {
        at[k] = index[k];
        found[k] = upper[k] = vdupq_n_u8(0);
    }
    for (int row = 0; row < count && row < 16; row += SCAN_ROWS_AT_ONCE) {
        uint8x16x4_t part = scan_table_neon(table + 32 * row, 32);
        for (int k = 0; k < 4; k++)
            found[k] = vqtbx4q_u8(found[k], part, at[k]);
        if (halves > 1) {
            part = scan_table_neon(table + 32 * row + 16, 32);
            for (int k = 0; k < 4; k++)
                upper[k] = vqtbx4q_u8(upper[k], part, at[k]);
        }
        for (int k = 0; k < 4; k++)
            at[k] = vsubq_u8(at[k], vdupq_n_u8(16 * SCAN_ROWS_AT_ONCE));
    }
    if (halves > 1)
        for (int k = 0; k < 4; k++)
            found[k] = vbslq_u8(vtstq_u8(states[k], vdupq_n_u8(0x10)), upper[k], found[k]);
}

/* One step of all lanes: the entries of the states in the rows of the classes, up to 32 of them. */
BP_NEON_INLINE void scan_step_neon(const uint8_t *table, const int halves, int count, const uint8_t *classes,
                                   uint8x16_t *states)
{
    uint8x16_t at[4], found[4], others[4];
    for (int k = 0; k < 4; k++)
        at[k] = vsliq_n_u8(states[k], vld1q_u8(classes + 16 * k), 4);
    scan_sixteen_rows_neon(table, halves, count, states, at, found);
    if (count > 16) {
        scan_sixteen_rows_neon(table + 32 * 16, halves, count - 16, states, at, others);
        for (int k = 0; k < 4; k++)
            found[k] = vbslq_u8(vtstq_u8(vld1q_u8(classes + 16 * k), vdupq_n_u8(0x10)), others[k], found[k]);
    }
    for (int k = 0; k < 4; k++)
        states[k] = found[k];
}

/* Bit `bit` of 64 bytes as a mask. */
BP_NEON_INLINE uint64_t scan_mask_neon(const uint8_t *out, int bit)
{
    const uint8x16_t set = vdupq_n_u8((uint8_t)(1 << bit));
    return bp_vec_bits64(vtstq_u8(vld1q_u8(out), set), vtstq_u8(vld1q_u8(out + 16), set),
                         vtstq_u8(vld1q_u8(out + 32), set), vtstq_u8(vld1q_u8(out + 48), set));
}

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
