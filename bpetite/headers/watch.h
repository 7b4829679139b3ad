/* Signals (Ctrl-C) during long calls that run without the interpreter lock, and an early end of their threads.

   A loop reports its work; after some of it the clock is read, and when WATCH_TIME has passed the lock is taken and the
   handlers of signals that have come are run. What they raise is set as the thread's exception, and the loop ends. Only
   the interpreter's main thread runs handlers, so other threads end when the call that started them asks for it. */
#ifndef BPETITE_WATCH_H
#define BPETITE_WATCH_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <time.h>
#endif

#include "bytes.h"

#define WATCH_WORK (1 << 16)            /* bytes between two looks at the clock: a few milliseconds at most */
#define WATCH_TIME INT64_C(40000000)    /* nanoseconds between two looks at signals */

/* All zero at first. */
typedef struct {
    ptrdiff_t done;       /* work since the last look at the clock, in bytes */
    int64_t due;          /* when signals are looked at next; 0: WATCH_TIME after the first look at the clock */
    const int *stop;      /* not 0 when the call is to end (bp_stop); NULL where nothing else ends it */
    int interrupted;      /* the call is to end, and an exception is set */
} bp_watch;

/* A new call begins. */
BP_INLINE void bp_watch_begin(bp_watch *watch, const int *stop) {
    memset(watch, 0, sizeof *watch);
    watch->stop = stop;
}

BP_INLINE void bp_stop(int *stop) {
#if defined(__GNUC__) || defined(__clang__)
    __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
#else
    *(volatile int *)stop = 1;
#endif
}

BP_INLINE int bp_stopped(const int *stop) {
#if defined(__GNUC__) || defined(__clang__)
    return __atomic_load_n(stop, __ATOMIC_RELAXED);
#else
    return *(const volatile int *)stop;
#endif
}

static inline int64_t bp_nanoseconds(void) {
#ifdef _WIN32
    return (int64_t)GetTickCount64() * 1000000;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

/* 1 in the interpreter's main thread, else 0; -1 with an exception. IN: the lock is held. */
static inline int bp_in_main_thread(void) {
    int result = -1;
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    if (ident) {
        const unsigned long number = PyLong_AsUnsignedLong(ident);
        result = PyErr_Occurred() ? -1 : number == PyThread_get_thread_ident();
    }
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    return result;
}

/* With the lock or without it: not 0 when the call is to end, with an exception set. */
static BP_NOINLINE int bp_look(bp_watch *watch) {
    const int stopped = watch->stop && bp_stopped(watch->stop);
    const int64_t now = bp_nanoseconds();
    watch->done = 0;
    if (!stopped && now < watch->due) return 0;
    if (!stopped && watch->due == 0) {
        watch->due = now + WATCH_TIME;
        return 0;
    }
    const PyGILState_STATE lock = PyGILState_Ensure();
    if (stopped) {
        PyErr_SetString(PyExc_InterruptedError, "another thread has ended this call");
        watch->interrupted = 1;
    } else {
        const int handles = PyErr_CheckSignals() ? -1 : bp_in_main_thread();
        watch->interrupted = handles < 0;
        watch->due = handles ? bp_nanoseconds() + WATCH_TIME : INT64_MAX;
    }
    PyGILState_Release(lock);
    return watch->interrupted;
}

/* Report work, in bytes of text or what takes as long; not 0 when the call is to end, with an exception set. */
BP_INLINE int bp_work(bp_watch *watch, ptrdiff_t bytes) {
    watch->done += bytes;
    return BP_UNLIKELY(watch->done >= WATCH_WORK) && bp_look(watch);
}

/* With the lock: -1 where the exception is set. */
BP_INLINE int bp_watch_check(const bp_watch *watch) {
    return -watch->interrupted;
}

#endif
