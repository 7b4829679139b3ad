/* Memory for lists of numbers, most of them short, that come and go by the million.

   A short list is a block of 8, 16, ... BP_SHORT_LIST numbers out of a large chunk; blocks that were given back wait by
   size for the next list. Longer lists come from malloc, which would take several times as long for the short ones. */
#ifndef BPETITE_LIST_MEMORY_H
#define BPETITE_LIST_MEMORY_H

#include "../../headers/memory.h"
#include "../../headers/bytes.h"

enum {
    BP_LEAST_LIST = 8,
    BP_SHORT_LIST = 1024,
    BP_LIST_SIZES = 8,
    BP_FIRST_CHUNK = 1 << 16, /* bytes; each chunk is twice as large as the one before, up to the last */
    BP_LAST_CHUNK = 1 << 22
};

/* Zeros at first. */
typedef struct {
    uint32_t *waiting[BP_LIST_SIZES]; /* blocks of each size that are free; each begins with the address of the next */
    uint8_t *next;                    /* what is left of the last chunk */
    size_t left;
    size_t chunk_size;
    void **chunks;
    uint64_t chunk_count, chunk_capacity;
    uint64_t long_lists; /* how many there are */
} bp_list_memory;

/* How many numbers a list gets that needs so many. */
static inline uint32_t bp_list_room(uint32_t needed) {
    uint32_t room = BP_LEAST_LIST;
    if (needed > BP_SHORT_LIST) return needed;
    while (room < needed) room *= 2;
    return room;
}

static BP_NOINLINE uint32_t *bp_cut_list(bp_list_memory *memory, size_t bytes) {
    uint32_t *list;
    if (bytes > memory->left) {
        const size_t size = !memory->chunk_size                   ? BP_FIRST_CHUNK
                            : memory->chunk_size < BP_LAST_CHUNK ? memory->chunk_size * 2
                                                                 : BP_LAST_CHUNK;
        void *chunk;
        if (bp_grow((void **)&memory->chunks, &memory->chunk_capacity, memory->chunk_count + 1, sizeof(void *)) < 0)
            return NULL;
        chunk = bp_allocate(size);
        if (!chunk) return NULL;
        memory->chunks[memory->chunk_count++] = chunk;
        memory->chunk_size = size;
        memory->next = (uint8_t *)chunk;
        memory->left = size;
    }
    list = (uint32_t *)(void *)memory->next;
    memory->next += bytes;
    memory->left -= bytes;
    return list;
}

/* A list of a number of `room`s that bp_list_room has given, or NULL without memory. */
static inline uint32_t *bp_new_list(bp_list_memory *memory, uint32_t room) {
    uint32_t **waiting, *list;
    if (room > BP_SHORT_LIST) {
        list = (uint32_t *)malloc((size_t)room * sizeof(uint32_t));
        memory->long_lists += list != NULL;
        return list;
    }
    waiting = &memory->waiting[bp_lowest_bit(room / BP_LEAST_LIST)];
    list = *waiting;
    if (!list) return bp_cut_list(memory, room * sizeof(uint32_t));
    memcpy(waiting, list, sizeof list);
    return list;
}

static inline void bp_free_list(bp_list_memory *memory, uint32_t *list, uint32_t room) {
    if (room > BP_SHORT_LIST) {
        memory->long_lists--;
        free(list);
    } else {
        uint32_t **waiting = &memory->waiting[bp_lowest_bit(room / BP_LEAST_LIST)];
        memcpy(list, waiting, sizeof list);
        *waiting = list;
    }
}

/* A list with room for twice as many numbers and the same beginning, instead of this one; NULL without memory, and then
   this one is left. */
static inline uint32_t *bp_double_list(bp_list_memory *memory, uint32_t *list, uint32_t room) {
    uint32_t *larger;
    if (room > BP_SHORT_LIST) return (uint32_t *)realloc(list, (size_t)room * 2 * sizeof(uint32_t));
    larger = bp_new_list(memory, room * 2);
    if (!larger) return NULL;
    memcpy(larger, list, room * sizeof(uint32_t));
    bp_free_list(memory, list, room);
    return larger;
}

/* Release all short lists; the long ones have been given back. */
static inline void bp_free_list_memory(bp_list_memory *memory) {
    for (uint64_t i = 0; i < memory->chunk_count; i++) free(memory->chunks[i]);
    free(memory->chunks);
    memset(memory, 0, sizeof *memory);
}

#endif
