/* The scanner's transducer over 64 lanes of text by shuffles of sixteen bytes: included by scan_forms.h once for each
   set of vector instructions, with BP_FORM(name), BP_FORM_TARGET, and V(operation), SCAN_VEC and SCAN_WIDTH, the
   operations, type and bytes of a vector.

   A span is cut into 64 lanes of 16, 32 or 64 codes, and all lanes step together. Codes that do the same in every state
   are one class, and a class has a row of sixteen or 32 transitions by state, which a shuffle looks up; a step looks up
   the state of each lane in the rows of all classes and keeps that of the lane's own. So a step costs four instructions
   for each class and vector (vector_tables.py: Rows). A set with look-ups in larger tables has forms of its own of
   scan_classes, scan_step, scan_mask and scan_encode, and defines SCAN_OWN_LOOK_UPS.

   How the state at the start of a lane is found is told in scan_avx512.h. Codes are turned into classes while they are
   transposed from lane by lane to step by step, and transitions are transposed back. */

enum { BP_FORM(SCAN_VECS) = 64 / SCAN_WIDTH };

#ifndef SCAN_OWN_LOOK_UPS
/* The class of each code. */
BP_FORM_TARGET static inline SCAN_VEC BP_FORM(scan_classes)(const scan_rows *rows, SCAN_VEC codes, int ascii)
{
    SCAN_VEC pages[8], found;
    const SCAN_VEC index = V(and)(codes, V(each8)(0x0F));
    for (int i = 0; i < 8; i++)
        pages[i] = V(shuffle)(V(row)(rows->classes + 16 * i), index);
    for (int bit = 0; bit < 3; bit++) { /* bits 4 to 6 choose the page, from the lowest on */
        const SCAN_VEC set = V(each8)(16 << bit);
        const SCAN_VEC mask = V(equal8)(V(and)(codes, set), set);
        for (int i = 0; i < 4 >> bit; i++)
            pages[i] = V(choose)(mask, pages[2 * i + 1], pages[2 * i]);
    }
    found = pages[0];
    if (!ascii) {
        const SCAN_VEC set = V(each8)(0x80);
        found = V(choose)(V(equal8)(V(and)(codes, set), set), V(shuffle)(V(row)(rows->classes + SCAN_PAGE), index),
                          found);
    }
    return found;
}

/* One step of all lanes: the entries of the states in the rows of the classes. */
BP_FORM_TARGET static inline void BP_FORM(scan_step)(const uint8_t *table, const int halves, int count,
                                                     const uint8_t *classes, SCAN_VEC *states)
{
    SCAN_VEC low[BP_FORM(SCAN_VECS)], high[BP_FORM(SCAN_VECS)], after[BP_FORM(SCAN_VECS)];
    for (int k = 0; k < BP_FORM(SCAN_VECS); k++) {
        states[k] = V(and)(states[k], V(each8)(0x1F));
        /* A shuffle gives 0 where the topmost bit is set: in the lower half from state 16 on, in the upper below. */
        low[k] = halves > 1 ? V(add8)(states[k], V(each8)(0x70)) : states[k];
        high[k] = V(add8)(V(xor)(states[k], V(each8)(0x10)), V(each8)(0x70));
        after[k] = V(each8)(0);
    }
    for (int row = 0; row < count; row++, table += 32) {
        const SCAN_VEC first = V(row)(table), second = V(row)(table + 16), own = V(each8)(row);
        for (int k = 0; k < BP_FORM(SCAN_VECS); k++) {
            const SCAN_VEC mask = V(equal8)(V(load)(classes + k * SCAN_WIDTH), own);
            SCAN_VEC found = V(shuffle)(first, low[k]);
            if (halves > 1)
                found = V(or)(found, V(shuffle)(second, high[k]));
            after[k] = V(or)(after[k], V(and)(mask, found));
        }
    }
    for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
        states[k] = after[k];
}
#endif

/* Transpose sixteen rows of sixteen bytes, in each cell of the vectors. Each level interleaves the first half of the
   rows with the second. */
BP_FORM_TARGET static inline void BP_FORM(scan_transpose)(SCAN_VEC *row)
{
    SCAN_VEC next[16];
    for (int level = 0; level < 4; level++) {
        for (int i = 0; i < 8; i++) {
            next[2 * i] = V(zip_low)(row[i], row[i + 8]);
            next[2 * i + 1] = V(zip_high)(row[i], row[i + 8]);
        }
        for (int i = 0; i < 16; i++)
            row[i] = next[i];
    }
}

/* 64 lanes of `lane` codes to `lane` steps of 64 classes. */
BP_FORM_TARGET static inline void BP_FORM(scan_to_steps)(const scan_rows *rows, const uint8_t *codes, int lane,
                                                         int ascii, uint8_t *steps)
{
    for (int first = 0; first < 64; first += SCAN_WIDTH)
        for (int at = 0; at < lane; at += 16) {
            SCAN_VEC row[16];
            for (int i = 0; i < 16; i++)
                row[i] = BP_FORM(scan_classes)(rows, V(cells)(codes + (first + i) * lane + at, 16 * lane), ascii);
            BP_FORM(scan_transpose)(row);
            for (int i = 0; i < 16; i++)
                V(store)(steps + (at + i) * 64 + first, row[i]);
        }
}

/* `lane` steps of 64 transitions to the outputs of 64 lanes, one after the other. */
BP_FORM_TARGET static inline void BP_FORM(scan_to_lanes)(const scan_rows *rows, const uint8_t *steps, int lane,
                                                         uint8_t *outputs)
{
    const SCAN_VEC out = V(row)(rows->out);
    for (int first = 0; first < 64; first += SCAN_WIDTH)
        for (int at = 0; at < lane; at += 16) {
            SCAN_VEC row[16];
            for (int i = 0; i < 16; i++)
                row[i] = V(load)(steps + (at + i) * 64 + first);
            BP_FORM(scan_transpose)(row);
            for (int i = 0; i < 16; i++)
                V(store_cells)(outputs + (first + i) * lane + at, 16 * lane,
                               V(shuffle)(out, V(and)(V(right16)(row[i], 5), V(each8)(0x07))));
        }
}

#ifndef SCAN_OWN_LOOK_UPS
/* Bit `bit` of 64 bytes as a mask. */
BP_FORM_TARGET static inline uint64_t BP_FORM(scan_mask)(const uint8_t *out, int bit)
{
    uint64_t mask = 0;
    for (int k = 0; k < BP_FORM(SCAN_VECS); k++) {
        const SCAN_VEC set = V(each8)(1 << bit);
        mask |= V(signs)(V(equal8)(V(and)(V(load)(out + k * SCAN_WIDTH), set), set)) << k * SCAN_WIDTH;
    }
    return mask;
}
#endif

BP_FORM_TARGET static inline uint32_t BP_FORM(scan_run_halves)(const scan_tables *tables, const scan_rows *rows,
                                                               scan_span *span, const int halves, uint32_t state)
{
    const int lane = span->lane, ascii = span->ascii, count = ascii ? (int)rows->ascii_count : (int)rows->count;
    const int last = (span->count - 1) / lane;
    uint8_t steps[64 * 64], outputs[64 * 64], sets[65], likely[65] = {0}, before[64], after[64];
    SCAN_VEC states[BP_FORM(SCAN_VECS)];
    uint64_t unknown = 0;

    BP_FORM(scan_to_steps)(rows, span->codes, lane, ascii, steps);
    for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
        states[k] = V(each8)(rows->all_states);
    for (int i = lane - (ascii ? SCAN_SYNCHRONIZE_ASCII : SCAN_SYNCHRONIZE); i < lane; i++)
        BP_FORM(scan_step)(rows->subset, 2, count, steps + 64 * i, states);
    sets[0] = (uint8_t)state;
    for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
        V(store)(sets + 1 + k * SCAN_WIDTH, states[k]);
    memset(sets + last + 1, 0, (size_t)(64 - last)); /* lanes after the last are padding, which does nothing */
    for (int k = 0; k < BP_FORM(SCAN_VECS); k++) {
        states[k] = V(load)(sets + k * SCAN_WIDTH);
        /* Numbers from tables->states on, up to 31, are sets of more than one state. */
        unknown |= V(signs)(V(add8)(states[k], V(each8)(128 - tables->states))) << k * SCAN_WIDTH;
    }
    if (BP_UNLIKELY(unknown)) { /* from the start of a pre-token */
        for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
            states[k] = V(each8)(0);
        for (int i = lane - SCAN_SYNCHRONIZE; i < lane; i++)
            BP_FORM(scan_step)(rows->transition, halves, count, steps + 64 * i, states);
        for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
            V(store)(likely + 1 + k * SCAN_WIDTH, V(and)(states[k], V(each8)(0x1F)));
        for (int i = 0; i < 64; i++)
            before[i] = unknown >> i & 1 ? likely[i] : sets[i];
        for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
            states[k] = V(load)(before + k * SCAN_WIDTH);
    }

    for (int i = 0; i < lane; i++) {
        BP_FORM(scan_step)(rows->transition, halves, count, steps + 64 * i, states);
        for (int k = 0; k < BP_FORM(SCAN_VECS); k++)
            V(store)(steps + 64 * i + k * SCAN_WIDTH, states[k]);
    }
    BP_FORM(scan_to_lanes)(rows, steps, lane, outputs);
    for (int i = 0; i < 64; i++)
        after[i] = steps[64 * (lane - 1) + i] & 0x1F;
    for (; unknown; unknown &= unknown - 1) { /* in order: the lane before is known by now; lane 0 always is */
        const int at = bp_lowest_bit(unknown);
        if (after[at - 1] == before[at])
            continue;
        after[at] = (uint8_t)scan_run(tables, span->codes + at * lane, lane, after[at - 1], outputs + at * lane);
    }
    for (int bit = 0; bit < SCAN_BITS; bit++)
        if (tables->used_bits >> bit & 1)
            for (int block = 0; block < span->blocks; block++)
                span->masks[bit][block] = BP_FORM(scan_mask)(outputs + block * SCAN_BLOCK, bit);
    return after[last];
}

/* Run the transducer over a span of 64 lanes of 16, 32 or 64 codes; returns the state after it. */
BP_FORM_TARGET BP_NOINLINE static uint32_t BP_FORM(scan_run)(const scan_tables *tables, const scan_rows *rows,
                                                             scan_span *span, uint32_t state)
{
    return tables->states > 16 ? BP_FORM(scan_run_halves)(tables, rows, span, 2, state)
                               : BP_FORM(scan_run_halves)(tables, rows, span, 1, state);
}

#ifndef SCAN_OWN_LOOK_UPS
/* scan_encode for `blocks` whole blocks. */
BP_FORM_TARGET BP_NOINLINE static void BP_FORM(scan_encode)(const scan_tables *tables, const uint8_t *text,
                                                            Py_ssize_t left, int blocks, uint8_t *codes,
                                                            uint64_t *leads)
{
    const SCAN_VEC top = V(each8)(0x80), later = V(each8)(tables->continuation), upper = V(each8)(0xF0);
    for (int block = 0; block < blocks; block++, text += SCAN_BLOCK, left -= SCAN_BLOCK, codes += SCAN_BLOCK) {
        uint64_t high = 0, second = 0, known = 0;
        for (int k = 0; k < BP_FORM(SCAN_VECS); k++) {
            const SCAN_VEC bytes = V(load)(text + k * SCAN_WIDTH);
            SCAN_VEC alike = V(each8)(0);
            const uint64_t here = V(signs)(bytes);
            high |= here << k * SCAN_WIDTH;
            if (!here) {
                V(store)(codes + k * SCAN_WIDTH, bytes);
                continue;
            }
            second |= V(signs)(V(left16)(bytes, 1)) << k * SCAN_WIDTH;
            for (int row = 0; row < 3; row++) { /* C, D, E */
                const SCAN_VEC own = V(equal8)(V(and)(bytes, upper), V(each8)(0xC0 + 16 * row));
                const SCAN_VEC found = V(shuffle)(V(row)(tables->alike + 16 * row), V(and)(bytes, V(each8)(0x0F)));
                alike = V(or)(alike, V(and)(own, found));
            }
            known |= V(signs)(alike) << k * SCAN_WIDTH; /* such codes are 128 or more */
            V(store)(codes + k * SCAN_WIDTH,
                     V(choose)(V(equal8)(alike, V(each8)(0)),
                               V(choose)(V(equal8)(V(and)(bytes, top), top), later, bytes), alike));
        }
        leads[block] = ~high | second;
        if (high)
            scan_encode_others(tables, text, left, high & leads[block] & ~known, codes);
    }
}
#endif

#undef BP_FORM
#undef BP_FORM_TARGET
#undef V
#undef SCAN_VEC
#undef SCAN_WIDTH
