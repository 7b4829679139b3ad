/* Cuts between the bytes of ASCII text, from a table of pairs of bytes. */
#ifndef BPETITE_WORD_CUTS_H
#define BPETITE_WORD_CUTS_H

#include "../headers/bytes.h"

enum { BP_CUT_BYTES = 8 }; /* places for cuts that bp_cut_eight looks at */

/* Put into `ends` the places from `at` on, BP_CUT_BYTES of them, where cuts[byte before | byte after << 8] is 1, and
   leave room for all; without a branch, since a cut every few bytes cannot be predicted. Returns how many, -1 where a
   byte is not ASCII and only that is wanted. IN: at > 0; text[at - 1 : at + 8] can be read. */
BP_INLINE ptrdiff_t bp_cut_eight(const uint8_t *cuts, const uint8_t *text, ptrdiff_t at, int only_ascii, ptrdiff_t *ends) {
    const uint64_t before = bp_load_little64(text + at - 1), after = bp_load_little64(text + at);
    ptrdiff_t n = 0;
    if (only_ascii && ((before | after) & 0x8080808080808080)) return -1;
#pragma GCC unroll 8
    for (int i = 0; i < BP_CUT_BYTES; i++) {
        ends[n] = at + i;
        n += cuts[i < BP_CUT_BYTES - 1 ? before >> 8 * i & 0xFFFF : after >> 8 * (i - 1)];
    }
    return n;
}

#endif
