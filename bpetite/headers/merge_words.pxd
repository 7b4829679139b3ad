"""Merging many words side by side (merge_words.h)."""
from libc.stdint cimport uint8_t, uint32_t

from .pairs cimport bp_pairs

cdef extern from "headers/merge_words.h" nogil:
    enum:
        BP_WORDS
        BP_WORD_IDS
        BP_WORD_WIDTHS

    ctypedef struct bp_word:
        uint32_t size
        uint32_t ids[1]            # declared short: the header has its size

    ctypedef struct bp_words:
        size_t counts[BP_WORD_WIDTHS]

    void bp_add_word(const bp_pairs* pairs, bp_words* all, bp_word* word, const uint8_t* text, size_t size,
                     const uint32_t* byte_ids) noexcept
    void bp_merge_words(const bp_pairs* pairs, bp_words* all) noexcept
