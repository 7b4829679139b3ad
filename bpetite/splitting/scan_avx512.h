/* The scanner's machine over sixty-four places of the text side by side, by byte shuffles (see avx512.h for the machines that
   have them).

   A span is cut into 64 lanes of 16, 32 or 64 codes. All lanes step together: `codes`, their next codes, and `state`,
   their states, are 64 bytes each, and a function of the two is a look-up by byte shuffle, 128 results at a time. The
   tables are small: codes that do the same in every state are one row, and 128 / states rows are one page; a step costs
   two or three instructions for each page, whatever the pattern is (vector_tables.py lays them out).

   The state in front of a lane is not known without the text before it. So a first pass runs over the last codes of
   every lane with a machine whose states are sets: it starts from the set of all states, and where only one is left,
   that is the state the next lane begins in. Nearly always a few characters do; a lane where they do not is run again
   by itself when the one before it is done.

   Text comes lane by lane and is wanted code by code, outputs come code by code and are wanted lane by lane, hence the
   two transpositions. */
#ifndef BPETITE_SCAN_WIDE_H
#define BPETITE_SCAN_WIDE_H

#include "scan_blocks.h"
#include "../headers/avx512.h"

#include "../headers/bytes.h"

enum {
    SCAN_WIDE_LANES = 64,
    SCAN_PAGE = 128,      /* results of one shuffle */
    SCAN_WIDE_ROOM = 72,  /* ends that scan_put_wide may write */
    SCAN_WIDE_FIND = 16   /* codes of a lane that the first pass reads */
};

#ifdef BP_WIDE
/* table[index] of 128 bytes. */
BP_WIDE_INLINE __m512i scan_wide_look(const uint8_t *table, __m512i index)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(table), index, _mm512_loadu_si512(table + 64));
}

/* table[index] of 256 bytes, or of its first 128. */
BP_WIDE_INLINE __m512i scan_wide_look_far(const uint8_t *table, __m512i index, int ascii)
{
    const __m512i near = scan_wide_look(table, index);
    if (ascii)
        return near;
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), near, scan_wide_look(table + SCAN_PAGE, index));
}

BP_WIDE_INLINE __m512i scan_wide_paged(const scan_paged *function, uint32_t pages, __m512i codes, __m512i state,
                                         int ascii)
{
    const __m512i at = _mm512_add_epi8(scan_wide_look_far(function->place, codes, ascii), state);
    __m512i result = scan_wide_look(function->steps, at);
    if (pages > 1) {
        const __m512i page = scan_wide_look_far(function->page, codes, ascii);
        for (uint32_t i = 1; i < pages; i++)
            result = _mm512_mask_blend_epi8(_mm512_cmpeq_epi8_mask(page, _mm512_set1_epi8((char)i)), result,
                                            scan_wide_look(function->steps + SCAN_PAGE * i, at));
    }
    return result;
}

/* Bytes of row i and of row i + 8 by turns, in each quarter of the registers. */
BP_WIDE_INLINE void scan_wide_interleave(const __m512i *from, __m512i *to)
{
    for (int i = 0; i < 8; i++) {
        to[2 * i] = _mm512_unpacklo_epi8(from[i], from[i + 8]);
        to[2 * i + 1] = _mm512_unpackhi_epi8(from[i], from[i + 8]);
    }
}

/* 64 rows of `lane` bytes to `lane` rows of 64. */
BP_WIDE_INLINE void scan_wide_turn(const uint8_t *codes, const int lane, uint8_t *turned)
{
    const int cells = lane / 16; /* of sixteen codes, in a lane */
    for (int quarter = 0; quarter < cells; quarter++) {
        /* Four cells of each of sixteen lanes: cell c of lanes 16 g to 16 g + 15. */
        __m512i row[16], next[16];
        for (int i = 0; i < 16; i++) {
            if (cells == 4) {
                row[i] = _mm512_loadu_si512(codes + (quarter * 16 + i) * lane);
            } else if (cells == 2) {
                const uint8_t *at = codes + (quarter * 32 + i) * lane;
                row[i] = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)at)),
                                            _mm256_loadu_si256((const __m256i *)(at + 16 * lane)), 1);
            } else {
                const uint8_t *at = codes + i * lane;
                row[i] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)at));
                row[i] = _mm512_inserti32x4(row[i], _mm_loadu_si128((const __m128i *)(at + 16 * lane)), 1);
                row[i] = _mm512_inserti32x4(row[i], _mm_loadu_si128((const __m128i *)(at + 32 * lane)), 2);
                row[i] = _mm512_inserti32x4(row[i], _mm_loadu_si128((const __m128i *)(at + 48 * lane)), 3);
            }
        }
        /* Sixteen rows of sixteen bytes in each quarter of the registers: interleaving row i with row i + 8, four
           times over, turns them. */
        scan_wide_interleave(row, next);
        scan_wide_interleave(next, row);
        scan_wide_interleave(row, next);
        scan_wide_interleave(next, row);
        for (int i = 0; i < 16; i++)
            for (int part = 0; part < 4; part++) {
                const int cell = (quarter * 4 + part) % cells, group = (quarter * 4 + part) / cells;
                uint8_t *to = turned + (cell * 16 + i) * 64 + group * 16;
                _mm_storeu_si128((__m128i *)to, part == 0   ? _mm512_castsi512_si128(row[i])
                                                : part == 1 ? _mm512_extracti32x4_epi32(row[i], 1)
                                                : part == 2 ? _mm512_extracti32x4_epi32(row[i], 2)
                                                            : _mm512_extracti32x4_epi32(row[i], 3));
            }
    }
}

/* `lane` masks over the 64 lanes to 64 masks of `lane` bits over the codes of each, laid out side by side. */
BP_WIDE_INLINE void scan_wide_turn_bits(const uint64_t *steps, const int lane, uint64_t *masks)
{
    const int rows = lane / 8;
    uint8_t order[64], low8[64], high8[64];
    uint16_t low16[32], high16[32];
    uint32_t low32[16], high32[16];
    for (int i = 0; i < 64; i++) {
        order[i] = (uint8_t)(8 * (7 - i % 8) + i / 8);
        low8[i] = (uint8_t)(i / 2 + i % 2 * 64);
        high8[i] = (uint8_t)(32 + i / 2 + i % 2 * 64);
    }
    for (int i = 0; i < 32; i++) {
        low16[i] = (uint16_t)(i / 2 + i % 2 * 32);
        high16[i] = (uint16_t)(16 + i / 2 + i % 2 * 32);
    }
    for (int i = 0; i < 16; i++) {
        low32[i] = (uint32_t)(i / 2 + i % 2 * 16);
        high32[i] = (uint32_t)(8 + i / 2 + i % 2 * 16);
    }
    __m512i row[8], next[8];
    /* The product of unit vectors with eight bytes taken as a matrix of bits is that matrix turned. */
    for (int i = 0; i < rows; i++)
        row[i] = _mm512_gf2p8affine_epi64_epi8(
            _mm512_set1_epi64((long long)UINT64_C(0x8040201008040201)),
            _mm512_permutexvar_epi8(_mm512_loadu_si512(order), _mm512_loadu_si512(steps + 8 * i)), 0);
    /* row[i] has eight bits of each lane; now the bytes of a lane come together. */
    for (int i = 0; i < rows; i += 2) {
        next[i] = _mm512_permutex2var_epi8(row[i], _mm512_loadu_si512(low8), row[i + 1]);
        next[i + 1] = _mm512_permutex2var_epi8(row[i], _mm512_loadu_si512(high8), row[i + 1]);
    }
    if (rows == 2) {
        _mm512_storeu_si512(masks, next[0]);
        _mm512_storeu_si512(masks + 8, next[1]);
        return;
    }
    for (int i = 0; i < rows; i += 4)
        for (int j = 0; j < 2; j++) {
            row[i + 2 * j] = _mm512_permutex2var_epi16(next[i + j], _mm512_loadu_si512(low16), next[i + 2 + j]);
            row[i + 2 * j + 1] = _mm512_permutex2var_epi16(next[i + j], _mm512_loadu_si512(high16), next[i + 2 + j]);
        }
    if (rows == 4) {
        for (int i = 0; i < 4; i++)
            _mm512_storeu_si512(masks + 8 * i, row[i]);
        return;
    }
    for (int j = 0; j < 4; j++) {
        _mm512_storeu_si512(masks + 16 * j,
                            _mm512_permutex2var_epi32(row[j], _mm512_loadu_si512(low32), row[4 + j]));
        _mm512_storeu_si512(masks + 16 * j + 8,
                            _mm512_permutex2var_epi32(row[j], _mm512_loadu_si512(high32), row[4 + j]));
    }
}

BP_WIDE_INLINE uint32_t scan_wide_span(const scan_tables *tables, const scan_wide *wide, const uint8_t *codes,
                                         const int lane, const int count, const int ascii, const uint32_t pages,
                                         uint32_t state, scan_masks masks)
{
    uint8_t turned[SCAN_WIDE_LANES * 64], ends[SCAN_WIDE_LANES];
    uint64_t steps[SCAN_KINDS][64];
    const uint32_t find_pages = ascii ? wide->find.ascii_pages : wide->find.pages;
    scan_wide_turn(codes, lane, turned);

    __m512i states = _mm512_set1_epi8((char)wide->every);
    for (int i = lane - SCAN_WIDE_FIND; i < lane; i++)
        states = scan_wide_paged(&wide->find, find_pages, _mm512_loadu_si512(turned + 64 * i), states, ascii);
    /* The state behind a lane is the one in front of the next. */
    uint8_t from[64];
    from[0] = (uint8_t)state;
    _mm512_storeu_si512(ends, states);
    memcpy(from + 1, ends, 63);
    states = _mm512_loadu_si512(from);
    /* Lanes behind the last are padding: in state 0 they stay and put out nothing. */
    const int last = (count - 1) / lane;
    states = _mm512_maskz_mov_epi8(UINT64_MAX >> (SCAN_WIDE_LANES - 1 - last), states);
    uint64_t unknown = _mm512_cmpge_epu8_mask(states, _mm512_set1_epi8((char)tables->states));

    for (int i = 0; i < lane; i++) {
        const __m512i step = scan_wide_paged(&wide->run, pages, _mm512_loadu_si512(turned + 64 * i), states, ascii);
        const __m512i out = scan_wide_look(wide->output, step);
        states = scan_wide_look(wide->following, step);
        for (int kind = 0; kind < SCAN_KINDS; kind++)
            if (tables->kinds >> kind & 1)
                steps[kind][i] = _mm512_test_epi8_mask(out, _mm512_set1_epi8((char)(1 << kind)));
    }
    for (int kind = 0; kind < SCAN_KINDS; kind++)
        if (tables->kinds >> kind & 1)
            scan_wide_turn_bits(steps[kind], lane, masks[kind]);

    _mm512_storeu_si512(ends, states);
    while (unknown) {
        const int at = scan_lowest(unknown);
        uint8_t out[SCAN_BLOCK] = {0};
        unknown &= unknown - 1;
        ends[at] = (uint8_t)scan_run(tables, codes + at * lane, lane, ends[at - 1], out);
        for (int kind = 0; kind < SCAN_KINDS; kind++)
            if (tables->kinds >> kind & 1) {
                const uint64_t mask = scan_mask(out, kind);
                memcpy((uint8_t *)masks[kind] + at * (lane / 8), &mask, (size_t)lane / 8);
            }
    }
    return ends[last];
}

/* Run `count` codes through the machine, which lie in 64 lanes of 16, 32 or 64, padded by codes that stay; returns its
   state after them. OUT: for each kind of output that there is, a mask of each 64 codes. */
BP_WIDE_TARGET static uint32_t scan_run_wide(const scan_tables *tables, const scan_wide *wide, const uint8_t *codes,
                                               int lane, int count, int ascii, uint32_t state,
                                               scan_masks masks)
{
    const uint32_t pages = ascii ? wide->run.ascii_pages : wide->run.pages;
    if (lane == 16)
        return scan_wide_span(tables, wide, codes, 16, count, ascii, pages, state, masks);
    if (lane == 32)
        return scan_wide_span(tables, wide, codes, 32, count, ascii, pages, state, masks);
    if (ascii && pages == 1)
        return scan_wide_span(tables, wide, codes, 64, count, 1, 1, state, masks);
    if (ascii && pages == 2)
        return scan_wide_span(tables, wide, codes, 64, count, 1, 2, state, masks);
    return scan_wide_span(tables, wide, codes, 64, count, ascii, pages, state, masks);
}

/* scan_encode for blocks that lie whole in a text. */
BP_WIDE_TARGET static void scan_encode_wide(const scan_tables *tables, const uint8_t *text, Py_ssize_t left, int blocks,
                                              uint8_t *codes, uint64_t *leads)
{
    for (int block = 0; block < blocks; block++, text += SCAN_BLOCK, left -= SCAN_BLOCK, codes += SCAN_BLOCK) {
        const __m512i bytes = _mm512_loadu_si512(text);
        const uint64_t high = _mm512_movepi8_mask(bytes);
        leads[block] = ~UINT64_C(0);
        if (high == 0) {
            _mm512_storeu_si512(codes, bytes);
            continue;
        }
        leads[block] = ~high | _mm512_test_epi8_mask(bytes, _mm512_set1_epi8(0x40));
        _mm512_storeu_si512(codes, _mm512_mask_mov_epi8(bytes, high, _mm512_set1_epi8((char)tables->stay)));
        scan_encode_others(tables, text, left, high & leads[block], codes);
    }
}

/* Turn the bits of a mask into offsets; there is room for SCAN_WIDE_ROOM. Returns how many. */
BP_WIDE_INLINE Py_ssize_t scan_put_wide(uint64_t mask, Py_ssize_t base, Py_ssize_t *ends)
{
    const __m512i counting = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36,
        35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7,
        6, 5, 4, 3, 2, 1, 0);
    const __m512i base8 = _mm512_set1_epi64(base);
    const int count = (int)_mm_popcnt_u64(mask);
    __m512i places = _mm512_maskz_compress_epi8(mask, counting);
    /* Twenty-four at a time, the last few perhaps in vain: more in 64 bytes are rare. */
    for (int done = 0;;) {
        for (int i = 0; i < 24; i += 8) {
            _mm512_storeu_si512(ends + done + i, _mm512_add_epi64(base8, _mm512_cvtepu8_epi64(_mm512_castsi512_si128(places))));
            places = _mm512_alignr_epi64(places, places, 1);
        }
        done += 24;
        if (BP_LIKELY(done >= count))
            return count;
    }
}

/* Give out the ends of the cursor's blocks as long as there is room for all of a block; returns the new count. */
BP_WIDE_TARGET static Py_ssize_t scan_put_blocks_wide(scan_cursor *cursor, Py_ssize_t *ends, Py_ssize_t count,
                                                        Py_ssize_t capacity)
{
    for (; cursor->block < cursor->blocks && capacity - count >= SCAN_WIDE_ROOM; cursor->block++)
        count += scan_put_wide(cursor->ready[cursor->block], cursor->base + cursor->block * SCAN_BLOCK, ends + count);
    return count;
}
#else
static inline uint32_t scan_run_wide(const scan_tables *tables, const scan_wide *wide, const uint8_t *codes, int lane,
                                     int count, int ascii, uint32_t state, scan_masks masks)
{
    (void)tables, (void)wide, (void)codes, (void)lane, (void)count, (void)ascii, (void)masks;
    return state;
}

static inline void scan_encode_wide(const scan_tables *tables, const uint8_t *text, Py_ssize_t left, int blocks,
                                    uint8_t *codes, uint64_t *leads)
{
    (void)tables, (void)text, (void)left, (void)blocks, (void)codes, (void)leads;
}

static inline Py_ssize_t scan_put_blocks_wide(scan_cursor *cursor, Py_ssize_t *ends, Py_ssize_t count,
                                              Py_ssize_t capacity)
{
    (void)cursor, (void)ends, (void)capacity;
    return count;
}
#endif

#endif
