/* SPDX-License-Identifier: MIT */
/*
 * strangers.h - threads of the process that sleep in a lock and belong to no pool or loop.
 */
#ifndef VG_WATCHDOG_STRANGERS_H
#define VG_WATCHDOG_STRANGERS_H

#include "judge.h"
#include "locks.h"

enum {
    VG_STRANGERS = 64 /* that are remembered */
};

typedef struct vg_stranger {
    int thread;
    vg_lock_wait lock;
    uint64_t since; /* look.real when it was seen in this lock first */
} vg_stranger;

/* Those that sleep in a lock whose owner is known. Each call looks at those seen before and at some more threads, so
   that its cost has a bound; all threads have had their turn after some looks. skip: no stranger. The watchdog's
   thread. */
const vg_stranger *vg_strangers_look(const vg_look *look, bool (*skip)(void *arg, int thread), void *arg,
                                     unsigned *count);

/* Another watchdog begins. */
void vg_strangers_forget(void);

#endif
