/* Text that is rewritten before it is encoded: where it goes, and characters in it. */
#ifndef BPETITE_REWRITING_H
#define BPETITE_REWRITING_H

#include "sieve.h"

/* UTF-8 that grows; all zero at first, freed by free(bytes). */
typedef struct {
    uint8_t *bytes;
    ptrdiff_t filled, capacity;
} bp_buffer;

enum { BP_BUFFER_SLACK = 64 /* bytes after the text that can be read */ };

/* Room for `more` bytes; 0 without memory. */
static inline int bp_buffer_reserve(bp_buffer *buffer, ptrdiff_t more) {
    const ptrdiff_t needed = buffer->filled + more + BP_BUFFER_SLACK;
    if (needed <= buffer->capacity) return 1;
    uint8_t *grown = realloc(buffer->bytes, (size_t)(needed + needed / 2));
    if (!grown) return 0;
    buffer->bytes = grown;
    buffer->capacity = needed + needed / 2;
    return 1;
}

static inline int bp_buffer_add(bp_buffer *buffer, const uint8_t *text, ptrdiff_t n) {
    if (!bp_buffer_reserve(buffer, n)) return 0;
    memcpy(buffer->bytes + buffer->filled, text, (size_t)n);
    buffer->filled += n;
    return 1;
}

/* Remove n bytes from the front. */
static inline void bp_buffer_drop(bp_buffer *buffer, ptrdiff_t n) {
    buffer->filled -= n;
    if (buffer->filled) memmove(buffer->bytes, buffer->bytes + n, (size_t)buffer->filled);
}

#endif
