/* Arrays of uint32 made through NumPy's C interface.

   Its functions are entries of a table, whose numbers are part of NumPy's ABI since 1.7 and the same in 2.x; pybind11 finds
   them the same way. So NumPy's headers are not needed to build, and NumPy is imported when the first array is asked for.
   np.frombuffer on an object of ours took three times as long. */
#ifndef BPETITE_NUMPY_ARRAY_H
#define BPETITE_NUMPY_ARRAY_H

#include <Python.h>

enum { BP_NUMPY_ARRAY_TYPE = 2, BP_NUMPY_NEW_FROM_DESCR = 94 };

typedef PyObject *(*bp_new_from_descr)(PyTypeObject *type, PyObject *descr, int dimensions, const Py_intptr_t *shape,
                                       const Py_intptr_t *strides, void *data, int flags, PyObject *of);

typedef struct {
    PyTypeObject *type;
    bp_new_from_descr make; /* NULL before the set-up */
    PyObject *descr;
} bp_numpy;

/* IN: the capsule _ARRAY_API, and the dtype of the arrays to make. */
static inline int bp_numpy_set_up(bp_numpy *numpy, PyObject *capsule, PyObject *descr) {
    void **table = (void **)PyCapsule_GetPointer(capsule, NULL);
    if (table == NULL) return -1;
    Py_INCREF(descr);
    numpy->descr = descr;
    numpy->type = (PyTypeObject *)table[BP_NUMPY_ARRAY_TYPE];
    memcpy(&numpy->make, &table[BP_NUMPY_NEW_FROM_DESCR], sizeof numpy->make);
    return 0;
}

/* A new array of n items, whose values are not set; OUT: where they are. */
static inline PyObject *bp_numpy_new(const bp_numpy *numpy, Py_ssize_t n, void **data) {
    const Py_intptr_t shape = n;
    Py_INCREF(numpy->descr); /* the call takes it */
    PyObject *array = numpy->make(numpy->type, numpy->descr, 1, &shape, NULL, NULL, 0, NULL);
    if (array != NULL) memcpy(data, (char *)array + sizeof(PyObject), sizeof *data); /* an array's first field */
    return array;
}

#endif
