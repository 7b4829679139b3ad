"""Token ids handed to Python: lists that share their int objects, arrays that own their memory."""
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from ..headers cimport token_t
from ..vocabulary._tokens cimport TokenTable
from ._id_memory cimport ids_free, ids_trim
from ._worker cimport Worker

cdef extern from "core/numpy_array.h":
    ctypedef struct bp_numpy:
        void* make                     # NULL before the set-up
        PyObject* descr
    int bp_numpy_set_up(bp_numpy* numpy, object capsule, object descr) except -1
    object bp_numpy_new(const bp_numpy* numpy, Py_ssize_t n, void** data)

cdef extern from "core/id_lists.h":
    enum:
        BP_SMALL
        BP_TURNS
        BP_TAKES_TURNS
    object bp_new_small_int(uint32_t value)
    object bp_list_from_tables(const uint32_t* ids, Py_ssize_t n, PyObject** objects, PyObject** turns)

cdef enum:
    TABLE_LIMIT = 1 << 22      # ids below this have their int objects made once per tokenizer
    STEAL = 1 << 14            # ids; longer results take over the worker's memory instead of being copied

cdef bp_numpy _numpy                               # all zero until it is needed
cdef object _frombuffer = None


cdef class IdLists:
    """Makes lists of ids that share int objects: a reference each; a new int object would take ten times as long.

    Args:
        tokens: The tokens with these ids.
    """

    def __cinit__(self, TokenTable tokens not None):
        cdef Py_ssize_t slot, size
        cdef token_t token_id
        cdef int turn
        self.owner = []
        if tokens.size == 0 or tokens.ids[tokens.size - 1] >= TABLE_LIMIT:
            return
        size = tokens.ids[tokens.size - 1] + 1
        self.objects = <PyObject**> calloc(size, sizeof(PyObject*))
        self.turns = <PyObject**> calloc(BP_TURNS * BP_SMALL, sizeof(PyObject*))
        if self.objects == NULL or self.turns == NULL:
            raise MemoryError()
        for slot in range(tokens.size):
            token_id = tokens.ids[slot]
            self.objects[token_id] = _keep(self, token_id)
            if token_id < BP_SMALL:
                for turn in range(BP_TURNS):
                    self.turns[turn * BP_SMALL + token_id] = (
                        _keep(self, bp_new_small_int(token_id)) if turn and token_id and BP_TAKES_TURNS
                        else self.objects[token_id])

    def __dealloc__(self):
        free(self.objects)
        free(self.turns)

    cdef list make(self, const token_t* ids, Py_ssize_t n):
        cdef Py_ssize_t i
        if self.objects == NULL:
            made = []
            for i in range(n):
                made.append(ids[i])
            return made
        return bp_list_from_tables(ids, n, self.objects, self.turns)


cdef PyObject* _keep(IdLists lists, object value):
    lists.owner.append(value)
    return <PyObject*> value


cdef class IdMemory:
    """The memory behind a NumPy array of token ids."""

    def __dealloc__(self):
        ids_free(self.ids, self.capacity)

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
    _frombuffer = numpy.frombuffer
    return bp_numpy_set_up(&_numpy, _ARRAY_API, numpy.dtype(numpy.uint32))


cdef object array_of(IdMemory memory):
    if _numpy.make == NULL:
        load_numpy()
    return _frombuffer(memory, <object> _numpy.descr)


cdef object take_ids(Worker worker):
    cdef IdMemory taken
    cdef void* data
    if worker.used >= STEAL:
        taken = IdMemory()
        taken.ids, taken.used = ids_trim(worker.out, worker.used, &worker.capacity), worker.used
        taken.capacity = worker.capacity
        worker.out, worker.capacity = NULL, 0
        return array_of(taken)
    if _numpy.make == NULL:
        load_numpy()
    array = bp_numpy_new(&_numpy, worker.used, &data)
    if worker.used:                                # a worker that has put out nothing has no memory for it
        memcpy(data, worker.out, worker.used * sizeof(token_t))
    return array
