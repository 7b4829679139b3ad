/* Parts of a str. PyUnicode_Substring looks at one character after the other for the largest, and copies likewise where
   the part has narrower ones than the whole; here both are loops that compilers turn into vector instructions. */
#ifndef BPETITE_SUBSTRING_H
#define BPETITE_SUBSTRING_H

#include <string.h>

#include "pyobject.h"

#define BP_NARROW(width) \
    static inline void bp_narrow_##width(uint##width##_t *to, const void *from, int kind, Py_ssize_t n) { \
        if (kind == PyUnicode_2BYTE_KIND) \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = (uint##width##_t)((const uint16_t *)from)[i]; \
        else \
            for (Py_ssize_t i = 0; i < n; i++) to[i] = (uint##width##_t)((const uint32_t *)from)[i]; \
    }

BP_NARROW(8)
BP_NARROW(16)

/* PyUnicode_Substring(text, start, end). IN: 0 <= start <= end <= its length; utf8, the same characters. */
static inline PyObject *bp_substring(PyObject *text, Py_ssize_t start, Py_ssize_t end, const uint8_t *utf8,
                                     Py_ssize_t bytes) {
    const Py_ssize_t n = end - start;
    const int kind = (int)PyUnicode_KIND(text);
    const void *from = (const uint8_t *)PyUnicode_DATA(text) + start * kind;
    Py_UCS4 most = 0xFF;
    PyObject *made;
    if (n < 16 || n == PyUnicode_GET_LENGTH(text)) return PyUnicode_Substring(text, start, end);
    if (bytes == n) {
        made = PyUnicode_New(n, 0x7F);
        if (made) memcpy(PyUnicode_DATA(made), utf8, (size_t)n);
        return made;
    }
    if (kind != PyUnicode_1BYTE_KIND) {
        uint8_t lead = 0; /* the greatest says how wide the widest character is */
        for (Py_ssize_t i = 0; i < bytes; i++) lead = utf8[i] > lead ? utf8[i] : lead;
        most = lead < 0xC4 ? 0xFF : lead < 0xF0 ? 0xFFFF : 0x10FFFF;
    }
    made = PyUnicode_New(n, most);
    if (!made) return NULL;
    if ((int)PyUnicode_KIND(made) == kind) memcpy(PyUnicode_DATA(made), from, (size_t)(n * kind));
    else if (PyUnicode_KIND(made) == PyUnicode_1BYTE_KIND)
        bp_narrow_8((uint8_t *)PyUnicode_DATA(made), from, kind, n);
    else bp_narrow_16((uint16_t *)PyUnicode_DATA(made), from, kind, n);
    return made;
}

#endif
