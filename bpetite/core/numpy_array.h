/* Arrays of uint16 and uint32 made through NumPy's C interface.

   Its functions are entries of a table, whose numbers are part of NumPy's ABI since 1.7 and the same in 2.x; pybind11 finds
   them the same way. So NumPy's headers are not needed to build, and NumPy is imported when the first array is asked for.
   np.frombuffer on an object of ours took three times as long. */
#ifndef BPETITE_NUMPY_ARRAY_H
#define BPETITE_NUMPY_ARRAY_H

#include <Python.h>

#include "headers/pyobject.h"

enum { BP_NUMPY_ARRAY_TYPE = 2, BP_NUMPY_NEW_FROM_DESCR = 94 };

typedef PyObject *(*bp_new_from_descr)(PyTypeObject *type, PyObject *descr, int dimensions, const Py_intptr_t *shape,
                                       const Py_intptr_t *strides, void *data, int flags, PyObject *of);

typedef struct {
    PyTypeObject *type;
    void *make; /* a bp_new_from_descr; NULL before the set-up */
    PyObject *narrow, *wide; /* the dtypes uint16 and uint32 */
} bp_numpy;

static inline int bp_numpy_is_set_up(bp_numpy *numpy) { return BP_LOAD(&numpy->make) != NULL; }

/* IN: the capsule _ARRAY_API, and the dtypes of the arrays to make. */
static inline int bp_numpy_set_up(bp_numpy *numpy, PyObject *capsule, PyObject *narrow, PyObject *wide) {
    void **table = (void **)PyCapsule_GetPointer(capsule, NULL);
    if (table == NULL) return -1;
    Py_INCREF(narrow);
    Py_INCREF(wide);
    numpy->narrow = narrow;
    numpy->wide = wide;
    numpy->type = (PyTypeObject *)table[BP_NUMPY_ARRAY_TYPE];
    BP_STORE(&numpy->make, table[BP_NUMPY_NEW_FROM_DESCR]); /* last: it says that the rest is there */
    return 0;
}

/* A new array of n items, whose values are not set; OUT: where they are. */
static inline PyObject *bp_numpy_new(const bp_numpy *numpy, PyObject *descr, Py_ssize_t n, void **data) {
    const Py_intptr_t shape = n;
    Py_INCREF(descr); /* the call takes it */
    bp_new_from_descr make;
    memcpy(&make, &numpy->make, sizeof make);
    PyObject *array = make(numpy->type, descr, 1, &shape, NULL, NULL, 0, NULL);
    if (array != NULL) memcpy(data, (char *)array + sizeof(PyObject), sizeof *data); /* an array's first field */
    return array;
}

#endif
