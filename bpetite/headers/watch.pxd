"""Signals during long calls, and an early end of their threads (watch.h)."""

cdef extern from "headers/watch.h" nogil:
    ctypedef struct bp_watch:
        bint interrupted

    void bp_watch_begin(bp_watch* watch, const int* stop) noexcept
    void bp_stop(int* stop) noexcept
    bint bp_work(bp_watch* watch, Py_ssize_t bytes) noexcept

cdef extern from "headers/watch.h":
    int bp_watch_check(const bp_watch* watch) except -1
