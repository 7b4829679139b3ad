/* Lists of token ids. */
#ifndef BPETITE_IDS_H
#define BPETITE_IDS_H

#include <Python.h>
#include <stdint.h>

enum {
    BP_SMALL = 257, /* CPython has one object of each int below, which whole programs share */
    BP_TURNS = 8
};

/* Before 3.12 an object in a list is counted in the object: one more when the list is made, one less when it is freed,
   and each count of an object waits for the one before. The ids below 257 are single bytes in most vocabularies and half
   of all ids in code, with its spaces; the waits of one id took a quarter of the time of a call. So each of these ids has
   eight objects that take turns. Later versions do not count the small ints. */
#if PY_VERSION_HEX < 0x030C0000
#define BP_TAKES_TURNS 1
#else
#define BP_TAKES_TURNS 0
#endif

/* An int object of its own, for 1 <= value < BP_SMALL. */
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

/* A list of int objects out of tables: objects[id], or turns[place % BP_TURNS * BP_SMALL + id] of a small id. */
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
