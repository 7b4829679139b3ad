"""Arrays of uint32 made through NumPy's C interface (numpy_array.h)."""
from cpython.ref cimport PyObject

cdef extern from "headers/numpy_array.h":
    ctypedef struct bp_numpy:
        void* make                     # NULL before the set-up
        PyObject* descr

    int bp_numpy_set_up(bp_numpy* numpy, object capsule, object descr) except -1
    object bp_numpy_new(const bp_numpy* numpy, Py_ssize_t n, void** data)
