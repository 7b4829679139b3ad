/* Lists of token ids. */
#ifndef BPETITE_IDS_H
#define BPETITE_IDS_H

#include <Python.h>
#include <stdint.h>

enum {
    BP_SMALL = 257, /* CPython has one shared object for each int below */
    BP_TURNS = 8    /* objects for each of them */
};

/* Before Python 3.12 every reference to a small int changes its reference count, and each change of one count waits for
   the last. The ids below 257 are single bytes in most vocabularies and half of all ids in code, with its spaces; these
   dependent increments took a quarter of the time of a call. So each of these ids has eight objects, used in rotation.
   Later versions do not count references to small ints. */
#if PY_VERSION_HEX < 0x030C0000
#define BP_TAKES_TURNS 1
#else
#define BP_TAKES_TURNS 0
#endif

/* A new int object, for 1 <= value < BP_SMALL. */
static inline PyObject *bp_new_small_int(uint32_t value)
{
#if BP_TAKES_TURNS
    PyLongObject *made = _PyLong_New(1);
    if (made != NULL) made->ob_digit[0] = value;
    return (PyObject *)made;
#else
    return PyLong_FromLong((long)value);
#endif
}

/* A list of int objects from tables: objects[id], or turns[index % BP_TURNS * BP_SMALL + id] for a small id. */
static inline PyObject *bp_list_from_tables(const uint32_t *ids, Py_ssize_t n, PyObject **objects, PyObject **turns)
{
    PyObject *list = PyList_New(n);
    if (list == NULL) return NULL;
    PyObject **items = ((PyListObject *)list)->ob_item;
    Py_ssize_t i = 0;
    if (BP_TAKES_TURNS)
        for (; i + BP_TURNS <= n; i += BP_TURNS)
            for (int turn = 0; turn < BP_TURNS; turn++) {
                const uint32_t id = ids[i + turn];
                PyObject **table = id < BP_SMALL ? turns + turn * BP_SMALL : objects;
                PyObject *object = table[id];
                Py_INCREF(object);
                items[i + turn] = object;
            }
    for (; i < n; i++) {
        PyObject *object = objects[ids[i]];
        Py_INCREF(object);
        items[i] = object;
    }
    return list;
}

#endif
