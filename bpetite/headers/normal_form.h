/* Where a text may not be in a normal form of Unicode: the quick check of Unicode Standard Annex 15, section 9. */
#ifndef BPETITE_NORMAL_FORM_H
#define BPETITE_NORMAL_FORM_H

#include "bytes.h"

enum {
    BP_NORMAL_CODES = 0x30000, /* code points of the table; all others begin anew */
    BP_NOT_NORMAL = 255        /* the character may be another in the form, alone or after others */
};

/* Find the first part of text[at:n], valid UTF-8, that may not be in the form: from a character that begins anew to the
   next one. Such a character has the combining class 0, and composes with nothing before it. So each part can be
   rewritten alone. Returns 0 if all of the text is in the form.
   IN: table: code point -> 0 if it begins anew, BP_NOT_NORMAL, or else its combining class.
   OUT: *start, *end: the part. */
static inline int bp_not_normal(const uint8_t *text, ptrdiff_t n, ptrdiff_t at, const uint8_t *table, ptrdiff_t *start,
                                ptrdiff_t *end) {
    unsigned before = 0; /* the combining class of the character before */
    int found = 0;
    *start = at;
    while (at < n) {
        ptrdiff_t size = 1;
        unsigned value = 0;
        if (text[at] >= 0x80) {
            uint32_t code;
            size = bp_utf8_read(text + at, &code);
            value = code < BP_NORMAL_CODES ? table[code] : 0;
        } else {
            while (!found && at + 9 <= n && !(bp_load64(text + at + 1) & UINT64_C(0x8080808080808080))) at += 8;
        }
        if (value == 0) {
            if (found) break;
            *start = at;
        }
        found |= value == BP_NOT_NORMAL || (value && value < before);
        before = value;
        at += size;
    }
    *end = at;
    return found;
}

#define BP_UNITS_NORMAL(type)                                                                                         \
    for (ptrdiff_t i = 0; i < n;) {                                                                                   \
        const type *from = (const type *)units + i;                                                                   \
        if (n - i >= BP_UNITS) {                                                                                      \
            type all = 0;                                                                                             \
            for (int k = 0; k < BP_UNITS; k++) all |= from[k];                                                        \
            if (all < low) {                                                                                          \
                before = 0;                                                                                           \
                i += BP_UNITS;                                                                                        \
                continue;                                                                                             \
            }                                                                                                         \
        }                                                                                                             \
        for (ptrdiff_t stop = n - i < BP_UNITS ? n : i + BP_UNITS; i < stop; i++) {                                   \
            const uint32_t code = ((const type *)units)[i];                                                           \
            const unsigned value = code < BP_NORMAL_CODES ? table[code] : 0;                                          \
            if (value == BP_NOT_NORMAL || (value && value < before)) return 0;                                        \
            before = value;                                                                                           \
        }                                                                                                             \
    }

/* True if all units of a str, of `width` bytes each, are in the form. IN: low: a power of two; all characters below it
   begin anew. */
static inline int bp_units_normal(int width, const void *units, ptrdiff_t n, const uint8_t *table, uint32_t low) {
    enum { BP_UNITS = 64 };
    unsigned before = 0;
    if (width == 1) {
        BP_UNITS_NORMAL(uint8_t)
    } else if (width == 2) {
        BP_UNITS_NORMAL(uint16_t)
    } else {
        BP_UNITS_NORMAL(uint32_t)
    }
    return 1;
}

#endif
