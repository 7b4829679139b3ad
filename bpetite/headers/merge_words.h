/* Merging many words in parallel.

   Merging one word is a chain: find the lowest rank, join, look up the ranks of the two new pairs, which are somewhere in
   megabytes, and again. No step can be done ahead. But words do not depend on each other: one pair of each word is joined
   and the entries of its new pairs are prefetched, then the entries of all words are read. No branch depends on the
   content of the tables, since no processor can predict it. */
#ifndef BPETITE_MERGE_WORDS_H
#define BPETITE_MERGE_WORDS_H

#include "simd.h"

#ifdef BP_HAS_AVX2
#include <immintrin.h>
#endif
#include "words.h"

#if defined(__GNUC__) || defined(__clang__)
#define BP_OPAQUE(x) __asm__("" : "+r"(x))
#else
#define BP_OPAQUE(x) ((void)0)
#endif

/* Move `width` items one to the front: a fixed number, which is faster than a loop over the actual one. */
BP_INLINE void bp_close_plain(uint32_t *items, size_t width) {
    uint32_t moved[BP_WORD_WIDEST];
    memcpy(moved, items + 1, width * sizeof(uint32_t));
    memcpy(items, moved, width * sizeof(uint32_t));
}

/* The lowest rank of a word, and the first place that has it: rank << 32 | place. */
BP_INLINE uint64_t bp_lowest_plain(const bp_word *word, size_t width) {
    uint64_t lowest = (uint64_t)BP_NO_MERGE << 32;
    (void)width;
    for (uint32_t i = 0; i + 1 < word->size; i++) {
        const uint64_t each = (uint64_t)word->ranks[i + 1] << 32 | i;
        lowest = each < lowest ? each : lowest;
    }
    return lowest;
}

#ifdef BP_HAS_AVX2
BP_AVX2_INLINE void bp_close_avx2(uint32_t *items, size_t width) {
    __m256i moved[BP_WORD_WIDEST / 8];
#pragma GCC unroll 8
    for (size_t i = 0; i < width / 8; i++) moved[i] = _mm256_loadu_si256((const __m256i *)(items + 1 + 8 * i));
#pragma GCC unroll 8
    for (size_t i = 0; i < width / 8; i++) _mm256_storeu_si256((__m256i *)(items + 8 * i), moved[i]);
}

BP_AVX2_INLINE uint64_t bp_lowest_avx2(const bp_word *word, size_t width) {
    __m256i ranks[BP_WORD_WIDEST / 8], lowest = _mm256_set1_epi32(-1);
    uint64_t places = 0;
#pragma GCC unroll 8
    for (size_t i = 0; i < width / 8; i++) {
        ranks[i] = _mm256_loadu_si256((const __m256i *)(word->ranks + 1 + 8 * i));
        lowest = _mm256_min_epu32(lowest, ranks[i]);
    }
    lowest = _mm256_min_epu32(lowest, _mm256_permute4x64_epi64(lowest, 0x4E));
    lowest = _mm256_min_epu32(lowest, _mm256_shuffle_epi32(lowest, 0x4E));
    lowest = _mm256_min_epu32(lowest, _mm256_shuffle_epi32(lowest, 0xB1));
#pragma GCC unroll 8
    for (size_t i = 0; i < width / 8; i++) {
        const __m256i same = _mm256_cmpeq_epi32(ranks[i], lowest);
        places |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same)) << 8 * i;
    }
    return (uint64_t)(uint32_t)_mm256_cvtsi256_si32(lowest) << 32 | (unsigned)__builtin_ctzll(places);
}
#endif

/* The entry at which to look for a pair of this hash; the one that is always empty, where the filter has no such pair or
   none is `wanted` (0 or 1). */
BP_INLINE const bp_pair_entry *bp_pair_home(const bp_pairs *pairs, uint64_t hash, uint64_t wanted) {
    const uint64_t none = (bp_pair_likely(pairs, hash) & wanted) - 1; /* all ones for none */
    const bp_pair_entry *entry = &pairs->entries[(hash >> pairs->shift & ~none) | ((pairs->mask + 1) & none)];
    BP_PREFETCH(entry);
    return entry;
}

/* The rank of a pair from bp_pair_home on. */
BP_INLINE uint32_t bp_pair_from(const bp_pairs *pairs, const bp_pair_entry *entry, uint32_t left, uint32_t right) {
    const uint64_t pair = (uint64_t)left << 32 | right;
    for (;;) {
        unsigned other = (entry->pair != pair) & (entry->rank != BP_NO_MERGE);
        BP_OPAQUE(other); /* else compilers make two branches of it, and one cannot be predicted */
        if (BP_LIKELY(!other)) break;
        entry = &pairs->entries[(uint64_t)(entry - pairs->entries + 1) & pairs->mask];
    }
    BP_PREFETCH(&pairs->joined[(uint32_t)(entry->rank + 1)]); /* nearly always the line of that rank, and there for none */
    return entry->rank;
}

/* Join one pair of each word, and drop the words without one. Returns how many are left. In three loops, because a
   processor works on more words at once if a loop does less for each; and the second one fetches the parts of the filter
   that the third one reads. */
BP_INLINE size_t bp_join_words(const bp_pairs *pairs, bp_word **words, size_t count, size_t width,
                               uint64_t (*lowest_of)(const bp_word *, size_t), void (*close)(uint32_t *, size_t)) {
    size_t left = 0;
    uint32_t ranks[BP_WORDS];
    uint64_t hashes[BP_WORDS][2];
    for (size_t i = 0; i < count; i++) {
        bp_word *word = words[i];
        const uint64_t lowest = lowest_of(word, width);
        word->at = (uint32_t)lowest;
        words[left] = word;
        ranks[left] = (uint32_t)(lowest >> 32);
        left += lowest >> 32 != BP_NO_MERGE;
    }
    for (size_t i = 0; i < left; i++) {
        bp_word *word = words[i];
        const uint32_t at = word->at;
        const uint32_t id = word->ids[at] = pairs->joined[ranks[i]];
        word->size--;
        close(word->ids + at + 1, width);
        close(word->ranks + at + 1, width);
        hashes[i][0] = bp_pair_hash(pairs, word->ids[at ? at - 1 : 0], id);
        hashes[i][1] = bp_pair_hash(pairs, id, word->ids[at + 1]);
        BP_PREFETCH(&pairs->filter[(hashes[i][0] & pairs->filter_mask) >> 6]);
        BP_PREFETCH(&pairs->filter[(hashes[i][1] & pairs->filter_mask) >> 6]);
    }
    for (size_t i = 0; i < left; i++) {
        bp_word *word = words[i];
        word->left = bp_pair_home(pairs, hashes[i][0], word->at > 0);
        word->right = bp_pair_home(pairs, hashes[i][1], word->at + 1 < word->size);
    }
    return left;
}

/* Look up the ranks of the pairs that bp_join_words has made. */
BP_INLINE void bp_rank_words(const bp_pairs *pairs, bp_word **words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bp_word *word = words[i];
        const uint32_t at = word->at, id = word->ids[at];
        word->ranks[at] = bp_pair_from(pairs, word->left, word->ids[at ? at - 1 : 0], id);
        word->ranks[at + 1] = bp_pair_from(pairs, word->right, id, word->ids[at + 1]);
    }
}

BP_INLINE void bp_merge_words_by(const bp_pairs *pairs, bp_words *all, uint64_t (*lowest_of)(const bp_word *, size_t),
                                 void (*close)(uint32_t *, size_t)) {
    while (all->counts[0] | all->counts[1] | all->counts[2]) {
        all->counts[0] = bp_join_words(pairs, all->words[0], all->counts[0], BP_WORD_NARROWEST, lowest_of, close);
        all->counts[1] = bp_join_words(pairs, all->words[1], all->counts[1], BP_WORD_NARROWEST << 1, lowest_of, close);
        all->counts[2] = bp_join_words(pairs, all->words[2], all->counts[2], BP_WORD_NARROWEST << 2, lowest_of, close);
        for (int width = 0; width < BP_WORD_WIDTHS; width++)
            bp_rank_words(pairs, all->words[width], all->counts[width]);
    }
}

#ifdef BP_HAS_AVX2
BP_AVX2_TARGET static void bp_merge_words_avx2(const bp_pairs *pairs, bp_words *all) {
    bp_merge_words_by(pairs, all, bp_lowest_avx2, bp_close_avx2);
}
#endif

/* Merge words, each on its own, until none of their pairs has a rank. INOUT: their ids; `all` is empty afterwards. */
BP_NOINLINE static void bp_merge_words(const bp_pairs *pairs, bp_words *all) {
#ifdef BP_HAS_AVX2
    if (bp_simd() == BP_SIMD_AVX2 || bp_simd() == BP_SIMD_AVX512) {
        bp_merge_words_avx2(pairs, all);
        return;
    }
#endif
    bp_merge_words_by(pairs, all, bp_lowest_plain, bp_close_plain);
}

/* Add a word to `all`; its ids[0:size] are set, 1 to BP_WORD_IDS of them. */
static inline void bp_add_word(const bp_pairs *pairs, bp_words *all, bp_word *word, size_t size) {
    const int width = (size >= BP_WORD_NARROWEST) + (size >= BP_WORD_NARROWEST << 1);
    const size_t end = 1 + (2 * BP_WORD_NARROWEST << width); /* what bp_join_words moves to the front, too */
    word->size = (uint32_t)size;
    for (size_t i = 0; i + 1 < size; i++) word->ranks[i + 1] = bp_pair_rank(pairs, word->ids[i], word->ids[i + 1]);
    memset(word->ranks + size, 0xFF, (end - size) * sizeof(uint32_t));
    all->words[width][all->counts[width]++] = word;
}

#endif
