/* The escapes in the strings of JSON. */
#ifndef BPETITE_JSON_ESCAPES_H
#define BPETITE_JSON_ESCAPES_H

#include "bytes.h"

/* The value of a hex digit, or -1. */
BP_INLINE int bp_json_hex(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The code unit of an escape with four hex digits, or -1. */
static inline int bp_json_unit(const uint8_t *p, const uint8_t *end) {
    int unit = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return -1;
    for (int at = 2; at < 6; at++) {
        const int digit = bp_json_hex(p[at]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Reads an escape, or the two of a character's surrogates. OUT: the character. Returns the end; NULL if there is no
   escape, or a lone surrogate. */
static inline const uint8_t *bp_json_escape(const uint8_t *p, const uint8_t *end, uint32_t *character) {
    if (end - p < 2 || *p != '\\') return NULL;
    *character = p[1];
    switch (p[1]) {
    case '"':
    case '\\':
    case '/': return p + 2;
    case 'b': *character = '\b'; return p + 2;
    case 'f': *character = '\f'; return p + 2;
    case 'n': *character = '\n'; return p + 2;
    case 'r': *character = '\r'; return p + 2;
    case 't': *character = '\t'; return p + 2;
    }
    int unit = bp_json_unit(p, end);
    if (unit < 0) return NULL;
    p += 6;
    if (unit >= 0xD800 && unit < 0xE000) {
        int second = bp_json_unit(p, end);
        if (unit >= 0xDC00 || second < 0xDC00 || second >= 0xE000) return NULL;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (second - 0xDC00);
        p += 6;
    }
    *character = (uint32_t)unit;
    return p;
}

#endif
