/* Pre-tokens that the word cache does not know, and that wait to be merged in parallel (merge_words.h).

   The output already has the ids after them, but not their own, which belong at `at`. After the merging, the ids behind
   each of these places move up, the last place first. */
#ifndef BPETITE_UNKNOWN_WORDS_H
#define BPETITE_UNKNOWN_WORDS_H

#include "word_cache.h"
#include "../headers/words.h"

enum { BP_WAITING_SPAN = 4096 }; /* ids behind the first place: moved ids stay in the first-level cache */

typedef struct {
    uint64_t key[2];               /* as in bp_keys */
    ptrdiff_t start;               /* where it is in the text, */
    ptrdiff_t length;              /* in bytes */
    ptrdiff_t at;                  /* where its ids belong in the output */
    ptrdiff_t same;                /* the first one waiting that has the same bytes: only that is merged */
    bp_word word;
} bp_unknown;

/* Let text[start:end], up to BP_WORD_IDS bytes, wait after `count` others. */
BP_INLINE void bp_wait(bp_unknown *unknown, ptrdiff_t count, const uint64_t *key, const uint8_t *text, ptrdiff_t start,
                       ptrdiff_t end, ptrdiff_t at) {
    bp_unknown *one = &unknown[count];
    ptrdiff_t same = 0;
    for (; same < count; same++) {
        const bp_unknown *other = &unknown[same];
        if (other->key[0] == key[0] && other->key[1] == key[1]
            && (key[1] != BP_IS_LONG
                || (other->length == end - start && !memcmp(text + other->start, text + start, (size_t)(end - start)))))
            break;
    }
    one->key[0] = key[0];
    one->key[1] = key[1];
    one->start = start;
    one->length = end - start;
    one->at = at;
    one->same = same;
}

/* Remember the merged words; returns 1 if the table of short entries was replaced. */
static inline int bp_remember_unknown(bp_cache *cache, const bp_unknown *unknown, ptrdiff_t count, const uint8_t *text) {
    int moved = 0;
    for (ptrdiff_t i = 0; i < count; i++, unknown++)
        if (unknown->same == i)
            moved |= bp_remember(cache, unknown->key, text + unknown->start, (size_t)unknown->length, unknown->word.ids,
                                 unknown->word.size);
    return moved;
}

/* The sum of their ids. */
BP_INLINE ptrdiff_t bp_count_unknown(const bp_unknown *unknown, ptrdiff_t count) {
    ptrdiff_t total = 0;
    for (ptrdiff_t i = 0; i < count; i++) total += unknown[unknown[i].same].word.size;
    return total;
}

/* Put their ids, `total` in all, to their places in the output; out[0:used] is written. */
static inline void bp_put_unknown(const bp_unknown *unknown, ptrdiff_t count, ptrdiff_t total, uint32_t *out,
                                  ptrdiff_t used) {
    while (count-- > 0) {
        const bp_word *word = &unknown[unknown[count].same].word;
        const ptrdiff_t at = unknown[count].at;
        memmove(out + at + total, out + at, (size_t)(used - at) * sizeof(uint32_t));
        total -= word->size;
        memcpy(out + at + total, word->ids, word->size * sizeof(uint32_t));
        used = at;
    }
}

#endif
