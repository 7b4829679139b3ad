"""The functions of Python's C interface that several modules call.

Cython's own cpython.bytes, .list or .ref bring all object types and stdio along, which every module would parse again.
"""
cdef extern from "Python.h":
    ctypedef struct PyObject:
        pass
    void Py_INCREF(object value)
    void Py_DECREF(object value)
    char* PyBytes_AS_STRING(object value)
    bint PyBytes_CheckExact(object value)
    bytes PyBytes_FromStringAndSize(const char* data, Py_ssize_t size)
    Py_ssize_t PyBytes_GET_SIZE(object value)
    int PyErr_CheckSignals() except -1
    bint PyIndex_Check(object value)
    bint PyList_CheckExact(object value)
    Py_ssize_t PyList_GET_SIZE(object value)
    list PyList_New(Py_ssize_t size)
    void PyList_SET_ITEM(object value, Py_ssize_t at, object item)  # takes over a reference to the item
    bint PyLong_CheckExact(object value)
    object PyNumber_Index(object value)
    bint PyTuple_CheckExact(object value)
    Py_ssize_t PyTuple_GET_SIZE(object value)
    unicode PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    unicode PyUnicode_DecodeUTF8Stateful(const char* data, Py_ssize_t size, const char* errors, Py_ssize_t* used)
