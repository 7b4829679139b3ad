/* The texts of JSON lines, without an object for anything else in them.

   A line is plain if it is a JSON object that any parser reads alike: UTF-8, the key that is asked for there once, with a
   string, no lone surrogates. Whatever is not plain is left to a parser that says what it is. */
#ifndef BPETITE_JSON_LINES_H
#define BPETITE_JSON_LINES_H

#include "headers/json_escapes.h"
#include "headers/utf8_read.h"

enum {
    BP_JSON_DEPTH = 64,   /* of values in values; deeper ones are not plain */
    BP_JSON_DIGITS = 300, /* nor are longer numbers, which some parsers refuse */
    BP_JSON_SLACK = 16    /* bytes behind the output that may be overwritten */
};

/* Copies bytes of a string up to a quote, a backslash, a control character or the end, and perhaps some more; returns
   where it stops. The topmost bit of *high is set if a byte before that is not ASCII. */
BP_INLINE const uint8_t *bp_json_plain(const uint8_t *p, const uint8_t *end, uint8_t *to, unsigned *high) {
#ifdef BP_SSE2
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(0x1F);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash));
        unsigned mask, at, above = (unsigned)_mm_movemask_epi8(v);
        found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_max_epu8(v, space), space));
        mask = (unsigned)_mm_movemask_epi8(found);
        _mm_storeu_si128((__m128i *)to, v);
        at = mask ? (unsigned)bp_lowest_bit(mask) : 16;
        *high |= above & ((1u << at) - 1) ? 0x80 : 0;
        p += at;
        to += at;
        if (mask) return p;
    }
#else
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t v = bp_load64(p), quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');
        /* a byte is below 0x20, or equal, where the subtraction borrows; a false alarm only costs time */
        if ((((v - ones * 0x20) & ~v) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops) break;
        *high |= v & tops ? 0x80 : 0;
        memcpy(to, p, 8);
        p += 8;
        to += 8;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20) *high |= *to++ = *p++;
    return p;
}

/* From behind the opening quote to behind the closing one; NULL if there is no such string, or a lone surrogate in it.
   The string is written as UTF-8 to *out, which moves behind it. It is no longer than what is read; up to
   BP_JSON_SLACK bytes behind it are overwritten. */
static const uint8_t *bp_json_string(const uint8_t *p, const uint8_t *end, uint8_t **out, unsigned *high) {
    uint8_t *to = *out;
    for (;;) {
        const uint8_t *stop = bp_json_plain(p, end, to, high);
        to += stop - p;
        p = stop;
        if (p < end && *p == '"') {
            *out = to;
            return p + 1;
        }
        uint32_t character;
        if ((p = bp_json_escape(p, end, &character)) == NULL) return NULL;
        to = bp_utf8_put(to, character);
    }
}

BP_INLINE const uint8_t *bp_json_space(const uint8_t *p, const uint8_t *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
    return p;
}

static inline const uint8_t *bp_json_digits(const uint8_t *p, const uint8_t *end) {
    const uint8_t *start = p;
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p > start ? p : NULL;
}

static inline const uint8_t *bp_json_number(const uint8_t *p, const uint8_t *end) {
    const uint8_t *start = p;
    if (p < end && *p == '-') p++;
    if (p < end && *p == '0') p++;
    else if ((p = bp_json_digits(p, end)) == NULL) return NULL;
    if (p < end && *p == '.') p = bp_json_digits(p + 1, end);
    if (!p) return NULL;
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        p = bp_json_digits(p, end);
    }
    return p && p - start < BP_JSON_DIGITS ? p : NULL;
}

/* To behind a value that begins here; NULL if there is none. Its strings are written to the same place. */
static const uint8_t *bp_json_value(const uint8_t *p, const uint8_t *end, int depth, uint8_t *place, unsigned *high) {
    uint8_t first, *out = place;
    if (p >= end) return NULL;
    first = *p;
    if (first == '"') return bp_json_string(p + 1, end, &out, high);
    if (first == 't') return end - p >= 4 && !memcmp(p, "true", 4) ? p + 4 : NULL;
    if (first == 'n') return end - p >= 4 && !memcmp(p, "null", 4) ? p + 4 : NULL;
    if (first == 'f') return end - p >= 5 && !memcmp(p, "false", 5) ? p + 5 : NULL;
    if (first != '{' && first != '[') return bp_json_number(p, end);
    if (!depth) return NULL;
    p = bp_json_space(p + 1, end);
    if (p < end && *p == first + 2) return p + 1;  /* } is two behind {, and ] behind [ */
    for (;;) {
        if (first == '{') {
            out = place;
            if (p >= end || *p != '"') return NULL;
            if ((p = bp_json_string(p + 1, end, &out, high)) == NULL) return NULL;
            p = bp_json_space(p, end);
            if (p >= end || *p != ':') return NULL;
            p = bp_json_space(p + 1, end);
        }
        if ((p = bp_json_value(p, end, depth - 1, place, high)) == NULL) return NULL;
        p = bp_json_space(p, end);
        if (p >= end) return NULL;
        if (*p == first + 2) return p + 1;
        if (*p != ',') return NULL;
        p = bp_json_space(p + 1, end);
    }
}

/* The text of a line, written to *out, which moves behind it: 1 if it has one, 0 if it is blank, -1 if it is not plain. */
static int bp_json_line(const uint8_t *line, const uint8_t *end, const uint8_t *key, ptrdiff_t key_size,
                        uint8_t **out) {
    const uint8_t *p = bp_json_space(line, end);
    unsigned high = 0;
    int found = 0;
    if (p == end) return 0;
    if (*p != '{') return -1;
    p = bp_json_space(p + 1, end);
    for (;;) {
        if (p >= end || *p != '"') return -1;
        uint8_t *name = *out, *name_end = name;
        if ((p = bp_json_string(p + 1, end, &name_end, &high)) == NULL) return -1;
        int wanted = name_end - name == key_size && !memcmp(name, key, (size_t)key_size);
        p = bp_json_space(p, end);
        if (p >= end || *p != ':') return -1;
        p = bp_json_space(p + 1, end);
        if (wanted) {
            if (found || p >= end || *p != '"') return -1;
            found = 1;
            if ((p = bp_json_string(p + 1, end, out, &high)) == NULL) return -1;
        } else if ((p = bp_json_value(p, end, BP_JSON_DEPTH, *out, &high)) == NULL) {
            return -1;
        }
        p = bp_json_space(p, end);
        if (p >= end) return -1;
        if (*p == '}') break;
        if (*p != ',') return -1;
        p = bp_json_space(p + 1, end);
    }
    if (!found || bp_json_space(p + 1, end) != end) return -1;
    if (high & 0x80 && bp_utf8_valid(line, end - line) != end - line) return -1;
    return 1;
}

#endif
