/* The types of a scanner and a scan, which _scan.pxd declares.

   A code is one byte: an ASCII character itself, from 128 on the group of another character, the code of all continuation
   bytes, or the code of the end of the text. An output is one byte, too: bit k below SCAN_MARK says that a pre-token
   begins k characters back, SCAN_MARK that the mark is set, SCAN_COMMIT that the mark set last is a cut
   (transducer.py). */
#ifndef BPETITE_SCANNER_H
#define BPETITE_SCANNER_H

#include <Python.h>
#include <stdint.h>

enum {
    SCAN_BLOCK = 64,     /* codes whose outputs fill a mask */
    SCAN_SHORT = SCAN_BLOCK, /* bytes; shorter whole texts need no cursor */
    SCAN_WIDE_LANES = 64, /* lanes of a scanner with byte shuffles, beside those with four or one */
    SCAN_IN_FOUR = 1024, /* codes read in four lanes of a constant length */
    SCAN_LONGEST = 4096, /* codes of a pass */
    SCAN_BLOCKS = SCAN_LONGEST / SCAN_BLOCK,
    SCAN_MARK = 4,
    SCAN_COMMIT = 5,
    SCAN_BITS = 6,              /* of an output */
    SCAN_SEARCH = 32,           /* how many codes before a lane to search for a synchronizing word */
    SCAN_SHORTEST_IN_LANES = 96, /* codes; below, finding the states before the lanes costs more than they save */
    SCAN_MOST_TWOS = 1 << 15 /* steps of two codes that are worth their memory, 128 KB */
};

/* Two steps of the transducer in one. */
typedef struct {
    uint8_t out[2];
    uint16_t next;
} scan_two;

/* The step for two codes from a state is steps[first[code] + second[code] + state]. */
typedef struct {
    uint32_t first[256], second[256];
    scan_two steps[];
} scan_twos;

/* A function of a code and a state: values[page[code] * 128 + row[code] + state]. Pages with rows of ASCII codes come
   first: text of ASCII alone needs only `ascii_pages`. */
typedef struct {
    const uint8_t *row, *page; /* 256 each */
    const uint8_t *values;     /* 128 a page */
    uint32_t pages, ascii_pages;
} scan_paged;

/* The tables of scan_avx512.h, laid out by vector_tables.py. */
typedef struct {
    scan_paged transition; /* code and state -> transition */
    const uint8_t *next;   /* transition -> state, 128 */
    const uint8_t *out;    /* transition -> output, 128 */
    scan_paged subset;     /* the subset automaton; its first `states` states are the sets of one state */
    uint8_t all_states;    /* its initial state */
} scan_vector;

typedef struct {
    const uint8_t *next;   /* next[code * states + state] */
    const uint8_t *out;    /* the output of that transition */
    const uint8_t *column; /* code -> a number for all codes that do the same in every state */
    const uint8_t *synchronized; /* [column * columns + column]: 1 + the state after these two from every state, or 0 */
    uint32_t states, columns;
    uint32_t used_bits; /* all bits that occur in an output */
    uint32_t mark_back; /* how many characters back the mark is set */
    const uint16_t *page_of; /* code point / 64 -> page */
    const uint8_t *pages;    /* page * 64 + code point % 64 -> code */
    uint8_t alike[64];     /* first byte of a character, C0 to FF -> the code of all that begin with it, or 0 */
    uint8_t continuation, end;
    const scan_twos *twos; /* NULL where a text is read in one lane */
    scan_vector vector;    /* with SCAN_WIDE_LANES */
    int lanes;             /* of a long text that are read in parallel, at most: SCAN_WIDE_LANES, 4 or 1 */
    int simd;              /* the form of the loops (simd.h) */
} scan_tables;

/* One scan over one text; the caller owns it (on the stack, one per thread) and treats it as private. */
typedef struct {
    const uint8_t *text;
    Py_ssize_t length;
    int final;
    int ended;           /* the end of the text has been read */
    Py_ssize_t position; /* of the next byte to read */
    uint64_t leads;      /* which of the 64 bytes before `position` begin a character */
    Py_ssize_t mark;
    uint32_t state;
    /* Ends found but not given out, in this order: one further back, or -1; those in the block before `base`; those in
       ready[block:blocks], counted from `base`. */
    Py_ssize_t early;
    uint64_t before;
    Py_ssize_t base;
    int block, blocks;
    uint64_t ready[SCAN_BLOCKS];
} scan_cursor;

#endif
