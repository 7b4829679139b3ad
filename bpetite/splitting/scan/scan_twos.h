/* Two steps of the transducer in one look-up: half the loads that wait for one another. */
#ifndef BPETITE_SCAN_TWOS_H
#define BPETITE_SCAN_TWOS_H

#include "scanner.h"

#include <stdlib.h>
#include <string.h>

/* Codes that do the same in every state are one class. OUT: class_of, of each code; codes, one of each class. Returns
   how many classes there are. `tables->end` is the last code. */
static inline uint32_t scan_classes(const scan_tables *tables, uint8_t *class_of, uint8_t *codes)
{
    const size_t states = tables->states;
    uint32_t classes = 0;
    for (uint32_t code = 0; code <= tables->end; code++) {
        uint32_t at = 0;
        while (at < classes && (memcmp(tables->next + codes[at] * states, tables->next + code * states, states)
                                || memcmp(tables->out + codes[at] * states, tables->out + code * states, states)))
            at++;
        if (at == classes)
            codes[classes++] = (uint8_t)code;
        class_of[code] = (uint8_t)at;
    }
    return classes;
}

/* The steps of two codes, to be freed; OUT: *failed, that there was no memory. NULL too where they are too many. */
static inline scan_twos *scan_make_twos(const scan_tables *tables, int *failed)
{
    uint8_t class_of[256], codes[256];
    const uint32_t states = tables->states, classes = scan_classes(tables, class_of, codes);
    const size_t size = (size_t)classes * classes * states;
    *failed = 0;
    if (size > SCAN_MOST_TWOS)
        return NULL;
    scan_twos *twos = (scan_twos *)malloc(sizeof(scan_twos) + size * sizeof(scan_two));
    if (twos == NULL) {
        *failed = 1;
        return NULL;
    }
    for (uint32_t code = 0; code < 256; code++) { /* codes that do not occur: those of the first class */
        const uint32_t one = code <= tables->end ? class_of[code] : 0;
        twos->first[code] = one * classes * states;
        twos->second[code] = one * states;
    }
    scan_two *step = twos->steps;
    for (uint32_t one = 0; one < classes; one++)
        for (uint32_t two = 0; two < classes; two++)
            for (uint32_t state = 0; state < states; state++, step++) {
                const uint32_t first = codes[one] * states + state;
                const uint32_t second = codes[two] * states + tables->next[first];
                step->out[0] = tables->out[first];
                step->out[1] = tables->out[second];
                step->next = tables->next[second];
            }
    return twos;
}

#endif
