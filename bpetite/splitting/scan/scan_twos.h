/* Two steps of the transducer in one look-up: half the loads that wait for one another. */
#ifndef BPETITE_SCAN_TWOS_H
#define BPETITE_SCAN_TWOS_H

#include "scanner.h"

#include <stdlib.h>

/* The steps of two codes, to be freed; OUT: *failed, that there was no memory. NULL too where they are too many. */
static inline scan_twos *scan_make_twos(const scan_tables *tables, int *failed)
{
    uint8_t codes[256]; /* one of each column */
    const uint32_t states = tables->states, columns = tables->columns;
    const size_t size = (size_t)columns * columns * states;
    *failed = 0;
    if (size > SCAN_MOST_TWOS)
        return NULL;
    scan_twos *twos = (scan_twos *)malloc(sizeof(scan_twos) + size * sizeof(scan_two));
    if (twos == NULL) {
        *failed = 1;
        return NULL;
    }
    for (uint32_t code = 0; code < 256; code++) { /* codes that do not occur, behind the end: those of the first column */
        const uint32_t one = code <= tables->end ? tables->column[code] : 0;
        twos->first[code] = one * columns * states;
        twos->second[code] = one * states;
        if (code <= tables->end)
            codes[one] = (uint8_t)code;
    }
    scan_two *step = twos->steps;
    for (uint32_t one = 0; one < columns; one++)
        for (uint32_t two = 0; two < columns; two++)
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
