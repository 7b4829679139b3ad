/* Access to CPython's objects that the compiled modules need and Cython does not declare. */
#ifndef BPETITE_PYTHON_H
#define BPETITE_PYTHON_H

#include <Python.h>
#include <stdint.h>

#include "bytes.h"
#include "memory.h"
#include "utf8_read.h"

/* A pointer that says that something is there: whoever loads it sees what was written before it was stored. */
#ifdef Py_GIL_DISABLED
#define BP_LOAD(place) _Py_atomic_load_ptr_acquire(place)
#define BP_STORE(place, value) _Py_atomic_store_ptr_release(place, value)
#else
#define BP_LOAD(place) (*(place))
#define BP_STORE(place, value) (*(place) = (value))
#endif

/* The UTF-8 of a str where it is there already: its own characters when it is ASCII, else the copy that an earlier
   PyUnicode_AsUTF8 left behind; NULL where there is none. Asking PyUnicode_AsUTF8 itself would attach a copy of the
   whole text to the user's str for as long as that lives. */
static inline const char *bp_known_utf8(PyObject *text, Py_ssize_t *length) {
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0) {
        PyErr_Clear();
        return NULL;
    }
#endif
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        *length = PyUnicode_GET_LENGTH(text);
        return (const char *)PyUnicode_1BYTE_DATA(text);
    }
#if !defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030F0000
    if (((PyCompactUnicodeObject *)text)->utf8 != NULL) {
        *length = ((PyCompactUnicodeObject *)text)->utf8_length;
        return ((PyCompactUnicodeObject *)text)->utf8;
    }
#endif
    return NULL;
}

/* A str of n bytes of UTF-8 that have more than ASCII; None where they are not valid. Asked for large pages before the
   first touch: a character above U+FFFF makes a str four times as large as its UTF-8, whose small pages would take longer
   than all the rest. */
static inline PyObject *bp_str_of_utf8(const uint8_t *p, Py_ssize_t n) {
    enum { KEEP_LOCK = 4096 };
    PyThreadState *const state = n > KEEP_LOCK ? PyEval_SaveThread() : NULL;
    const int valid = bp_utf8_valid(p, n) == n;
    const Py_ssize_t size = valid ? bp_utf8_count(p, n) : 0;
    const uint8_t top = valid ? bp_utf8_top(p, n) : 0;
    const int width = top < 0xC4 ? 1 : top < 0xF0 ? 2 : 4;
    PyObject *text;
    void *units;
    if (state) PyEval_RestoreThread(state);
    if (!valid) Py_RETURN_NONE;
    text = PyUnicode_New(size, width == 1 ? 0xFF : width == 2 ? 0xFFFF : 0x10FFFF);
    if (!text) return NULL;
    units = PyUnicode_DATA(text);
    if (n > KEEP_LOCK) {
        Py_BEGIN_ALLOW_THREADS
        bp_use_large_pages(units, (size_t)size * width);
        bp_units_from_utf8(width, p, n, units);
        Py_END_ALLOW_THREADS
    } else {
        bp_units_from_utf8(width, p, n, units);
    }
    return text;
}

/* The value of an int object in 0..2^32-1; -1 for another int, -2 for any other object. No exception is set. */
static inline int64_t bp_token_value(PyObject *object) {
    if (!PyLong_CheckExact(object) && !PyLong_Check(object)) return -2;
#if PY_VERSION_HEX < 0x030C0000
    Py_ssize_t digits = Py_SIZE(object);
    if (digits == 1) return ((PyLongObject *)object)->ob_digit[0];
    if (digits == 0) return 0;
#else
    if (PyUnstable_Long_IsCompact((PyLongObject *)object)) {
        Py_ssize_t value = PyUnstable_Long_CompactValue((PyLongObject *)object);
        return value < 0 || value > UINT32_MAX ? -1 : value;
    }
#endif
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow || value < 0 || value > UINT32_MAX ? -1 : value;
}

#endif
