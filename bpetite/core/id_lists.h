/* Lists of token ids. The int objects of ids below BP_SHARED_IDS are made once a process, a block of them at a time when
   one of the block is first needed, and live as long as it: a list then holds references, and a new int object for each
   id would take ten times as long. All lie one after the other, so that an object's place follows from its id, and the id
   from its place: decoding a list reads no object. Pages of the table that nobody needs take no memory.

   From Python 3.12 on they are immortal, as its own small ints: a list is made without reading or writing them.

   The table is static: exactly one module includes this header. */
#ifndef BPETITE_IDS_H
#define BPETITE_IDS_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "headers/memory.h"
#include "headers/pyobject.h"

enum {
    BP_SHARED_IDS = 1 << 20,
    BP_ID_BLOCK = 128, /* ids of a block */
    BP_SMALL = 256,    /* single bytes in most vocabularies, and half of all ids in code, with its spaces */
    BP_TURNS = 8,      /* objects for each of them */
    BP_LONG_LIST = 256 /* ids */
};

typedef union {
    PyLongObject number;
    char room[(sizeof(PyLongObject) + 15) / 16 * 16];
} bp_id;

/* Before Python 3.12 every reference to an int changes its reference count, and each change of one count waits for the
   last. These dependent increments took a quarter of the time of a call. So each of the ids below BP_SMALL has eight
   objects, used in rotation. */
#if PY_VERSION_HEX < 0x030C0000
#define BP_TAKES_TURNS 1
#define BP_HOLD(object) Py_INCREF(object)
#define BP_DIGITS ob_digit
#else
#define BP_TAKES_TURNS 0
#define BP_HOLD(object) ((void)0)
#define BP_DIGITS long_value.ob_digit
#endif

enum { BP_INT_BYTES = offsetof(PyLongObject, BP_DIGITS) + sizeof(digit) }; /* of an int of one digit */

/* The ids, and after them the small ones of each turn. A block is there as soon as its place says so. */
#define BP_BLOCK(place) ((bp_id *)BP_LOAD(place))
enum { BP_BLOCKS = BP_SHARED_IDS / BP_ID_BLOCK, BP_SMALL_BLOCKS = BP_SMALL / BP_ID_BLOCK };
#ifdef __GNUC__
__attribute__((aligned(4096))) /* a block is a page, which is the half of a first call's time */
#endif
static bp_id bp_ids[BP_SHARED_IDS + BP_TURNS * BP_SMALL];
static bp_id *bp_id_blocks[BP_BLOCKS + BP_TURNS * BP_SMALL_BLOCKS];
#ifdef Py_GIL_DISABLED
static PyMutex bp_id_making;
#define BP_MAKING(what) PyMutex_##what(&bp_id_making)
#else
#define BP_MAKING(what) ((void)0)
#endif

/* Make the block of an id at a place. Returns 0, or -1 with MemoryError set. */
static int bp_make_id_block(bp_id **place, uint32_t id)
{
    const uint32_t first = id / BP_ID_BLOCK * BP_ID_BLOCK;
    bp_id *made = bp_ids + (place - bp_id_blocks) * BP_ID_BLOCK;
    PyObject *model = PyLong_FromLong(BP_SHARED_IDS - 1); /* an int of one digit, nobody else's */
    if (model == NULL) return -1;
    PyObject *zero = PyLong_FromLong(0); /* the interpreter's own, immortal where there are immortal objects */
    BP_MAKING(Lock);
    for (uint32_t i = 0; i < BP_ID_BLOCK && *place == NULL; i++) {
        memcpy(&made[i], model, BP_INT_BYTES);
        if (first + i == 0) memcpy(&made[i], zero, BP_INT_BYTES);
#if BP_TAKES_TURNS
        Py_SET_REFCNT((PyObject *)&made[i], 1);           /* the table's */
#else
        memcpy(&made[i], zero, sizeof(PyObject));
#endif
        made[i].number.BP_DIGITS[0] = first + i;
    }
    BP_STORE(place, made);
    BP_MAKING(Unlock);
    Py_DECREF(model);
    Py_DECREF(zero);
    return 0;
}

/* A borrowed reference to the int object of an id in a turn; NULL with an error set. */
static inline PyObject *bp_id_object(uint32_t id, uint32_t turn)
{
    uint32_t block = id / BP_ID_BLOCK;
    if (BP_TAKES_TURNS) /* without a branch: half of the ids are small ones, in no order */
        block += -(uint32_t)(id < BP_SMALL) & (BP_BLOCKS + turn * BP_SMALL_BLOCKS);
    bp_id **const place = &bp_id_blocks[block];
    if (BP_BLOCK(place) == NULL && bp_make_id_block(place, id) < 0) return NULL;
    return (PyObject *)(BP_BLOCK(place) + id % BP_ID_BLOCK);
}

/* A new reference to an int object of an id; NULL with an error set. */
static inline PyObject *bp_new_id(uint32_t id, uint32_t turn)
{
    if (id >= BP_SHARED_IDS) return PyLong_FromUnsignedLong(id);
    PyObject *object = bp_id_object(id, turn);
    if (object != NULL) BP_HOLD(object);
    return object;
}

/* PyList_New(n) without zeros, which it would write to all of a long list first, and in large pages, as new memory would
   come in a fault each 4 KiB: together a tenth of the time of 8 MB of text. The size is set when the items are. */
static inline PyObject *bp_new_list(Py_ssize_t n)
{
#ifndef Py_GIL_DISABLED
    if (n >= BP_LONG_LIST) {
        PyListObject *list = (PyListObject *)PyList_New(0);
        if (list == NULL) return NULL;
        list->ob_item = (PyObject **)PyMem_Malloc((size_t)n * sizeof(PyObject *));
        if (list->ob_item == NULL) {
            Py_DECREF(list);
            return PyErr_NoMemory();
        }
        bp_use_large_pages(list->ob_item, (size_t)n * sizeof(PyObject *));
        list->allocated = n;
        return (PyObject *)list;
    }
#endif
    return PyList_New(n);
}

/* A list of ids. The cyclic collector does not visit it: a list of ints is part of no cycle, and visiting the lists of a
   batch took two fifths of its time. */
static PyObject *bp_id_list(const uint32_t *ids, Py_ssize_t n)
{
    PyObject *list = bp_new_list(n);
    if (list == NULL) return NULL;
    PyObject **items = ((PyListObject *)list)->ob_item;
    PyObject_GC_UnTrack(list);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *object = bp_new_id(ids[i], (uint32_t)i % BP_TURNS);
        if (object == NULL) {
            Py_SET_SIZE((PyVarObject *)list, i);
            Py_DECREF(list);
            return NULL;
        }
        items[i] = object;
    }
    Py_SET_SIZE((PyVarObject *)list, n);
    return list;
}

/* The values of int objects up to the first that is none in 0..2^32-1, or n; returns how many. Objects of others lie
   anywhere: they are asked for some steps before they are read. */
static inline Py_ssize_t bp_id_values(PyObject *const *items, Py_ssize_t n, uint32_t *values)
{
    enum { AHEAD = 24 };
    for (Py_ssize_t i = 0; i < n; i++) {
        const uintptr_t at = ((uintptr_t)items[i] - (uintptr_t)bp_ids) / sizeof(bp_id);
        if (BP_LIKELY(at < BP_SHARED_IDS + BP_TURNS * BP_SMALL)) {
            values[i] = (uint32_t)(at < BP_SHARED_IDS ? at : at % BP_SMALL);
            continue;
        }
        if (i + AHEAD < n) BP_PREFETCH(items[i + AHEAD]);
        const int64_t value = bp_token_value(items[i]);
        if (value < 0) return i;
        values[i] = (uint32_t)value;
    }
    return n;
}

#endif
