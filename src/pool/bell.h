/* SPDX-License-Identifier: MIT */
/*
 * bell.h - how a waiter outside the pool is woken: a worker of another pool on its seat, any other thread on a word.
 */
#ifndef VG_POOL_BELL_H
#define VG_POOL_BELL_H

#include "base/futex.h"
#include "idle.h"

#include <stddef.h>

typedef struct vg_bell {
    vg_seat *seat;         /* of the waiter; NULL: it sleeps on the word */
    _Atomic uint32_t rung; /* 1: look again */
} vg_bell;

/* What the waiter looks at is written. The bell stays until this returns. */
static inline void vg_bell_ring(vg_bell *bell)
{
    if (bell->seat != NULL) {
        vg_unpark(bell->seat);
        return;
    }
    /* Y1 release: the waiter sees what has ended; pairs with Y2 in any.c */
    atomic_store_explicit(&bell->rung, 1, memory_order_release);
    (void)vg_futex_wake(&bell->rung, VG_WAKE_ALL);
}

#endif
