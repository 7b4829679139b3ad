/* Idle workers, each in the slot of a thread: no lock, and without the interpreter lock no line of memory in common.

   With the interpreter lock one slot serves all threads: the worker given back last has the warmest caches. Without it a
   thread has a number, given when it first asks, and the slot of that number. A thread whose slot is empty looks into the
   others before it makes a worker, so there are no more workers than calls at the same time. */
#ifndef BPETITE_WORKER_SLOTS_H
#define BPETITE_WORKER_SLOTS_H

#include <Python.h>
#include <stddef.h>

#ifdef Py_GIL_DISABLED
enum { BP_SLOTS = 64, BP_SLOT_BYTES = 64 };

#ifdef _MSC_VER
#define BP_THREAD_LOCAL __declspec(thread)
#else
#define BP_THREAD_LOCAL _Thread_local
#endif

static inline size_t bp_own_slot(void) {
    static Py_ssize_t threads;
    static BP_THREAD_LOCAL size_t number; /* from 1 on: slot 0 shares a line with what lies before the slots */
    if (number == 0) number = (size_t)_Py_atomic_add_ssize(&threads, 1) + 1;
    return number % BP_SLOTS;
}

#define BP_LOOK(place) _Py_atomic_load_ptr_relaxed(place)
#define BP_EXCHANGE(place, value) _Py_atomic_exchange_ptr(place, value)
#else
enum { BP_SLOTS = 1, BP_SLOT_BYTES = sizeof(void *) };

static inline size_t bp_own_slot(void) { return 0; }

static inline void *bp_exchange(void **place, void *value) {
    void *before = *place;
    *place = value;
    return before;
}

#define BP_LOOK(place) (*(place))
#define BP_EXCHANGE(place, value) bp_exchange(place, value)
#endif

/* All zero at first. */
typedef struct {
    union {
        void *worker;
        char line[BP_SLOT_BYTES];
    } of[BP_SLOTS];
} bp_slots;

/* An idle worker, whose reference is the caller's now; NULL where there is none. */
static inline PyObject *bp_take_worker(bp_slots *slots) {
    const size_t own = bp_own_slot();
    for (size_t i = 0; i < BP_SLOTS; i++) {
        void **const place = &slots->of[(own + i) % BP_SLOTS].worker;
        void *const worker = BP_LOOK(place) ? BP_EXCHANGE(place, NULL) : NULL;
        if (worker) return (PyObject *)worker;
    }
    return NULL;
}

/* Take over the caller's reference to a worker. Returns the one that was in its place, for the caller, or NULL. */
static inline PyObject *bp_give_worker(bp_slots *slots, PyObject *worker) {
    return (PyObject *)BP_EXCHANGE(&slots->of[bp_own_slot()].worker, worker);
}

#endif
