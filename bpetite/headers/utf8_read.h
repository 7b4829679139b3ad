/* Reading UTF-8, sixteen bytes at a time: included by utf8.h once for each set of vector instructions, with
   BP_FORM(name), the name of a function of this set, and BP_FORM_TARGET. */

/* Other than zero in each byte of p[0:16] that cannot stand after the three before it, p[-3:0]. The tables give the
   faults that the upper and the lower half of the byte before and the upper half of this one are compatible with; a bit
   that is in all three is a fault. Two continuation bytes in a row are none where a character of three or four bytes
   began two or three before (Keiser, Lemire: Validating UTF-8 in less than one instruction per byte, 2020). */
BP_FORM_TARGET static inline bp_vec16 BP_FORM(bp_utf8_faults)(const uint8_t *p) {
    const bp_vec16 half = bp_vec_each8(0x0F), e0 = bp_vec_each8(0xE0), f0 = bp_vec_each8(0xF0);
    const bp_vec16 c = bp_vec_load(p), before = bp_vec_load(p - 1);
    const bp_vec16 high = bp_vec_shuffle(bp_vec_load(bp_utf8_fault[0]), bp_vec_and(bp_vec_right16(before, 4), half));
    const bp_vec16 low = bp_vec_shuffle(bp_vec_load(bp_utf8_fault[1]), bp_vec_and(before, half));
    const bp_vec16 next = bp_vec_shuffle(bp_vec_load(bp_utf8_fault[2]), bp_vec_and(bp_vec_right16(c, 4), half));
    const bp_vec16 third = bp_vec_equal8(bp_vec_and(bp_vec_load(p - 2), e0), e0);
    const bp_vec16 fourth = bp_vec_equal8(bp_vec_and(bp_vec_load(p - 3), f0), f0);
    return bp_vec_xor(bp_vec_and(bp_vec_and(high, low), next),
                      bp_vec_and(bp_vec_or(third, fourth), bp_vec_each8(BP_TWO_MORE)));
}

/* How far p[at:n] is valid, by groups of 64 bytes, where a character begins at `at`, which is at least 3. The last
   character may be cut. */
BP_FORM_TARGET static ptrdiff_t BP_FORM(bp_utf8_valid_groups)(const uint8_t *p, ptrdiff_t at, ptrdiff_t n) {
    for (; n - at >= 64; at += 64) {
        const bp_vec16 any = bp_vec_or(bp_vec_or(bp_vec_load(p + at), bp_vec_load(p + at + 16)),
                                       bp_vec_or(bp_vec_load(p + at + 32), bp_vec_load(p + at + 48)));
        if (!bp_vec_signs(any)) {
            if (p[at - 1] >= 0xC0 || p[at - 2] >= 0xE0 || p[at - 3] >= 0xF0) break;
        } else {
            const bp_vec16 faults = bp_vec_or(
                bp_vec_or(BP_FORM(bp_utf8_faults)(p + at), BP_FORM(bp_utf8_faults)(p + at + 16)),
                bp_vec_or(BP_FORM(bp_utf8_faults)(p + at + 32), BP_FORM(bp_utf8_faults)(p + at + 48)));
            if (bp_vec_any(faults)) break;
        }
    }
    return at;
}

/* Sixteen ASCII characters as units. */
BP_FORM_TARGET static inline void BP_FORM(bp_units_of_ascii)(int kind, uint8_t *to, bp_vec16 c) {
    const bp_vec16 zero = bp_vec_each16(0);
    if (kind == 1) {
        bp_vec_store(to, c);
    } else if (kind == 2) {
        bp_vec_store(to, bp_vec_zip_low(c, zero));
        bp_vec_store(to + 16, bp_vec_zip_high(c, zero));
    } else {
        const bp_vec16 low = bp_vec_zip_low(c, zero), high = bp_vec_zip_high(c, zero);
        bp_vec_store(to, bp_vec_widen_low(low));
        bp_vec_store(to + 16, bp_vec_widen_high(low));
        bp_vec_store(to + 32, bp_vec_widen_low(high));
        bp_vec_store(to + 48, bp_vec_widen_high(high));
    }
}

/* Four characters of three bytes each as units, where p[0:12] is that; returns whether it is. */
BP_FORM_TARGET static inline int BP_FORM(bp_units_of_threes)(int kind, uint8_t *to, bp_vec16 c) {
    const bp_vec16 marks = bp_vec_and(c, bp_vec_load(bp_utf8_threes[0]));
    if ((bp_vec_signs(bp_vec_equal8(marks, bp_vec_load(bp_utf8_threes[1]))) & 0xFFF) != 0xFFF) return 0;
    const bp_vec16 each = bp_vec_shuffle(c, bp_vec_load(bp_utf8_threes[2])); /* last byte of the character lowest */
    const bp_vec16 points = bp_vec_or(
        bp_vec_and(each, bp_vec_each32(0x3F)),
        bp_vec_or(bp_vec_and(bp_vec_right32(each, 2), bp_vec_each32(0xFC0)),
                  bp_vec_and(bp_vec_right32(each, 4), bp_vec_each32(0xF000))));
    if (kind == 2)
        bp_vec_store8(to, bp_vec_shuffle(points, bp_vec_load(bp_utf8_threes[3])));
    else
        bp_vec_store(to, points);
    return 1;
}

/* Units of p[*at:n], valid UTF-8, as long as 64 bytes follow; advances *at and returns the end of the units. Stores of
   sixteen units stay inside: 64 bytes have as many characters at least. */
BP_FORM_TARGET static inline uint8_t *BP_FORM(bp_units_from_utf8_of)(int kind, const uint8_t *p, ptrdiff_t *at,
                                                                     ptrdiff_t n, uint8_t *to) {
    ptrdiff_t i = *at;
    while (n - i >= 64) {
        const bp_vec16 c = bp_vec_load(p + i);
        const uint64_t signs = bp_vec_signs(c);
        if (!(signs & 1)) {
            const int ascii = signs ? __builtin_ctzll(signs) : 16;
            BP_FORM(bp_units_of_ascii)(kind, to, c);
            i += ascii;
            to += ascii * kind;
        } else if (kind > 1 && BP_FORM(bp_units_of_threes)(kind, to, c)) {
            i += 12;
            to += 4 * kind;
        } else {
            do to = bp_unit_from_utf8(kind, p, &i, to);
            while (p[i] >= 0x80 && n - i >= 64);
        }
    }
    *at = i;
    return to;
}

BP_FORM_TARGET static uint8_t *BP_FORM(bp_units_from_utf8)(int kind, const uint8_t *p, ptrdiff_t *at, ptrdiff_t n,
                                                           uint8_t *to) {
    if (kind == 1) return BP_FORM(bp_units_from_utf8_of)(1, p, at, n, to);
    if (kind == 2) return BP_FORM(bp_units_from_utf8_of)(2, p, at, n, to);
    return BP_FORM(bp_units_from_utf8_of)(4, p, at, n, to);
}
