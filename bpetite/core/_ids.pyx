"""Token ids handed to Python: lists that share their int objects, arrays that own their memory."""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from ..headers cimport bp_free, bp_resize, token_t
from ..headers.python cimport PyObject
from ._worker cimport Worker

cdef extern from "core/numpy_array.h":
    ctypedef struct bp_numpy:
        PyObject* descr
    bint bp_numpy_is_set_up(bp_numpy* numpy)
    int bp_numpy_set_up(bp_numpy* numpy, object capsule, object descr) except -1
    object bp_numpy_new(const bp_numpy* numpy, Py_ssize_t n, void** data)

cdef extern from "core/id_lists.h":
    list bp_id_list(const uint32_t* ids, Py_ssize_t n)
    Py_ssize_t bp_id_values(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept

cdef enum:
    STEAL = 1 << 14            # ids; longer results take over the worker's memory instead of being copied

cdef bp_numpy _numpy                               # all zero until it is needed
cdef object _frombuffer = None


cdef list list_of(const token_t* ids, Py_ssize_t n):
    return bp_id_list(ids, n)


cdef Py_ssize_t values_of(PyObject** items, Py_ssize_t n, uint32_t* values) noexcept:
    return bp_id_values(items, n, values)


cdef class IdMemory:
    """The memory behind a NumPy array of token ids."""

    def __dealloc__(self):
        bp_free(self.ids)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.ids, self.used * sizeof(token_t), 0, flags)


cdef int load_numpy() except -1:
    # Not at the top: lists do without it.
    global _frombuffer
    import numpy
    try:
        from numpy._core._multiarray_umath import _ARRAY_API
    except ImportError:                            # before NumPy 2
        from numpy.core._multiarray_umath import _ARRAY_API
    frombuffer, descr = numpy.frombuffer, numpy.dtype(numpy.uint32)
    with cython.critical_section(descr):
        if not bp_numpy_is_set_up(&_numpy):
            _frombuffer = frombuffer
            bp_numpy_set_up(&_numpy, _ARRAY_API, descr)
    return 0


cdef object array_of(IdMemory memory):
    if not bp_numpy_is_set_up(&_numpy):
        load_numpy()
    return _frombuffer(memory, <object> _numpy.descr)


cdef object take_ids(Worker worker):
    cdef IdMemory taken
    cdef void* data
    if worker.used >= STEAL:
        taken = IdMemory()
        with nogil:
            taken.ids = <token_t*> bp_resize(worker.out, worker.used * sizeof(token_t))
        if taken.ids == NULL:
            raise MemoryError()
        taken.used = worker.used
        worker.out, worker.capacity = NULL, 0
        return array_of(taken)
    if not bp_numpy_is_set_up(&_numpy):
        load_numpy()
    array = bp_numpy_new(&_numpy, worker.used, &data)
    if worker.used:                                # a worker that has put out nothing has no memory for it
        memcpy(data, worker.out, worker.used * sizeof(token_t))
    return array
