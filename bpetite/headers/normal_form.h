/* Normal forms of Unicode: where a text may not be in one, and that part of it rewritten.

   A character begins anew if its combining class is 0, and it neither changes nor composes with what is before it. What
   lies between two such characters is rewritten alone, and most of it is in the form.

   Sources: Unicode Standard, section 3.11 and Annex 15, section 9 (quick check) */
#ifndef BPETITE_NORMAL_FORM_H
#define BPETITE_NORMAL_FORM_H

#include "rewriting.h"

enum {
    BP_FORM_CODES = 0x30000, /* code points of the table; all others begin anew */
    BP_FORM_FAILS = 0x8000,  /* a bit: the character may be another in the form, alone or after others */
    BP_FORM_ENTRY = 0xFF,    /* the other bits: a combining class below this, the number of an entry from it on */
    BP_FORM_PAIRS = 2048,    /* slots */
    BP_FORM_FEW = 128,       /* characters on the stack */

    BP_SYLLABLES = 0xAC00, /* of Hangul, in the order of their parts: 19 leading consonants, 21 vowels, 27 trailing ones */
    BP_SYLLABLES_END = 0xD7A4,
    BP_LEADING = 0x1100,
    BP_VOWELS = 0x1161,
    BP_TRAILING = 0x11A7 /* before the first */
};

typedef struct {
    uint16_t *values;              /* code point -> 0, BP_FORM_FAILS, and a class or an entry */
    uint32_t *starts;              /* entry -> its first character in `decomposed` */
    uint32_t *decomposed;          /* code points, with their combining classes from bit 24 on */
    uint64_t pairs[BP_FORM_PAIRS]; /* two code points and the one that they compose to, 21 bits each; 0 in free slots */
    int composes;
    bp_sieve sieve; /* lets characters pass that do not begin anew */
    uint8_t third[16];
} bp_form;

typedef struct {
    uint32_t code; /* with its combining class from bit 24 on */
    int32_t change; /* 0 for a character of the text or one in its place, 1 for one added, -n for 1 + n that it joins */
} bp_form_char;

/* Let the sieve pass a character. */
static inline void bp_form_let_pass(bp_form *form, uint32_t code) {
    uint8_t utf8[4];
    const ptrdiff_t size = bp_utf8_put(utf8, code) - utf8;
    bp_sieve_add(&form->sieve, utf8[0], utf8[1]);
    for (int i = 0; i < 16; i++)
        if (size == 2 || i == utf8[2] >> 4) form->third[i] |= bp_sieve_group(utf8[0], utf8[1]);
}

BP_INLINE uint32_t bp_form_value(const bp_form *form, const uint8_t *p, ptrdiff_t *size) {
    uint32_t code;
    *size = bp_utf8_read(p, &code);
    return code < BP_FORM_CODES ? form->values[code] : 0;
}

BP_INLINE int bp_form_begins(const bp_form *form, const uint8_t *p, ptrdiff_t *size) {
    const uint32_t value = bp_form_value(form, p, size);
    return value == 0 || (value >= BP_FORM_ENTRY && value < BP_FORM_FAILS);
}

/* The last character of text[from:at], or from, that begins anew. */
static inline ptrdiff_t bp_form_back(const bp_form *form, const uint8_t *text, ptrdiff_t from, ptrdiff_t at) {
    ptrdiff_t size;
    while (at > from) {
        do at--;
        while (at > from && (text[at] & 0xC0) == 0x80);
        if (bp_form_begins(form, text + at, &size)) break;
    }
    return at;
}

/* The last mark that is in the form. */
typedef struct {
    ptrdiff_t end;
    uint32_t mark_class;
} bp_form_mark;

/* True if the character of text[at:] fails: it may be another in the form, or is a mark of a lower class than the one
   before. INOUT: *last. */
BP_INLINE int bp_form_fails(const bp_form *form, const uint8_t *text, ptrdiff_t at, bp_form_mark *last) {
    ptrdiff_t size;
    const uint32_t value = bp_form_value(form, text + at, &size);
    if (value & BP_FORM_FAILS || (at == last->end && value && value < last->mark_class)) return 1;
    if (value && value < BP_FORM_ENTRY) *last = (bp_form_mark){at + size, value};
    return 0;
}

#ifdef BP_SHUFFLE_TARGET
/* The first character of text[at:n] that fails, 64 bytes at a time, else where to go on. The mask lets only first bytes
   of longer characters pass, since no other byte has their high nibbles. */
BP_SHUFFLE_TARGET static ptrdiff_t bp_form_failing_shuffled(const bp_form *form, const uint8_t *text, ptrdiff_t at,
                                                            ptrdiff_t n, bp_form_mark *last) {
    for (; at + 66 <= n; at += 64) {
        const uint8_t *p = text + at;
        const bp_vec16 any = bp_vec_or(bp_vec_or(bp_vec_load(p), bp_vec_load(p + 16)),
                                       bp_vec_or(bp_vec_load(p + 32), bp_vec_load(p + 48)));
        if (!bp_vec_signs(any)) continue; /* ASCII */
        for (uint64_t mask = bp_sieve_mask(&form->sieve, p, form->third); mask; mask &= mask - 1)
            if (bp_form_fails(form, text, at + bp_lowest_bit(mask), last)) return at + bp_lowest_bit(mask);
    }
    return at;
}
#endif

/* The first character of text[at:n] that fails, or n. */
static inline ptrdiff_t bp_form_failing(const bp_form *form, const uint8_t *text, ptrdiff_t at, ptrdiff_t n) {
    bp_form_mark last = {-1, 0};
#ifdef BP_SHUFFLE_TARGET
    if (form->sieve.shuffles) at = bp_form_failing_shuffled(form, text, at, n, &last);
#endif
    for (; at + 1 < n; at++)
        if (bp_sieve_pair(&form->sieve, text + at) && bp_form_fails(form, text, at, &last)) return at;
    return n;
}

/* The first part of text[at:n] that may not be in the form: OUT: *start, *end. Returns 0 if there is none. */
static inline int bp_form_find(const bp_form *form, const uint8_t *text, ptrdiff_t at, ptrdiff_t n, ptrdiff_t *start,
                               ptrdiff_t *end) {
    ptrdiff_t size;
    *end = bp_form_failing(form, text, at, n);
    if (*end >= n) return 0;
    *start = bp_form_back(form, text, at, *end);
    do {
        *end += bp_utf8_size(text[*end]);
    } while (*end < n && !bp_form_begins(form, text + *end, &size));
    return 1;
}

/* Decompose a code point to `to`, unless that is NULL. Returns the number of characters. */
static inline ptrdiff_t bp_form_decompose(const bp_form *form, uint32_t code, bp_form_char *to) {
    const uint32_t value = code < BP_FORM_CODES ? form->values[code] & ~(uint32_t)BP_FORM_FAILS : 0;
    const uint32_t *made;
    uint32_t syllable[3];
    ptrdiff_t n = 1;
    if (code - BP_SYLLABLES < (uint32_t)(BP_SYLLABLES_END - BP_SYLLABLES)) {
        const uint32_t at = code - BP_SYLLABLES;
        syllable[0] = BP_LEADING + at / 588;
        syllable[1] = BP_VOWELS + at / 28 % 21;
        syllable[2] = BP_TRAILING + at % 28;
        made = syllable;
        n = at % 28 ? 3 : 2;
    } else if (value >= BP_FORM_ENTRY) {
        made = form->decomposed + form->starts[value - BP_FORM_ENTRY];
        n = form->starts[value - BP_FORM_ENTRY + 1] - form->starts[value - BP_FORM_ENTRY];
    } else {
        syllable[0] = code | value << 24;
        made = syllable;
    }
    for (ptrdiff_t i = 0; to && i < n; i++) to[i] = (bp_form_char){made[i], i > 0};
    return n;
}

/* Sort each run of marks by class; marks of the same class keep their order, and the time is linear. IN: spare: room
   for n characters. */
static inline void bp_form_sort(bp_form_char *chars, ptrdiff_t n, bp_form_char *spare) {
    for (ptrdiff_t start = 0, end; start < n; start = end + 1) {
        int sorted = 1;
        for (end = start; end < n && chars[end].code >> 24; end++)
            sorted &= end == start || chars[end - 1].code >> 24 <= chars[end].code >> 24;
        if (sorted) continue;
        ptrdiff_t places[257] = {0};
        for (ptrdiff_t i = start; i < end; i++) places[(chars[i].code >> 24) + 1]++;
        for (int i = 1; i < 257; i++) places[i] += places[i - 1];
        memcpy(spare, chars + start, (size_t)(end - start) * sizeof(*spare));
        for (ptrdiff_t i = 0; i < end - start; i++) chars[start + places[spare[i].code >> 24]++] = spare[i];
    }
}

BP_INLINE size_t bp_form_slot(uint32_t first, uint32_t second) {
    return (first * 0x9E3779B1u + second * 0x85EBCA77u) >> 21;
}

/* Two code points that compose to a third. */
static inline void bp_form_add_pair(bp_form *form, uint32_t first, uint32_t second, uint32_t joined) {
    size_t slot = bp_form_slot(first, second);
    while (form->pairs[slot]) slot = (slot + 1) % BP_FORM_PAIRS;
    form->pairs[slot] = (uint64_t)first << 42 | (uint64_t)second << 21 | joined;
}

/* What two code points compose to, or 0. */
static inline uint32_t bp_form_joined(const bp_form *form, uint32_t first, uint32_t second) {
    if (first - BP_LEADING < 19 && second - BP_VOWELS < 21)
        return BP_SYLLABLES + ((first - BP_LEADING) * 21 + second - BP_VOWELS) * 28;
    if (first - BP_SYLLABLES < (uint32_t)(BP_SYLLABLES_END - BP_SYLLABLES) && (first - BP_SYLLABLES) % 28 == 0
        && second - BP_TRAILING - 1 < 27u)
        return first + second - BP_TRAILING;
    for (size_t slot = bp_form_slot(first, second); form->pairs[slot]; slot = (slot + 1) % BP_FORM_PAIRS)
        if (form->pairs[slot] >> 21 == ((uint64_t)first << 21 | second)) return form->pairs[slot] & 0x1FFFFF;
    return 0;
}

/* Compose characters in place; returns their number. */
static inline ptrdiff_t bp_form_compose(const bp_form *form, bp_form_char *chars, ptrdiff_t n) {
    ptrdiff_t starter = -1, used = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const bp_form_char one = chars[i];
        if (starter >= 0 && (used == starter + 1 || chars[used - 1].code >> 24 < one.code >> 24)) {
            const uint32_t joined = bp_form_joined(form, chars[starter].code, one.code & 0xFFFFFF);
            if (joined) {
                chars[starter].code = joined; /* of class 0 */
                chars[starter].change += one.change - 1;
                continue;
            }
        }
        if (one.code >> 24 == 0) starter = used;
        chars[used++] = one;
    }
    return used;
}

/* The characters of text[0:n] in the form. Returns them, allocated, or NULL without memory. IN: few: room for
   BP_FORM_FEW of them, which are not allocated. OUT: *count. */
static inline bp_form_char *bp_form_chars(const bp_form *form, const uint8_t *text, ptrdiff_t n, bp_form_char *few,
                                          ptrdiff_t *count) {
    ptrdiff_t most = 0, used = 0;
    uint32_t code;
    for (ptrdiff_t at = 0; at < n;) {
        at += bp_utf8_read(text + at, &code);
        most += bp_form_decompose(form, code, NULL);
    }
    bp_form_char *chars = 2 * most <= BP_FORM_FEW ? few : malloc(2 * (size_t)most * sizeof(*chars));
    if (!chars) return NULL;
    for (ptrdiff_t at = 0; at < n;) {
        at += bp_utf8_read(text + at, &code);
        used += bp_form_decompose(form, code, chars + used);
    }
    bp_form_sort(chars, used, chars + most);
    *count = form->composes ? bp_form_compose(form, chars, used) : used;
    return chars;
}

/* The length of the beginning of text[0:n] that no further text changes: up to the last character that begins anew. */
BP_INLINE ptrdiff_t bp_form_closed(const bp_form *form, const uint8_t *text, ptrdiff_t n, int final) {
    return final ? n : bp_form_back(form, text, 0, n);
}

/* Append text[0:n] in the form. Returns 0 without memory. */
static inline int bp_form_rewrite(const bp_form *form, const uint8_t *text, ptrdiff_t n, bp_buffer *out) {
    bp_form_char few[BP_FORM_FEW];
    ptrdiff_t at = 0, start, end, count;
    for (; bp_form_find(form, text, at, n, &start, &end); at = end) {
        bp_form_char *chars = bp_form_chars(form, text + start, end - start, few, &count);
        const int made = chars && bp_buffer_add(out, text + at, start - at) && bp_buffer_reserve(out, 4 * count);
        for (ptrdiff_t i = 0; made && i < count; i++)
            out->filled = bp_utf8_put(out->bytes + out->filled, chars[i].code & 0xFFFFFF) - out->bytes;
        if (chars != few) free(chars);
        if (!made) return 0;
    }
    return bp_buffer_add(out, text + at, n - at);
}

#endif
