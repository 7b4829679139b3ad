/* A scan of a text: it is read in passes, each by the fastest loop that the processor has, and the ends found are given out
   as there is room for them. */
#ifndef BPETITE_SCAN_H
#define BPETITE_SCAN_H

#include "scan_avx2.h"
#include "scan_avx512.h"
#include "scan_neon.h"

enum { SCAN_SHORTEST_WIDE = 400 }; /* codes; below, transposing the text into 64 lanes costs more than it saves */

static inline void scan_begin(scan_cursor *cursor, const uint8_t *text, Py_ssize_t length, int final)
{
    cursor->text = text;
    cursor->length = length;
    cursor->final = final;
    cursor->ended = length == 0 && final;
    cursor->position = 0;
    cursor->leads = ~UINT64_C(0);
    cursor->mark = 0;
    cursor->state = 0;
    cursor->early = -1;
    cursor->before = 0;
    cursor->base = 0;
    cursor->block = cursor->blocks = 0;
}

/* Choose the method and the length of the next pass. The end of the text is a code, which must fit into it. */
static inline void scan_measure(const scan_tables *tables, scan_cursor *cursor, scan_pass *pass)
{
    const Py_ssize_t left = cursor->length - cursor->position, codes = left + cursor->final;
    const uint8_t *text = cursor->text + cursor->position;
    int longest = SCAN_LONGEST;
    pass->lane = 0;
    if (tables->lanes == SCAN_WIDE_LANES && codes >= SCAN_SHORTEST_WIDE) {
        pass->lane = SCAN_LONGEST / SCAN_WIDE_LANES;
        while (pass->lane > 16 && codes * 4 <= pass->lane * SCAN_WIDE_LANES * 3) /* less than three quarters full */
            pass->lane /= 2;
        longest = pass->lane * SCAN_WIDE_LANES;
    }
    cursor->ended = left < longest && cursor->final;
    pass->size = left < longest ? (int)left : longest;
    pass->count = pass->size + cursor->ended;
    pass->blocks = (pass->count + SCAN_BLOCK - 1) / SCAN_BLOCK;
    pass->before_end = -1;
    pass->ascii = (pass->size == longest || cursor->ended) && scan_is_ascii(text, pass->size);
    if (pass->ascii && pass->size < longest) {
        /* Without a code for its end, the text is read as ASCII, which is less work. */
        pass->before_end = scan_known_state(tables, text, pass->size);
        pass->ascii = pass->before_end >= 0;
    }
}

/* scan_encode for `blocks` whole blocks; returns how many it did. */
static inline int scan_encode_blocks(const scan_tables *tables, const uint8_t *text, Py_ssize_t left, int blocks,
                                     uint8_t *codes, uint64_t *leads)
{
    switch (tables->simd) {
#ifdef BP_HAS_AVX512
    case BP_SIMD_AVX512: scan_encode_avx512(tables, text, left, blocks, codes, leads); return blocks;
#endif
#ifdef BP_HAS_AVX2
    case BP_SIMD_AVX2: scan_encode_avx2(tables, text, left, blocks, codes, leads); return blocks;
#endif
#ifdef BP_HAS_NEON
    case BP_SIMD_NEON: scan_encode_neon(tables, text, left, blocks, codes, leads); return blocks;
#endif
    default: return 0;
    }
}

/* Turn the text of a pass into codes, and mark the bytes that begin a character. */
static inline void scan_encode_pass(const scan_tables *tables, const scan_cursor *cursor, scan_pass *pass)
{
    const uint8_t *text = cursor->text + cursor->position;
    const Py_ssize_t left = cursor->length - cursor->position;
    const int padded = pass->lane ? pass->lane * SCAN_WIDE_LANES : pass->count + SCAN_BLOCK;
    int block;
    if (pass->ascii) {
        pass->codes = text;
        memset(pass->leads, 0xFF, (size_t)pass->blocks * sizeof *pass->leads);
        if (pass->before_end >= 0) {
            pass->codes = pass->rewritten;
            memcpy(pass->rewritten, text, (size_t)pass->size);
            memset(pass->rewritten + pass->size, 0, (size_t)(padded - pass->size));
        }
        return;
    }
    pass->codes = pass->rewritten;
    block = scan_encode_blocks(tables, text, left, pass->size / SCAN_BLOCK, pass->rewritten, pass->leads);
    for (; block * SCAN_BLOCK < pass->size; block++)
        pass->leads[block] = scan_encode(tables, text + block * SCAN_BLOCK, left - block * SCAN_BLOCK,
                                         pass->rewritten + block * SCAN_BLOCK);
    if (cursor->ended) {
        pass->rewritten[pass->size] = tables->end;
        if (pass->size % SCAN_BLOCK == 0)
            pass->leads[pass->size / SCAN_BLOCK] = ~UINT64_C(0);
    }
    memset(pass->rewritten + pass->count, tables->continuation, (size_t)(padded - pass->count));
}

/* Keep the leads of the 64 bytes before the next pass, which begins inside a block or where one ends. */
static inline void scan_keep_leads(scan_cursor *cursor, const scan_pass *pass)
{
    const int size = pass->size % SCAN_BLOCK;
    const uint64_t last = pass->leads[pass->blocks - 1];
    const uint64_t before = pass->blocks > 1 ? pass->leads[pass->blocks - 2] : cursor->leads;
    cursor->leads = size ? before >> size | last << (SCAN_BLOCK - size) : last;
}

/* Find the ends in the next pass of the text, once all found before are given out. Returns 0 if no text is left. Not
   inlined: a pass takes 9 KB of the stack. */
BP_NOINLINE static int scan_read_pass(const scan_tables *tables, scan_cursor *cursor)
{
    scan_pass pass;
    if (cursor->ended || (cursor->position == cursor->length && !cursor->final))
        return 0;
    scan_measure(tables, cursor, &pass);
    if (cursor->length - cursor->position > SCAN_LONGEST)
        scan_prefetch(cursor->text + cursor->position + SCAN_LONGEST, pass.size);
    scan_encode_pass(tables, cursor, &pass);
#ifdef BP_HAS_AVX512
    if (pass.lane)
        cursor->state = scan_run_avx512(tables, &pass, cursor->state);
    else
#endif
        cursor->state = scan_run_pass(tables, &pass, cursor->state);
    if (pass.before_end >= 0)
        scan_put_end(tables, &pass);
    cursor->base = cursor->position;
    cursor->position += pass.size;
    cursor->block = 0;
    cursor->blocks = pass.blocks;
    scan_find_cuts(tables, cursor, &pass);
    if (tables->used_bits >> SCAN_MARK)
        scan_follow_marks(tables, cursor, &pass);
    if (cursor->ended)
        cursor->ready[pass.blocks - 1] |= UINT64_C(1) << (pass.size % SCAN_BLOCK);
    else
        scan_keep_leads(cursor, &pass);
    return 1;
}

/* Give out the ends of the cursor's blocks as long as there is room for a whole block, or none; returns the new count. */
static inline Py_ssize_t scan_put_blocks(int simd, scan_cursor *cursor, Py_ssize_t *ends, Py_ssize_t count,
                                         Py_ssize_t capacity)
{
    switch (simd) {
#ifdef BP_HAS_AVX512
    case BP_SIMD_AVX512: return scan_put_blocks_avx512(cursor, ends, count, capacity);
#endif
#ifdef BP_HAS_AVX2
    case BP_SIMD_AVX2: return scan_put_blocks_avx2(cursor, ends, count, capacity);
#endif
    default: return count;
    }
}

/* Write up to `capacity` ends and return their number; 0 at the end. */
static inline Py_ssize_t scan_next_ends(const scan_tables *tables, scan_cursor *cursor, Py_ssize_t *ends,
                                        Py_ssize_t capacity)
{
    Py_ssize_t count = 0;
    while (count < capacity) {
        if (cursor->early >= 0) {
            ends[count++] = cursor->early;
            cursor->early = -1;
        }
        if (cursor->before) {
            count = scan_put(&cursor->before, cursor->base - SCAN_BLOCK, ends, count, capacity);
            if (cursor->before)
                break;
        }
        count = scan_put_blocks(tables->simd, cursor, ends, count, capacity);
        for (; cursor->block < cursor->blocks; cursor->block++) {
            uint64_t *ready = &cursor->ready[cursor->block];
            if (count && capacity - count < SCAN_BLOCK && SCAN_BLOCK <= capacity)
                return count; /* the next call has room for a whole block, which is faster */
            count = scan_put(ready, cursor->base + cursor->block * SCAN_BLOCK, ends, count, capacity);
            if (*ready)
                break;
        }
        if (cursor->block == cursor->blocks && !scan_read_pass(tables, cursor))
            break;
    }
    return count;
}

#endif
