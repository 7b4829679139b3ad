/* The words that merge_words.h merges in parallel. */
#ifndef BPETITE_WORDS_H
#define BPETITE_WORDS_H

#include "pairs.h"

enum {
    BP_WORDS = 32,         /* merged in parallel */
    BP_WORD_WIDTHS = 3,
    BP_WORD_NARROWEST = 16, /* ids; each width is twice the one before, and a word has fewer ids than its width */
    BP_WORD_WIDEST = BP_WORD_NARROWEST << (BP_WORD_WIDTHS - 1),
    BP_WORD_IDS = BP_WORD_WIDEST - 1 /* ids that a word may have */
};

typedef struct {
    uint32_t size;                          /* ids */
    uint32_t at;                            /* the id that was joined last */
    const bp_pair_entry *left, *right;      /* where to look for its pairs with its neighbours */
    uint32_t ids[2 * BP_WORD_WIDEST];
    uint32_t ranks[1 + 2 * BP_WORD_WIDEST]; /* [i + 1]: of id i with the next, BP_NO_MERGE from the last on; [0]: unused */
} bp_word;

/* The words of each width. */
typedef struct {
    bp_word *words[BP_WORD_WIDTHS][BP_WORDS];
    size_t counts[BP_WORD_WIDTHS];
} bp_words;

#endif
