/* The scanner's transducer over 64 lanes of text by byte shuffles (simd.h names the processors that have them).

   A pass is cut into 64 lanes of 16, 32 or 64 codes, and all lanes step together: their next codes and their states
   are 64 bytes each, and a function of the two is a look-up by byte shuffle in pages of 128 bytes (vector_tables.py).
   A step costs two or three instructions for each page, whatever the pattern is.

   The state at the start of a lane depends on the text before it. A first pass therefore runs the subset automaton over
   the last codes of every lane: it starts from the set of all states, and once one state is left, the next lane starts
   in that state. A few characters nearly always suffice. Where they do not, as in a long word of a pattern that tells
   apart how words began, a lane starts in the state that these characters lead to from the start of a pre-token. It is
   run again by itself where the lane before it ends in another state.

   Text arrives lane by lane and is needed code by code; outputs arrive code by code and are needed lane by lane. Hence
   the two transpositions. */
#ifndef BPETITE_SCAN_AVX512_H
#define BPETITE_SCAN_AVX512_H

#include "scan_blocks.h"
#include "../../headers/simd.h"

#ifdef BP_HAS_AVX512
#include <immintrin.h>

enum {
    SCAN_PAGE = 128,        /* results of one shuffle */
    SCAN_SYNCHRONIZE = 16,  /* codes of a lane that the first pass reads */
    SCAN_ENDS_AT_ONCE = 24, /* more ends in 64 bytes are rare */
    SCAN_PUT_ROOM = 72      /* ends that scan_put_avx512 may write: a multiple of SCAN_ENDS_AT_ONCE, 64 or more */
};

/* table[index] of 128 bytes. */
BP_AVX512_INLINE __m512i scan_look_up(const uint8_t *table, __m512i index)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 64));
}

/* table[code] of 256 bytes; ASCII codes need only the first 128. */
BP_AVX512_INLINE __m512i scan_look_up_codes(const uint8_t *table, __m512i codes, int ascii)
{
    const __m512i low = scan_look_up(table, codes);
    if (ascii)
        return low;
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, scan_look_up(table + SCAN_PAGE, codes));
}

BP_AVX512_INLINE __m512i scan_look_up_paged(const scan_paged *table, uint32_t pages, __m512i codes, __m512i states,
                                          int ascii)
{
    const __m512i at = _mm512_add_epi8(scan_look_up_codes(table->row, codes, ascii), states);
    __m512i result = scan_look_up(table->values, at);
    if (pages > 1) {
        const __m512i page = scan_look_up_codes(table->page, codes, ascii);
        for (uint32_t i = 1; i < pages; i++)
            result = _mm512_mask_blend_epi8(_mm512_cmpeq_epi8_mask(page, _mm512_set1_epi8((char)i)), result,
                                            scan_look_up(table->values + SCAN_PAGE * i, at));
    }
    return result;
}

/* Transpose `rows` rows of 16 bytes, in each of the four 16-byte cells of the registers: afterwards the columns of a
   cell follow one another. Each level interleaves the first half of the rows with the second. */
BP_AVX512_INLINE void scan_transpose(__m512i *row, const int rows)
{
    __m512i next[16];
#pragma GCC unroll 4
    for (int level = 1; level < rows; level *= 2) {
        for (int i = 0; i < rows / 2; i++) {
            next[2 * i] = _mm512_unpacklo_epi8(row[i], row[i + rows / 2]);
            next[2 * i + 1] = _mm512_unpackhi_epi8(row[i], row[i + rows / 2]);
        }
        for (int i = 0; i < rows; i++)
            row[i] = next[i];
    }
}

BP_AVX512_INLINE __m128i scan_load_cell(const uint8_t *from) { return _mm_loadu_si128((const __m128i *)from); }

BP_AVX512_INLINE void scan_store_cell(void *to, __m512i row, const int cell)
{
    _mm_storeu_si128((__m128i *)to, cell == 0   ? _mm512_castsi512_si128(row)
                                    : cell == 1 ? _mm512_extracti32x4_epi32(row, 1)
                                    : cell == 2 ? _mm512_extracti32x4_epi32(row, 2)
                                                : _mm512_extracti32x4_epi32(row, 3));
}

/* 64 lanes of `lane` codes to `lane` steps of 64 codes, a cell of sixteen codes at a time: a register holds a cell of
   four lanes, or two cells of two lanes, or the four cells of one. */
BP_AVX512_INLINE void scan_transpose_codes(const uint8_t *codes, const int lane, uint8_t *steps)
{
    const int cells = lane / 16, lanes = 64 / cells; /* cells in a lane, lanes in a round */
    for (int round = 0; round < cells; round++) {
        __m512i row[16];
        for (int i = 0; i < 16; i++) {
            const uint8_t *from = codes + (round * lanes + i) * lane;
            if (cells == 4) {
                row[i] = _mm512_loadu_si512(from);
                continue;
            }
            row[i] = _mm512_castsi128_si512(scan_load_cell(from));
            row[i] = _mm512_inserti32x4(row[i], scan_load_cell(from + 1 / cells * 16 * lane + 1 % cells * 16), 1);
            row[i] = _mm512_inserti32x4(row[i], scan_load_cell(from + 2 / cells * 16 * lane + 2 % cells * 16), 2);
            row[i] = _mm512_inserti32x4(row[i], scan_load_cell(from + 3 / cells * 16 * lane + 3 % cells * 16), 3);
        }
        scan_transpose(row, 16);
        for (int i = 0; i < 16; i++)
            for (int cell = 0; cell < 4; cell++)
                scan_store_cell(steps + (cell % cells * 16 + i) * 64 + round * lanes + cell / cells * 16, row[i], cell);
    }
}

/* `lane` steps of 64 bits to 64 lanes of `lane` bits, one after the other. */
BP_AVX512_INLINE void scan_transpose_bits(const uint64_t *steps, const int lane, uint64_t *masks)
{
    const int rows = lane / 8;
    uint8_t order[64];
    __m512i row[8];
    for (int i = 0; i < 64; i++)
        order[i] = (uint8_t)(8 * (7 - i % 8) + i / 8);
    /* An affine product of unit vectors and a matrix of 8 x 8 bits transposes the matrix: row[i] gets eight bits of
       each lane. */
    for (int i = 0; i < rows; i++)
        row[i] = _mm512_gf2p8affine_epi64_epi8(
            _mm512_set1_epi64((long long)UINT64_C(0x8040201008040201)),
            _mm512_permutexvar_epi8(_mm512_loadu_si512(order), _mm512_loadu_si512(steps + 8 * i)), 0);
    scan_transpose(row, rows);
    for (int i = 0; i < rows; i++)
        for (int cell = 0; cell < 4; cell++)
            scan_store_cell((uint8_t *)masks + (cell * rows + i) * 16, row[i], cell);
}

/* The states in which lanes 0 to `last` start, where `state` is that of the first: numbers from tables->states on are
   sets of more than one state. Lanes after the last are padding, which does nothing in state 0. */
BP_AVX512_INLINE __m512i scan_first_states(const scan_vector *vector, const uint8_t *steps, const int lane,
                                         const int ascii, uint32_t state, int last)
{
    const uint32_t pages = ascii ? vector->subset.ascii_pages : vector->subset.pages;
    uint8_t first[SCAN_WIDE_LANES + 1];
    __m512i sets = _mm512_set1_epi8((char)vector->all_states);
    for (int i = lane - SCAN_SYNCHRONIZE; i < lane; i++)
        sets = scan_look_up_paged(&vector->subset, pages, _mm512_loadu_si512(steps + 64 * i), sets, ascii);
    first[0] = (uint8_t)state;
    _mm512_storeu_si512(first + 1, sets);
    return _mm512_maskz_loadu_epi8(UINT64_MAX >> (SCAN_WIDE_LANES - 1 - last), first);
}

/* The states after the last codes of the lanes before, where a pre-token begins with these codes. */
BP_AVX512_INLINE __m512i scan_likely_states(const scan_vector *vector, const uint8_t *steps, const int lane,
                                          const int ascii, const uint32_t pages)
{
    uint8_t first[SCAN_WIDE_LANES + 1] = {0};
    __m512i states = _mm512_setzero_si512();
    for (int i = lane - SCAN_SYNCHRONIZE; i < lane; i++)
        states = scan_look_up(vector->next, scan_look_up_paged(&vector->transition, pages,
                                                               _mm512_loadu_si512(steps + 64 * i), states, ascii));
    _mm512_storeu_si512(first + 1, states);
    return _mm512_loadu_si512(first);
}

BP_AVX512_INLINE uint32_t scan_run_lanes_of(const scan_tables *tables, scan_pass *pass, const int lane,
                                            const int ascii, const uint32_t pages, uint32_t state)
{
    const scan_vector *vector = &tables->vector;
    const uint8_t *codes = pass->codes;
    uint8_t steps[SCAN_WIDE_LANES * 64], before[SCAN_WIDE_LANES], after[SCAN_WIDE_LANES];
    uint64_t outputs[SCAN_BITS][64];
    const int last = (pass->count - 1) / lane;
    scan_transpose_codes(codes, lane, steps);
    __m512i states = scan_first_states(vector, steps, lane, ascii, state, last);
    uint64_t unknown = _mm512_cmpge_epu8_mask(states, _mm512_set1_epi8((char)tables->states));
    if (BP_UNLIKELY(unknown)) {
        states = _mm512_mask_mov_epi8(states, unknown, scan_likely_states(vector, steps, lane, ascii, pages));
        _mm512_storeu_si512(before, states);
    }

    for (int i = 0; i < lane; i++) {
        const __m512i transition =
            scan_look_up_paged(&vector->transition, pages, _mm512_loadu_si512(steps + 64 * i), states, ascii);
        const __m512i out = scan_look_up(vector->out, transition);
        states = scan_look_up(vector->next, transition);
        for (int bit = 0; bit < SCAN_BITS; bit++)
            if (tables->used_bits >> bit & 1)
                outputs[bit][i] = _mm512_test_epi8_mask(out, _mm512_set1_epi8((char)(1 << bit)));
    }
    for (int bit = 0; bit < SCAN_BITS; bit++)
        if (tables->used_bits >> bit & 1)
            scan_transpose_bits(outputs[bit], lane, pass->masks[bit]);

    _mm512_storeu_si512(after, states);
    for (; unknown; unknown &= unknown - 1) { /* in order: the lane before is known by now; lane 0 always is */
        const int at = bp_lowest_bit(unknown);
        uint8_t out[SCAN_BLOCK] = {0};
        if (after[at - 1] == before[at])
            continue;
        after[at] = (uint8_t)scan_run(tables, codes + at * lane, lane, after[at - 1], out);
        for (int bit = 0; bit < SCAN_BITS; bit++)
            if (tables->used_bits >> bit & 1) {
                const uint64_t mask = scan_mask(out, bit);
                memcpy((uint8_t *)pass->masks[bit] + at * (lane / 8), &mask, (size_t)lane / 8);
            }
    }
    return after[last];
}

/* Run the transducer over a pass of 64 lanes of 16, 32 or 64 codes; returns the state after it. */
BP_AVX512_TARGET static uint32_t scan_run_avx512(const scan_tables *tables, scan_pass *pass, uint32_t state)
{
    const int ascii = pass->ascii;
    const scan_paged *transition = &tables->vector.transition;
    const uint32_t pages = ascii ? transition->ascii_pages : transition->pages;
    if (pass->lane == 16)
        return scan_run_lanes_of(tables, pass, 16, ascii, pages, state);
    if (pass->lane == 32)
        return scan_run_lanes_of(tables, pass, 32, ascii, pages, state);
    if (ascii && pages == 1)
        return scan_run_lanes_of(tables, pass, 64, 1, 1, state);
    if (ascii && pages == 2)
        return scan_run_lanes_of(tables, pass, 64, 1, 2, state);
    return scan_run_lanes_of(tables, pass, 64, ascii, pages, state);
}

/* scan_encode for `blocks` whole blocks. */
BP_AVX512_TARGET static void scan_encode_avx512(const scan_tables *tables, const uint8_t *text, Py_ssize_t left, int blocks,
                                            uint8_t *codes, uint64_t *leads)
{
    const __m512i firsts = _mm512_loadu_si512(tables->alike), later = _mm512_set1_epi8((char)tables->continuation);
    for (int block = 0; block < blocks; block++, text += SCAN_BLOCK, left -= SCAN_BLOCK, codes += SCAN_BLOCK) {
        const __m512i bytes = _mm512_loadu_si512(text);
        const uint64_t high = _mm512_movepi8_mask(bytes);
        leads[block] = ~UINT64_C(0);
        if (high == 0) {
            _mm512_storeu_si512(codes, bytes);
            continue;
        }
        leads[block] = ~high | _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(0x40));
        const __m512i alike = _mm512_maskz_permutexvar_epi8(high & leads[block], bytes, firsts);
        const uint64_t known = _mm512_test_epi8_mask(alike, alike);
        _mm512_storeu_si512(codes, _mm512_mask_mov_epi8(_mm512_mask_mov_epi8(bytes, high, later), known, alike));
        scan_encode_others(tables, text, left, high & leads[block] & ~known, codes);
    }
}

/* Write the positions of the bits of a mask; there is room for SCAN_PUT_ROOM. Returns how many. */
BP_AVX512_INLINE Py_ssize_t scan_put_avx512(uint64_t mask, Py_ssize_t base, Py_ssize_t *ends)
{
    const __m512i numbers = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36,
        35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,
        6, 5, 4, 3, 2, 1, 0);
    const __m512i base8 = _mm512_set1_epi64(base);
    const int count = (int)_mm_popcnt_u64(mask);
    __m512i bits = _mm512_maskz_compress_epi8(mask, numbers);
    for (int done = 0;;) { /* the last round may write more than `count` */
        for (int i = 0; i < SCAN_ENDS_AT_ONCE; i += 8) {
            const __m512i eight = _mm512_cvtepu8_epi64(_mm512_castsi512_si128(bits));
            _mm512_storeu_si512(ends + done + i, _mm512_add_epi64(base8, eight));
            bits = _mm512_alignr_epi64(bits, bits, 1);
        }
        done += SCAN_ENDS_AT_ONCE;
        if (BP_LIKELY(done >= count))
            return count;
    }
}

/* Give out the ends of the cursor's blocks as long as there is room for a whole block; returns the new count. */
BP_AVX512_TARGET static Py_ssize_t scan_put_blocks_avx512(scan_cursor *cursor, Py_ssize_t *ends, Py_ssize_t count,
                                                      Py_ssize_t capacity)
{
    for (; cursor->block < cursor->blocks && capacity - count >= SCAN_PUT_ROOM; cursor->block++)
        count += scan_put_avx512(cursor->ready[cursor->block], cursor->base + cursor->block * SCAN_BLOCK, ends + count);
    return count;
}
#endif

#endif
