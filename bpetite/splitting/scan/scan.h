/* A scan of a text: it is read in spans, each by the fastest loop that the processor has, and the ends found are given out
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

/* Choose the method and the length of the next span. The end of the text is a code, which must fit into it. */
static inline void scan_measure(const scan_tables *tables, scan_cursor *cursor, scan_span *span)
{
    const Py_ssize_t left = cursor->length - cursor->position, codes = left + cursor->final;
    const uint8_t *text = cursor->text + cursor->position;
    int longest = SCAN_LONGEST;
    span->lane = 0;
    if (tables->lanes == SCAN_WIDE_LANES && codes >= SCAN_SHORTEST_WIDE) {
        span->lane = SCAN_LONGEST / SCAN_WIDE_LANES;
        while (span->lane > 16 && codes * 4 <= span->lane * SCAN_WIDE_LANES * 3) /* less than three quarters full */
            span->lane /= 2;
        longest = span->lane * SCAN_WIDE_LANES;
    }
    cursor->ended = left < longest && cursor->final;
    span->size = left < longest ? (int)left : longest;
    span->count = span->size + cursor->ended;
    span->blocks = (span->count + SCAN_BLOCK - 1) / SCAN_BLOCK;
    span->before_end = -1;
    span->ascii = (span->size == longest || cursor->ended) && scan_is_ascii(text, span->size);
    if (span->ascii && span->size < longest) {
        /* Without a code for its end, the text is read as ASCII, which is less work. */
        span->before_end = scan_known_state(tables, text, span->size);
        span->ascii = span->before_end >= 0;
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

/* Turn the text of a span into codes, and mark the bytes that begin a character. */
static inline void scan_encode_span(const scan_tables *tables, const scan_cursor *cursor, scan_span *span)
{
    const uint8_t *text = cursor->text + cursor->position;
    const Py_ssize_t left = cursor->length - cursor->position;
    const int padded = span->lane ? span->lane * SCAN_WIDE_LANES : span->count + SCAN_BLOCK;
    int block;
    if (span->ascii) {
        span->codes = text;
        memset(span->leads, 0xFF, (size_t)span->blocks * sizeof *span->leads);
        if (span->before_end >= 0) {
            span->codes = span->rewritten;
            memcpy(span->rewritten, text, (size_t)span->size);
            memset(span->rewritten + span->size, 0, (size_t)(padded - span->size));
        }
        return;
    }
    span->codes = span->rewritten;
    block = scan_encode_blocks(tables, text, left, span->size / SCAN_BLOCK, span->rewritten, span->leads);
    for (; block * SCAN_BLOCK < span->size; block++)
        span->leads[block] = scan_encode(tables, text + block * SCAN_BLOCK, left - block * SCAN_BLOCK,
                                         span->rewritten + block * SCAN_BLOCK);
    if (cursor->ended) {
        span->rewritten[span->size] = tables->end;
        if (span->size % SCAN_BLOCK == 0)
            span->leads[span->size / SCAN_BLOCK] = ~UINT64_C(0);
    }
    memset(span->rewritten + span->count, tables->continuation, (size_t)(padded - span->count));
}

/* Keep the leads of the 64 bytes before the next span, which begins inside a block or where one ends. */
static inline void scan_keep_leads(scan_cursor *cursor, const scan_span *span)
{
    const int size = span->size % SCAN_BLOCK;
    const uint64_t last = span->leads[span->blocks - 1];
    const uint64_t before = span->blocks > 1 ? span->leads[span->blocks - 2] : cursor->leads;
    cursor->leads = size ? before >> size | last << (SCAN_BLOCK - size) : last;
}

/* Find the ends in the next span of the text, once all found before are given out. Returns 0 if no text is left. Not
   inlined: a span takes 9 KB of the stack. */
BP_NOINLINE static int scan_read_span(const scan_tables *tables, scan_cursor *cursor)
{
    scan_span span;
    if (cursor->ended || (cursor->position == cursor->length && !cursor->final))
        return 0;
    scan_measure(tables, cursor, &span);
    if (cursor->length - cursor->position > SCAN_LONGEST)
        scan_prefetch(cursor->text + cursor->position + SCAN_LONGEST, span.size);
    scan_encode_span(tables, cursor, &span);
#ifdef BP_HAS_AVX512
    if (span.lane)
        cursor->state = scan_run_avx512(tables, &span, cursor->state);
    else
#endif
        cursor->state = scan_run_span(tables, &span, cursor->state);
    if (span.before_end >= 0)
        scan_put_end(tables, &span);
    cursor->base = cursor->position;
    cursor->position += span.size;
    cursor->block = 0;
    cursor->blocks = span.blocks;
    scan_find_cuts(tables, cursor, &span);
    if (tables->used_bits >> SCAN_MARK)
        scan_follow_marks(tables, cursor, &span);
    if (cursor->ended)
        cursor->ready[span.blocks - 1] |= UINT64_C(1) << (span.size % SCAN_BLOCK);
    else
        scan_keep_leads(cursor, &span);
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
        if (cursor->block == cursor->blocks && !scan_read_span(tables, cursor))
            break;
    }
    return count;
}

#endif
