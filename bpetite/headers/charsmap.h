/* Maps of SentencePiece: the longest string of a double array at each place is replaced, and spaces are trimmed.

   A unit of the double array has the byte that leads to it, which is the exclusive or of its place and the offset of its
   parent, its own offset, and a mark if a string ends there; then the unit below holds the place of the replacement,
   which a NUL ends. Units are read from files, so that every place is checked.

   Sources: normalizer.cc in https://github.com/google/sentencepiece, https://github.com/s-yata/darts-clone */
#ifndef BPETITE_CHARSMAP_H
#define BPETITE_CHARSMAP_H

#include "rewriting.h"

enum { BP_CHARSMAP_KEY = 256 /* bytes of the longest string that is found */ };

typedef struct {
    const uint32_t *units;
    size_t count;
    const uint8_t *made; /* the replacements, valid UTF-8 with a NUL at the end */
    size_t length;
    int trims;                   /* no spaces at both ends, and no two together */
    uint8_t starts[65536 / 8];   /* first byte << 8 | second byte -> a string may start with them */
} bp_charsmap;

typedef struct {
    ptrdiff_t start, end; /* of the replaced text */
    const uint8_t *made;
} bp_replacement;

BP_INLINE size_t bp_charsmap_below(const bp_charsmap *map, size_t at) {
    return at ^ (size_t)(map->units[at] >> 10) << ((map->units[at] & 0x200) >> 6);
}

/* The unit to which a byte leads; 0 if there is none. */
BP_INLINE size_t bp_charsmap_unit(const bp_charsmap *map, size_t below, uint8_t byte) {
    const size_t at = below ^ byte;
    return byte && at < map->count && (map->units[at] & 0x800000FFu) == byte ? at : 0;
}

/* The longest string, or the shortest, with which text[0:n] begins: whole characters. Returns its length, or 0. OUT:
   *made: its replacement. */
static inline ptrdiff_t bp_charsmap_find(const bp_charsmap *map, const uint8_t *text, ptrdiff_t n, int shortest,
                                         const uint8_t **made) {
    ptrdiff_t found = 0;
    size_t below = map->count ? bp_charsmap_below(map, 0) : 0, at;
    for (ptrdiff_t i = 0; i < n && i < BP_CHARSMAP_KEY && (at = bp_charsmap_unit(map, below, text[i])) != 0; i++) {
        below = bp_charsmap_below(map, at);
        if (!(map->units[at] & 0x100) || below >= map->count || (i + 1 < n && (text[i + 1] & 0xC0) == 0x80)) continue;
        const size_t place = map->units[below] & 0x7FFFFFFF;
        if (place >= map->length || (map->made[place] & 0xC0) == 0x80) continue;
        *made = map->made + place;
        found = i + 1;
        if (shortest) break;
    }
    return found;
}

/* Note with which bytes strings start. */
static inline void bp_charsmap_begin(bp_charsmap *map) {
    const size_t below = map->count ? bp_charsmap_below(map, 0) : 0;
    for (unsigned pair = 0; pair < 65536; pair++) {
        const size_t at = bp_charsmap_unit(map, below, (uint8_t)(pair >> 8));
        if ((at && (map->units[at] & 0x100 || bp_charsmap_unit(map, bp_charsmap_below(map, at), (uint8_t)pair)))
            || (map->trims && pair == 0x2020))
            map->starts[pair >> 3] |= (uint8_t)(1u << (pair & 7));
    }
}

/* The first replacement that starts in text[at:stop] of text[0:n]; 0 if there is none. */
static inline int bp_charsmap_next(const bp_charsmap *map, const uint8_t *text, ptrdiff_t at, ptrdiff_t stop,
                                   ptrdiff_t n, bp_replacement *found) {
    for (; at < stop; at++) {
        const unsigned pair = (unsigned)text[at] << 8 | (at + 1 < n ? text[at + 1] : 0);
        if (!(map->starts[pair >> 3] >> (pair & 7) & 1) || (text[at] & 0xC0) == 0x80) continue;
        ptrdiff_t size = bp_charsmap_find(map, text + at, n - at, 0, &found->made);
        if (!size && map->trims && pair == 0x2020) { /* the first of two spaces goes */
            found->made = (const uint8_t *)"";
            size = 1;
        }
        if (size) {
            found->start = at;
            found->end = at + size;
            return 1;
        }
    }
    return 0;
}

/* Append text, without its first space if that comes after another one, or first. */
static inline int bp_charsmap_add(const bp_charsmap *map, bp_buffer *out, const uint8_t *text, ptrdiff_t n) {
    const int space = map->trims && n && text[0] == ' ' && (!out->filled || out->bytes[out->filled - 1] == ' ');
    return bp_buffer_add(out, text + space, n - space);
}

/* Append what text[0:n] becomes: all of it if it is `final`, else what no further text changes. Returns the number of
   bytes that were read, or -1 without memory. */
static inline ptrdiff_t bp_charsmap_rewrite(const bp_charsmap *map, const uint8_t *text, ptrdiff_t n, int final,
                                            bp_buffer *out) {
    ptrdiff_t at = 0, stop = final ? n : n > BP_CHARSMAP_KEY ? n - BP_CHARSMAP_KEY : 0;
    bp_replacement found;
    while (stop > 0 && stop < n && (text[stop] & 0xC0) == 0x80) stop--;
    while (bp_charsmap_next(map, text, at, stop, n, &found)) {
        if (!bp_charsmap_add(map, out, text + at, found.start - at)) return -1;
        for (const uint8_t *p = found.made; *p; p++)
            if (!bp_charsmap_add(map, out, p, 1)) return -1;
        at = found.end;
    }
    if (at < stop) {
        if (!bp_charsmap_add(map, out, text + at, stop - at)) return -1;
        at = stop;
    }
    return bp_buffer_reserve(out, 0) ? at : -1;
}

/* The bytes at the end that are spaces, which go if no text follows: written as such or as U+2581. */
static inline ptrdiff_t bp_charsmap_trailing(const bp_charsmap *map, const bp_buffer *out) {
    ptrdiff_t at = out->filled;
    while (map->trims && at) {
        if (out->bytes[at - 1] == ' ') at--;
        else if (at >= 3 && !memcmp(out->bytes + at - 3, "\xE2\x96\x81", 3)) at -= 3;
        else break;
    }
    return out->filled - at;
}

#endif
