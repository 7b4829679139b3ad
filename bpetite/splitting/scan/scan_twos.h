/* Two steps of the transducer in one look-up: half the loads that wait for one another. */
#ifndef BPETITE_SCAN_TWOS_H
#define BPETITE_SCAN_TWOS_H

#include "scanner.h"

#include <stdlib.h>

/* OUT: tables->twos, to be freed; NULL where the steps of two codes are too many. Returns 0 without memory. */
static inline int scan_make_twos(scan_tables *tables)
{
    uint8_t codes[256]; /* one of each column */
    const uint32_t states = tables->states, columns = tables->columns;
    const size_t size = (size_t)columns * columns * states;
    if (size > SCAN_MOST_TWOS)
        return 1;
    scan_twos *twos = (scan_twos *)malloc(sizeof(scan_twos) + size * sizeof(scan_two));
    if (twos == NULL)
        return 0;
    for (uint32_t code = 0; code < 256; code++) { /* codes after the end do not occur: those of the first column */
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
    tables->twos = twos;
    return 1;
}

#endif
