/* Objects that all threads use and that live as long as the process: their references need no counting. Without the
   interpreter lock, threads that call one function would wait for each other's writes to its count. */
#ifndef BPETITE_IMMORTAL_H
#define BPETITE_IMMORTAL_H

#include <Python.h>

static inline void bp_make_immortal(PyObject *object) {
#ifdef Py_GIL_DISABLED
    if (PyObject_IS_GC(object)) PyObject_GC_UnTrack(object);
    object->ob_tid = Py_None->ob_tid;
    object->ob_ref_local = Py_None->ob_ref_local;
    object->ob_ref_shared = Py_None->ob_ref_shared;
#else
    (void)object;
#endif
}

#endif
